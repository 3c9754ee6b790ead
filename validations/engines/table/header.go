package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tablefile"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tableschema"
)

// readHeader reports whether there is nothing to read after it.
func (r *run) readHeader(ctx context.Context) (bool, error) {
	_, isKeyed := r.records.(*tablefile.JSONLines)
	if isKeyed || !r.engine.dialect.HasHeader() {
		for i := range r.engine.columns {
			r.order = append(r.order, i)
			r.present[i] = true
		}
		return false, nil
	}
	names, err := r.engine.dialect.ReadHeader(r.records, func() error { return r.next(ctx) })
	text, isText := r.records.(*tablefile.CSV)
	if isText {
		if what := tablefile.ForeignFormat(text.Raw()); what != "" {
			r.fail("", 0, "csv.encoding", "the file is not CSV: it looks like %s", what)
			return true, nil
		}
	}
	if err != nil {
		return r.noHeader(err)
	}
	if found := r.likelyDelimiter(names); isText && found != "" {
		r.fail("", 0, "csv.header.delimiter",
			"the columns seem to be separated by %s; set delimiter in the dialect of the step", found)
		return true, nil
	}
	if found := r.likelyPlace(ctx, names); found != "" {
		r.fail("", 0, "csv.header.place", "%s", found)
		return true, nil
	}
	r.checkHeader(names)
	return false, nil
}

// noHeader reports why the header cannot be read. Without it nothing else can.
func (r *run) noHeader(err error) (bool, error) {
	if errors.Is(err, io.EOF) {
		r.complete = true
		r.collector.Add("", engine.Failure("csv.empty", "the table is empty"))
		return true, nil
	}
	fault, ok := errors.AsType[*tablefile.Error](err)
	if text, isText := r.records.(*tablefile.CSV); ok && isText && fault.Code == "csv.encoding" {
		fault.Message = "the header is not text in the table's encoding"
		if engine.IsUTF16(text.Raw()) {
			fault.Message += "; it looks like UTF-16, leave encoding out of the dialect"
		}
	}
	_, err = r.unreadable(err)
	return true, err
}

// likelyDelimiter names the delimiter of a header that is one field only because it has another one than the dialect.
func (r *run) likelyDelimiter(cells []tablefile.Value) string {
	columns := r.engine.columns
	if len(cells) != 1 || columnIndex(columns, string(cells[0].Text)) >= 0 {
		return ""
	}
	for _, other := range []struct{ delimiter, name string }{
		{";", "semicolons"}, {"\t", "tabs"}, {"|", "vertical bars"}, {",", "commas"},
	} {
		names := strings.Split(string(cells[0].Text), other.delimiter)
		if len(names) > 1 && slices.ContainsFunc(names, func(name string) bool {
			return columnIndex(columns, strings.Trim(name, `"`)) >= 0
		}) {
			return other.name
		}
	}
	return ""
}

// likelyPlace names the row or the sheets that seem to have the header, where one has none of the columns.
func (r *run) likelyPlace(ctx context.Context, names []tablefile.Value) string {
	if r.known(names) > 0 {
		return ""
	}
	const rows = 20
	here, sheets := tablefile.SheetOf(r.records), []string{}
	for _, sheet := range tablefile.Again(ctx, r.records, r.doc, r.engine.dialect, r.engine.limits) {
		for i := 0; i < rows && sheet.Next() == nil; i++ {
			name := tablefile.SheetOf(sheet)
			switch {
			case 2*r.known(sheet.Values()) < len(r.engine.columns):
				continue
			case name == here:
				return fmt.Sprintf("the header seems to be in row %d; set headerRows to [%[1]d] in the dialect",
					sheet.At())
			}
			sheets = append(sheets, engine.Quote(name))
			break
		}
	}
	if len(sheets) == 0 {
		return ""
	}
	return fmt.Sprintf("the sheet %s has no column of the schema, but %s has them; set sheet in the dialect",
		engine.Quote(here), strings.Join(sheets, ", "))
}

// known counts the values that are names of columns.
func (r *run) known(values []tablefile.Value) int {
	n := 0
	for _, value := range values {
		if columnIndex(r.engine.columns, string(value.Text)) >= 0 {
			n++
		}
	}
	return n
}

