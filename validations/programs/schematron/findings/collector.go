// Package findings gathers what a check finds, says where in a text it is, and words it, for the programs that the
// service runs.
package findings

import (
	"fmt"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// The severities of findings. Only an error fails a check.
const (
	SeverityError   = "ERROR"
	SeverityWarning = "WARNING"
	SeverityInfo    = "INFO"
)

// Failure returns a finding of severity ERROR without a place.
func Failure(code, message string) port.Finding {
	return port.Finding{Severity: SeverityError, Code: code, Message: message}
}

// Key names one check. Each severity counts on its own, so that an error does not hide behind a hundred warnings.
type Key struct {
	Code, Group, Severity string
}

// Collector gathers findings in the order of their discovery and folds the checks that fail again and again.
type Collector struct {
	limits  port.Limits
	listed  []port.Finding
	order   []*tally
	tallies map[Key]*tally
	counts  port.Counts
}

// tally is how often one check failed, and what was not listed of it.
type tally struct {
	key           Key
	total, folded int
	first         port.Finding
}

// NewCollector returns an empty collector that keeps within the limits.
func NewCollector(limits port.Limits) *Collector {
	return &Collector{limits: limits, tallies: map[Key]*tally{}}
}

// Full reports whether a check has been listed so often that its next findings need neither message nor place.
func (c *Collector) Full(key Key) bool {
	t, known := c.tallies[key]
	return len(c.listed) >= c.limits.Findings || known && t.total >= c.limits.PerCheck
}

// Add takes a finding. Those with the same code, severity and group are folded.
func (c *Collector) Add(group string, f port.Finding) {
	f.Count = max(1, f.Count)
	key := Key{f.Code, group, f.Severity}
	if c.Full(key) {
		c.fold(key, f, f.Count, 1)
		return
	}
	c.count(f.Severity, f.Count)
	c.tally(key).total++
	c.listed = append(c.listed, f)
}

// AddUnlisted counts findings of which nothing is known but their number.
func (c *Collector) AddUnlisted(key Key, n int) {
	c.fold(key, port.Finding{Severity: key.Severity, Code: key.Code}, n, n)
}

// Finish returns the report: what was listed one by one, then one finding for each check that was folded.
func (c *Collector) Finish() port.Report {
	var folds []port.Finding
	for _, t := range c.order {
		if t.folded > 0 && len(folds) < c.limits.Findings {
			folds = append(folds, t.fold())
		}
	}
	kept := c.listed[:min(len(c.listed), c.limits.Findings-len(folds))]
	return port.Report{
		Findings: slices.Concat(kept, folds), Counts: &c.counts,
		Truncated: len(folds) > 0 || len(kept) < len(c.listed),
	}
}

// fold counts a finding that is not listed, and so many failures of its check.
func (c *Collector) fold(key Key, f port.Finding, count, failures int) {
	c.count(key.Severity, count)
	t := c.tally(key)
	if t.folded == 0 {
		t.first = f
	}
	t.total += failures
	t.folded += failures
}

func (c *Collector) count(severity string, n int) {
	switch severity {
	case SeverityError:
		c.counts.Errors += n
	case SeverityWarning:
		c.counts.Warnings += n
	default:
		c.counts.Infos += n
	}
}

func (c *Collector) tally(key Key) *tally {
	t, known := c.tallies[key]
	if !known {
		t = &tally{key: key}
		c.tallies[key] = t
		c.order = append(c.order, t)
	}
	return t
}

func (t *tally) fold() port.Finding {
	f := t.first
	subject := t.key.Code
	if t.key.Group != "" {
		subject = t.key.Group + " " + subject
	}
	f.Message = fmt.Sprintf("%s failed %d times in total; %d of the failures are not listed individually",
		ClipTo(subject, MaxMessage), t.total, t.folded)
	f.Count, f.Truncated = t.total, true
	return f
}
