// Package table is the engine of table steps: it checks CSV, XLSX and JSON Lines row by row, in bounded memory.
package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tablefile"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tableschema"
)

// Engine checks tables row by row, with no more than one row in memory.
type Engine struct {
	columns      []*tableschema.Column
	keys         []rowKey
	foreignKeys  []foreignKey
	match        fieldsMatch
	dialect      tablefile.Dialect
	rowRules     []rowRule
	datasetRules []datasetRule
	// shown are the columns whose values expressions may see.
	shown  []int
	limits engine.Limits
}

// Compile checks the configuration of a step and returns its engine, or everything that is wrong with it.
func Compile(c Config, limits engine.Limits) (*Engine, []engine.ConfigError) {
	columns, faults := compileColumns(c.Schema, limits)
	faults = append(c.Schema.slips(), faults...)
	if len(faults) > 0 {
		return nil, faults
	}
	keys, faults := c.Schema.compileKeys(columns)
	foreignKeys, found := c.Schema.compileForeignKeys(columns)
	match, unknown := c.Schema.compileMatch()
	faults = slices.Concat(faults, found, unknown, c.Dialect.Check())
	if len(c.RowRules)+len(c.DatasetRules) > limits.MaxRules {
		detail := fmt.Sprintf("at most %d rules are allowed", limits.MaxRules)
		return nil, append(faults, engine.NewConfigError("/row_rules", "rule.too_many", detail))
	}
	e := &Engine{
		columns:     columns,
		keys:        keys,
		foreignKeys: foreignKeys,
		match:       match,
		dialect:     c.Dialect,
		limits:      limits,
	}
	return e, append(faults, e.compileRules(c)...)
}

func (e *Engine) compileRules(config Config) []engine.ConfigError {
	if len(config.RowRules)+len(config.DatasetRules) == 0 {
		// The variables of rules take more time to declare than all columns.
		return nil
	}
	compiler := newRuleCompiler(e.columns, e.limits)
	for i, rule := range config.RowRules {
		compiled := compiler.rowRule(rule, i)
		e.rowRules = append(e.rowRules, compiled)
		e.shown = union(e.shown, compiled.shown)
	}
	for i, rule := range config.DatasetRules {
		compiled := compiler.datasetRule(rule, i)
		e.datasetRules = append(e.datasetRules, compiled)
		for _, count := range compiled.counts {
			e.shown = union(e.shown, count.columns)
		}
	}
	return compiler.Faults
}

// Run checks one document.
func (e *Engine) Run(ctx context.Context, doc engine.Document) (engine.Report, error) {
	c := engine.NewCollector(e.limits)
	if doc.Size > e.limits.MaxTableBytes {
		message := fmt.Sprintf("the table has %d bytes, at most %d are checked", doc.Size, e.limits.MaxTableBytes)
		c.Add("", engine.Failure("csv.limit.bytes", message))
		return c.Finish(), nil
	}
	content := io.NewSectionReader(doc.Content, 0, doc.Size)
	records, err := tablefile.Open(ctx, doc, content, e.dialect, namesOfColumns(e.columns), e.limits)
	if fault, ok := errors.AsType[*tablefile.Error](err); ok {
		c.Add("", engine.Failure(fault.Code, fault.Message))
		return c.Finish(), nil
	}
	if err != nil {
		return engine.Report{}, err
	}
	defer tablefile.Close(records)
	run := newRun(e, doc, records, c)
	if err := run.read(ctx); err != nil {
		return engine.Report{}, err
	}
	if run.complete {
		if err := tablefile.CheckEnd(records, content); err != nil {
			return engine.Report{}, err
		}
	}
	run.concludeReferences()
	if err := run.checkDataset(ctx); err != nil {
		return engine.Report{}, err
	}
	return c.Finish(), nil
}
