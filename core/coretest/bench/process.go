package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/proc"
)

const (
	// stopPatience is what a server gets to end by itself.
	stopPatience  = 30 * time.Second
	readyPatience = time.Minute
	pollInterval  = 20 * time.Millisecond
	logTail       = 2048
)

// process is a server that this program runs.
type process struct {
	cmd  *exec.Cmd
	done <-chan struct{}
	log  string
}

// startProcess starts a server whose messages go to a file. Ctrl-C in a terminal reaches this program alone, which then
// ends its servers in order.
func startProcess(cmd *exec.Cmd, log string) (*process, error) {
	messages, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	defer messages.Close()
	cmd.Stdout, cmd.Stderr = messages, messages
	done, err := proc.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &process{cmd: cmd, done: done, log: log}, nil
}

// await returns when the server answers, or the reason why it never will.
func (p *process) await(ctx context.Context, answers func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !answers(ctx) {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended at its start: %s", filepath.Base(p.cmd.Path), p.tail())
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %s", filepath.Base(p.cmd.Path), ctx.Err(), p.tail())
		case <-ticker.C:
		}
	}
	return nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// frozen does something while the server gets no processor time.
func (p *process) frozen(do func() error) error {
	if err := p.freeze(); err != nil {
		return err
	}
	return errors.Join(do(), p.thaw())
}

func (p *process) freeze() error { return p.signal(syscall.SIGSTOP) }

func (p *process) thaw() error { return p.signal(syscall.SIGCONT) }

func (p *process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("send %s to %s: %w", s, filepath.Base(p.cmd.Path), err)
	}
	return nil
}

// stop asks the server to end and waits for it.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", filepath.Base(p.cmd.Path), err)
	}
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	err := p.cmd.Process.Kill()
	<-p.done
	return errors.Join(fmt.Errorf("%s did not end when asked to", filepath.Base(p.cmd.Path)), err)
}

func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-logTail):]))
}
