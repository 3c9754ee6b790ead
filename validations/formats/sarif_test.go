package formats_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/simplevalidations/simplevalidations/validations/formats"
)

func TestSARIF(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]formats.Verdict{
		"Samples": sampleVerdict(t), "Hostile": hostileVerdict(), "Empty": {}, "Many": made(5003, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := write(t, formats.FormatSARIF, v)
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&sarif.Report{}); err != nil {
				t.Errorf("a member that SARIF does not know: %v", err)
			}
			report, err := sarif.FromBytes(text)
			if err != nil {
				t.Fatal(err)
			}
			// The package writes these empty where they are left out, which the schema does not allow.
			report.Runs[0].Language, report.Runs[0].Tool.Driver.Language = "en-US", "en-US"
			report.Runs[0].NewlineSequences = []string{"\n"}
			if err := report.Validate(); err != nil {
				t.Errorf("against the official schema: %v", err)
			}
		})
	}

	t.Run("LeavesOutWithANote", func(t *testing.T) {
		t.Parallel()
		text := string(write(t, formats.FormatSARIF, made(5003, 0)))
		if n := strings.Count(text, `"ruleId"`); n != 5000 || !strings.Contains(text, "3 results are left out") {
			t.Errorf("results = %d, want 5000 and a note of the other 3", n)
		}
	})

	t.Run("NamesDocumentsAsTheRepositoryDoes", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]string{
			"data/a.csv": `"uri": "data/a.csv",`, "a b#1.csv": `"uri": "a%20b%231.csv",`,
			"c:d.csv":     `"uri": "./c:d.csv",`,
			"/data/a.csv": `"uri": "file:///data/a.csv"`, "../a.csv": `"uri": "../a.csv",`,
		} {
			v := made(1, 0)
			v.Documents[0].Name = name
			if text := string(write(t, formats.FormatSARIF, v)); !strings.Contains(text, want) {
				t.Errorf("log = %s, want %s in it", text, want)
			}
		}
	})

	t.Run("FingerprintsStayWhenLinesMove", func(t *testing.T) {
		t.Parallel()
		before, moved := made(3, 0), made(3, 0)
		for i := range moved.Documents[0].Steps[0].Findings {
			moved.Documents[0].Steps[0].Findings[i].Line += 7
		}
		if diff := cmp.Diff(fingerprints(t, before), fingerprints(t, moved)); diff != "" {
			t.Errorf("fingerprints (-before +moved):\n%s", diff)
		}
	})

	t.Run("FingerprintsAreUnique", func(t *testing.T) {
		t.Parallel()
		found := fingerprints(t, made(50, 0))
		slices.Sort(found)
		if n := len(slices.Compact(found)); n != 50 {
			t.Errorf("fingerprints = %d different ones of 50 findings, want 50", n)
		}
	})
}

func fingerprints(tb testing.TB, v formats.Verdict) []string {
	tb.Helper()
	report, err := sarif.FromBytes(write(tb, formats.FormatSARIF, v))
	if err != nil {
		tb.Fatal(err)
	}
	var found []string
	for _, result := range report.Runs[0].Results {
		found = append(found, result.PartialFingerprints["simplevalidations/v1"])
	}
	return found
}
