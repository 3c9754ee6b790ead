package embedded

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent has the kernel send sig to the child when this process ends, however it ends.
func dieWithParent(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// inspect reads /proc, as a zombie still answers to kill(pid, 0) and an id may have been given to another process.
func inspect(_ context.Context, pid int, data string) standing {
	proc := "/proc/" + strconv.Itoa(pid)
	stat, err := readFile(filepath.Join(proc, "stat"))
	if err != nil {
		return gone
	}
	// The name in parentheses may itself hold spaces and parentheses; the state follows the last one.
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	if state = bytes.TrimSpace(state); len(state) == 0 || state[0] == 'Z' || state[0] == 'X' {
		return gone
	}
	here, hereErr := os.Stat(filepath.Join(proc, "cwd"))
	there, thereErr := os.Stat(data)
	if hereErr == nil && thereErr == nil && os.SameFile(here, there) {
		return ours
	}
	// Root in a container may not look at the folder of another user's process, but all users may read its arguments.
	cmdline, err := readFile(filepath.Join(proc, "cmdline"))
	if err == nil && serves(strings.Split(string(cmdline), "\x00"), data) {
		return ours
	}
	return foreign
}
