package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// Config is the configuration of a program step.
type Config struct {
	Program string          `json:"program"`
	Config  json.RawMessage `json:"config,omitempty"`
}

// Engine checks documents by a program of the operator.
type Engine struct {
	name   string
	path   string
	config json.RawMessage
	// at is where the configuration of the program is in that of the step.
	at     string
	memory func(mediaType string, size int64) int64
	limits engine.Limits
}

// nameForm is that of the file of a program, so that a workflow cannot name a file elsewhere.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

// configureTime is how long a program may take to judge a configuration, by the clock. A person waits for it.
const configureTime = 10 * time.Second

const (
	// most is what a program may use.
	most = 256 << 20
	// idle is the memory of a program that keeps nothing.
	idle = 128 << 20
)

// Weigh is how many bytes of memory a program step needs, which are those that its program may use.
func Weigh(string, int64) int64 { return most }

// Compile checks the configuration of a step as far as it can without the program.
func Compile(c Config, limits engine.Limits) (*Engine, []engine.ConfigError) {
	if !nameForm.MatchString(c.Program) {
		detail := "name a program by up to 64 of the characters a-z, 0-9, _ and -, with a letter first"
		return nil, engine.Refuse("/program", "program.name", detail)
	}
	if len(c.Config) == 0 {
		c.Config = json.RawMessage("{}")
	}
	e := &Engine{name: c.Program, config: c.Config, at: "/config", memory: Weigh, limits: limits}
	return e.find("/program")
}

// Describe says what a step demands of documents.
func Describe(c Config, limits engine.Limits) []engine.Requirement {
	return describe(Compile(c, limits))
}

// kindTime is the processor time of a program that carries a kind. It has bounds of its own, and this one ends it where
// they fail.
const kindTime = 5 * time.Minute

// Kind is a kind of steps whose whole configuration is that of one program.
type Kind struct {
	Program string
	// Weigh is how many bytes of memory the check of a document needs, beyond those of a program that keeps nothing.
	Weigh func(mediaType string, size int64) int64
}

// Compile looks for the program.
func (k Kind) Compile(config json.RawMessage, limits engine.Limits) (*Engine, []engine.ConfigError) {
	memory := func(mediaType string, size int64) int64 { return idle + k.Weigh(mediaType, size) }
	limits.MaxProgramTime = kindTime
	e := &Engine{name: k.Program, config: config, memory: memory, limits: limits}
	return e.find("")
}

// Describe says what a step demands of documents.
func (k Kind) Describe(config json.RawMessage, limits engine.Limits) []engine.Requirement {
	return describe(k.Compile(config, limits))
}

// IsInstalled reports whether the file of a program can be executed.
func IsInstalled(name string, limits engine.Limits) bool {
	_, err := exec.LookPath(filepath.Join(limits.Programs, name))
	return limits.Programs != "" && err == nil
}

// find looks for the file of the program.
func (e *Engine) find(pointer string) (*Engine, []engine.ConfigError) {
	e.path = filepath.Join(e.limits.Programs, e.name)
	if !IsInstalled(e.name, e.limits) {
		detail := fmt.Sprintf("this server does not have the program %s: "+
			"put an executable file of this name into the folder that SV_PROGRAMS names", e.name)
		return nil, engine.Refuse(pointer, "program.not_installed", detail)
	}
	return e, nil
}

// Precheck lets the program judge the configuration.
func (e *Engine) Precheck(ctx context.Context) ([]engine.ConfigError, error) {
	given, err := e.configure(ctx)
	return given.faults, err
}

// describe asks a program what it demands of documents. It says nothing about a configuration that has faults.
func describe(e *Engine, faults []engine.ConfigError) []engine.Requirement {
	if len(faults) > 0 {
		return nil
	}
	given, err := e.configure(context.Background())
	if err != nil || len(given.faults) > 0 {
		return nil
	}
	return given.requirements
}

func (e *Engine) configure(ctx context.Context) (answer, error) {
	bounded, cancel := context.WithTimeout(ctx, configureTime)
	defer cancel()
	given, err := e.ask(bounded, port.TaskConfigure, engine.NewDocument(nil, "", ""))
	if ctx.Err() == nil && bounded.Err() != nil {
		return answer{}, e.failed("needed more than %s for its configuration", configureTime)
	}
	return given, err
}

// Run checks one document.
func (e *Engine) Run(ctx context.Context, doc engine.Document) (engine.Report, error) {
	given, err := e.ask(ctx, port.TaskCheck, doc)
	if err != nil {
		return engine.Report{}, err
	}
	return given.report(doc, e.limits), nil
}

// ask gives the program a task and the document, and reads its answer once the program has ended well.
func (e *Engine) ask(ctx context.Context, task string, doc engine.Document) (answer, error) {
	command, input, err := e.command(task, doc)
	if err != nil {
		return answer{}, err
	}
	out, said := new(answerText), new(Said)
	end, err := command.Run(ctx, Streams{In: input, Out: out, Err: said})
	switch {
	case ctx.Err() == nil && out.tooLong:
		return answer{}, e.failed("answered more than %d MiB", port.MaxOutput>>20)
	case err != nil:
		return answer{}, err
	}
	if err := e.verdict(command, end, said); err != nil {
		return answer{}, err
	}
	given, fault := readAnswer(out.text, task, e.at)
	if fault != "" {
		return answer{}, e.failed("gave an invalid answer: %s", fault)
	}
	return given, nil
}

// command returns the run of the program for a task, and what it reads: the request and the document.
func (e *Engine) command(task string, doc engine.Document) (Command, io.Reader, error) {
	request, err := jsonv2.Marshal(port.Request{
		Version: port.Version, Task: task, Config: e.config, MediaType: doc.MediaType, Filename: doc.Filename,
		Size: doc.Size, Limits: port.Limits{
			Findings: e.limits.MaxFindings, PerCheck: e.limits.MaxPerCheck, Excerpt: e.limits.MaxExcerpt,
		},
	})
	if err != nil {
		return Command{}, nil, fmt.Errorf("write a request: %w", err)
	}
	input := io.MultiReader(
		bytes.NewReader(append(request, '\n')), io.NewSectionReader(doc.Content, 0, doc.Size))
	return Command{
		Path: e.path, Args: []string{e.name}, Memory: e.memory(doc.MediaType, doc.Size), Time: e.limits.MaxProgramTime,
	}, input, nil
}

// verdict is nil where the program has ended well, so that its answer counts.
func (e *Engine) verdict(command Command, end End, said *Said) error {
	reason := engine.ClipTo(said.last(), engine.MaxMessage)
	switch {
	case end == End{}:
		return nil
	case end.OutOfTime:
		return command.OutOfTime()
	case end.Code == port.ExitExhausted && reason != "":
		return &engine.ExhaustedError{Reason: reason}
	case end.Signal == syscall.SIGKILL, said.OutOfMemory():
		return command.OutOfMemory()
	case end.Signal != 0:
		return e.failed("was ended by a signal: %s", end.Signal)
	}
	return e.failed("ended with the exit code %d: %s", end.Code, reason)
}

func (e *Engine) failed(format string, values ...any) error {
	return &engine.FailedError{Reason: "the program " + e.name + " " + fmt.Sprintf(format, values...)}
}
