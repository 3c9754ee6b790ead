//go:build slow

package trial_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus"
	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// score is how many faults of one kind were planted, and which of them were not found at their line.
type score struct {
	planted int
	missed  []string
}

// mostPlaces is at how many places of one model a fault is planted.
const mostPlaces = 10

var statedVersion = regexp.MustCompile(`(?im)^\s*version\s*,\D*(\d+\.\d+)`)

// plant plants faults of all kinds in a good IDF and adds what was found to the scores. It ignores models in other
// forms, or of other versions than those with a dictionary.
func plant(ctx context.Context, e *energyplus.Engine, text string, scores map[string]*score) error {
	stated := statedVersion.FindStringSubmatch(text)
	if len(stated) == 0 || !slices.Contains(model.Versions(), stated[1]) {
		return nil
	}
	d, err := model.LoadDictionary(stated[1])
	if err != nil {
		return fmt.Errorf("read dictionary: %w", err)
	}
	m := parse(text, d)
	for _, f := range faults() {
		if scores[f.name] == nil {
			scores[f.name] = &score{}
		}
		for _, edit := range spread(f.edits(m)) {
			changed, line := edit.apply(text)
			report, err := e.Run(ctx, engine.NewDocument([]byte(changed), "", "model.idf"))
			if err != nil {
				return fmt.Errorf("check: %w", err)
			}
			scores[f.name].planted++
			if !finds(report, f.codes, line) {
				missed := fmt.Sprintf("%q in line %d", clip(edit.with), line)
				scores[f.name].missed = append(scores[f.name].missed, missed)
			}
		}
	}
	return nil
}

// spread picks places that are far from each other.
func spread(edits []edit) []edit {
	if len(edits) <= mostPlaces {
		return edits
	}
	picked := []edit{}
	for i := range mostPlaces {
		picked = append(picked, edits[i*len(edits)/mostPlaces])
	}
	return picked
}

// finds reports whether a report has an error with one of the codes in a line.
func finds(report engine.Report, codes []string, line int) bool {
	return slices.ContainsFunc(report.Findings, func(f engine.Finding) bool {
		code := strings.TrimPrefix(f.Code, "energyplus.")
		return f.Severity == engine.SeverityError && f.Line == line && slices.Contains(codes, code)
	})
}

func clip(text string) string {
	const longest = 40
	return text[:min(len(text), longest)]
}
