package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// run is the state of one run over one table.
type run struct {
	engine    *Engine
	records   source
	collector *engine.Collector
	// order gives for each field of the file the column it belongs to, -1 for none.
	order []int
	// present says which columns the file has.
	present []bool

	row   int
	count int
	cells []cell
	// starts are the offsets of the columns' cells in the current record.
	starts []int
	// variables are what expressions on rows see. The map of the row is refilled for each row.
	variables map[string]any
	shown     map[string]any

	// members are the names of members that were reported as unknown.
	members map[string]bool

	patterns patternWork
	budget   *uniqueness
	// spreads is the memory for percentiles, where a rule reads some.
	spreads    *uniqueness
	unique     []*seen
	keys       []*seen
	references []*references
	key        []byte
	aggregates []aggregate
	counts     [][]tallyOfRows
	groups     []groups
	histories  []history
	// before is the variable previous.
	before   map[string]any
	disabled []bool
	// complete says that the whole file was read.
	complete bool
}

func newRun(e *Engine, records source, c *engine.Collector) *run {
	r := &run{
		engine:     e,
		records:    records,
		collector:  c,
		present:    make([]bool, len(e.columns)),
		cells:      make([]cell, len(e.columns)),
		starts:     make([]int, len(e.columns)),
		shown:      map[string]any{},
		members:    map[string]bool{},
		before:     map[string]any{},
		patterns:   patternWork{most: e.limits.MaxPatternWork},
		budget:     newUniqueness(e.limits.MaxUniqueBytes),
		unique:     make([]*seen, len(e.columns)),
		aggregates: make([]aggregate, len(e.columns)),
		disabled:   make([]bool, len(e.rowRules)),
	}
	r.variables = map[string]any{"row": r.shown, "previous": r.before}
	for i, column := range e.columns {
		// What the file has no column for stays missing.
		r.cells[i].missing = true
		if column.unique {
			r.unique[i] = r.budget.newSeen()
		}
	}
	for range e.keys {
		r.keys = append(r.keys, r.budget.newSeen())
	}
	for range e.foreignKeys {
		r.references = append(r.references, &references{targets: r.budget.newSeen(), open: map[string]reference{}})
	}
	for _, rule := range e.datasetRules {
		r.counts = append(r.counts, make([]tallyOfRows, len(rule.counts)))
		r.groups = append(r.groups, groups{known: map[string]*tally{}})
	}
	r.prepareSpreads()
	for range e.rowRules {
		r.histories = append(r.histories, history{rows: map[string]map[string]any{}})
	}
	return r
}

// prepareSpreads gives half of the memory to percentiles, if a rule reads some.
func (r *run) prepareSpreads() {
	for _, rule := range r.engine.datasetRules {
		if len(rule.percentiles) == 0 {
			continue
		}
		if r.spreads == nil {
			r.budget.left /= 2
			r.spreads = newUniqueness(r.budget.left)
		}
		for at := range rule.percentiles {
			if len(rule.group) == 0 && r.aggregates[at].spread == nil {
				r.aggregates[at].spread = newSpread(r.spreads)
			}
		}
	}
}

// read goes through the file. Its error is the context's or the reader's, never the table's.
func (r *run) read(ctx context.Context) error {
	if done, err := r.readHeader(ctx); done || err != nil {
		return err
	}
	r.disableRules()
	for {
		err := r.next(ctx)
		if errors.Is(err, io.EOF) {
			r.end()
			return nil
		}
		r.row++
		if err != nil {
			if final, err := r.unreadable(err); final || err != nil {
				return err
			}
			continue
		}
		if r.row > r.engine.limits.MaxRows {
			r.row--
			message := fmt.Sprintf("the table has more than %d rows; the rest is not checked", r.row)
			r.find("", 0, engine.Finding{Code: "csv.limit.rows", Message: message})
			return nil
		}
		if err := errors.Join(r.checkRow(ctx), r.patterns.failed); err != nil {
			return err
		}
	}
}

// end notes that the whole file was read. A file without a header is empty if it has no row.
func (r *run) end() {
	r.complete = true
	if _, isKeyed := r.records.(keyed); isKeyed && r.row == 0 {
		r.collector.Add("", engine.Failure("csv.empty", "the table is empty"))
	}
}

// next reads the next record that has text, and reports the blank lines before it. Those at the end of the file mean
// nothing, since many programs write them.
func (r *run) next(ctx context.Context) error {
	first, blank := 0, 0
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("check table: %w", err)
		}
		err := r.records.next()
		if err == nil && r.records.blank() {
			if blank == 0 {
				first = r.records.at()
			}
			blank++
			continue
		}
		if blank > 0 && !errors.Is(err, io.EOF) {
			f := engine.Failure("csv.row.blank", engine.Plural(blank, "blank line", "blank lines")+" among the rows")
			f.Line, f.Column = first, 1
			r.collector.Add("", f)
		}
		return err
	}
}

