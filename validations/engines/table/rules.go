package table

import (
	"fmt"
	"maps"
	"slices"

	"cel.dev/cel-go/cel"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tableschema"
)

// rowRule is a compiled rowRuleConfig.
type rowRule struct {
	expression.Rule

	when *expression.Expression
	// columns are those the rule reads; a row with a broken value in one of them is skipped, since that value has
	// its own finding.
	columns []int
	// shown are those and the ones that only the message reads.
	shown []int
	// column is what a finding points at, -1 for the row.
	column int
	// previous are the columns that it reads of the row before, among those with the same values in group.
	previous []int
	group    []int
}

// datasetRule is a compiled datasetRuleConfig.
type datasetRule struct {
	expression.Rule

	counts []rowCount
	// columns are those whose aggregates the rule reads, and percentiles those that it reads of each.
	columns     []int
	percentiles map[int][]percentile
	// group are the columns whose values make groups, none for a rule on the whole table.
	group []int
}

// rowCount counts the rows that meet a condition.
type rowCount struct {
	name      string
	condition *expression.Expression
	columns   []int
}

// tableRules compiles the rules of one table.
type ruleCompiler struct {
	*expression.Rules
	columns []*tableschema.Column
	row     *cel.Env
	dataset *cel.Env
}

func newRuleCompiler(columns []*tableschema.Column, limits engine.Limits) *ruleCompiler {
	texts := cel.MapType(cel.StringType, cel.DynType)
	row := expression.NewEnv(limits, cel.Variable("row", texts), cel.Variable("previous", texts))
	dataset := expression.NewEnv(limits,
		cel.Variable("rows", cel.IntType),
		cel.Variable("count", cel.IntType),
		cel.Variable("counts", cel.MapType(cel.StringType, cel.IntType)),
		cel.Variable("columns", cel.MapType(cel.StringType, cel.MapType(cel.StringType, cel.DynType))),
		cel.Variable("group", texts),
	)
	return &ruleCompiler{expression.NewRules(limits), columns, row, dataset}
}

func (c *ruleCompiler) rowRule(config rowRuleConfig, i int) rowRule {
	const list = "row_rules"
	rule := rowRule{Rule: c.Rule(c.row, list, i, config.RuleConfig), column: -1}
	if config.When != "" {
		rule.when = c.Condition(c.row, config.When, engine.ItemPointer(list, i, "when"))
	}
	rule.columns = c.columnsOf("row", rule.Assert, engine.ItemPointer(list, i, "assert"))
	if len(rule.columns) == 1 {
		rule.column = rule.columns[0]
	}
	rule.columns = union(rule.columns, c.columnsOf("row", rule.when, engine.ItemPointer(list, i, "when")))
	if config.Column != "" {
		if rule.column = columnIndex(c.columns, config.Column); rule.column < 0 {
			c.Fault(engine.ItemPointer(list, i, "column"), c.noField(config.Column))
		}
	}
	rule.shown = rule.columns
	for _, e := range rule.Message.Expressions() {
		rule.shown = union(rule.shown, c.columnsOf("row", e, engine.ItemPointer(list, i, "message")))
	}
	for _, e := range append(rule.Message.Expressions(), rule.Assert, rule.when) {
		rule.previous = union(rule.previous, c.columnsOf("previous", e, engine.ItemPointer(list, i, "assert")))
	}
	rule.group = c.groupColumns(config.Group, engine.ItemPointer(list, i, "group"))
	if len(rule.group) > 0 && len(rule.previous) == 0 {
		c.Fault(engine.ItemPointer(list, i, "group"), "the rule does not read previous, so it needs no group")
	}
	rule.columns = union(rule.columns, union(rule.previous, rule.group))
	rule.shown = union(rule.shown, rule.columns)
	return rule
}

// groupColumns are the columns that a rule groups rows by.
func (c *ruleCompiler) groupColumns(names []string, at string) []int {
	columns := []int{}
	for _, name := range names {
		i := columnIndex(c.columns, name)
		if i < 0 {
			c.Fault(at, c.noField(name))
			continue
		}
		columns = append(columns, i)
	}
	return columns
}

func (c *ruleCompiler) datasetRule(config datasetRuleConfig, i int) datasetRule {
	const list = "dataset_rules"
	rule := datasetRule{Rule: c.Rule(c.dataset, list, i, config.RuleConfig)}
	for _, name := range slices.Sorted(maps.Keys(config.Counts)) {
		at := engine.ItemPointer(list, i, "counts") + engine.Pointer(name)
		condition := c.Condition(c.row, config.Counts[name], at)
		if len(c.columnsOf("previous", condition, at)) > 0 {
			c.Fault(at, "only row rules have a previous row")
		}
		rule.counts = append(rule.counts, rowCount{name, condition, c.columnsOf("row", condition, at)})
	}
	rule.group = c.groupColumns(config.Group, engine.ItemPointer(list, i, "group"))
	if len(rule.counts) > c.Limits.MaxRules {
		c.Fault(engine.ItemPointer(list, i, "counts"), fmt.Sprintf("at most %d counts are allowed", c.Limits.MaxRules))
	}
	rule.read(c, rule.Assert, config.Counts, engine.ItemPointer(list, i, "assert"))
	for _, e := range rule.Message.Expressions() {
		rule.read(c, e, config.Counts, engine.ItemPointer(list, i, "message"))
	}
	return rule
}

// read notes what an expression of the rule reads.
func (r *datasetRule) read(c *ruleCompiler, e *expression.Expression, counts map[string]string, at string) {
	columns := c.datasetColumns(e, counts, at)
	r.columns = union(r.columns, columns)
	for _, i := range columns {
		if found := c.percentiles(c.columns[i], e, at); len(found) > 0 {
			if r.percentiles == nil {
				r.percentiles = map[int][]percentile{}
			}
			r.percentiles[i] = append(r.percentiles[i], found...)
		}
	}
}

func (c *ruleCompiler) noField(name string) string {
	return "there is no field " + engine.Quote(name) +
		engine.DidYouMean(engine.Nearest(name, namesOfColumns(c.columns)))
}

// columnsOf are the columns that an expression reads of a row: all where it uses the row as a whole.
func (c *ruleCompiler) columnsOf(row string, e *expression.Expression, at string) []int {
	if e == nil {
		return nil
	}
	found := []int{}
	used := e.Reads(row)
	for i, column := range c.columns {
		if used.Whole || slices.Contains(used.Names, column.Name) {
			found = append(found, i)
		}
	}
	for _, name := range used.Names {
		if columnIndex(c.columns, name) < 0 {
			c.Fault(at, c.noField(name))
		}
	}
	return found
}

// datasetColumns are the columns whose aggregates an expression reads.
func (c *ruleCompiler) datasetColumns(e *expression.Expression, counts map[string]string, at string) []int {
	if e == nil {
		return nil
	}
	for _, name := range e.Reads("counts").Names {
		if _, declared := counts[name]; !declared {
			c.Fault(at, "counts does not define "+engine.Quote(name))
		}
	}
	used := e.Reads("columns")
	if used.Whole {
		c.Fault(at, "name the column, as in columns.NAME.sum")
	}
	found := []int{}
	for _, name := range used.Names {
		i := columnIndex(c.columns, name)
		if i < 0 || !c.columns[i].Numeric() && !c.columns[i].Timed() {
			c.Fault(at, "there is no field "+engine.Quote(name)+" with numbers or times")
			continue
		}
		found = append(found, i)
	}
	return found
}

func union(a, b []int) []int {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}
