//go:build !linux

package db

import "syscall"

// setUserTimeout does nothing where the kernel has no such option; keep-alive probes have to do.
func setUserTimeout(_, _ string, _ syscall.RawConn) error {
	return nil
}
