//go:build unix

package db

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// isAlive reports whether an idle connection is still open, as far as this machine knows. It asks only the kernel, so
// it is cheap enough for each use of a connection.
func isAlive(conn net.Conn) bool {
	socket, ok := socketOf(conn).(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var idle bool
	// Not Read, which would wait for a reader that the driver may have left behind.
	err = raw.Control(func(fd uintptr) {
		var next [1]byte
		_, _, err := unix.Recvfrom(int(fd), next[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		// A server that sends data to an idle connection is usually about to close it.
		idle = errors.Is(err, unix.EAGAIN)
	})
	return err == nil && idle
}
