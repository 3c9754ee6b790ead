//go:build slow

package engines_test

import "testing"

//nolint:paralleltest // it measures the memory of the whole process
func TestMillionRowsStayWithin64MiB(t *testing.T) {
	checkMemory(t, 1_000_000, 64<<20)
}
