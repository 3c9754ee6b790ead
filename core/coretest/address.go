package coretest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports that systems do not give to outgoing connections: Linux begins at 32768, others later.
const (
	lowestPort  = 12_000
	highestPort = 32_000
	portsToTry  = 100
)

// FreeAddress returns an address on this machine that stays free for tb: a server can be killed and started again on it
// while other tests, also those of other processes, look for addresses of their own. A UDP socket at the same port is
// the reservation, which the system takes back when this process dies.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	for range portsToTry {
		address := fmt.Sprintf("127.0.0.1:%d", lowestPort+rand.IntN(highestPort-lowestPort))
		reservation, err := net.ListenPacket("udp4", address)
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_ = reservation.Close()
			continue
		}
		_ = listener.Close()
		tb.Cleanup(func() { _ = reservation.Close() })
		return address
	}
	tb.Fatalf("no free port in %d attempts", portsToTry)
	return ""
}
