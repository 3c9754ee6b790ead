package xml

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// xmllint checks documents by XML Schema with the program of that name, as a child process. This is the one place where
// an engine reaches outside of itself, because Go has no validator for XML Schema.
//
// Nothing of a document or schema is an argument of the child: the document comes through a pipe and
// the schemas as files in memory that have no name, no file is written and no shell
// is involved. The child reads no other file, has no environment, and is killed with all it started when the context
// ends or its processor time is used up. The time that it waits for a processor does not count.
type xmllint struct {
	path   string
	time   time.Duration
	memory uint64
}

// lintEnd is how the child ended.
type lintEnd int

// The ends. A child that ended in any other way is an error.
const (
	lintChecked lintEnd = iota
	lintMalformed
	lintSchemaInvalid
	lintOutOfTime
	lintOutOfMemory
)

// The exit codes of xmllint.
const (
	exitValid         = 0
	exitMalformed     = 1
	exitInvalid       = 3
	exitInvalidToo    = 4
	exitSchemaInvalid = 5
	exitOutOfMemory   = 9
)

// maxLintLine is how much of the beginning and of the end of one line of the child's output is kept.
const maxLintLine = 4096

// cutMark stands for what is left out.
const cutMark = "…"

// killDelay is how long the pipes of a killed child are still read.
const killDelay = time.Second

// findXMLLint answers false where the program is not installed.
func findXMLLint(limits engine.Limits) (xmllint, bool) {
	path, err := exec.LookPath("xmllint")
	if err != nil {
		return xmllint{}, false
	}
	return xmllint{path: path, time: limits.MaxLintTime, memory: limits.MaxLintBytes}, true
}

// firstSchemaFile is the number of the file of the child that holds the schema, the first behind the standard ones.
const firstSchemaFile = 3

// schemaLocation is where the child finds a text of the schema.
func schemaLocation(index int) string {
	return "/dev/fd/" + strconv.Itoa(firstSchemaFile+index)
}

// run checks a document by the texts of a schema, and calls line for each line that the child writes. Its error is the
// end of the context or that the child could not be run.
func (x xmllint) run(ctx context.Context, schema [][]byte, document []byte, line func(string)) (lintEnd, error) {
	bounded, cancel := boundedHere(ctx, x.time)
	defer cancel()
	err := x.feed(bounded, schema, document, line)
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("check by XML Schema: %w", ctx.Err())
	case bounded.Err() != nil:
		return lintOutOfTime, nil
	case err == nil:
		return lintChecked, nil
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0, err
	}
	switch exit.ExitCode() {
	case exitValid, exitInvalid, exitInvalidToo:
		return lintChecked, nil
	case exitMalformed:
		return lintMalformed, nil
	case exitSchemaInvalid:
		return lintSchemaInvalid, nil
	case exitOutOfMemory:
		return lintOutOfMemory, nil
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		if status.Signal() == syscall.SIGXCPU {
			return lintOutOfTime, nil
		}
		return lintOutOfMemory, nil
	}
	return 0, fmt.Errorf("run xmllint: %w", err)
}

// feed starts the child, bounds it before it has anything to do, and gives it the schema and the document. Texts of
// more than 10 MB are huge to it; the engine has its own limits, and its reader expands no entity.
func (x xmllint) feed(ctx context.Context, schema [][]byte, document []byte, line func(string)) error {
	schemaIn, schemaOut, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	//nolint:gosec // the program was looked up; nothing of a document or a schema is an argument
	cmd := exec.CommandContext(ctx, x.path,
		"--nonet", "--nocatalogs", "--huge", "--noout", "--schema", schemaLocation(0), "-")
	cmd.ExtraFiles = []*os.File{schemaIn}
	cmd.Stdin = bytes.NewReader(document)
	cmd.Env = []string{"LC_ALL=C"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killDelay
	output, err := cmd.StderrPipe()
	if err == nil {
		err = startWith(cmd, schema[1:])
	}
	if err = errors.Join(err, schemaIn.Close()); err != nil {
		return errors.Join(fmt.Errorf("start xmllint: %w", err), schemaOut.Close())
	}
	if err := confine(cmd.Process.Pid, x.memory, x.time); err != nil {
		return errors.Join(err, cmd.Cancel(), schemaOut.Close(), cmd.Wait())
	}
	written := make(chan error)
	go func() {
		// A child that does not read all of it has ended; its exit code says why.
		_, _ = schemaOut.Write(schema[0])
		written <- schemaOut.Close()
	}()
	// All of the output is read before the child is waited for: waiting closes the pipe.
	readErr := readLines(output, line)
	return errors.Join(<-written, cmd.Wait(), readErr)
}

// startWith starts the child with the texts that its schema refers to. A pipe will not do for them: a text without a
// namespace is read for each namespace that includes it.
func startWith(cmd *exec.Cmd, texts [][]byte) error {
	var files []*os.File
	var err error
	for _, text := range texts {
		var file *os.File
		if file, err = textFile(text); err != nil {
			break
		}
		files = append(files, file)
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, files...)
	if err == nil {
		err = cmd.Start()
	}
	for _, file := range files {
		err = errors.Join(err, file.Close())
	}
	return err
}

// readLines calls line for each line.
func readLines(output io.Reader, line func(string)) error {
	reader := bufio.NewReaderSize(output, maxLintLine)
	for {
		text, err := readLine(reader)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output of xmllint: %w", err)
		}
		line(text)
	}
}

// readLine returns the next line. Of a long one it keeps the beginning and the end, where xmllint says what is wrong.
func readLine(reader *bufio.Reader) (string, error) {
	var line []byte
	isLong := false
	for {
		piece, more, err := reader.ReadLine()
		if err != nil && len(line) == 0 {
			return "", err
		}
		line = append(line, piece...)
		if len(line) > 3*maxLintLine {
			line = slices.Delete(line, maxLintLine, len(line)-maxLintLine)
			isLong = true
		}
		if !more {
			break
		}
	}
	if isLong {
		line = slices.Insert(line, maxLintLine, []byte(cutMark)...)
	}
	return string(line), nil
}
