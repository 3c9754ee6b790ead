// Package proc starts the programs that tests and benchmarks run beside them. Nothing here is part of the service.
package proc

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// Start starts a command and returns a channel that is closed when it has ended; why it ended is in its ProcessState.
// It gets a process group of its own, so that Ctrl-C in a terminal does not reach it before its parent has ended it. On
// Linux it is killed when this process ends without a clean-up, as after a timeout.
func Start(cmd *exec.Cmd) (<-chan struct{}, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		// The child dies with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // How it ended is in its state.
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	return ended, nil
}
