//go:build !slow

package engines_test

// manyValues bounds the documents of tests that go beyond the number of values.
const manyValues = 50_000
