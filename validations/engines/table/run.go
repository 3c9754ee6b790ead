package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tablefile"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tableschema"
)

// run is the state of one run over one table.
type run struct {
	engine    *Engine
	records   tablefile.Source
	doc       engine.Document
	collector *engine.Collector
	// order gives for each field of the file the column it belongs to, -1 for none.
	order []int
	// present says which columns the file has.
	present []bool

	row   int
	count int
	// lacks is a column that the current row lacks, lackingAt is the line of the row, and lacked counts such rows.
	lacks             string
	lackingAt, lacked int
	cells             []tableschema.Cell
	// starts are the offsets of the columns' cells in the current record.
	starts []int
	// variables are what expressions on rows see. The map of the row is refilled for each row.
	variables map[string]any
	shown     map[string]any

	// members are the names of members that were reported as unknown.
	members map[string]bool

	budget *uniqueness
	// spreads is the memory for percentiles, half of all where a rule reads some.
	spreads    *uniqueness
	work       *expression.Work
	unique     []*seen
	keys       []*seen
	references []*references
	key        []byte
	groups     []groups
	histories  []history
	// before is the variable previous.
	before   map[string]any
	disabled []bool
	// complete says that the whole file was read.
	complete bool
}

func newRun(e *Engine, doc engine.Document, records tablefile.Source, c *engine.Collector) *run {
	r := &run{
		engine:    e,
		doc:       doc,
		records:   records,
		collector: c,
		present:   make([]bool, len(e.columns)),
		cells:     make([]tableschema.Cell, len(e.columns)),
		starts:    make([]int, len(e.columns)),
		shown:     map[string]any{},
		members:   map[string]bool{},
		before:    map[string]any{},
		work:      expression.NewWork(e.limits),
		budget:    newUniqueness(e.limits.MaxUniqueBytes),
		unique:    make([]*seen, len(e.columns)),
		disabled:  make([]bool, len(e.rowRules)),
	}
	r.variables = map[string]any{"row": r.shown, "previous": r.before}
	for i, column := range e.columns {
		// What the file has no column for stays missing.
		r.cells[i].Missing = true
		if column.Unique {
			r.unique[i] = r.budget.newSeen()
		}
	}
	r.keys = engine.Each(e.keys, func(rowKey) *seen { return r.budget.newSeen() })
	r.references = engine.Each(e.foreignKeys, func(foreignKey) *references {
		return &references{targets: r.budget.newSeen(), open: map[string]reference{}}
	})
	r.histories = engine.Each(e.rowRules, func(rowRule) history {
		return history{rows: map[string]map[string]any{}}
	})
	for i := range e.datasetRules {
		rule := &e.datasetRules[i]
		if len(rule.percentiles) > 0 && r.spreads == nil {
			r.budget.left /= 2
			r.spreads = newUniqueness(r.budget.left)
		}
		r.groups = append(r.groups, groups{known: map[string]*tally{}})
		if len(rule.group) == 0 {
			r.groups[i].known[""] = r.newTally(rule)
		}
	}
	return r
}

// read goes through the file. Its error is the context's or the reader's, never the table's.
func (r *run) read(ctx context.Context) error {
	if done, err := r.readHeader(ctx); done || err != nil {
		return err
	}
	r.disableRules()
	limits, columns := r.engine.limits, max(1, len(r.order))
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
		if r.row > min(limits.MaxRows, limits.MaxCells/columns) {
			r.row--
			r.fail("", 0, "csv.limit.rows", "the table has more than %s of %s; the rest is not checked",
				engine.Plural(r.row, "row", "rows"), engine.Plural(columns, "column", "columns"))
			return nil
		}
		if err := r.checkRow(ctx); err != nil {
			return err
		}
	}
}