func (r *run) checkHeader(names []tablefile.Value) {
	match := r.engine.match
	if match.isOrdered {
		r.checkOrder(names)
	}
	unknown := r.assign(names)
	missing := []string{}
	for i, column := range r.engine.columns {
		if !r.present[i] {
			missing = append(missing, column.Name)
		}
	}
	if !match.allowsUnknown {
		for _, name := range unknown {
			r.findUnknown(name, missing)
		}
	}
	if match.allowsUnknown && match.allowsMissing && len(missing) == len(r.engine.columns) {
		r.fail("", 0, "csv.header.missing", "the header has no column of the schema")
	}
	if match.allowsMissing {
		return
	}
	for _, name := range missing {
		r.fail(name, 0, "csv.header.missing", "the header lacks the column %s", engine.Clip(name))
	}
}

// assign gives each field of the file the column of its name. It returns the names that no column has.
func (r *run) assign(names []tablefile.Value) []tablefile.Value {
	unknown := []tablefile.Value{}
	for i, field := range names {
		name := string(field.Text)
		at := columnIndex(r.engine.columns, name)
		switch {
		case name == "":
			r.fail("", field.Start, "csv.header.empty", "field %d of the header has no name", i+1)
		case at < 0:
			unknown = append(unknown, field)
		case r.present[at]:
			at = -1
			r.fail(name, field.Start, "csv.header.duplicate", "%s occurs twice", engine.Clip(name))
		default:
			r.present[at] = true
		}
		r.order = append(r.order, at)
	}
	return unknown
}

// findUnknown reports a name that no column has, and suggests a similar missing column.
func (r *run) findUnknown(name tablefile.Value, missing []string) {
	text := string(name.Text)
	r.fail(engine.Clip(text), name.Start, "csv.header.unknown", "%s is %s", engine.Clip(text),
		engine.NotAllowed(text, missing))
}

// checkOrder reports the first name of a header that is in another place than in the schema.
func (r *run) checkOrder(names []tablefile.Value) {
	for i, name := range names {
		text := string(name.Text)
		if at := columnIndex(r.engine.columns, text); at >= 0 && at != i {
			r.fail(engine.Clip(text), name.Start, "csv.header.order",
				"%s is column %d, the schema has it as column %d", engine.Clip(text), i+1, at+1)
			return
		}
	}
}

// checkMembers reports the names of a record's members that no column has, each once.
func (r *run) checkMembers() {
	records, isKeyed := r.records.(*tablefile.JSONLines)
	if !isKeyed || r.engine.match.allowsUnknown {
		return
	}
	for _, name := range records.Unknown() {
		text := string(name.Text)
		if r.members[text] || len(r.members) >= r.engine.limits.MaxColumns {
			continue
		}
		r.members[text] = true
		r.findUnknown(name, namesOfColumns(r.engine.columns))
	}
}

func namesOfColumns(columns []*tableschema.Column) []string {
	return engine.Each(columns, func(c *tableschema.Column) string { return c.Name })
}

// fieldsMatch says how the columns of a file and the fields of the schema may differ, as Table Schema has it.
type fieldsMatch struct {
	isOrdered bool
	// allowsUnknown says that the file may have columns that the schema lacks, allowsMissing that it may lack some.
	allowsUnknown, allowsMissing bool
}

// fieldsMatches are the words for it. The default is equal: the same columns in any order. That of the specification is
// exact, which few files of people keep.
var fieldsMatches = map[string]fieldsMatch{
	"equal": {}, "exact": {isOrdered: true}, "subset": {allowsUnknown: true}, "superset": {allowsMissing: true},
	"partial": {allowsUnknown: true, allowsMissing: true},
}

// compileMatch reads the member fieldsMatch, a word or a list with one.
func (s *schemaConfig) compileMatch() (fieldsMatch, []engine.ConfigError) {
	if len(s.FieldsMatch) == 0 {
		return fieldsMatches["equal"], nil
	}
	if words := engine.TextsOf(s.FieldsMatch); len(words) == 1 {
		if match, known := fieldsMatches[words[0]]; known {
			return match, nil
		}
	}
	detail := "use exact, equal, subset, superset or partial"
	return fieldsMatch{}, engine.Refuse("/schema/fieldsMatch", "schema.fields_match", detail)
}
