package edge

import "net"

// CloseToNew has a listener take no new connections.
func CloseToNew(listener net.Listener) error { return closeToNew(listener) }
