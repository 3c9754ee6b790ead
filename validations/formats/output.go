package formats

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Threshold is the lowest severity that fails a command.
type Threshold string

// The thresholds.
const (
	FailOnError   Threshold = "error"
	FailOnWarning Threshold = "warning"
	FailNever     Threshold = "never"
)

// Output is the flags of a command that say where and how it writes its verdict.
type Output struct {
	format      string
	files       []string
	failOn      string
	maxFindings int
	noColor     bool
	quiet       bool
}

// Terminal is the environment of a command.
type Terminal struct {
	Stdout io.Writer
	// Environ looks a variable of the environment up.
	Environ func(name string) string
	// Interactive is set if standard output is a terminal.
	Interactive bool
}

// defaultFindings is how many findings a text shows.
const defaultFindings = 50

// Bind adds the flags to a command.
func (o *Output) Bind(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&o.format, "format", "",
		"text, json, sarif, junit, github or csv (default text, and github in GitHub Actions)")
	flags.StringArrayVar(&o.files, "output", nil,
		"also write a report to this file, in the format of its extension, or as FORMAT=FILE; may be repeated")
	flags.StringVar(&o.failOn, "fail-on", string(FailOnError),
		"lowest severity for exit code 1: error, warning or never")
	flags.IntVar(&o.maxFindings, "max-findings", defaultFindings, "maximum findings in text, 0 for all")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "write no text about documents without findings")
	flags.BoolVar(&o.noColor, "no-color", false, "write text without colors")
	CompleteFlag(command, "format", Formats()...)
	CompleteFlag(command, "fail-on", FailOnError, FailOnWarning, FailNever)
}

// CompleteFlag registers the values of a flag for shell completion.
func CompleteFlag[T ~string](command *cobra.Command, flag string, values ...T) {
	var completions []cobra.Completion
	for _, value := range values {
		completions = append(completions, string(value))
	}
	// The only error is that the flag does not exist.
	_ = command.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(completions, cobra.ShellCompDirectiveNoFileComp))
}

// Check validates the flags before the command begins its work.
func (o *Output) Check() error {
	var faults []error
	if o.format != "" {
		_, err := ParseFormat(o.format)
		faults = append(faults, err)
	}
	for _, file := range o.files {
		faults = append(faults, checkFile(file))
	}
	switch Threshold(o.failOn) {
	case FailOnError, FailOnWarning, FailNever:
	default:
		faults = append(faults, fmt.Errorf("--fail-on is error, warning or never, not %q", o.failOn))
	}
	if o.maxFindings < 0 {
		faults = append(faults, errors.New("--max-findings is 0 or more"))
	}
	return errors.Join(faults...)
}

// Format is the format of standard output.
func (o *Output) Format(terminal Terminal) Format {
	switch {
	case o.format != "":
		return Format(o.format)
	case terminal.Environ("GITHUB_ACTIONS") == "true":
		return FormatGitHub
	default:
		return FormatText
	}
}

// Write writes the verdict to standard output and to the files, and in GitHub Actions to the summary of the step.
func (o *Output) Write(v Verdict, terminal Terminal) error {
	plain := TextOptions{MaxFindings: o.maxFindings, Quiet: o.quiet}
	for _, file := range o.files {
		format, name, err := parseFile(file)
		if err == nil {
			err = writeFile(name, format, v, plain)
		}
		if err != nil {
			return err
		}
	}
	format := o.Format(terminal)
	colored := plain
	colored.Color = terminal.Interactive && !o.noColor && terminal.Environ("NO_COLOR") == "" &&
		terminal.Environ("TERM") != "dumb"
	report, err := format.Write(v, colored)
	if err != nil {
		return err
	}
	if _, err := terminal.Stdout.Write(report); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if summary := terminal.Environ("GITHUB_STEP_SUMMARY"); summary != "" && format == FormatGitHub {
		return appendFile(summary, Summary(v))
	}
	return nil
}

// Failed reports whether findings reach the threshold.
func (o *Output) Failed(v Verdict) bool {
	counts := v.Counts()
	switch Threshold(o.failOn) {
	case FailNever:
		return false
	case FailOnWarning:
		return counts.Errors > 0 || counts.Warnings > 0
	case FailOnError:
		return counts.Errors > 0
	default:
		return true
	}
}

// parseFile reads FILE, whose extension names the format, or FORMAT=FILE.
func parseFile(text string) (Format, string, error) {
	if name, file, ok := strings.Cut(text, "="); ok && file != "" {
		if format, err := ParseFormat(name); err == nil {
			return format, file, nil
		}
	}
	if format, ok := FormatOf(text); ok {
		return format, text, nil
	}
	return "", "", fmt.Errorf("--output %s: no format has this extension; write FORMAT=%s, such as json=%s",
		text, text, text)
}

// checkFile refuses a file that certainly cannot be written, before the command begins its work.
func checkFile(text string) error {
	_, file, err := parseFile(text)
	if err != nil {
		return err
	}
	folder := filepath.Dir(file)
	if found, err := os.Stat(folder); err != nil || !found.IsDir() {
		return fmt.Errorf("--output %s: there is no folder %s", text, folder)
	}
	return nil
}

func writeFile(name string, format Format, v Verdict, options TextOptions) error {
	report, err := format.Write(v, options)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, report, 0o644); err != nil { //nolint:gosec // others may read a report
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func appendFile(name string, text []byte) error {
	//nolint:gosec // the user of the command names the file
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}
