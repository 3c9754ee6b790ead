//go:build slow

package engines_test

// manyValues is the bound of the product itself.
const manyValues = 1_000_000
