package coretest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// StartCommand starts a command and returns a channel that is closed when it has ended; why it ended is in its
// ProcessState. It gets a process group of its own, so that Ctrl-C in a terminal does not reach it before its parent
// has ended it. On Linux it is killed when this process ends without a clean-up, as after a timeout.
func StartCommand(cmd *exec.Cmd) (<-chan struct{}, error) {
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

// ProcessStat is what the kernel tells about a process.
type ProcessStat struct {
	Parent int
	// Dead processes wait for their parent to ask how they ended.
	Dead bool
	// Used is the processor time, that of the children that have ended included.
	Used time.Duration
}

// Processes returns all processes by their ids. Where there is no /proc it knows of none.
func Processes() (map[int]ProcessStat, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make(map[int]ProcessStat)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // Processes end while the list is read.
		}
		if pid, stat, ok := parseStat(text); ok {
			all[pid] = stat
		}
	}
	return all, nil
}

// tick is the unit of the times in /proc on every Linux.
const tick = time.Second / 100

// parseStat reads a line of /proc/PID/stat.
func parseStat(text []byte) (int, ProcessStat, bool) {
	const state, parent, user, endedSystem = 0, 1, 11, 14
	pid, err := strconv.Atoi(string(text[:max(bytes.IndexByte(text, ' '), 0)]))
	// The name before the last parenthesis may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) <= endedSystem {
		return 0, ProcessStat{}, false
	}
	stat := ProcessStat{Dead: fields[state] == "Z"}
	stat.Parent, _ = strconv.Atoi(fields[parent])
	for _, field := range fields[user : endedSystem+1] {
		ticks, _ := strconv.Atoi(field)
		stat.Used += time.Duration(ticks) * tick
	}
	return pid, stat, true
}
