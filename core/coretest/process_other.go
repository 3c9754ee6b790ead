//go:build !linux

package coretest

import "syscall"

// dieWithParent does nothing where the kernel offers no such thing.
func dieWithParent(*syscall.SysProcAttr) {}
