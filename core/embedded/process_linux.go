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
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return gone
	}
	// The name in parentheses may itself hold spaces and parentheses; the state follows the last one.
	if at := bytes.LastIndexByte(stat, ')'); at < 0 || strings.ContainsAny(string(stat[at:min(at+3, len(stat))]), "ZX") {
		return gone
	}
	here, hereErr := os.Stat(filepath.Join(proc, "cwd"))
	there, thereErr := os.Stat(data)
	if hereErr == nil && thereErr == nil && os.SameFile(here, there) {
		return ours
	}
	// Root in a container may not look at the folder of another user's process, but anybody may read its arguments.
	cmdline, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err == nil && serves(strings.Split(string(cmdline), "\x00"), data) {
		return ours
	}
	return foreign
}
