//go:build slow

package enginetest

// ManyValues is the bound of the product itself.
const ManyValues = 1_000_000
