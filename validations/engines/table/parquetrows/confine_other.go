//go:build !linux

package parquetrows

import "runtime/debug"

// confine asks the garbage collector to keep within the memory, which does not stop a hostile file. Use Linux in
// production.
func confine(memory uint64) error {
	debug.SetMemoryLimit(int64(memory)) //nolint:gosec // It was parsed with 63 bits.
	return nil
}
