package xml

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// confine limits the memory and the processor time of a child that waits for its input.
func confine(pid int, memory uint64, processor time.Duration) error {
	seconds := uint64(math.Ceil(processor.Seconds()))
	limits := map[int]unix.Rlimit{
		unix.RLIMIT_AS: {Cur: memory, Max: memory},
		// The first limit ends the child with SIGXCPU, which identifies the cause; the second one kills it.
		unix.RLIMIT_CPU:   {Cur: seconds, Max: seconds + 1},
		unix.RLIMIT_CORE:  {},
		unix.RLIMIT_FSIZE: {},
	}
	for resource, limit := range limits {
		if err := unix.Prlimit(pid, resource, &limit, nil); err != nil {
			return fmt.Errorf("limit a child process: %w", err)
		}
	}
	return nil
}

// boundedHere has no effect here: the kernel counts the processor time of a child.
func boundedHere(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// textFile returns a file in memory that has no name. A child that opens it by its number reads it from the beginning.
func textFile(text []byte) (*os.File, error) {
	number, err := unix.MemfdCreate("schema", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(number), "schema")
	if _, err := file.Write(text); err != nil {
		return nil, errors.Join(fmt.Errorf("write a file in memory: %w", err), file.Close())
	}
	return file, nil
}
