package table

import "maps"

// tooManyGroups is why a rule has no verdict.
const tooManyGroups = "the table has too many groups: the memory for them is used up"

// groupBytes is about what one group takes in memory beside the texts of its values.
const groupBytes = 256

// groups are the groups of rows that one dataset rule knows, by the key of their values. A rule on the whole table has
// one.
type groups struct {
	known map[string]*tally
	// stopped says that the memory was spent and later groups are not known.
	stopped bool
}

// groupOf returns the group of a dataset rule to which the current row belongs. It answers false for a row with a
// broken value among those that make groups. Missing values make groups of their own.
func (r *run) groupOf(i int) (*tally, bool) {
	rule, known := &r.engine.datasetRules[i], &r.groups[i]
	if known.stopped || r.anyBroken(rule.group) || r.lacking(rule.group) != "" {
		return nil, false
	}
	r.groupKey(rule.group)
	if found, ok := known.known[string(r.key)]; ok {
		return found, true
	}
	const aggregateBytes, countBytes = 128, 64
	cost := groupBytes + 2*len(r.key) + aggregateBytes*len(rule.columns) + countBytes*len(rule.counts)
	if !r.budget.take(int64(cost)) {
		known.stopped = true
		return nil, false
	}
	group := r.newTally(rule)
	group.group, group.row = map[string]any{}, r.row
	for _, at := range rule.group {
		group.group[r.engine.columns[at].Name] = r.engine.columns[at].NativeOf(r.cells[at])
	}
	known.known[string(r.key)] = group
	return group, true
}

func (r *run) newTally(rule *datasetRule) *tally {
	t := &tally{counts: make([]tallyOfRows, len(rule.counts)), aggregates: make([]aggregate, len(rule.columns))}
	for j, at := range rule.columns {
		if len(rule.percentiles[at]) > 0 {
			t.aggregates[j].spread = &spread{counts: map[float64]int{}, budget: r.spreads}
		}
	}
	return t
}

// add counts the current row among those of the group.
func (t *tally) add(r *run, rule *datasetRule) {
	t.rows++
	t.count++
	for j, at := range rule.columns {
		if value := r.cells[at]; !value.Missing && !value.Broken {
			t.aggregates[j].add(value)
		}
	}
}

// groupKey writes the values of a group into r.key, so that a missing value is another one than an empty text.
func (r *run) groupKey(columns []int) {
	r.key = r.key[:0]
	for _, at := range columns {
		if r.cells[at].Missing {
			r.key = append(r.key, 0)
			continue
		}
		r.key = r.engine.columns[at].AppendKey(append(r.key, 1), r.cells[at])
	}
}

// history is the row before, for one row rule: of each of its groups, the last row whose values had their types.
type history struct {
	rows map[string]map[string]any
	// stopped says that the memory was spent.
	stopped bool
}

// recall gives the current row rule the row before as the variable previous, and keeps the current row for the next. It
// returns false for the first row of a group, to which the rule does not apply.
func (r *run) recall(i int) bool {
	rule, past := &r.engine.rowRules[i], &r.histories[i]
	if len(rule.previous) == 0 {
		return true
	}
	if past.stopped {
		return false
	}
	r.groupKey(rule.group)
	before, ok := past.rows[string(r.key)]
	const valueBytes = 96
	if !ok {
		before = map[string]any{}
		past.rows[string(r.key)] = before
	}
	clear(r.before)
	maps.Copy(r.before, before)
	cost := 0
	if !ok {
		cost = groupBytes + len(r.key) + valueBytes*len(rule.previous)
	}
	for _, at := range rule.previous {
		before[r.engine.columns[at].Name] = r.engine.columns[at].NativeOf(r.cells[at])
		cost += max(0, len(r.cells[at].Text)-valueBytes)
	}
	if !r.budget.take(int64(cost)) {
		past.stopped, past.rows = true, nil
		r.notEvaluated(rule.Rule, tooManyGroups)
		return false
	}
	return ok
}
