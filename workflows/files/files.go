// Package files reads and writes workflows as files: the format, what is wrong with a file and where, bundles of the
// schemas that a file names, files made from samples, and the commands that need no server.
package files

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const (
	// Version is that of the format of workflow files.
	Version = 1
	// MaxBytes bounds a workflow, in a file and in a request.
	MaxBytes = 2 << 20
	// MaxDepth is how deep the values of one may nest.
	MaxDepth = 200
	// maxFileValues bounds a workflow file, aliases counted as often as they are used.
	maxFileValues = 100_000
	// maxCheckedSteps is how many steps are checked of a file that has not the right form. One that has it has no more.
	maxCheckedSteps = 50
)

// SlugIsID says what a slug must not be, because workflows are found by both.
const SlugIsID = "must not have the form of a UUID"

// File is a workflow as a file: its names and its definition, without its id and state on a server.
type File struct {
	SchemaVersion int    `json:"schema_version"`
	Slug          string `json:"slug"           validate:"required,max=63,excludesrune=\x00"`
	Name          string `json:"name"           validate:"required,max=200,excludesrune=\x00"`
	Description   string `json:"description"    validate:"max=2000,excludesrune=\x00"`
	validations.Definition
}

// Fault is a fault of a workflow file. Line and Column are those of the value that the pointer leads to, or of
// the nearest one around it; they are 0 where there is no such value.
type Fault struct {
	engines.ConfigError
	Line   int
	Column int
}

// Parser reads workflow files. It may be used by several callers at once.
type Parser struct {
	limits engines.Limits
	fields *core.Validator
	// form checks files by the published schema, with the engine that checks documents.
	form engines.Engine
	// Checks bounds the files that are checked at once; nil for the commands.
	Checks *Checks
}

// NewParser compiles the published schema, which takes longer than a file does.
func NewParser() (*Parser, error) {
	limits := engines.DefaultLimits()
	limits.MaxTreeBytes, limits.MaxYAMLBytes = MaxBytes, MaxBytes
	limits.MaxDepth, limits.MaxValues = MaxDepth, maxFileValues
	config, err := json.Marshal(map[string]json.RawMessage{"schema": docs.WorkflowFileSchema()})
	if err != nil {
		return nil, fmt.Errorf("read the schema of workflow files: %w", err)
	}
	form, problems := engines.Compile(engines.KindJSONSchema, config, limits)
	if len(problems) > 0 {
		return nil, fmt.Errorf("compile the schema of workflow files: %s %s", problems[0].Pointer, problems[0].Detail)
	}
	return &Parser{limits: limits, fields: core.NewValidator(), form: form}, nil
}

// Parse reads a workflow file, which is YAML or JSON, and compiles its steps. It returns everything that is wrong with
// the file; the error is the end of the context.
func (p *Parser) Parse(ctx context.Context, content []byte) (File, []Fault, error) {
	var file File
	var faults []Fault
	err := p.Checks.Run(ctx, func(ctx context.Context) error {
		var err error
		file, faults, err = p.parse(ctx, content)
		return err
	})
	return file, faults, err
}

func (p *Parser) parse(ctx context.Context, content []byte) (File, []Fault, error) {
	text, unreadable := engines.ReadYAML(content, p.limits)
	if unreadable != nil {
		return File{}, []Fault{faultOf(*unreadable)}, nil
	}
	faults, err := p.checkForm(ctx, content)
	if err != nil {
		return File{}, nil, err
	}
	if len(faults) > 0 {
		behind, err := checkSteps(ctx, text.JSON, faults)
		return File{}, sorted(append(faults, placed(text, behind)...)), err
	}
	var file File
	if err := jsonv2.Unmarshal(text.JSON, &file, jsonv2.RejectUnknownMembers(true)); err != nil {
		return File{}, nil, fmt.Errorf("read a workflow file that has the right form: %w", err)
	}
	problems, err := p.check(ctx, file)
	return file, sorted(placed(text, problems)), err
}

