// Command trial checks all models for EnergyPlus in folders and prints what was found, to compare it with what
// EnergyPlus says of them.
//
// With -faults it plants faults of many kinds in the models that are good, and prints how many of them were found at
// their line:
//
//	go run ./validations/engines/energyplus/trial [-errors] [-faults] FOLDER ...
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

var (
	errNoFolders     = errors.New("name the folders with models")
	errConfiguration = errors.New("the configuration has faults")
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "trial:", err)
		os.Exit(1)
	}
}

// trial is what the program has counted.
type trial struct {
	engine *energyplus.Engine
	out    io.Writer
	// listed says that every error is printed.
	listed                bool
	files, passed, failed int
	bytes                 int64
	took                  time.Duration
	// codes has the number of files with a code, by severity and code.
	codes map[string]int
	// good are the models without errors.
	good []string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("trial", flag.ContinueOnError)
	listed := flags.Bool("errors", false, "print every error")
	withFaults := flags.Bool("faults", false, "plant faults in the good models")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read flags: %w", err)
	}
	if flags.NArg() == 0 {
		return errNoFolders
	}
	e, faults := energyplus.Compile(json.RawMessage(`{}`), engine.DefaultLimits())
	if len(faults) > 0 {
		return fmt.Errorf("%w: %v", errConfiguration, faults)
	}
	t := &trial{engine: e, out: out, listed: *listed, codes: map[string]int{}}
	for _, folder := range flags.Args() {
		if err := t.checkAll(ctx, folder); err != nil {
			return fmt.Errorf("check models of %s: %w", folder, err)
		}
	}
	if err := t.print(); err != nil || !*withFaults {
		return err
	}
	return t.plantAll(ctx)
}

// checkAll checks the models in a folder and in the folders below.
func (t *trial) checkAll(ctx context.Context, folder string) error {
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isModel(path) {
			return err
		}
		return t.check(ctx, path)
	})
	if err != nil {
		return fmt.Errorf("walk: %w", err)
	}
	return nil
}

// plantAll plants faults in the models without errors.
func (t *trial) plantAll(ctx context.Context) error {
	scores := map[string]*score{}
	for _, path := range t.good {
		content, err := os.ReadFile(path) //nolint:gosec // the user names the folder
		if err != nil {
			return fmt.Errorf("read model: %w", err)
		}
		if err := plant(ctx, t.engine, string(content), scores); err != nil {
			return fmt.Errorf("plant faults in %s: %w", path, err)
		}
	}
	return printScores(t.out, scores, t.listed)
}

func isModel(path string) bool {
	extension := strings.ToLower(filepath.Ext(path))
	return extension == ".idf" || extension == ".epjson"
}

func (t *trial) check(ctx context.Context, path string) error {
	content, err := os.ReadFile(path) //nolint:gosec // the user names the folder
	if err != nil {
		return fmt.Errorf("read model: %w", err)
	}
	began := time.Now()
	report, err := t.engine.Run(ctx, engine.NewDocument(content, "", path))
	if err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	t.took += time.Since(began)
	t.bytes += int64(len(content))
	t.files++
	if report.Errors == 0 {
		t.passed++
		t.good = append(t.good, path)
	} else {
		t.failed++
	}
	codes := map[string]bool{}
	for _, f := range report.Findings {
		codes[string(f.Severity)+"\t"+f.Code] = true
		if t.listed && f.Severity == engine.SeverityError {
			fmt.Fprintf(t.out, "%s:%d: %s %s: %s\n", path, f.Line, f.Code, f.Path, f.Message)
		}
	}
	for code := range codes {
		t.codes[code]++
	}
	return nil
}

// print prints the table.
func (t *trial) print() error {
	const mebibyte = 1 << 20
	size := float64(t.bytes) / mebibyte
	fmt.Fprintf(t.out, "%d models, %.1f MiB in %s (%.1f MiB/s): %d pass, %d fail\n",
		t.files, size, t.took.Round(time.Millisecond), size/t.took.Seconds(), t.passed, t.failed)
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, code := range slices.Sorted(maps.Keys(t.codes)) {
		fmt.Fprintf(table, "%s\t%d models\n", code, t.codes[code])
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	return nil
}
