//go:build slow

package main_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	program "github.com/simplevalidations/simplevalidations/validations/programs/ids"
)

// differences are the cases of buildingSMART with another verdict here, each with its reason.
func differences() map[string]string {
	return map[string]string{}
}

// TestOfficialCases holds the program against the pairs of buildingSMART, whose names begin with the verdict: pass,
// fail or invalid. They are in Documentation/testcases of github.com/buildingSMART/IDS, which IDS_TRIAL names. Without
// it only the samples are checked. It differs in exactly the listed cases.
func TestOfficialCases(t *testing.T) {
	t.Parallel()
	house := filepath.Join("..", "..", "..", "docs", "samples")
	for model, want := range map[string]string{"good": "pass", "bad": "fail"} {
		got, why := verdict(t, filepath.Join(house, "schemas", "house.ids"), filepath.Join(house, model, "house.ifc"))
		if got != want {
			t.Errorf("the %s sample is %s: %s", model, got, why)
		}
	}
	folder := os.Getenv("IDS_TRIAL")
	if folder == "" {
		return
	}
	cases, agreed := 0, 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".ids" {
			return err
		}
		cases++
		want, _, _ := strings.Cut(entry.Name(), "-")
		base := strings.TrimSuffix(path, ".ids")
		got, why := verdict(t, path, base+".ifc")
		name, err := filepath.Rel(folder, base)
		_, listed := differences()[filepath.ToSlash(name)]
		switch {
		case got == want && listed:
			t.Errorf("%s is listed as a difference, and is none", name)
		case got == want:
			agreed++
		case !listed:
			t.Errorf("%s is %s here: %s", name, got, why)
		}
		return err
	})
	if err != nil || cases == 0 {
		t.Fatalf("%d cases in %s, with %v", cases, folder, err)
	}
	t.Logf("%d of %d cases agree", agreed, cases)
}

// verdict is what the program says of a pair, and why.
func verdict(tb testing.TB, idsFile, modelFile string) (string, string) {
	tb.Helper()
	ids, err := os.ReadFile(idsFile)
	if err != nil {
		tb.Fatal(err)
	}
	model, err := os.ReadFile(modelFile)
	if err != nil {
		tb.Fatal(err)
	}
	checker, faults := program.Compile(json.RawMessage(step(tb, string(ids))))
	if len(faults) > 0 {
		return "invalid", faults[0].Detail
	}
	report := run(tb, checker, string(model))
	if report.Counts.Errors > 0 {
		return "fail", report.Findings[0].Message
	}
	return "pass", ""
}