// placed finds the lines of faults, of those in a text within the file the line of the text.
func placed(text engines.YAMLText, problems []engines.ConfigError) []Fault {
	var faults []Fault
	for _, problem := range problems {
		line, column := text.Place(problem.Pointer)
		if within := problem.Inside; within.Line > 0 {
			if number, at, ok := text.PlaceInside(problem.Pointer, within.Line, within.Column); ok {
				line, column, problem.Detail = number, at, within.Words
			}
		}
		faults = append(faults, Fault{problem, line, column})
	}
	return faults
}

// sorted puts faults into the order of their lines. Those without a line come last.
func sorted(faults []Fault) []Fault {
	last := func(line int) int { return (line + math.MaxInt) % math.MaxInt }
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(last(a.Line-1), last(b.Line-1)), cmp.Compare(a.Column, b.Column))
	})
	return faults
}

// checkSteps checks the configurations in a file of the wrong form. Steps whose own form is wrong are left out, because
// the meaning of their configuration is unknown.
func checkSteps(ctx context.Context, text []byte, faults []Fault) ([]engines.ConfigError, error) {
	var file struct {
		Steps []json.RawMessage `json:"steps"`
	}
	if json.Unmarshal(text, &file) != nil {
		return nil, nil //nolint:nilerr // The steps are no list, which is one of the faults.
	}
	var problems []engines.ConfigError
	for i, body := range file.Steps[:min(len(file.Steps), maxCheckedSteps)] {
		at := fmt.Sprintf("/steps/%d/", i)
		isWrong := slices.ContainsFunc(faults, func(f Fault) bool {
			return strings.HasPrefix(f.Pointer, at+"type") || strings.HasPrefix(f.Pointer, at+"config")
		})
		var step validations.Step
		if isWrong || json.Unmarshal(body, &step) != nil || step.Type == "" || len(step.Config) == 0 {
			continue
		}
		found, err := step.Check(ctx, i)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

func (p *Parser) checkForm(ctx context.Context, content []byte) ([]Fault, error) {
	report, err := p.form.Run(ctx, engines.NewDocument(content, mediatype.YAML, ""))
	if err != nil {
		return nil, fmt.Errorf("check a workflow file: %w", err)
	}
	faults := make([]Fault, len(report.Findings))
	for i, finding := range report.Findings {
		faults[i] = faultOf(finding)
	}
	return faults, nil
}

// check makes the checks that the schema cannot express, and compiles the steps.
func (p *Parser) check(ctx context.Context, f File) ([]engines.ConfigError, error) {
	broken, err := p.fields.Fields(f)
	if err != nil {
		return nil, err
	}
	var problems []engines.ConfigError
	for _, field := range broken {
		// The definition's members are the file's own.
		pointer := strings.TrimPrefix(field.Pointer, "/Definition")
		problems = append(problems, engines.ConfigError{Pointer: pointer, Code: field.Code, Detail: field.Detail})
	}
	if _, ok := core.ParseID(f.Slug); ok {
		problems = append(problems, engines.ConfigError{Pointer: "/slug", Code: "slug", Detail: SlugIsID})
	}
	faults, err := f.Check(ctx)
	return append(problems, faults...), err
}

func faultOf(f engines.Finding) Fault {
	return Fault{engines.ConfigError{Pointer: f.Path, Code: f.Code, Detail: f.Message}, f.Line, f.Column}
}

// Warnings returns the members of a parsed file that probably do not do what its author wants, with their places in the
// content.
func (p *Parser) Warnings(file File, content []byte) []Fault {
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

// inFile writes a fault of the file of that name as compilers do.
func (f Fault) inFile(name string) string {
	if f.Line > 0 {
		name = fmt.Sprintf("%s:%d:%d", name, f.Line, max(1, f.Column))
	}
	return name + ": " + cli.Clean(strings.TrimSpace(f.Pointer+" "+f.Detail))
}
