package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/simplevalidations/simplevalidations/core/cli"
)

// ReadFile reads a workflow from the file of that name. Its errors are listed as compilers list them, and so are
// warnings, which are written to warn.
func (p *Parser) ReadFile(ctx context.Context, name string, warn io.Writer) (File, error) {
	opened, err := os.Open(name) //nolint:gosec // the caller's own file is what is to be read
	if err != nil {
		return File{}, cli.Misuse("%v", err)
	}
	content, err := io.ReadAll(io.LimitReader(opened, MaxBytes+1))
	if err := errors.Join(err, opened.Close()); err != nil {
		return File{}, cli.Misuse("%v", err)
	}
	file, faults, err := p.Parse(ctx, content)
	if err != nil {
		return File{}, interrupted(ctx, err)
	}
	if len(faults) == 0 {
		for _, warning := range p.Warnings(file, content) {
			fmt.Fprintf(warn, "warning: %s\n", warning.inFile(name))
		}
		return file, nil
	}
	lines := []string{"the workflow file is wrong:"}
	for _, fault := range faults {
		lines = append(lines, fault.inFile(name))
	}
	return File{}, cli.Misuse("%s", strings.Join(lines, "\n  "))
}

func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &cli.ExitError{Code: cli.ExitInterrupted, Reason: "interrupted"}
	}
	return err
}