// unreadable reports a record that cannot be read. It answers whether nothing behind it can be read either.
func (r *run) unreadable(err error) (bool, error) {
	fault, ok := errors.AsType[*rowError](err)
	if !ok {
		return true, err
	}
	r.find("", fault.offset, engine.Finding{Code: fault.code, Message: fault.message})
	return fault.final, nil
}

// find reports an error at an offset of the current record. The path is the column's name.
func (r *run) find(path string, offset int, f engine.Finding) {
	f.Path = path
	f.Row = r.row
	if f.Severity == "" {
		f.Severity = engine.SeverityError
	}
	if !r.collector.Full(engine.CheckKey{Code: f.Code, Path: path, Severity: f.Severity}) {
		f = r.records.place(f, offset)
	}
	r.collector.Add(path, f)
}

// findValue reports an error about a value.
func (r *run) findValue(i int, value cell, code string, words wording) {
	column := r.engine.columns[i]
	f := engine.Finding{Code: code}
	if !r.full(code, column.name) {
		f.Message = words(column, value)
	}
	r.find(column.name, r.starts[i], f)
}

// full reports whether errors of a code are only counted from now on.
func (r *run) full(code, path string) bool {
	return r.collector.Full(engine.CheckKey{Code: code, Path: path, Severity: engine.SeverityError})
}

func (r *run) checkRow(ctx context.Context) error {
	if got, want := len(r.records.fields()), len(r.order); got != want {
		f := engine.Finding{Code: "csv.row.field_count"}
		if !r.full(f.Code, "") {
			wanted := "schema"
			if r.engine.dialect.hasHeader() {
				wanted = "header"
			}
			f.Message = fmt.Sprintf("row has %s, %s has %d", engine.Plural(got, "field", "fields"), wanted, want)
		}
		r.find("", 0, f)
		return nil
	}
	if r.isEmpty() {
		r.find("", 0, engine.Finding{Code: "csv.row.blank", Message: "the row has no values"})
		return nil
	}
	r.count++
	r.checkMembers()
	for i, field := range r.records.fields() {
		if at := r.order[i]; at >= 0 {
			r.starts[at] = field.start
			r.checkCell(at, field)
		}
	}
	r.checkKeys()
	r.checkReferences()
	for _, i := range r.engine.shown {
		r.shown[r.engine.columns[i].name] = r.engine.columns[i].native(r.cells[i])
	}
	if err := r.checkRules(ctx); err != nil {
		return err
	}
	return r.countRow(ctx)
}

// isEmpty says whether the row of a text has nothing between its delimiters.
func (r *run) isEmpty() bool {
	fields := r.records.fields()
	_, isText := r.records.(*csvReader)
	return isText && len(fields) > 1 && !slices.ContainsFunc(fields, func(f field) bool { return len(f.text) > 0 })
}

func (r *run) checkCell(i int, f field) {
	column := r.engine.columns[i]
	text := string(f.text)
	if f.native == nativeNull || f.native == nativeText && slices.Contains(column.missing, text) {
		r.cells[i] = cell{missing: true, broken: column.required}
		if column.required {
			r.findValue(i, r.cells[i], "csv.required", missingValue)
		}
		return
	}
	if f.native == nativeFault {
		r.cells[i] = cell{text: text, broken: true}
		r.findValue(i, r.cells[i], "csv.cell_error", failedFormula)
		return
	}
	value := column.read(f, text)
	r.cells[i] = value
	if value.broken {
		r.findValue(i, value, column.typeCode, wrongType)
		return
	}
	column.violations(value, &r.patterns, func(code string, words wording) {
		r.findValue(i, value, code, words)
	})
	r.aggregates[i].add(value)
	if r.unique[i] != nil {
		r.key = column.appendKey(r.key[:0], value)
		r.checkDuplicate(r.unique[i], i, "csv.unique", func(row int) string {
			return fmt.Sprintf("%s %s is a duplicate of row %d", column.name, engine.Quote(text), row)
		})
	}
}

// checkDuplicate looks the key up; the message is made for the row of the first one.
func (r *run) checkDuplicate(s *seen, i int, code string, message func(row int) string) {
	name := r.engine.columns[i].name
	row, remembered := s.first(r.key, r.row)
	switch {
	case !remembered:
		limited := "duplicates were detected only up to here: the memory for them is used up"
		r.find(name, r.starts[i], engine.Finding{Code: "csv.limit.unique", Message: limited})
	case row > 0:
		f := engine.Finding{Code: code}
		if !r.full(code, name) {
			f.Message = message(row)
		}
		r.find(name, r.starts[i], f)
	}
}
