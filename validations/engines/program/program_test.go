package program_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/program"
	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// behaviors are what the binary of the tests does where it is started as a program of one of these names.
var behaviors = map[string]func(){
	"good":   func() { port.Serve(words{}) },
	"silent": func() { time.Sleep(time.Hour) },
	"endless": func() {
		for {
			fmt.Println(oneFinding)
		}
	},
	"forks": func() {
		left := exec.Command("sleep", "3600")
		left.Stdout, left.Stderr = os.Stdout, os.Stderr
		if err := left.Start(); err != nil {
			panic(err)
		}
		fmt.Println(oneFinding)
	},
	"early":  func() {},
	"breaks": func() { fmt.Println(oneFinding); fmt.Fprintln(os.Stderr, "first\nno <license>"); os.Exit(5) },
	"spent":  func() { fmt.Fprintln(os.Stderr, "note\nneeded more than 7 licenses"); os.Exit(port.ExitExhausted) },
	"killed": func() {
		fmt.Println(oneFinding)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	},
	"hangs": func() {
		fmt.Println(oneFinding)
		_, _ = io.Copy(io.Discard, os.Stdin)
		time.Sleep(time.Hour)
	},
	"hungry": func() {
		for held := [][]byte{}; ; held = append(held, make([]byte, 1<<20)) {
			for i := range held {
				held[i][0]++
			}
		}
	},
	"busy": func() {
		for i := 0; ; i++ {
			_ = i
		}
	},
	"shows": func() {
		folder, _ := os.Getwd()
		line, err := json.Marshal(port.Line{Finding: &port.Finding{
			Severity: "INFO", Code: "shown", Message: fmt.Sprint(folder, os.Args, os.Environ()),
		}})
		if err != nil {
			panic(err)
		}
		fmt.Println(string(line))
	},
	"no_json":    func() { fmt.Println(`{"finding":`) },
	"unknown":    func() { fmt.Println(`{"finding":{"severity":"INFO","code":"a","message":"b","color":"c"}}`) },
	"two":        func() { fmt.Println(`{"truncated":true,"counts":{"errors":1,"warnings":0,"infos":0}}`) },
	"none":       func() { fmt.Println(`{}`) },
	"severe":     func() { fmt.Println(`{"finding":{"severity":"FATAL","code":"a","message":"b"}}`) },
	"speechless": func() { fmt.Println(`{"finding":{"severity":"INFO","code":"a","message":" "}}`) },
	"negative":   func() { fmt.Println(`{"finding":{"severity":"INFO","code":"a","message":"b","line":-1}}`) },
	"misplaced":  func() { fmt.Println(`{"promise":{"words":"a"}}`) },
	"long_line":  func() { fmt.Println(`{"truncated":` + strings.Repeat(" ", port.MaxLine) + `true}`) },
}

const oneFinding = `{"finding":{"severity":"ERROR","code":"a","message":"b"}}`

// words finds the words of a document that a configuration forbids.
type words struct{}

func (words) Configure(config json.RawMessage) ([]port.Fault, []port.Promise) {
	var c struct {
		Forbidden string `json:"forbidden"`
	}
	if err := json.Unmarshal(config, &c); err != nil || c.Forbidden == "" {
		return []port.Fault{{Pointer: "/forbidden", Code: "words.missing", Detail: "forbid a word"}}, nil
	}
	return nil, []port.Promise{{Subject: c.Forbidden, Words: "is nowhere", Severity: "ERROR"}}
}

func (words) Check(request port.Request, document io.Reader) (port.Report, error) {
	content, err := io.ReadAll(document)
	if err != nil {
		return port.Report{}, err
	}
	var c struct {
		Forbidden string `json:"forbidden"`
	}
	if err := json.Unmarshal(request.Config, &c); err != nil {
		return port.Report{}, err
	}
	var report port.Report
	for at := 0; ; at++ {
		next := strings.Index(string(content[at:]), c.Forbidden)
		if next < 0 {
			break
		}
		at += next
		offset := int64(at)
		report.Findings = append(report.Findings, port.Finding{
			Severity: "ERROR", Code: "words.forbidden", Message: request.Filename + " has it", Offset: &offset,
			Line: 1 + strings.Count(string(content[:at]), "\n"),
		})
	}
	if strings.HasSuffix(request.MediaType, "folded") {
		report.Counts = &port.Counts{Errors: 7, Infos: 2}
		report.Truncated = true
	}
	return report, nil
}

