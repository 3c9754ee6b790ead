package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// run is the state of one run over one table.
type run struct {
	engine    *Engine
	reader    *csvReader
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
	// variables are what expressions on rows see. The map of the row is filled anew for each row.
	variables map[string]any
	shown     map[string]any

	budget     *uniqueness
	unique     []*seen
	primaryKey *seen
	key        []byte
	aggregates []aggregate
	counts     [][]tallyOfRows
	disabled   []bool
	// complete says that the whole file was read.
	complete bool
}

func newRun(e *Engine, reader *csvReader, c *engine.Collector) *run {
	r := &run{
		engine:     e,
		reader:     reader,
		collector:  c,
		present:    make([]bool, len(e.columns)),
		cells:      make([]cell, len(e.columns)),
		starts:     make([]int, len(e.columns)),
		shown:      map[string]any{},
		budget:     newUniqueness(e.limits.MaxUniqueBytes),
		unique:     make([]*seen, len(e.columns)),
		aggregates: make([]aggregate, len(e.columns)),
		disabled:   make([]bool, len(e.rowRules)),
	}
	r.variables = map[string]any{"row": r.shown}
	for i, column := range e.columns {
		// What the file has no column for stays missing.
		r.cells[i].missing = true
		if column.unique {
			r.unique[i] = r.budget.newSeen()
		}
	}
	if len(e.primaryKey) > 0 {
		r.primaryKey = r.budget.newSeen()
	}
	for _, rule := range e.datasetRules {
		r.counts = append(r.counts, make([]tallyOfRows, len(rule.counts)))
	}
	return r
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
			r.complete = true
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
		if err := r.checkRow(ctx); err != nil {
			return err
		}
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
		err := r.reader.next()
		if err == nil && r.reader.blank() {
			if blank == 0 {
				first = r.reader.line
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

// readHeader answers whether there is nothing to read behind it.
func (r *run) readHeader(ctx context.Context) (bool, error) {
	if !r.engine.dialect.hasHeader() {
		for i := range r.engine.columns {
			r.order = append(r.order, i)
			r.present[i] = true
		}
		return false, nil
	}
	err := r.next(ctx)
	if what := foreignFormat(r.reader.raw); what != "" {
		message := "the file is no CSV: it looks like " + what
		r.find("", 0, engine.Finding{Code: "csv.encoding", Message: message})
		return true, nil
	}
	switch {
	case errors.Is(err, io.EOF):
		r.complete = true
		r.collector.Add("", engine.Failure("csv.empty", "the table is empty"))
		return true, nil
	case err != nil:
		_, err = r.unreadable(err)
		return true, err
	}
	if at := engine.BadTextAt(r.reader.raw); at >= 0 {
		message := "the header is not text in the table's encoding"
		if engine.IsUTF16(r.reader.raw) {
			message += "; it looks like UTF-16, leave encoding out of the dialect"
		}
		r.find("", at, engine.Finding{Code: "csv.encoding", Message: message})
		return true, nil
	}
	if found := r.likelyDelimiter(); found != "" {
		message := "the columns look separated by " + found + "; set delimiter in the dialect of the step"
		r.find("", 0, engine.Finding{Code: "csv.header.delimiter", Message: message})
		return true, nil
	}
	r.checkHeader()
	return false, nil
}

// likelyDelimiter names the delimiter of a header that is one field only because it has another one than the dialect.
func (r *run) likelyDelimiter() string {
	cells, columns := r.reader.cells, r.engine.columns
	if len(cells) != 1 || columnIndex(columns, string(cells[0].text)) >= 0 {
		return ""
	}
	for _, other := range []struct{ delimiter, name string }{
		{";", "semicolons"}, {"\t", "tabs"}, {"|", "vertical bars"}, {",", "commas"},
	} {
		names := strings.Split(string(cells[0].text), other.delimiter)
		if len(names) > 1 && slices.ContainsFunc(names, func(name string) bool {
			return columnIndex(columns, strings.Trim(name, `"`)) >= 0
		}) {
			return other.name
		}
	}
	return ""
}

func (r *run) checkHeader() {
	columns := r.engine.columns
	unknown := []int{}
	for i, field := range r.reader.cells {
		name := string(field.text)
		at := columnIndex(columns, name)
		switch {
		case name == "":
			message := fmt.Sprintf("field %d of the header has no name", i+1)
			r.find("", field.start, engine.Finding{Code: "csv.header.empty", Message: message})
		case at < 0:
			unknown = append(unknown, i)
		case r.present[at]:
			at = -1
			message := engine.Clip(name) + " occurs twice"
			r.find(name, field.start, engine.Finding{Code: "csv.header.duplicate", Message: message})
		default:
			r.present[at] = true
		}
		r.order = append(r.order, at)
	}
	missing := []string{}
	for i, column := range columns {
		if !r.present[i] {
			missing = append(missing, column.name)
		}
	}
	for _, i := range unknown {
		field := r.reader.cells[i]
		message := engine.Clip(string(field.text)) + " is " + engine.NotAllowed(string(field.text), missing)
		name := engine.Clip(string(field.text))
		r.find(name, field.start, engine.Finding{Code: "csv.header.unknown", Message: message})
	}
	for _, name := range missing {
		message := "the header lacks the column " + engine.Clip(name)
		r.find(name, 0, engine.Finding{Code: "csv.header.missing", Message: message})
	}
}

// unreadable reports a record that cannot be read. It answers whether nothing behind it can be read either.
func (r *run) unreadable(err error) (bool, error) {
	fault, ok := errors.AsType[*csvError](err)
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
		f = r.reader.place(f, min(offset, len(r.reader.raw)), r.engine.limits.MaxExcerpt)
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

// full says whether errors of a code are only counted from now on.
func (r *run) full(code, path string) bool {
	return r.collector.Full(engine.CheckKey{Code: code, Path: path, Severity: engine.SeverityError})
}

func (r *run) checkRow(ctx context.Context) error {
	if at := engine.BadTextAt(r.reader.raw); at >= 0 {
		r.find("", at, engine.Finding{Code: "csv.encoding", Message: "the row is not text in the table's encoding"})
		return nil
	}
	if got, want := len(r.reader.cells), len(r.order); got != want {
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
	r.count++
	for i, field := range r.reader.cells {
		if at := r.order[i]; at >= 0 {
			r.starts[at] = field.start
			r.checkCell(at, string(field.text))
		}
	}
	r.checkPrimaryKey()
	for _, i := range r.engine.shown {
		r.shown[r.engine.columns[i].name] = r.engine.columns[i].native(r.cells[i])
	}
	if err := r.checkRules(ctx); err != nil {
		return err
	}
	return r.countRow(ctx)
}

func (r *run) checkCell(i int, text string) {
	column := r.engine.columns[i]
	if slices.Contains(r.engine.missing, text) {
		r.cells[i] = cell{missing: true, broken: column.required}
		if column.required {
			r.findValue(i, r.cells[i], "csv.required", missingValue)
		}
		return
	}
	value := column.parse(text)
	r.cells[i] = value
	if value.broken {
		r.findValue(i, value, column.typeCode, wrongType)
		return
	}
	column.violations(value, r.engine.limits.MaxPatternWork, func(code string, words wording) {
		r.findValue(i, value, code, words)
	})
	r.aggregates[i].add(value.number)
	if r.unique[i] != nil {
		r.key = column.appendKey(r.key[:0], value)
		r.checkDuplicate(r.unique[i], i, "csv.unique", func(line int) string {
			return fmt.Sprintf("%s %s is a duplicate of line %d", column.name, engine.Quote(text), line)
		})
	}
}

// checkPrimaryKey compares rows whose key is complete; a broken value in it has its own finding.
func (r *run) checkPrimaryKey() {
	if r.primaryKey == nil {
		return
	}
	columns := r.engine.columns
	r.key = r.key[:0]
	names := make([]string, 0, len(r.engine.primaryKey))
	for _, i := range r.engine.primaryKey {
		value := r.cells[i]
		if !r.present[i] || value.broken {
			return
		}
		if value.missing {
			r.findValue(i, value, "csv.primary_key", func(c *column, _ cell) string {
				return c.name + " is part of the primary key and is missing"
			})
			return
		}
		r.key = columns[i].appendKey(r.key, value)
		names = append(names, columns[i].name)
	}
	r.checkDuplicate(r.primaryKey, r.engine.primaryKey[0], "csv.primary_key", func(line int) string {
		return fmt.Sprintf("duplicate of line %d (%s)", line, strings.Join(names, ", "))
	})
}

// checkDuplicate looks the key up; the message is made for the line of the first one.
func (r *run) checkDuplicate(s *seen, i int, code string, message func(line int) string) {
	name := r.engine.columns[i].name
	line, remembered := s.first(r.key, r.reader.line)
	switch {
	case !remembered:
		limited := "duplicates were looked for up to here only: the memory for it is spent"
		r.find(name, r.starts[i], engine.Finding{Code: "csv.limit.unique", Message: limited})
	case line > 0:
		f := engine.Finding{Code: code}
		if !r.full(code, name) {
			f.Message = message(line)
		}
		r.find(name, r.starts[i], f)
	}
}
