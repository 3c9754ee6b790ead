package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tablefile"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tableschema"
)

// sampleRows is how many rows of a sample are read.
const sampleRows = 100_000

// maxChoices is how many values a column may have that looks like a list of choices, and enoughRows how many rows show
// it.
const (
	maxChoices = 12
	enoughRows = 20
)

// candidate is a type that the values of a column may have.
type candidate struct {
	field tableschema.Field
	*tableschema.Column
}

// guess is what is known of a column of a sample.
type guess struct {
	name       string
	candidates []*candidate
	values     int
	missing    int
	choices    map[string]bool
	distinct   *seen
	isRepeated bool
	low, high  tableschema.Cell
}

// Infer proposes a configuration from a sample. Its error is the end of the context, a failure to read, or what is
// wrong with the sample.
func Infer(ctx context.Context, doc engine.Document, limits engine.Limits) (engine.Inferred, error) {
	dialect, names, err := sampleColumns(ctx, doc, limits)
	if err != nil {
		return engine.Inferred{}, fmt.Errorf("read the sample: %w", err)
	}
	budget := newUniqueness(limits.MaxUniqueBytes)
	guesses := make([]*guess, len(names))
	for i, name := range names {
		guesses[i] = newGuess(name, dialect.Delimiter == ";", budget)
	}
	rows, header := 0, 1
	err = sample(ctx, doc, dialect, names, limits, func(records tablefile.Source) error {
		if _, isKeyed := records.(*tablefile.JSONLines); !isKeyed && header > 0 {
			header--
			return nil
		}
		fields := records.Values()
		if len(fields) != len(guesses) {
			return fmt.Errorf("line %d has %d fields, the header has %d", records.At(), len(fields), len(guesses))
		}
		for i, f := range fields {
			guesses[i].add(f, records.At())
		}
		rows++
		return nil
	})
	if err != nil {
		return engine.Inferred{}, fmt.Errorf("read the sample: %w", err)
	}
	return propose(guesses, dialect, rows), nil
}

