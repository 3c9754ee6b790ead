// Command trial checks the tables of data packages by the Table Schemas that their publishers give them, and prints
// what it finds. It reads local files only.
//
//	go run ./validations/engines/table/trial [-json] FOLDER ...
//
// A data package is a JSON file with a list of resources (datapackage.org). Each schema that stands in a file of its
// own is compiled as well. With -json each table and each schema is a line of JSON, for comparison with another
// validator.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func main() {
	asJSON := flag.Bool("json", false, "print a line of JSON for each table and each schema")
	flag.Parse()
	if err := run(context.Background(), flag.Args(), os.Stdout, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// verdict is what became of a table or of a schema.
type verdict string

const (
	// passed and failed are those of tables, accepted and refused those of schemas.
	passed   verdict = "passed"
	failed   verdict = "failed"
	accepted verdict = "accepted"
	refused  verdict = "refused"
	// skipped is what this program cannot judge, such as a table that is not there.
	skipped verdict = "skipped"
)

// outcome is what is found of a table, or of a schema without one.
type outcome struct {
	Package  string         `json:"package"`
	Resource string         `json:"resource"`
	Path     string         `json:"path,omitempty"`
	Verdict  verdict        `json:"verdict"`
	Reason   string         `json:"reason,omitempty"`
	Findings map[string]int `json:"findings,omitempty"`
	First    string         `json:"first,omitempty"`
}

func run(ctx context.Context, folders []string, out io.Writer, asJSON bool) error {
	counts := map[verdict]int{}
	for _, folder := range folders {
		found, err := tablesIn(folder)
		if err != nil {
			return err
		}
		for _, one := range found {
			result, err := one.check(ctx)
			if err != nil {
				return err
			}
			counts[result.Verdict]++
			if err := result.print(out, asJSON); err != nil {
				return err
			}
		}
	}
	if !asJSON {
		for _, v := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(out, "%6d %s\n", counts[v], v)
		}
	}
	return nil
}

// print writes an outcome; in words only what does not pass.
func (o outcome) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(o)
	}
	if o.Verdict == passed || o.Verdict == accepted {
		return nil
	}
	codes := []string{}
	for _, code := range slices.Sorted(maps.Keys(o.Findings)) {
		codes = append(codes, fmt.Sprintf("%d %s", o.Findings[code], code))
	}
	_, err := fmt.Fprintf(out, "%s: %s %s: %s%s %s\n", o.Verdict, o.Package, o.Resource, o.Reason,
		strings.Join(codes, ", "), o.First)
	return err
}

// check judges a table by its schema, or the schema alone.
func (t *table) check(ctx context.Context) (outcome, error) {
	result := outcome{Package: t.file, Resource: t.name, Path: t.data, Verdict: skipped, Reason: t.obstacle}
	if t.schema == nil {
		return result, nil
	}
	config, err := json.Marshal(map[string]any{"schema": t.schema, "dialect": t.dialect})
	if err != nil {
		return result, err
	}
	engine, faults := engines.Compile(engines.KindTable, config, engines.DefaultLimits())
	switch {
	case len(faults) > 0:
		result.Verdict, result.Reason = refused, faults[0].Pointer+" "+faults[0].Detail
		return result, nil
	case t.data == "":
		result.Verdict = accepted
		return result, nil
	case t.obstacle != "":
		return result, nil
	}
	content, err := os.Open(t.data)
	if err != nil {
		return result, err
	}
	defer func() { _ = content.Close() }() // It was only read.
	info, err := content.Stat()
	if err != nil {
		return result, err
	}
	report, err := engine.Run(ctx, engines.Document{Content: content, Size: info.Size(), Filename: t.data})
	if err != nil {
		result.Reason = err.Error()
		return result, nil
	}
	result.Verdict, result.Findings = passed, map[string]int{}
	for _, f := range report.Findings {
		result.Findings[f.Code] += max(1, f.Count)
	}
	if report.Errors > 0 {
		first := report.Findings[0]
		result.Verdict, result.First = failed, fmt.Sprintf("%d:%d %s", first.Line, first.Column, first.Message)
	}
	return result, nil
}
