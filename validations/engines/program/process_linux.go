package program

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// openFiles is how many files a child may have open besides those it gets. An interpreter needs some for its modules.
const openFiles = 64

// confine limits a child that waits for its input. It limits data rather than addresses, of which Go reserves more than
// it uses.
func confine(pid int, c Command, files int) error {
	seconds, memory := uint64(math.Ceil(c.Time.Seconds())), uint64(c.Memory) //nolint:gosec // Limits are positive.

	open := uint64(openFiles + files) //nolint:gosec // It is the length of a list.
	limits := map[int]unix.Rlimit{
		unix.RLIMIT_DATA: {Cur: memory, Max: memory},
		// The first limit ends the child with SIGXCPU, which identifies the cause; the second one kills it.
		unix.RLIMIT_CPU:    {Cur: seconds, Max: seconds + 1},
		unix.RLIMIT_NOFILE: {Cur: open, Max: open},
		unix.RLIMIT_CORE:   {},
		unix.RLIMIT_FSIZE:  {},
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

// endWithLeader waits until the child has ended and kills what it has left behind, before the number of its group can
// be that of another one.
func (p *process) endWithLeader() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = p.killGroup() // Mostly there is nobody left to kill.
}

// textFile returns a file in memory that has no name. A child that opens it by its number reads it from the beginning.
func textFile(text []byte) (*os.File, error) {
	number, err := unix.MemfdCreate("text", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(number), "text")
	if _, err := file.Write(text); err != nil {
		return nil, errors.Join(fmt.Errorf("write a file in memory: %w", err), file.Close())
	}
	return file, nil
}
