//go:build !unix

package core

import "net"

// isAlive cannot tell here; the first use of a dead connection fails.
func isAlive(net.Conn) bool { return true }
