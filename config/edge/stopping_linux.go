package edge

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	flagsOfTCP  = 13   // The offset of the flags in a TCP header.
	synchronize = 0x02 // The flag SYN, which only the first segment of a connection has here.
	wholePacket = 1<<18 - 1
)

// closeToNew has the kernel drop the first segment of new connections to the listener. The client sends it again after
// a second. By then the listener is closed, and the client learns that nothing was sent.
func closeToNew(listener net.Listener) error {
	socket, ok := listener.(syscall.Conn)
	if !ok {
		return nil // It is not the kernel's.
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return fmt.Errorf("reach the socket: %w", err)
	}
	// The kernel shows a filter of a TCP socket the segment from its TCP header on.
	program := [...]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flagsOfTCP},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jt: 0, Jf: 1, K: synchronize},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: wholePacket},
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	})
	if err = errors.Join(err, refused); err != nil {
		return fmt.Errorf("attach a filter to the socket: %w", err)
	}
	return nil
}
