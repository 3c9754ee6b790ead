//go:build slow

package conformance

// racedKeys is how many keys are raced for, with one document and with two.
const racedKeys = 1000
