// Package table is the engine of table steps: it checks CSV and its relatives row by row, in bounded memory.
package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Engine checks tables of text row by row, with no more than one row in memory.
type Engine struct {
	columns      []*column
	primaryKey   []int
	missing      []string
	dialect      dialectConfig
	rowRules     []rowRule
	datasetRules []datasetRule
	// shown are the columns whose values expressions may see.
	shown  []int
	limits engine.Limits
}

// Compile checks the configuration of a step and returns its engine, or everything that is wrong with it.
func Compile(config json.RawMessage, limits engine.Limits) (*Engine, []engine.ConfigError) {
	var c stepConfig
	if faults := engine.DecodeConfig(config, &c); len(faults) > 0 {
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
		return nil, append(faults, engine.NewConfigError("/row_rules", "rule.too_many", detail))
	}
	e := &Engine{
		columns:    columns,
		primaryKey: key,
		missing:    c.Schema.MissingValues,
		dialect:    c.Dialect,
		limits:     limits,
	}
	if e.missing == nil {
		e.missing = []string{""}
	}
	return e, append(faults, e.compileRules(c)...)
}

func (e *Engine) compileRules(config stepConfig) []engine.ConfigError {
	compiler, err := newRuleCompiler(e.columns, e.limits)
	if err != nil {
		return engine.Refuse("", "rule.invalid", err.Error())
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
	encoding, err := e.encoding(content)
	if err != nil {
		return engine.Report{}, err
	}
	decode, known := engine.DecoderFor(encoding)
	if !known {
		return engine.Report{}, fmt.Errorf("unknown encoding %q in a compiled table", encoding)
	}
	reader, err := newCSVReader(decode(content), e.dialect.dialect(doc), e.limits)
	if err != nil {
		return engine.Report{}, err
	}
	run := newRun(e, reader, c)
	if err := run.read(ctx); err != nil {
		return engine.Report{}, err
	}
	if run.complete {
		if at, err := content.Seek(0, io.SeekCurrent); err != nil || at < doc.Size {
			return engine.Report{}, fmt.Errorf("read table: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
	}
	if err := run.checkDataset(ctx); err != nil {
		return engine.Report{}, err
	}
	return c.Finish(), nil
}

// encoding is the dialect's, else UTF-16 where the file has its byte order mark, as spreadsheets write "Unicode text".
func (e *Engine) encoding(content io.ReaderAt) (string, error) {
	if e.dialect.Encoding != "" {
		return e.dialect.Encoding, nil
	}
	var mark [2]byte
	if _, err := content.ReadAt(mark[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read table: %w", err)
	}
	if engine.IsUTF16(mark[:]) {
		return "utf-16", nil
	}
	return "", nil
}
