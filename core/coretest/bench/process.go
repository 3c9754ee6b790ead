package main

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// startProcess starts a server whose messages go to a file, and returns when it answers, or with the reason why it
// never will. Ctrl-C in a terminal reaches this program alone, which then ends its servers in order.
func startProcess(
	ctx context.Context, cmd *exec.Cmd, log string, answers func(context.Context) bool,
) (*process, error) {
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
	p := &process{cmd: cmd, done: done, log: log}
	if err := p.await(ctx, answers); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *process) await(ctx context.Context, answers func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	for !answers(ctx) {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended at its start: %s", filepath.Base(p.cmd.Path), p.tail())
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %s", filepath.Base(p.cmd.Path), ctx.Err(), p.tail())
		case <-time.After(pollInterval):
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

func (p *process) freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

func (p *process) thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// stop asks the server to end and waits for it.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", filepath.Base(p.cmd.Path), err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopPatience):
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

func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
