package engine

import (
	"fmt"
	"slices"
	"strings"
)

// MaxSampleRows is how many rows a folded finding names.
const MaxSampleRows = 10

// MaxSamplePaths is how many places the message of a folded finding names.
const MaxSamplePaths = 3

// Collector gathers findings in the order of their discovery and folds the checks that fail again and again.
type Collector struct {
	limits   Limits
	findings []Finding
	order    []*tally
	tallies  map[CheckKey]*tally
	report   Report
}

// CheckKey names one check: the same code on the same column, or one rule. Each severity counts on its own: a rule that
// only warns is an error where it cannot be evaluated, and that error must not hide behind a hundred warnings.
type CheckKey struct {
	Code     string
	Path     string
	Severity Severity
}

// tally is how often one check failed, and what was not listed of it.
type tally struct {
	key        CheckKey
	total      int
	folded     int
	first      Finding
	sampleRows []int
	// samplePaths are where some of what was folded is.
	samplePaths []string
}

// NewCollector returns an empty collector that keeps within the limits.
func NewCollector(limits Limits) *Collector {
	return &Collector{limits: limits, tallies: map[CheckKey]*tally{}}
}

// Full reports whether the check has been listed so often that its next findings need neither message nor excerpt.
func (c *Collector) Full(key CheckKey) bool {
	t, known := c.tallies[key]
	return len(c.findings) >= c.limits.MaxFindings || known && t.total >= c.limits.MaxPerCheck
}

// Add takes a finding. Findings with the same code, severity and group are folded; tables group by column.
func (c *Collector) Add(group string, f Finding) {
	f.Count = max(1, f.Count)
	key := CheckKey{f.Code, group, f.Severity}
	if !c.Full(key) {
		c.count(f.Severity, f.Count)
		c.tally(key).total++
		c.findings = append(c.findings, f)
		return
	}
	t := c.fold(key, f, f.Count, 1)
	if f.Row > 0 && len(t.sampleRows) < MaxSampleRows {
		t.sampleRows = append(t.sampleRows, f.Row)
	}
}

// AddFolded counts findings that are all like the given one, and remembers where some of them are.
func (c *Collector) AddFolded(group string, f Finding, n int, paths []string) {
	t := c.fold(CheckKey{f.Code, group, f.Severity}, f, n, n)
	t.samplePaths = append(t.samplePaths, paths[:min(len(paths), MaxSamplePaths-len(t.samplePaths))]...)
}

// fold counts a finding that is not listed, and so many failures of its check.
func (c *Collector) fold(key CheckKey, f Finding, count, failures int) *tally {
	c.count(key.Severity, count)
	c.report.Truncated = true
	t := c.tally(key)
	if t.folded == 0 {
		t.first = f
	}
	t.total += failures
	t.folded += failures
	return t
}

// Finish returns the report: what was listed one by one, then one finding for each check that was folded.
func (c *Collector) Finish() Report {
	folds := make([]Finding, 0, len(c.order))
	for _, t := range c.order {
		if t.folded > 0 {
			folds = append(folds, t.fold())
		}
	}
	folds = folds[:min(len(folds), c.limits.MaxFindings)]
	kept := c.findings[:min(len(c.findings), c.limits.MaxFindings-len(folds))]
	c.report.Truncated = c.report.Truncated || len(kept) < len(c.findings)
	c.report.Findings = slices.Concat(kept, folds)
	return c.report
}

func (c *Collector) count(severity Severity, n int) {
	switch severity {
	case SeverityError:
		c.report.Errors += n
	case SeverityWarning:
		c.report.Warnings += n
	case SeverityInfo:
		c.report.Infos += n
	}
}

func (c *Collector) tally(key CheckKey) *tally {
	t, known := c.tallies[key]
	if !known {
		t = &tally{key: key}
		c.tallies[key] = t
		c.order = append(c.order, t)
	}
	return t
}

func (t *tally) fold() Finding {
	f := t.first
	subject := strings.TrimSpace(t.key.Path + " " + t.key.Code)
	f.Message = fmt.Sprintf("%s failed %d times in total; %d of the failures are not listed "+
		"individually", subject, t.total, t.folded)
	if len(t.samplePaths) > 0 {
		f.Message += ", as at " + ClipTo(strings.Join(t.samplePaths, ", "), MaxMessage)
	}
	f.Count = t.total
	f.SampleRows = t.sampleRows
	f.Truncated = true
	return f
}
