//go:build !unix

package db

import "net"

// isAlive cannot tell here; the first use of a dead connection fails.
func isAlive(net.Conn) bool { return true }
