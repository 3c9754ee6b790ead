// Package program runs the child processes that judge documents, and is the engine of program steps.
//
// A child is a program of the operator or of this machine; nothing of a document or a workflow is an argument of it.
// It gets what it judges through pipes and files in memory that have no name, opens no file of the service, has an
// environment of its own, writes no file, and is bounded in memory, processor time and output before it has anything
// to do. The time that it waits for a processor does not count.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Command is a program and what one run of it may use.
type Command struct {
	Path string
	// Args are the arguments, of which the first is the name that the program is called by.
	Args []string
	// Memory is how many bytes of data the process may have.
	Memory int64
	// Time is its processor time.
	Time time.Duration
}

// Streams are what a child reads and writes. A nil writer drops what it gets; one that fails ends the child.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Files are texts that the child opens by FileName. The first one comes through a pipe, so that it can be read once
	// and no earlier than the child is bounded. The others are files in memory.
	Files [][]byte
}

// FirstFile is the number of the first file of a child, behind the standard ones.
const FirstFile = 3

// FileName is where a child finds a file.
func FileName(index int) string {
	return "/dev/fd/" + strconv.Itoa(FirstFile+index)
}

// End is how a child ended.
type End struct {
	// Code is the exit code, and -1 where a signal ended the child.
	Code   int
	Signal syscall.Signal
	// OutOfTime says that it used up its processor time.
	OutOfTime bool
}

// process is a child that was started. Wait for it.
type process struct {
	command Command
	cmd     *exec.Cmd
	ctx     context.Context //nolint:containedctx // It is the child's life.
	bounded context.Context //nolint:containedctx // It ends where the clock has to stand in for the kernel, too.
	stop    context.CancelFunc
	in      *gate
	outputs []*output
	// fed tells that the first file is written.
	fed chan struct{}
}

// killDelay is how long the pipes of a child that has ended are still read.
const killDelay = time.Second

// heapShare of the memory is for the heap of a child in Go.
const heapShare = 0.8

// environment is the whole of it. A child computes on one processor, as an engine does.
func (c Command) environment() []string {
	return []string{
		"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", "GOMAXPROCS=1", "GOTRACEBACK=none",
		fmt.Sprintf("GOMEMLIMIT=%d", int64(heapShare*float64(c.Memory))),
	}
}

// Run starts a child and waits for it.
func (c Command) Run(ctx context.Context, streams Streams) (End, error) {
	p, err := c.start(ctx, streams)
	if err != nil {
		return End{}, err
	}
	return p.wait()
}

// start starts a child, bounds it, and only then lets it read.
func (c Command) start(ctx context.Context, streams Streams) (*process, error) {
	life, stop := boundedHere(ctx, c.Time)
	p := &process{
		command: c, ctx: ctx, bounded: life, stop: stop, fed: make(chan struct{}),
		in: &gate{source: streams.In, opened: make(chan struct{})},
	}
	p.cmd = exec.CommandContext(life, c.Path) //nolint:gosec // The operator named the program.
	p.cmd.Args, p.cmd.Env, p.cmd.Dir = c.Args, c.environment(), "/"
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = p.in, p.output(streams.Out), p.output(streams.Err)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = p.killGroup
	p.cmd.WaitDelay = killDelay
	feed, err := p.startWith(streams.Files)
	if err != nil {
		stop()
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	if err := confine(p.cmd.Process.Pid, c, len(streams.Files)); err != nil {
		p.in.open()
		_ = feed.Close()
		return nil, errors.Join(err, p.killGroup(), p.cmd.Wait())
	}
	p.in.open()
	go func() {
		if len(streams.Files) > 0 {
			// A child that does not read all of it has ended; its exit code says why.
			_, _ = feed.Write(streams.Files[0])
		}
		_ = feed.Close() // It is a pipe, and nil where there is no file.
		close(p.fed)
	}()
	return p, nil
}

// startWith starts the child with its files, and returns the pipe for the first of them, if there is one.
func (p *process) startWith(files [][]byte) (*os.File, error) {
	var feed *os.File
	var err error
	for i, text := range files {
		var file *os.File
		if i == 0 {
			file, feed, err = os.Pipe()
		} else {
			file, err = textFile(text)
		}
		if err != nil {
			break
		}
		p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, file)
	}
	if err == nil {
		err = p.cmd.Start()
	}
	for _, file := range p.cmd.ExtraFiles {
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		_ = feed.Close()
		return nil, err
	}
	return feed, nil
}

func (p *process) output(to io.Writer) io.Writer {
	if to == nil {
		return nil
	}
	o := &output{to: to, stop: p.stop}
	p.outputs = append(p.outputs, o)
	return o
}

func (p *process) killGroup() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// wait returns how the child ended. Its error is the end of the context, a failure of what the child reads from or
// writes to, or that the child could not be run. What it has started ends with it.
func (p *process) wait() (End, error) {
	defer p.stop()
	p.endWithLeader()
	err := p.cmd.Wait()
	<-p.fed
	if p.ctx.Err() != nil {
		return End{}, fmt.Errorf("run %s: %w", p.command.Args[0], p.ctx.Err())
	}
	for _, o := range p.outputs {
		if o.err != nil {
			return End{}, o.err
		}
	}
	if p.in.err != nil {
		return End{}, p.in.err
	}
	if errors.Is(p.bounded.Err(), context.DeadlineExceeded) {
		return End{Code: -1, OutOfTime: true}, nil
	}
	exit, failed := errors.AsType[*exec.ExitError](err)
	if err != nil && !failed {
		return End{}, fmt.Errorf("run %s: %w", p.command.Args[0], err)
	}
	end := End{Code: p.cmd.ProcessState.ExitCode()}
	if !failed {
		return end, nil
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.Signal = status.Signal()
		// A program in Go does not hear the first signal, and the second one kills it without saying why.
		used := exit.UserTime() + exit.SystemTime()
		end.OutOfTime = end.Signal == syscall.SIGXCPU || end.Signal == syscall.SIGKILL && used >= p.command.Time
	}
	return end, nil
}

// OutOfTime is the error of a check whose child used up its processor time.
func (c Command) OutOfTime() error {
	return &engine.ExhaustedError{Reason: fmt.Sprintf("needed more than %gs of processor time", c.Time.Seconds())}
}

// OutOfMemory is the error of a check whose child used up its memory.
func (c Command) OutOfMemory() error {
	return &engine.ExhaustedError{Reason: fmt.Sprintf("needed more than %d MiB of memory", c.Memory>>20)}
}
