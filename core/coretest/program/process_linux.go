package program

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// awaitStop waits until all threads of a child are stopped, and fails when it has ended instead.
func awaitStop(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return stopError(pid, err)
		}
	}
}

func stopError(pid int, err error) error {
	if err != nil {
		return fmt.Errorf("wait until process %d is stopped: %w", pid, err)
	}
	return nil
}
