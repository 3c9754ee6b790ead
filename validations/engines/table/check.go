package table

import (
	"context"
	"slices"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tableschema"
)

// aggregate is what dataset rules see of a column of numbers or times.
type aggregate struct {
	count   int
	sum     float64
	minimum float64
	maximum float64
	// first and last are the earliest and the latest time.
	first, last time.Time
	// spread is there where a rule reads percentiles of the column.
	spread *spread
}

// tallyOfRows is how many rows met a condition, and the first of them.
type tallyOfRows struct {
	count      int
	sampleRows []int
	// reason says why the condition could not be evaluated on some row.
	reason string
}

func (a *aggregate) add(value tableschema.Cell) {
	if a.count == 0 {
		a.minimum, a.maximum = value.Number, value.Number
		a.first, a.last = value.When, value.When
	}
	a.count++
	a.sum += value.Number
	a.minimum, a.maximum = min(a.minimum, value.Number), max(a.maximum, value.Number)
	if a.spread != nil {
		a.spread.add(value.Number)
	}
	if value.When.Before(a.first) {
		a.first = value.When
	}
	if value.When.After(a.last) {
		a.last = value.When
	}
}

// values are the aggregates as expressions see them. Without values there is neither minimum, maximum, mean nor
// percentile, and times have no sum.
func (a *aggregate) values(c *tableschema.Column, wanted []percentile) map[string]any {
	values := map[string]any{"count": float64(a.count)}
	if c.Timed() {
		if a.count > 0 {
			values["min"], values["max"] = a.first, a.last
		}
		return values
	}
	values["sum"] = a.sum
	if a.count > 0 {
		values["min"], values["max"], values["mean"] = a.minimum, a.maximum, a.sum/float64(a.count)
	}
	if a.spread != nil {
		a.spread.values(wanted, values)
	}
	return values
}

// disableRules takes out the rules on columns that the file lacks, with a finding for each: they do not hold.
func (r *run) disableRules() {
	for i, rule := range r.engine.rowRules {
		if reason := r.lacking(rule.columns); reason != "" {
			r.disabled[i] = true
			r.notEvaluated(rule.Rule, reason)
		}
	}
}

// lacking says which is the first of some columns that the file does not have.
func (r *run) lacking(columns []int) string {
	for _, i := range columns {
		if !r.present[i] {
			return "it needs the column " + engine.Clip(r.engine.columns[i].Name) + ", which is missing"
		}
	}
	return ""
}

func (r *run) notEvaluated(rule expression.Rule, reason string) {
	r.collector.Add("", rule.NotEvaluated(reason))
}

func (r *run) checkRules(ctx context.Context) error {
	r.work.Allow(r.engine.limits.MaxRowCost)
	for i := range r.engine.rowRules {
		rule := &r.engine.rowRules[i]
		if r.disabled[i] || r.anyBroken(rule.columns) || !r.recall(i) {
			continue
		}
		if err := r.checkRule(ctx, rule); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) checkRule(ctx context.Context, rule *rowRule) error {
	for _, condition := range []*expression.Expression{rule.when, rule.Assert} {
		if condition == nil {
			continue
		}
		holds, reason, err := condition.Holds(ctx, r.work, r.variables)
		switch {
		case err != nil:
			return err
		case reason != "":
			r.findRule(rule, rule.NotEvaluated(reason))
			return nil
		case holds != (condition == rule.when):
			// A rule that does not apply ends at its when, one that holds at its assert.
			return nil
		}
	}
	message := ""
	path, _ := r.ruleTarget(rule)
	if !r.collector.Full(engine.CheckKey{Code: "rule." + rule.ID, Path: path, Severity: rule.Severity}) {
		var err error
		if message, err = rule.Message.Render(ctx, r.work, r.variables); err != nil {
			return err
		}
	}
	r.findRule(rule, rule.Finding(message))
	return nil
}

func (r *run) findRule(rule *rowRule, f engine.Finding) {
	path, offset := r.ruleTarget(rule)
	r.find(path, offset, f, func() string { return f.Message })
}

// ruleTarget is the path and the offset that a rule's findings point at: those of its column, or of the row.
func (r *run) ruleTarget(rule *rowRule) (string, int) {
	if rule.column < 0 || !r.present[rule.column] {
		return "", 0
	}
	return r.engine.columns[rule.column].Name, r.starts[rule.column]
}

// anyBroken reports whether a rule would read a value that does not have its column's type.
func (r *run) anyBroken(columns []int) bool {
	return slices.ContainsFunc(columns, func(i int) bool { return r.cells[i].Broken })
}

// countRow evaluates the conditions of dataset rules on the current row.
func (r *run) countRow(ctx context.Context) error {
	for i := range r.engine.datasetRules {
		rule := &r.engine.datasetRules[i]
		group, ok := r.groupOf(i)
		if !ok {
			continue
		}
		group.add(r, rule)
		for j, counted := range rule.counts {
			tally := &group.counts[j]
			if tally.reason != "" || r.anyBroken(counted.columns) {
				continue
			}
			if tally.reason = r.lacking(counted.columns); tally.reason != "" {
				continue
			}
			met, reason, err := counted.condition.Holds(ctx, r.work, r.variables)
			if err != nil {
				return err
			}
			tally.reason = reason
			tally.add(met, r.row)
		}
	}
	return nil
}

func (t *tallyOfRows) add(met bool, row int) {
	if !met {
		return
	}
	t.count++
	if len(t.sampleRows) < engine.MaxSampleRows {
		t.sampleRows = append(t.sampleRows, row)
	}
}
