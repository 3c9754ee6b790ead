package engines

import (
	"fmt"
	"slices"
	"strings"
)

// maxSampleRows is how many rows a folded finding names.
const maxSampleRows = 10

// maxSamplePaths is how many places the message of a folded finding names.
const maxSamplePaths = 3

// collector gathers findings in the order of their discovery and folds the checks that fail again and again.
type collector struct {
	limits   Limits
	findings []Finding
	order    []*tally
	tallies  map[checkKey]*tally
	report   Report
}

// checkKey names one check: the same code on the same column, or one rule. Severities are told apart, because a rule
// that only warns is an error where it cannot be evaluated, and that must not hide behind a hundred warnings.
type checkKey struct {
	code     string
	path     string
	severity Severity
}

// tally is how often one check failed, and what was not listed of it.
type tally struct {
	key        checkKey
	total      int
	folded     int
	first      Finding
	sampleRows []int
	// samplePaths are where some of what was folded is.
	samplePaths []string
}

func newCollector(limits Limits) *collector {
	return &collector{limits: limits, tallies: map[checkKey]*tally{}}
}

// full says whether the check has been listed so often that its next findings need neither message nor excerpt.
func (c *collector) full(key checkKey) bool {
	t, known := c.tallies[key]
	return len(c.findings) >= c.limits.MaxFindings || known && t.total >= c.limits.MaxPerCheck
}

// add takes a finding under its own code and the given group, which is a column's name in tables.
func (c *collector) add(group string, f Finding) {
	c.count(f.Severity, max(1, f.Count))
	key := checkKey{f.Code, group, f.Severity}
	full := c.full(key)
	t := c.tally(key)
	t.total++
	f.Count = max(1, f.Count)
	if !full {
		c.findings = append(c.findings, f)
		return
	}
	c.report.Truncated = true
	if t.folded == 0 {
		t.first = f
	}
	t.folded++
	if f.Row > 0 && len(t.sampleRows) < maxSampleRows {
		t.sampleRows = append(t.sampleRows, f.Row)
	}
}

// addUnlisted counts findings of which nothing is known but their number.
func (c *collector) addUnlisted(key checkKey, n int) {
	c.addFolded(key.path, Finding{Severity: key.severity, Code: key.code}, n, nil)
}

// addFolded counts findings that are all like the given one, and remembers where some of them are.
func (c *collector) addFolded(group string, f Finding, n int, paths []string) {
	c.count(f.Severity, n)
	c.report.Truncated = true
	t := c.tally(checkKey{f.Code, group, f.Severity})
	if t.folded == 0 {
		t.first = f
	}
	t.total += n
	t.folded += n
	t.samplePaths = append(t.samplePaths, paths[:min(len(paths), maxSamplePaths-len(t.samplePaths))]...)
}

// finish returns the report: what was listed one by one, then one finding for each check that was folded.
func (c *collector) finish() Report {
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

func (c *collector) count(severity Severity, n int) {
	switch severity {
	case SeverityError:
		c.report.Errors += n
	case SeverityWarning:
		c.report.Warnings += n
	case SeverityInfo:
		c.report.Infos += n
	}
}

func (c *collector) tally(key checkKey) *tally {
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
	subject := strings.TrimSpace(t.key.path + " " + t.key.code)
	f.Message = fmt.Sprintf("%s failed %d times in all, %d of them not listed one by one", subject, t.total, t.folded)
	if len(t.samplePaths) > 0 {
		f.Message += ", as at " + clipTo(strings.Join(t.samplePaths, ", "), maxMessage)
	}
	f.Count = t.total
	f.SampleRows = t.sampleRows
	f.Truncated = true
	return f
}