func TestMain(m *testing.M) {
	if behave, ok := behaviors[os.Args[0]]; ok {
		behave()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// limits have a folder with all programs.
func limits(tb testing.TB) engine.Limits {
	tb.Helper()
	this, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	within := engine.DefaultLimits()
	within.Programs = tb.TempDir()
	for name := range behaviors {
		if err := os.Symlink(this, filepath.Join(within.Programs, name)); err != nil {
			tb.Fatal(err)
		}
	}
	return within
}

func compile(tb testing.TB, name, config string, within engine.Limits) *program.Engine {
	tb.Helper()
	e, faults := program.Compile(program.Config{Program: name, Config: json.RawMessage(config)}, within)
	if len(faults) > 0 {
		tb.Fatal(faults)
	}
	return e
}

func TestCheck(t *testing.T) {
	t.Parallel()
	e := compile(t, "good", "{\"forbidden\":\n\"ab\"}", limits(t))
	for name, tt := range map[string]struct {
		mediaType string
		want      engine.Report
	}{
		"Counted": {"text/plain", engine.Report{Errors: 2}},
		"Folded":  {"text/folded", engine.Report{Errors: 7, Infos: 2, Truncated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := e.Run(t.Context(), engine.NewDocument([]byte("x ab\nö ab y\n"), tt.mediaType, "a.txt"))
			tt.want.Findings = []engine.Finding{
				{
					Severity: "ERROR", Code: "words.forbidden", Message: "a.txt has it", Line: 1, Excerpt: "x ab",
					Count: 1,
				},
				{
					Severity: "ERROR", Code: "words.forbidden", Message: "a.txt has it", Line: 2, Excerpt: "ö ab y",
					Count: 1,
				},
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("Run: %v\n%s", err, diff)
			}
		})
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	within := limits(t)
	faults, err := compile(t, "good", `{"forbidden":"ab"}`, within).Precheck(t.Context())
	if err != nil || faults != nil {
		t.Errorf("Precheck = %v, %v", faults, err)
	}
	faults, err = compile(t, "good", `{}`, within).Precheck(t.Context())
	want := []engine.ConfigError{{Pointer: "/config/forbidden", Code: "words.missing", Detail: "forbid a word"}}
	if diff := cmp.Diff(want, faults); diff != "" || err != nil {
		t.Errorf("Precheck: %v\n%s", err, diff)
	}
	for name, code := range map[string]string{
		"../good": "program.name", "/bin/sh": "program.name", "": "program.name", "absent": "program.not_installed",
	} {
		_, faults := program.Compile(program.Config{Program: name}, within)
		if len(faults) != 1 || faults[0].Code != code {
			t.Errorf("%s: faults = %v, want %s", name, faults, code)
		}
	}
}

func TestHostilePrograms(t *testing.T) {
	t.Parallel()
	within := limits(t)
	within.MaxProgramTime = time.Second
	large := engine.NewDocument(make([]byte, 8<<20), "", "")
	for name, want := range map[string]string{
		"endless":    "the program endless answered more than 8 MiB",
		"breaks":     "the program breaks ended with the exit code 5: no <license>",
		"spent":      "needed more than 7 licenses",
		"killed":     "needed more than 256 MiB of memory",
		"hungry":     "needed more than 256 MiB of memory",
		"busy":       "needed more than 1s of processor time",
		"no_json":    "the program no_json gave an invalid answer: line 1: ",
		"unknown":    "the program unknown gave an invalid answer: line 1: ",
		"two":        "the program two gave an invalid answer: line 1 needs one member",
		"none":       "the program none gave an invalid answer: line 1 needs one member",
		"severe":     "the program severe gave an invalid answer: line 1 needs a severity",
		"speechless": "the program speechless gave an invalid answer: line 1 needs a code",
		"negative":   "the program negative gave an invalid answer: line 1 has a number",
		"misplaced":  "the program misplaced gave an invalid answer: line 1 needs one member",
		"long_line":  "the program long_line gave an invalid answer: line 1 is longer",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := compile(t, name, `{}`, within).Run(t.Context(), large)
			if err == nil || !strings.HasPrefix(err.Error(), want) || len(got.Findings) > 0 {
				t.Errorf("Run = %v, %v, want %q", got, err, want)
			}
			exhausted, failed := new(engine.ExhaustedError), new(engine.FailedError)
			if !errors.As(err, &exhausted) && !errors.As(err, &failed) {
				t.Errorf("error = %T, want one with a reason", err)
			}
		})
	}
	for name, want := range map[string]int{"forks": 1, "early": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := compile(t, name, `{}`, within).Run(t.Context(), large); err != nil || got.Errors != want {
				t.Errorf("Run = %v, %v, want %d errors", got, err, want)
			}
		})
	}
	for _, name := range []string{"silent", "hangs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := compile(t, name, `{}`, within).Run(ctx, large); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error = %v, want the end of the context", err)
			}
		})
	}
}

var errSource = errors.New("the document is gone")

// gone is a document whose end cannot be read.
type gone struct{}

func (gone) ReadAt(to []byte, at int64) (int, error) {
	if at > 0 {
		return 0, errSource
	}
	return len(to), nil
}

// A program that reads only a part of the document has no verdict on it.
func TestDocumentThatCannotBeRead(t *testing.T) {
	t.Parallel()
	document := engine.Document{Content: gone{}, Size: 4 << 20}
	_, err := compile(t, "good", `{"forbidden":"a"}`, limits(t)).Run(t.Context(), document)
	if !errors.Is(err, errSource) {
		t.Errorf("error = %v, want that of the document", err)
	}
}

func TestWhatProgramsSee(t *testing.T) {
	t.Parallel()
	got, err := compile(t, "shows", `{}`, limits(t)).Run(t.Context(), engine.NewDocument(nil, "", ""))
	want := "/[shows] [LC_ALL=C.UTF-8 PATH=/usr/bin:/bin GOMAXPROCS=1 GOTRACEBACK=none GOMEMLIMIT=214748364]"
	if err != nil || len(got.Findings) != 1 || got.Findings[0].Message != want {
		t.Errorf("Run = %v, %v, want %s", got.Findings, err, want)
	}
}
