package workflows

import (
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

// definitionFields writes errors or warnings about a definition that is sent as a member of a body.
func definitionFields(problems []engines.ConfigError) []api.FieldError {
	var fields []api.FieldError
	for _, problem := range problems {
		fields = append(fields, api.FieldError{
			Pointer: "/definition" + problem.Pointer, Code: problem.Code, Detail: problem.Detail,
		})
	}
	return fields
}

// fieldsOf writes errors or warnings about a file as answers have them.
func fieldsOf(faults []files.Fault) []api.FieldError {
	fields := make([]api.FieldError, len(faults))
	for i, fault := range faults {
		fields[i] = api.FieldError{
			Pointer: fault.Pointer, Line: fault.Line, Column: fault.Column, Code: fault.Code, Detail: fault.Detail,
		}
	}
	return fields
}
