package xml

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// confine limits the memory and the processor time of a child that waits for its input.
func confine(pid int, memory uint64, processor time.Duration) error {
	seconds := uint64(math.Ceil(processor.Seconds()))
	limits := map[int]uint64{
		unix.RLIMIT_AS: memory, unix.RLIMIT_CPU: seconds, unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0,
	}
	for resource, limit := range limits {
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
			return fmt.Errorf("limit a child process: %w", err)
		}
	}
	return nil
}
