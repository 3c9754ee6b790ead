package program

import (
	"context"
	"io"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// rows are what a program writes while it runs.
type rows struct {
	*io.PipeReader

	stop  context.CancelFunc
	ended chan struct{}
}

// Rows starts a program that reads a document as a table, and returns what it writes (port.Reader); close it. Where the
// program does not end well, or is not installed, the error says why there is no verdict on the document.
func Rows(
	ctx context.Context, name string, memory int64, doc engine.Document, limits engine.Limits,
) (io.ReadCloser, error) {
	e := &Engine{name: name, memory: func(string, int64) int64 { return memory }, limits: limits}
	if _, faults := e.find(""); len(faults) > 0 {
		return nil, &engine.FailedError{Reason: faults[0].Detail + " (" + faults[0].Code + ")"}
	}
	command, input, err := e.command(port.TaskRows, doc)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	output, to := io.Pipe()
	r := &rows{output, stop, make(chan struct{})}
	go func() {
		defer close(r.ended)
		said := new(Said)
		end, err := command.Run(ctx, Streams{In: input, Out: to, Err: said})
		if err == nil {
			err = e.verdict(command, end, said)
		}
		_ = to.CloseWithError(err) // It never fails.
	}()
	return r, nil
}

// Close ends the program; what it has not written is lost.
func (r *rows) Close() error {
	r.stop()
	err := r.PipeReader.Close()
	<-r.ended // It may still read the document.
	return err
}
