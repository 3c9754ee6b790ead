package workflows

import (
	"fmt"
	"strings"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// Warnings returns the members of a parsed file that probably do not do what its author wants, with their places in the
// content.
func (p *FileParser) Warnings(file File, content []byte) []FileError {
	doubts := file.Warnings()
	if len(doubts) == 0 {
		return nil
	}
	text, unreadable := engines.ReadYAML(content, p.limits)
	if unreadable != nil {
		return nil
	}
	return sorted(placed(text, doubts))
}

// definitionWarnings are the warnings about a definition that is sent as a member of a body.
func definitionWarnings(definition validations.Definition) []core.FieldError {
	var fields []core.FieldError
	for _, doubt := range definition.Warnings() {
		fields = append(fields, core.FieldError{
			Pointer: "/definition" + doubt.Pointer, Code: doubt.Code, Detail: doubt.Detail,
		})
	}
	return fields
}

// fieldsOf writes errors or warnings about a file as answers have them.
func fieldsOf(faults []FileError) []core.FieldError {
	fields := make([]core.FieldError, len(faults))
	for i, fault := range faults {
		fields[i] = core.FieldError{
			Pointer: fault.Pointer, Line: fault.Line, Column: fault.Column, Code: fault.Code, Detail: fault.Detail,
		}
	}
	return fields
}

// warningNotice says after a save how many warnings there are, and the first of them.
func warningNotice(warnings []core.FieldError) string {
	if len(warnings) == 0 {
		return ""
	}
	first := warnings[0]
	return fmt.Sprintf(" %s, the first in line %d: %s. Edit the workflow to see all.",
		core.Plural(len(warnings), "warning"), first.Line, first.Detail)
}

// inFile writes a fault of the file of that name as compilers do.
func (f FileError) inFile(name string) string {
	if f.Line > 0 {
		name = fmt.Sprintf("%s:%d:%d", name, f.Line, max(1, f.Column))
	}
	return name + ": " + strings.TrimSpace(f.Pointer+" "+f.Detail)
}
