package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// tableEngine checks tables of text row by row, with no more than one row in memory.
type tableEngine struct {
	columns      []*column
	primaryKey   []int
	missing      []string
	dialect      dialectConfig
	rowRules     []rowRule
	datasetRules []datasetRule
	// shown are the columns whose values expressions may see.
	shown  []int
	limits Limits
}

func compileTable(config json.RawMessage, limits Limits) (*tableEngine, []ConfigError) {
	var c tableConfig
	if faults := decodeConfig(config, &c); len(faults) > 0 {
		return nil, faults
	}
	columns, faults := compileColumns(c.Schema, limits)
	if len(faults) > 0 {
		return nil, faults
	}
	key, faults := c.Schema.primaryKey(columns)
	faults = append(faults, checkDialect(c.Dialect)...)
	if len(c.RowRules)+len(c.DatasetRules) > limits.MaxRules {
		detail := fmt.Sprintf("at most %d rules are allowed", limits.MaxRules)
		return nil, append(faults, ConfigError{"/row_rules", "rule.too_many", detail})
	}
	engine := &tableEngine{
		columns:    columns,
		primaryKey: key,
		missing:    c.Schema.MissingValues,
		dialect:    c.Dialect,
		limits:     limits,
	}
	if engine.missing == nil {
		engine.missing = []string{""}
	}
	return engine, append(faults, engine.compileRules(c)...)
}

func (e *tableEngine) compileRules(config tableConfig) []ConfigError {
	compiler, err := newRuleCompiler(e.columns, e.limits)
	if err != nil {
		return []ConfigError{{"", "rule.invalid", err.Error()}}
	}
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
	return compiler.faults
}

// Run checks one document.
func (e *tableEngine) Run(ctx context.Context, doc Document) (Report, error) {
	c := newCollector(e.limits)
	if doc.Size > e.limits.MaxTableBytes {
		message := fmt.Sprintf("the table has %d bytes, at most %d are checked", doc.Size, e.limits.MaxTableBytes)
		c.add("", Finding{Severity: SeverityError, Code: "csv.limit.bytes", Message: message})
		return c.finish(), nil
	}
	decode, known := decoderFor(e.dialect.Encoding)
	if !known {
		return Report{}, fmt.Errorf("unknown encoding %q in a compiled table", e.dialect.Encoding)
	}
	content := io.NewSectionReader(doc.Content, 0, doc.Size)
	reader, err := newCSVReader(decode(content), e.dialect.dialect(doc), e.limits)
	if err != nil {
		return Report{}, err
	}
	run := newTableRun(e, reader, c)
	if err := run.read(ctx); err != nil {
		return Report{}, err
	}
	if run.complete {
		if at, err := content.Seek(0, io.SeekCurrent); err != nil || at < doc.Size {
			return Report{}, fmt.Errorf("read table: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
	}
	if err := run.checkDataset(ctx); err != nil {
		return Report{}, err
	}
	return c.finish(), nil
}
