package engines

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"cel.dev/cel-go/cel"
)

// rowRule is a compiled rowRuleConfig.
type rowRule struct {
	id       string
	severity Severity
	when     *expression
	assert   *expression
	message  *template
	// columns are those the rule reads; a row with a broken value in one of them is passed over, since that value has
	// its own finding.
	columns []int
	// shown are those and the ones that only the message reads.
	shown []int
	// column is what a finding points at, -1 for the row.
	column int
}

// datasetRule is a compiled datasetRuleConfig.
type datasetRule struct {
	id       string
	severity Severity
	assert   *expression
	message  *template
	counts   []rowCount
	// columns are those whose aggregates the rule reads.
	columns []int
}

// rowCount counts the rows that meet a condition.
type rowCount struct {
	name      string
	condition *expression
	columns   []int
}

// ruleCompiler compiles the rules of one table and gathers what is wrong with them.
type ruleCompiler struct {
	columns []*column
	limits  Limits
	row     *cel.Env
	dataset *cel.Env
	ids     map[string]bool
	faults  []ConfigError
}

func newRuleCompiler(columns []*column, limits Limits) (*ruleCompiler, error) {
	texts := cel.MapType(cel.StringType, cel.DynType)
	row, err := newExpressionEnv(limits, cel.Variable("row", texts))
	if err != nil {
		return nil, err
	}
	dataset, err := newExpressionEnv(limits,
		cel.Variable("rows", cel.IntType),
		cel.Variable("count", cel.IntType),
		cel.Variable("counts", cel.MapType(cel.StringType, cel.IntType)),
		cel.Variable("columns", cel.MapType(cel.StringType, cel.MapType(cel.StringType, cel.DoubleType))),
	)
	if err != nil {
		return nil, err
	}
	return &ruleCompiler{columns: columns, limits: limits, row: row, dataset: dataset, ids: map[string]bool{}}, nil
}

func (c *ruleCompiler) rowRule(config rowRuleConfig, i int) rowRule {
	const list = "row_rules"
	rule := rowRule{id: config.ID, column: -1}
	rule.severity = c.identity(list, i, config.ID, config.Severity)
	rule.assert = c.condition(c.row, config.Assert, index(list, i, "assert"))
	if config.When != "" {
		rule.when = c.condition(c.row, config.When, index(list, i, "when"))
	}
	rule.message = c.message(c.row, config.Message, config.ID, index(list, i, "message"))
	rule.columns = c.rowColumns(rule.assert, index(list, i, "assert"))
	if len(rule.columns) == 1 {
		rule.column = rule.columns[0]
	}
	rule.columns = union(rule.columns, c.rowColumns(rule.when, index(list, i, "when")))
	if config.Column != "" {
		if rule.column = columnIndex(c.columns, config.Column); rule.column < 0 {
			c.fault(index(list, i, "column"), "there is no field "+quote(config.Column))
		}
	}
	rule.shown = rule.columns
	for _, e := range rule.message.expressions() {
		rule.shown = union(rule.shown, c.rowColumns(e, index(list, i, "message")))
	}
	return rule
}

func (c *ruleCompiler) datasetRule(config datasetRuleConfig, i int) datasetRule {
	const list = "dataset_rules"
	rule := datasetRule{id: config.ID}
	rule.severity = c.identity(list, i, config.ID, config.Severity)
	for _, name := range slices.Sorted(maps.Keys(config.Counts)) {
		at := index(list, i, "counts") + pointer(name)
		condition := c.condition(c.row, config.Counts[name], at)
		rule.counts = append(rule.counts, rowCount{name, condition, c.rowColumns(condition, at)})
	}
	if len(rule.counts) > c.limits.MaxRules {
		c.fault(index(list, i, "counts"), fmt.Sprintf("at most %d counts are allowed", c.limits.MaxRules))
	}
	at := index(list, i, "assert")
	rule.assert = c.condition(c.dataset, config.Assert, at)
	rule.columns = c.datasetColumns(rule.assert, config.Counts, at)
	rule.message = c.message(c.dataset, config.Message, config.ID, index(list, i, "message"))
	for _, e := range rule.message.expressions() {
		rule.columns = union(rule.columns, c.datasetColumns(e, config.Counts, index(list, i, "message")))
	}
	return rule
}

// identity checks what every rule has and returns its severity.
func (c *ruleCompiler) identity(list string, i int, id string, severity Severity) Severity {
	if !regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`).MatchString(id) {
		c.fault(index(list, i, "id"), "use lower case letters, digits and underscores, at most 64")
	}
	if c.ids[id] {
		c.fault(index(list, i, "id"), "another rule has this id")
	}
	c.ids[id] = true
	switch severity {
	case "":
		return SeverityError
	case SeverityError, SeverityWarning, SeverityInfo:
	default:
		c.fault(index(list, i, "severity"), "use ERROR, WARNING or INFO")
	}
	return severity
}

// condition compiles an expression that must be true or false. It returns nil after a fault.
func (c *ruleCompiler) condition(env *cel.Env, source, at string) *expression {
	e, err := compileExpression(env, source, c.limits)
	if err != nil {
		c.fault(at, err.Error())
		return nil
	}
	if !e.decides() {
		c.fault(at, "the expression must be true or false")
		return nil
	}
	return e
}

func (c *ruleCompiler) message(env *cel.Env, source, id, at string) *template {
	if source == "" {
		return &template{parts: []templatePart{{text: "the rule " + id + " does not hold"}}}
	}
	t, err := compileTemplate(env, source, c.limits)
	if err != nil {
		c.fault(at, err.Error())
		return &template{}
	}
	return t
}

// rowColumns are the columns an expression reads: all where it uses the row as a whole.
func (c *ruleCompiler) rowColumns(e *expression, at string) []int {
	if e == nil {
		return nil
	}
	found := []int{}
	used := e.reads("row")
	for i, column := range c.columns {
		if used.whole || slices.Contains(used.names, column.name) {
			found = append(found, i)
		}
	}
	for _, name := range used.names {
		if columnIndex(c.columns, name) < 0 {
			c.fault(at, "there is no field "+quote(name))
		}
	}
	return found
}

// datasetColumns are the columns whose aggregates an expression reads.
func (c *ruleCompiler) datasetColumns(e *expression, counts map[string]string, at string) []int {
	if e == nil {
		return nil
	}
	for _, name := range e.reads("counts").names {
		if _, declared := counts[name]; !declared {
			c.fault(at, "the rule declares no count "+quote(name))
		}
	}
	used := e.reads("columns")
	if used.whole {
		c.fault(at, "name the columns that are meant, as in columns.NAME.sum")
	}
	found := []int{}
	for _, name := range used.names {
		i := columnIndex(c.columns, name)
		if i < 0 || !c.columns[i].numeric() {
			c.fault(at, "there is no field "+quote(name)+" with numbers")
			continue
		}
		found = append(found, i)
	}
	return found
}

func (c *ruleCompiler) fault(at, detail string) {
	c.faults = append(c.faults, ConfigError{Pointer: at, Code: "rule.invalid", Detail: detail})
}

func (c *column) numeric() bool {
	return c.kind == typeNumber || c.kind == typeInteger
}

func union(a, b []int) []int {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}
