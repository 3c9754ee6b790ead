//go:build !slow

package enginetest

// ManyValues bounds the documents of tests that go beyond the number of values.
const ManyValues = 50_000
