package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const (
	// fastPatience is what a fast shutdown gets to roll back sessions and write a checkpoint.
	fastPatience = 20 * time.Second
	// quitPatience is what an immediate shutdown gets. The next start recovers from the log.
	quitPatience = 3 * time.Second
	pollInterval = 20 * time.Millisecond
)

// standing is what a process id found in a pid file stands for.
type standing int

const (
	gone    standing = iota // nothing runs under the id; a zombie counts as nothing
	foreign                 // something else runs under the id by now
	ours                    // the server of the folder
)

// stoppable is a server that can be told to stop: a child of this process, or an orphan of an earlier one.
type stoppable interface {
	signal(sig syscall.Signal) error
	// wait reports whether the server ended before the time was over or ctx ended.
	wait(ctx context.Context, patience time.Duration) bool
}

// stop escalates from a fast shutdown to SIGKILL. When ctx ends it skips the remaining orderly attempts, but still
// waits for the end, because the next start must not find a server that is ending.
func stop(ctx context.Context, server stoppable) error {
	detached := context.WithoutCancel(ctx)
	if err := server.signal(syscall.SIGINT); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	if server.wait(ctx, fastPatience) {
		return nil
	}
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		if err := server.signal(sig); err != nil {
			return fmt.Errorf("stop PostgreSQL: %w", err)
		}
		if server.wait(detached, quitPatience) {
			return nil
		}
	}
	return errors.New("stop PostgreSQL: still running after SIGKILL")
}

// child is a server that this process started.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how the process ended; to be read after done is closed
}

// start runs the command in a goroutine that ends with it.
func start(cmd *exec.Cmd) (*child, error) {
	server := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(server.done)
		server.err = runPinned(cmd, started)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return server, nil
}

func (c *child) signal(sig syscall.Signal) error {
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s: %w", sig, err)
	}
	return nil
}

func (c *child) wait(ctx context.Context, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// orphan is a server whose owner died without stopping it.
type orphan struct {
	pid  int
	data string
}

func (o orphan) signal(sig syscall.Signal) error {
	if err := syscall.Kill(o.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to %d: %w", sig, o.pid, err)
	}
	return nil
}

func (o orphan) wait(ctx context.Context, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return poll(ctx, func() bool { return inspect(ctx, o.pid, o.data) != ours })
}

// clearStale makes way for a new server: an orphan is stopped, and a pid file that would make PostgreSQL take a zombie
// or a stranger for its predecessor is removed. A pid file whose process is truly gone stays: PostgreSQL uses what it
// says about shared memory to notice surviving backends.
func clearStale(ctx context.Context, data string) error {
	path := filepath.Join(data, "postmaster.pid")
	text, err := readFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read pid file: %w", err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(string(bytes.TrimSpace(first)))
	if err == nil && pid > 0 && inspect(ctx, pid, data) == ours {
		if err := stop(ctx, orphan{pid: pid, data: data}); err != nil {
			return err
		}
	}
	if err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove pid file: %w", err)
	}
	return nil
}

// runPinned runs the command to its end on one thread. Linux sends the signal that is due at the parent's death when
// the starting thread ends, so the thread has to live as long as the command.
func runPinned(cmd *exec.Cmd, started chan<- error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// poll asks until the answer is yes, and reports whether it was before ctx ended.
func poll(ctx context.Context, ask func() bool) bool {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !ask() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	return true
}

// serves reports whether the arguments of a process are those of a postgres that was started on data.
func serves(args []string, data string) bool {
	if len(args) == 0 || filepath.Base(args[0]) != "postgres" {
		return false
	}
	for i := range len(args) - 1 {
		if args[i] == "-D" && args[i+1] == data {
			return true
		}
	}
	return false
}
