package db

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// setUserTimeout makes a connection whose peer has silently gone fail after tcpUserTimeout instead of
// after the kernel's quarter of an hour.
func setUserTimeout(network, _ string, conn syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var failure error
	err := conn.Control(func(fd uintptr) {
		limit := int(tcpUserTimeout.Milliseconds())
		failure = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, limit)
	})
	if err != nil {
		return fmt.Errorf("reach the socket: %w", err)
	}
	return failure
}
