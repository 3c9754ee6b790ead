// Command trial checks documents by XML Schemas with this product's engine and with plain xmllint, and prints where the
// two differ.
//
//	go run ./validations/engines/xml/trial [-v] < PAIRS
//
// Each line of PAIRS is the file of a schema, a tab, and the file of a document. What a schema includes is read from
// the files beside it. Differences that are expected: xmllint runs out of its processor time, and documents that the
// engine refuses for their form, such as those with a document type declaration.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func main() {
	verbose := flag.Bool("v", false, "print every pair, with the processor time of xmllint and the time of the engine")
	flag.Parse()
	if err := run(context.Background(), os.Stdin, os.Stdout, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// outcome is what a checker says of a document.
type outcome struct {
	verdict string
	errors  int
	took    time.Duration
}

// String is an outcome in a few words.
func (o outcome) String() string {
	return fmt.Sprintf("%s, %d, %v", o.verdict, o.errors, o.took.Round(time.Millisecond))
}

func run(ctx context.Context, pairs io.Reader, out io.Writer, verbose bool) error {
	counts := map[string]int{}
	lines := bufio.NewScanner(pairs)
	for lines.Scan() {
		schema, document, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			return fmt.Errorf("no tab in %q", lines.Text())
		}
		plain, err := byXMLLint(ctx, schema, document)
		if err != nil {
			return err
		}
		ours, err := byEngine(ctx, schema, document)
		if err != nil {
			return err
		}
		same := plain.verdict == ours.verdict && plain.errors == ours.errors
		counts[plain.verdict+" and "+ours.verdict]++
		if verbose || !same {
			fmt.Fprintf(out, "xmllint: %s; engine: %s: %s %s\n", plain, ours, schema, document)
		}
	}
	for verdicts, n := range counts {
		fmt.Fprintf(out, "%6d xmllint and engine: %s\n", n, verdicts)
	}
	return lines.Err()
}

var complaint = regexp.MustCompile(`: Schemas validity error : (Element '[^']*'(?:, attribute '[^']*')?: )?(.*)`)

// byXMLLint lets xmllint check a document as anybody would, for at most a minute of processor time.
func byXMLLint(ctx context.Context, schema, document string) (outcome, error) {
	//nolint:gosec // the caller names the files
	command := exec.CommandContext(
		ctx, "sh", "-c", `ulimit -t 60; exec xmllint --nonet --noout --schema "$0" "$1" 2>&1`, schema, document)
	output, err := command.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return outcome{}, fmt.Errorf("run xmllint: %w", err)
	}
	end := outcome{took: command.ProcessState.UserTime() + command.ProcessState.SystemTime()}
	switch code := command.ProcessState.ExitCode(); {
	case code == 0:
		end.verdict = "PASS"
	case strings.Contains(string(output), "failed to compile"):
		end.verdict = "REFUSED"
	case code == 1:
		end.verdict = "MALFORMED"
	case strings.Contains(string(output), "fails to validate"):
		end.verdict = "FAIL"
	default:
		end.verdict = "ERROR"
	}
	for _, found := range complaint.FindAllStringSubmatch(string(output), -1) {
		if !strings.HasPrefix(found[2], "Warning: ") {
			end.errors++
		}
	}
	return end, nil
}

// byEngine lets the engine check a document by the schema and the files that it names.
func byEngine(ctx context.Context, schema, document string) (outcome, error) {
	text, err := os.ReadFile(schema) //nolint:gosec // the caller names the file
	if err != nil {
		return outcome{}, fmt.Errorf("read schema: %w", err)
	}
	schemas := map[string]string{}
	collect(filepath.Dir(schema), ".", string(text), schemas)
	config, err := json.Marshal(map[string]any{"schema": string(text), "schemas": schemas})
	if err != nil {
		return outcome{}, fmt.Errorf("write step: %w", err)
	}
	limits := engines.DefaultLimits()
	faults, err := engines.Check(ctx, engines.KindXML, config, limits)
	if err != nil {
		return outcome{}, fmt.Errorf("try schema: %w", err)
	}
	if len(faults) > 0 {
		return outcome{verdict: "REFUSED"}, nil
	}
	engine, _ := engines.Compile(engines.KindXML, config, limits)
	content, err := os.ReadFile(document) //nolint:gosec // the caller names the file
	if err != nil {
		return outcome{}, fmt.Errorf("read document: %w", err)
	}
	began := time.Now()
	report, err := engine.Run(ctx, engines.NewDocument(content, "application/xml", ""))
	end := outcome{verdict: "PASS", errors: report.Errors, took: time.Since(began)}
	switch {
	case err != nil:
		end.verdict = "ERROR"
	case report.Errors > 0 && report.Findings[0].Code != "xml.schema":
		end.verdict = "MALFORMED"
	case report.Errors > 0:
		end.verdict = "FAIL"
	}
	return end, nil
}

var location = regexp.MustCompile(`schemaLocation\s*=\s*["']\s*([^"']*?)\s*["']`)

// collect reads the files that a schema names, by their names from the folder of the first one. Files that are missing
// are left out.
func collect(root, folder, text string, schemas map[string]string) {
	for _, found := range location.FindAllStringSubmatch(text, -1) {
		name := filepath.Join(folder, found[1])
		if _, known := schemas[name]; known {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name)) //nolint:gosec // it is for the developer's own schemas
		if err != nil {
			continue
		}
		schemas[name] = string(content)
		collect(root, filepath.Dir(name), string(content), schemas)
	}
}
