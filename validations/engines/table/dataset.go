package table

import (
	"context"
	"maps"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// tally is what a dataset rule knows of the rows that it judges: all, or those of one group.
type tally struct {
	rows, count int
	counts      []tallyOfRows
	// aggregates are those of the columns of the rule.
	aggregates []aggregate
	// group are the values that make the group, by the names of their columns, and row its first row.
	group map[string]any
	row   int
}

// checkDataset evaluates the rules on the whole table. A table that was not read to its end has no verdict on them.
func (r *run) checkDataset(ctx context.Context) error {
	for i := range r.engine.datasetRules {
		rule := &r.engine.datasetRules[i]
		if reason := r.datasetObstacle(i); reason != "" {
			r.notEvaluated(rule.Rule, reason)
			continue
		}
		known := r.groups[i].known
		if whole := known[""]; len(rule.group) == 0 {
			whole.rows, whole.count = r.row, r.count
		}
		byRow := func(a, b *tally) int { return a.row - b.row }
		for _, judged := range slices.SortedFunc(maps.Values(known), byRow) {
			if err := r.checkTally(ctx, rule, judged); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) checkTally(ctx context.Context, rule *datasetRule, judged *tally) error {
	for j, counted := range judged.counts {
		if counted.reason != "" {
			r.notEvaluated(rule.Rule, "count "+engine.Clip(rule.counts[j].name)+": "+counted.reason)
			return nil
		}
	}
	if slices.ContainsFunc(judged.aggregates, func(a aggregate) bool { return a.spread != nil && a.spread.stopped }) {
		r.notEvaluated(rule.Rule, "the memory for percentiles is used up")
		return nil
	}
	found, evaluated, err := rule.Judge(ctx, r.work, r.datasetVariables(rule, judged))
	if err != nil || found == nil {
		return err
	}
	if len(rule.counts) == 1 && evaluated {
		found.SampleRows = judged.counts[0].sampleRows
	}
	if judged.group != nil && found.SampleRows == nil && evaluated {
		found.SampleRows = []int{judged.row}
	}
	r.collector.Add("", *found)
	return nil
}

func (r *run) datasetObstacle(i int) string {
	rule := &r.engine.datasetRules[i]
	if !r.complete {
		return "the table was not read to its end"
	}
	if reason := r.lacking(union(rule.columns, rule.group)); reason != "" {
		return reason
	}
	if len(rule.group) > 0 && r.groups[i].stopped {
		return tooManyGroups
	}
	return ""
}

func (r *run) datasetVariables(rule *datasetRule, judged *tally) map[string]any {
	counts := map[string]int64{}
	for j, counted := range rule.counts {
		counts[counted.name] = int64(judged.counts[j].count)
	}
	columns := map[string]map[string]any{}
	for j, at := range rule.columns {
		column := r.engine.columns[at]
		columns[column.Name] = judged.aggregates[j].values(column, rule.percentiles[at])
	}
	return map[string]any{
		"rows": int64(judged.rows), "count": int64(judged.count), "counts": counts, "columns": columns,
		"group": judged.group,
	}
}
