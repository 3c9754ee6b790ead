package coretest

import "syscall"

// dieWithParent has the kernel kill the child when this process ends without a clean-up, as after a timeout.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