// end notes that the whole file was read. A file without a header is empty if it has no row. Of all rows the last one
// alone lacks a value if it has totals.
func (r *run) end() {
	r.complete = true
	if r.lacks != "" && r.lacked == 1 && r.count > 1 {
		r.collector.Add("", engine.Finding{
			Severity: engine.SeverityInfo, Code: "csv.row.last", Row: r.row, Line: r.lackingAt, Column: 1,
			Message: "only the last row lacks " + r.lacks + "; if it has totals, the table must end before it",
		})
	}
	if _, isKeyed := r.records.(*tablefile.JSONLines); isKeyed && r.row == 0 {
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
		err := r.records.Next()
		if err == nil && r.records.Blank() {
			if blank == 0 {
				first = r.records.At()
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
	fault, ok := errors.AsType[*tablefile.Error](err)
	if !ok {
		return true, err
	}
	r.fail("", fault.Offset, fault.Code, "%s", fault.Message)
	return fault.Final, nil
}

// find reports a finding at an offset of the current record. The path is the column's name. Its message and its place
// are only made where it is listed.
func (r *run) find(path string, offset int, f engine.Finding, message func() string) {
	f.Path = path
	f.Row = r.row
	if !r.collector.Full(engine.CheckKey{Code: f.Code, Path: path, Severity: f.Severity}) {
		f.Message = message()
		f = r.records.Place(f, offset)
	}
	r.collector.Add(path, f)
}

// fail reports an error at an offset of the current record.
func (r *run) fail(path string, offset int, code, format string, args ...any) {
	r.find(path, offset, engine.Failure(code, ""), func() string { return fmt.Sprintf(format, args...) })
}

// failValue reports an error about a value.
func (r *run) failValue(i int, value tableschema.Cell, code string, words tableschema.Wording) {
	column := r.engine.columns[i]
	if value.Missing && r.lacks == "" {
		r.lacks, r.lackingAt = column.Name, r.records.At()
		r.lacked++
	}
	r.find(column.Name, r.starts[i], engine.Failure(code, ""), func() string { return words(column, value) })
}

func (r *run) checkRow(ctx context.Context) error {
	r.lacks = ""
	if got, want := len(r.records.Values()), len(r.order); got != want {
		wanted := "schema"
		if r.engine.dialect.HasHeader() {
			wanted = "header"
		}
		r.fail("", 0, "csv.row.field_count", "row has %s, %s has %d",
			engine.Plural(got, "field", "fields"), wanted, want)
		return nil
	}
	if r.isEmpty() {
		r.fail("", 0, "csv.row.blank", "the row has no values")
		return nil
	}
	r.count++
	r.checkMembers()
	for i, field := range r.records.Values() {
		if at := r.order[i]; at >= 0 {
			r.starts[at] = field.Start
			if err := r.checkCell(at, field); err != nil {
				return err
			}
		}
	}
	r.checkKeys()
	r.checkReferences()
	for _, i := range r.engine.shown {
		r.shown[r.engine.columns[i].Name] = r.engine.columns[i].NativeOf(r.cells[i])
	}
	if err := r.checkRules(ctx); err != nil {
		return err
	}
	return r.countRow(ctx)
}

// isEmpty says whether the row of a text has nothing between its delimiters.
func (r *run) isEmpty() bool {
	fields := r.records.Values()
	_, isText := r.records.(*tablefile.CSV)
	hasText := func(f tablefile.Value) bool { return len(f.Text) > 0 }
	return isText && len(fields) > 1 && !slices.ContainsFunc(fields, hasText)
}

func (r *run) checkCell(i int, f tablefile.Value) error {
	column := r.engine.columns[i]
	value, err := column.Check(f, func(code string, value tableschema.Cell, words tableschema.Wording) {
		r.failValue(i, value, code, words)
	})
	r.cells[i] = value
	if r.unique[i] != nil && !value.Missing && !value.Broken {
		r.key = column.AppendKey(r.key[:0], value)
		r.checkDuplicate(r.unique[i], i, "csv.unique", func(row int) string {
			return fmt.Sprintf("%s %s is a duplicate of row %d", column.Name, engine.Quote(value.Text), row)
		})
	}
	return err
}

// checkDuplicate looks the key up; the message is made for the row of the first one.
func (r *run) checkDuplicate(s *seen, i int, code string, message func(row int) string) {
	name := r.engine.columns[i].Name
	row, remembered := s.first(r.key, r.row)
	switch {
	case !remembered:
		r.fail(name, r.starts[i], "csv.limit.unique",
			"duplicates were detected only up to here: the memory for them is used up")
	case row > 0:
		r.find(name, r.starts[i], engine.Failure(code, ""), func() string { return message(row) })
	}
}
