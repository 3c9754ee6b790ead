package parquetrows

import (
	"fmt"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// heapShare of the memory is for the heap.
const heapShare = 0.8

// confine limits what this process may use, for good. It limits data rather than addresses, of which Go reserves more
// than it uses.
func confine(memory uint64) error {
	limits := map[int]uint64{
		unix.RLIMIT_DATA: memory, unix.RLIMIT_CPU: ProcessorSeconds, unix.RLIMIT_CORE: 0,
		unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 8,
	}
	for resource, limit := range limits {
		if err := unix.Prlimit(0, resource, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
			return fmt.Errorf("limit this process: %w", err)
		}
	}
	debug.SetMemoryLimit(int64(heapShare * float64(memory)))
	return nil
}
