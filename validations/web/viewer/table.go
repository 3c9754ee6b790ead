package viewer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// Table is a window of rows.
type Table struct {
	// Columns are the names of the columns that are shown, and Hidden counts the others.
	Columns []Cell
	Hidden  int
	// HasHeader is set if the first row of the table is its header. It is not among the rows, and Notes are the
	// findings on it.
	HasHeader bool
	Notes     []validations.ShownFinding
	Rows      []Row
	// Total is the number of lines of the document.
	Total int
}

// Width counts the cells of a row, its number included.
func (t *Table) Width() int { return len(t.Columns) + 1 }

// Row is a row of a table.
type Row struct {
	// Line is where the row begins, and Last where it ends.
	Line, Last int
	Cells      []Cell
	// Marked is set if a finding is about the row, and about none of its cells.
	Marked bool
	// Broken is set if the row could not be split into cells.
	Broken bool
	// Notes, Tone and Here are as those of a Line.
	Notes []validations.ShownFinding
	Tone  string
	Here  bool
}

// Cell is the shown part of a cell.
type Cell struct {
	Text   string
	Marked bool
	Cut    bool
}

// maxColumns is how many columns are shown side by side. Those with marks come first if there are more.
const maxColumns = 20

// readTable reads a window of rows from a source in UTF-8. It splits rows as a table step with the configuration does.
// A row belongs to the window if it begins there.
func readTable(
	source io.Reader, config json.RawMessage, document engines.Document, window Window,
) (Table, error) {
	counter := &lineCounter{source: source}
	records, err := engines.OpenRecords(counter, config, document)
	if err != nil {
		return Table{}, fmt.Errorf("read a table: %w", err)
	}
	table := Table{HasHeader: records.HasHeader}
	header := Row{}
	if records.HasHeader {
		header = newRow(records.Header, records.Columns, window)
	}
	err = records.SkipTo(window.From)
	for err == nil && len(table.Rows) < window.Count {
		var record engines.Record
		if record, err = records.Next(); err == nil {
			table.Rows = append(table.Rows, newRow(record, records.Columns, window))
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return Table{}, fmt.Errorf("read a table: %w", err)
	}
	table.choose(records.Columns, header, window.Head)
	table.Total, err = counter.total()
	return table, err
}

func newRow(record engines.Record, columns []string, window Window) Row {
	row := Row{Line: record.Line, Last: record.Last, Broken: record.Broken, Marked: record.Broken}
	for _, text := range record.Cells {
		row.Cells = append(row.Cells, newCell(text, window.Head))
	}
	for _, mark := range window.Marks {
		if mark.Line < row.Line || mark.Line > row.Last {
			continue
		}
		found := false
		for _, name := range append(strings.Split(mark.Path, ", "), mark.Path) {
			if i := slices.Index(columns, name); i >= 0 && i < len(row.Cells) && !row.Broken {
				row.Cells[i].Marked, found = true, true
			}
		}
		row.Marked = row.Marked || !found
	}
	return row
}

// newCell keeps the beginning of a text. Lines in it become spaces.
func newCell(text string, head int) Cell {
	var kept strings.Builder
	n := 0
	for _, char := range text {
		if n == head {
			return Cell{Text: kept.String(), Cut: true}
		}
		n++
		if char == '\n' || char == '\r' {
			char = ' '
		}
		kept.WriteRune(visible(char))
	}
	return Cell{Text: kept.String()}
}

// choose keeps the columns that are shown: all, or those with marks and then the first ones.
func (t *Table) choose(names []string, header Row, head int) {
	widest := len(names)
	for _, row := range t.Rows {
		widest = max(widest, len(row.Cells))
	}
	shown := make([]int, 0, maxColumns)
	take := func(wanted func(i int) bool) {
		for i := 0; i < widest && len(shown) < maxColumns; i++ {
			if !slices.Contains(shown, i) && wanted(i) {
				shown = append(shown, i)
			}
		}
	}
	take(func(i int) bool { return widest > maxColumns && t.isMarked(i) })
	take(func(int) bool { return true })
	slices.Sort(shown)
	t.Hidden = widest - len(shown)
	for _, i := range shown {
		column := newCell(nameOf(names, i), head)
		column.Marked = i < len(header.Cells) && header.Cells[i].Marked
		t.Columns = append(t.Columns, column)
	}
	for i := range t.Rows {
		t.Rows[i].keep(shown)
	}
}

// keep leaves the row the cells of the columns that are shown. A broken one has no cells by columns.
func (r *Row) keep(shown []int) {
	if r.Broken {
		return
	}
	cells := make([]Cell, 0, len(shown))
	for _, i := range shown {
		if i < len(r.Cells) {
			cells = append(cells, r.Cells[i])
		}
	}
	r.Cells = cells
}

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return ""
}

func (t *Table) isMarked(column int) bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool {
		return column < len(r.Cells) && r.Cells[column].Marked
	})
}