// sample calls visit for the first records of a document that have text, until it returns an error; io.EOF is none.
func sample(
	ctx context.Context, doc engine.Document, dialect tablefile.Dialect, names []string, limits engine.Limits,
	visit func(records tablefile.Source) error,
) error {
	content := io.NewSectionReader(doc.Content, 0, doc.Size)
	records, err := tablefile.Open(ctx, doc, content, dialect, names, limits)
	if err != nil {
		return err
	}
	defer tablefile.Close(records)
	for n := 0; n <= sampleRows && err == nil; {
		err = cmp.Or(ctx.Err(), records.Next())
		if text, isText := records.(*tablefile.CSV); isText && tablefile.ForeignFormat(text.Raw()) != "" {
			return errors.New("it looks like " + tablefile.ForeignFormat(text.Raw()))
		}
		if fault := new(tablefile.Error); errors.As(err, &fault) && records.At() > 0 {
			return fmt.Errorf("line %d: %w", records.At(), err)
		}
		if err == nil && !records.Blank() {
			n++
			err = visit(records)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// sampleColumns reads the names of the columns and the delimiter that separates them. A delimiter by which the header
// cannot be read, as quotes and commas by a semicolon, leaves the choice to the others.
func sampleColumns(
	ctx context.Context, doc engine.Document, limits engine.Limits,
) (tablefile.Dialect, []string, error) {
	dialect, most, fault := tablefile.Dialect{}, []string(nil), error(nil)
	delimiters := []string{"", ";", "\t", "|"}
	if !tablefile.IsCSV(doc) {
		delimiters = delimiters[:1]
	}
	for _, delimiter := range delimiters {
		tried := tablefile.Dialect{Delimiter: delimiter}
		names, err := sampleNames(ctx, doc, tried, limits)
		if len(names) > max(len(most), 1) || delimiter == "" {
			dialect, most, fault = tried, names, err
		}
	}
	switch {
	case fault != nil:
	case len(most) == 0:
		fault = errors.New("it has no columns")
	case len(most) > limits.MaxColumns:
		fault = fmt.Errorf("it has more than %d columns", limits.MaxColumns)
	case slices.Contains(most, ""):
		fault = errors.New("a column has no name")
	}
	return dialect, most, fault
}

// sampleNames reads the header, or the names of all members where records name their values.
func sampleNames(
	ctx context.Context, doc engine.Document, dialect tablefile.Dialect, limits engine.Limits,
) ([]string, error) {
	names := []string{}
	err := sample(ctx, doc, dialect, nil, limits, func(records tablefile.Source) error {
		objects, isKeyed := records.(*tablefile.JSONLines)
		if !isKeyed {
			var err error
			names, err = headerNames(records)
			return cmp.Or(err, io.EOF)
		}
		for _, f := range objects.Unknown() {
			if name := string(f.Text); len(names) <= limits.MaxColumns && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
}

// headerNames answers all names also where one of them is wrong, because their number tells the delimiter.
func headerNames(records tablefile.Source) ([]string, error) {
	names := []string{}
	var err error
	for _, f := range records.Values() {
		name := string(f.Text)
		if name == "" || slices.Contains(names, name) {
			err = fmt.Errorf("line %d: every column needs a unique name", records.At())
		}
		names = append(names, name)
	}
	return names, err
}

// newGuess has the candidates in the order of preference; every text is a string. Commas are decimal where semicolons
// separate the columns. Groups come after numbers without them, because a group that no value shows would make a
// thousand of a decimal with a point.
func newGuess(name string, hasCommas bool, budget *uniqueness) *guess {
	g := &guess{name: name, choices: map[string]bool{}, distinct: budget.newSeen()}
	fields := []tableschema.Field{{Type: "integer"}, {Type: "number"}}
	if hasCommas {
		fields = append(fields, tableschema.Field{Type: "number", DecimalChar: ","},
			tableschema.Field{Type: "number", DecimalChar: ",", GroupChar: "."})
	}
	fields = slices.Concat(fields, []tableschema.Field{
		{Type: "boolean"},
		{Type: "date"},
		{Type: "date", Format: "%d.%m.%Y"},
		{Type: "datetime"},
		{Type: "datetime", Format: "%Y-%m-%d %H:%M:%S"},
		{Type: "datetime", Format: "%Y-%m-%d %H:%M"},
		{Type: "datetime", Format: "%d.%m.%Y %H:%M"},
		{Type: "datetime", Format: "%d.%m.%Y %H:%M:%S"},
		{Type: "time"},
		{Type: "object"},
		{Type: "array"},
		{Type: "string"},
	})
	for _, field := range fields {
		field.Name = name
		compiled, _ := tableschema.Compile(field, nil, "", engine.DefaultLimits())
		g.candidates = append(g.candidates, &candidate{field, compiled})
	}
	return g
}

// add drops the candidates that a value rules out.
func (g *guess) add(f tablefile.Value, line int) {
	text := string(f.Text)
	if f.Native == tablefile.NativeNull || f.Native == tablefile.NativeText && text == "" {
		g.missing++
		return
	}
	g.values++
	if first, _ := g.distinct.first(f.Text, line); first > 0 {
		g.isRepeated = true
	}
	if len(g.choices) <= maxChoices {
		g.choices[text] = true
	}
	kept := g.candidates[:0]
	for _, c := range g.candidates {
		if c.fits(f, text) {
			kept = append(kept, c)
		}
	}
	g.candidates = kept
	if len(kept) > 0 {
		g.extend(kept[0].Read(f, text))
	}
}

// fits reports whether a value is one of the type. Digits with a leading zero are identifiers, and 1 is not a boolean.
func (c *candidate) fits(f tablefile.Value, text string) bool {
	if f.Native == tablefile.NativeText {
		switch {
		case c.Numeric() && len(text) > 1 && text[0] == '0' && strings.Trim(text, "0123456789") == "":
			return false
		case c.Kind == tableschema.TypeBoolean && (text == "0" || text == "1"):
			return false
		}
	}
	return !c.Read(f, text).Broken
}

// extend keeps the smallest and the largest value of the first candidate, which later values may replace by another.
func (g *guess) extend(value tableschema.Cell) {
	c := g.candidates[0]
	if g.values == 1 || c.Compare(value, c.parseAgain(g.low)) < 0 {
		g.low = value
	}
	if g.values == 1 || c.Compare(value, c.parseAgain(g.high)) > 0 {
		g.high = value
	}
}

// parseAgain reads a value that another candidate has read.
func (c *candidate) parseAgain(value tableschema.Cell) tableschema.Cell {
	if again := c.Parse(value.Text); !again.Broken {
		return again
	}
	return value
}

// propose writes the configuration. What a sample cannot prove is a note.
func propose(guesses []*guess, dialect tablefile.Dialect, rows int) engine.Inferred {
	inferred := engine.Inferred{Notes: map[string]string{}}
	config := Config{Dialect: dialect}
	for i, g := range guesses {
		config.Schema.Fields = append(config.Schema.Fields, g.field(rows))
		if note := g.note(rows); note != "" {
			inferred.Notes[engine.Pointer("schema", "fields", strconv.Itoa(i), "name")] = note
		}
	}
	inferred.Config, _ = jsonv2.Marshal(config) // It has nothing that cannot be written.
	return inferred
}

// field is what the sample shows of a column.
func (g *guess) field(rows int) tableschema.Field {
	if g.values == 0 || len(g.candidates) == 0 {
		return tableschema.Field{Name: g.name, Type: string(tableschema.TypeAny)}
	}
	field := g.candidates[0].field
	field.Constraints.Required = g.missing == 0 && rows > 0
	return field
}

// note says what the values of the sample suggest.
func (g *guess) note(rows int) string {
	if g.values == 0 || len(g.candidates) == 0 {
		return "no values in the sample, or of several types"
	}
	var notes []string
	if g.missing > 0 {
		notes = append(notes, fmt.Sprintf("missing in %d of %d rows", g.missing, rows))
	}
	if found := g.span(); found != "" {
		notes = append(notes, found)
	}
	if !g.isRepeated && g.values >= enoughRows && !g.distinct.stopped {
		notes = append(notes, "each value once")
	}
	return strings.Join(notes, "; ")
}

// span names the smallest and the largest value, or the choices of a column of strings.
func (g *guess) span() string {
	best := g.candidates[0]
	if best.Numeric() || best.Timed() || best.Kind == tableschema.TypeTime {
		if g.low.Text == g.high.Text {
			return ""
		}
		return fmt.Sprintf("from %s to %s", engine.Clip(g.low.Text), engine.Clip(g.high.Text))
	}
	if best.Kind != tableschema.TypeString || len(g.choices) > maxChoices || g.values < enoughRows {
		return ""
	}
	choices := slices.Sorted(maps.Keys(g.choices))
	return "one of " + engine.ClipTo(strings.Join(choices, ", "), engine.MaxMessage)
}
