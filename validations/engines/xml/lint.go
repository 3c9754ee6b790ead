package xml

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/program"
)

// lintEnd is how xmllint ended.
type lintEnd int

// The ends. A child that ended in any other way is an error.
const (
	lintChecked lintEnd = iota
	lintMalformed
	lintSchemaInvalid
	lintOutOfTime
	lintOutOfMemory
)

// lintEnds are the ends by the exit codes of xmllint. A document is valid at 0, and invalid at 3 and 4.
var lintEnds = map[int]lintEnd{
	0: lintChecked, 1: lintMalformed, 3: lintChecked, 4: lintChecked, 5: lintSchemaInvalid, 9: lintOutOfMemory,
}

// findXMLLint returns the program that checks by XML Schema, because Go has no validator for it. It answers false where
// the program is not installed. Texts of more than 10 MB are huge to it; the engine has its own limits, and its reader
// expands no entity.
func findXMLLint(limits engine.Limits) (program.Command, bool) {
	path, err := exec.LookPath("xmllint")
	if err != nil {
		return program.Command{}, false
	}
	return program.Command{
		Path: path,
		Args: []string{
			"xmllint", "--nonet", "--nocatalogs", "--huge", "--noout", "--schema", program.FileName(0), "-",
		},
		Memory: limits.MaxLintBytes, Time: limits.MaxLintTime,
	}, true
}

// lint checks a document by the texts of a schema, and calls line for each line that xmllint writes. Its error is the
// end of the context or that xmllint could not be run.
func (s *schema) lint(ctx context.Context, texts [][]byte, document []byte, line func(string)) (lintEnd, error) {
	lines := program.NewLines(line)
	end, err := s.xmllint.Run(ctx, program.Streams{In: bytes.NewReader(document), Err: lines, Files: texts})
	lines.Close()
	if err != nil {
		return 0, fmt.Errorf("check by XML Schema: %w", err)
	}
	switch {
	case end.OutOfTime:
		return lintOutOfTime, nil
	case end.Signal != 0:
		return lintOutOfMemory, nil
	}
	ended, known := lintEnds[end.Code]
	if !known {
		return 0, fmt.Errorf("xmllint ended with %d", end.Code)
	}
	return ended, nil
}
