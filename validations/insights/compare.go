// Package insights reads what people learn from many runs: the overview, the charts and rules of workflows, the usage,
// and what has changed since the run before.
package insights

import (
	"context"
	"regexp"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

// Reader reads the tables of runs.
type Reader struct {
	db   *db.DB
	runs *validations.Service
}

// New makes a Reader.
func New(database *db.DB, runs *validations.Service) *Reader {
	return &Reader{db: database, runs: runs}
}

// Comparison is what has changed since the previous run of the same workflow on the same file.
type Comparison struct {
	// Previous is the run that was compared with; nil if there is none.
	Previous *validations.Run
	// New are the findings that the previous run did not have, and Gone those that it had. Same counts the others.
	New, Gone []ComparedFinding
	Same      int
	// Incomplete is set if one of the runs has findings that were not compared: they are no longer kept, were not
	// stored, or are too many.
	Incomplete bool
}

// ComparedFinding is a finding with the id of its step.
type ComparedFinding struct {
	validations.Finding

	StepID string
}

// Compare compares the findings of a run with those of the previous run of the same workflow on the same file, which is
// one with its file name or the same content. Findings are the same if their step, rule, place in the document's
// structure and message are: a line that was inserted above changes nothing.
func (r *Reader) Compare(ctx context.Context, run validations.Run) (Comparison, error) {
	submission, err := r.runs.Submission(ctx, run.OrgID, run.SubmissionID)
	if err != nil {
		return Comparison{}, err
	}
	id, err := r.previousOf(ctx, run, submission)
	if err != nil || id == uuid.Nil {
		return Comparison{}, err
	}
	previous, err := r.runs.Find(ctx, run.OrgID, id)
	if err != nil {
		return Comparison{}, err
	}
	newer, newerWhole, err := r.comparedFindings(ctx, run)
	if err != nil {
		return Comparison{}, err
	}
	older, olderWhole, err := r.comparedFindings(ctx, previous)
	if err != nil {
		return Comparison{}, err
	}
	compared := compareFindings(older, newer)
	compared.Previous, compared.Incomplete = &previous, !newerWhole || !olderWhole
	return compared, nil
}

// comparedFindings reads the findings of a run, at most validations.MaxPlaces of them, and whether these are all.
func (r *Reader) comparedFindings(ctx context.Context, run validations.Run) ([]ComparedFinding, bool, error) {
	definition, err := r.runs.Definition(ctx, run.OrgID, validations.Digest(run.DefinitionDigest))
	if err != nil {
		return nil, false, err
	}
	findings, err := r.runs.ListFindings(ctx, run, core.Cursor{Size: validations.MaxPlaces})
	if err != nil {
		return nil, false, err
	}
	whole := len(findings) <= validations.MaxPlaces && run.FindingsPurgedAt == nil
	findings = findings[:min(len(findings), validations.MaxPlaces)]
	compared := make([]ComparedFinding, len(findings))
	for i, finding := range findings {
		whole = whole && !finding.Truncated
		compared[i] = ComparedFinding{finding, definition.Steps[finding.StepOrdinal].ID}
	}
	return compared, whole, nil
}

// comparedKey identifies a finding in both runs: two with equal keys are the same finding.
type comparedKey struct{ step, severity, code, path, message string }

// otherPlaces are the lines and rows that a message names besides the place of its finding.
var otherPlaces = regexp.MustCompile(`\b(lines?|rows?) \d+`)

func (f ComparedFinding) key() comparedKey {
	return comparedKey{
		f.StepID, string(f.Severity), f.Code, f.Path, otherPlaces.ReplaceAllString(f.Message, "$1"),
	}
}

// compareFindings pairs findings that are the same, each with at most one other.
func compareFindings(older, newer []ComparedFinding) Comparison {
	left := make(map[comparedKey]int)
	for _, finding := range older {
		left[finding.key()]++
	}
	var compared Comparison
	for _, finding := range newer {
		if key := finding.key(); left[key] > 0 {
			left[key]--
			compared.Same++
			continue
		}
		compared.New = append(compared.New, finding)
	}
	// Of several equal findings, the first ones were paired.
	found := make(map[comparedKey]int)
	for _, finding := range older {
		found[finding.key()]++
	}
	for key, n := range left {
		found[key] -= n
	}
	for _, finding := range older {
		if key := finding.key(); found[key] > 0 {
			found[key]--
			continue
		}
		compared.Gone = append(compared.Gone, finding)
	}
	return compared
}
