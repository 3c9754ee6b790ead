package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
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
	field fieldConfig
	*column
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
	low, high  cell
}

// Infer proposes a configuration from a sample. Its error is the end of the context, a failure to read, or what is
// wrong with the sample.
func Infer(ctx context.Context, doc engine.Document, limits engine.Limits) (engine.Inferred, error) {
	dialect, names, err := sampleColumns(ctx, doc, limits)
	if err != nil {
		return engine.Inferred{}, fmt.Errorf("read the sample: %w", err)
	}
	e := &Engine{dialect: dialect, limits: limits}
	for _, name := range names {
		e.columns = append(e.columns, &column{name: name})
	}
	records, err := e.open(ctx, doc, io.NewSectionReader(doc.Content, 0, doc.Size))
	if err != nil {
		return engine.Inferred{}, fmt.Errorf("read the sample: %w", err)
	}
	defer closeSource(records)
	budget := newUniqueness(limits.MaxUniqueBytes)
	guesses := make([]*guess, len(names))
	for i, name := range names {
		guesses[i] = newGuess(name, dialect.Delimiter == ";", budget)
	}
	rows, err := readSample(ctx, records, guesses)
	if err != nil {
		return engine.Inferred{}, fmt.Errorf("read the sample: %w", err)
	}
	return propose(guesses, dialect, rows)
}

// sampleColumns reads the names of the columns and the delimiter that separates them. A delimiter by which the header
// cannot be read, as quotes and commas by a semicolon, leaves the choice to the others.
func sampleColumns(ctx context.Context, doc engine.Document, limits engine.Limits) (dialectConfig, []string, error) {
	dialect, most := dialectConfig{}, []string(nil)
	var fault error
	delimiters := []string{"", ";", "\t", "|"}
	if formatOf(doc) != formatCSV {
		delimiters = delimiters[:1]
	}
	for _, delimiter := range delimiters {
		e := &Engine{dialect: dialectConfig{Delimiter: delimiter}, limits: limits}
		names, err := e.sampleNames(ctx, doc)
		if len(names) > max(len(most), 1) || delimiter == "" {
			dialect, most, fault = e.dialect, names, err
		}
	}
	if fault != nil {
		return dialect, nil, fault
	}
	if len(most) == 0 {
		return dialect, nil, errors.New("it has no columns")
	}
	if len(most) > limits.MaxColumns {
		return dialect, nil, fmt.Errorf("it has more than %d columns", limits.MaxColumns)
	}
	if slices.Contains(most, "") {
		return dialect, nil, errors.New("a column has no name")
	}
	return dialect, most, nil
}

// sampleNames reads the header, or the names of all members where records name their values.
func (e *Engine) sampleNames(ctx context.Context, doc engine.Document) ([]string, error) {
	records, err := e.open(ctx, doc, io.NewSectionReader(doc.Content, 0, doc.Size))
	if err != nil {
		return nil, err
	}
	defer closeSource(records)
	objects, isKeyed := records.(keyed)
	names := []string{}
	for range sampleRows {
		err := records.next()
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err := sampleFault(records, err); err != nil {
			return nil, err
		}
		switch {
		case records.blank():
			continue
		case isKeyed:
			names = append(names, newNames(names, objects.unknown())...)
		default:
			names, err = headerNames(records)
		}
		if err != nil || !isKeyed || len(names) > e.limits.MaxColumns {
			return names, err
		}
	}
	return names, nil
}

// sampleFault says why the current record cannot be part of a table, or returns nil.
func sampleFault(records source, err error) error {
	if text, isText := records.(*csvReader); isText && foreignFormat(text.raw) != "" {
		return errors.New("it looks like " + foreignFormat(text.raw))
	}
	if fault := new(rowError); errors.As(err, &fault) && records.at() > 0 {
		return fmt.Errorf("line %d: %w", records.at(), err)
	}
	return err
}

// newNames are the names of members that are not known yet.
func newNames(known []string, members []field) []string {
	var added []string
	for _, f := range members {
		if name := string(f.text); !slices.Contains(known, name) {
			added = append(added, name)
		}
	}
	return added
}

// headerNames answers all names also where one of them is wrong, because their number tells the delimiter.
func headerNames(records source) ([]string, error) {
	names := []string{}
	var err error
	for _, f := range records.fields() {
		name := string(f.text)
		if name == "" || slices.Contains(names, name) {
			err = fmt.Errorf("line %d: every column needs a unique name", records.at())
		}
		names = append(names, name)
	}
	return names, err
}

// newGuess has the candidates in the order of preference; every text is a string. Commas are decimal where semicolons
// separate the columns.
func newGuess(name string, hasCommas bool, budget *uniqueness) *guess {
	g := &guess{name: name, choices: map[string]bool{}, distinct: budget.newSeen()}
	fields := []fieldConfig{{Type: "integer"}, {Type: "number"}}
	if hasCommas {
		fields = append(fields, fieldConfig{Type: "number", DecimalChar: ",", GroupChar: "."})
	}
	fields = append(fields,
		fieldConfig{Type: "boolean"},
		fieldConfig{Type: "date"}, fieldConfig{Type: "date", Format: "%d.%m.%Y"},
		fieldConfig{Type: "datetime"}, fieldConfig{Type: "datetime", Format: "%Y-%m-%d %H:%M:%S"},
		fieldConfig{Type: "datetime", Format: "%Y-%m-%d %H:%M"},
		fieldConfig{Type: "datetime", Format: "%d.%m.%Y %H:%M"},
		fieldConfig{Type: "datetime", Format: "%d.%m.%Y %H:%M:%S"},
		fieldConfig{Type: "time"}, fieldConfig{Type: "object"}, fieldConfig{Type: "array"}, fieldConfig{Type: "string"},
	)
	for _, field := range fields {
		field.Name = name
		compiled, _ := compileColumn(field, "", engine.DefaultLimits())
		g.candidates = append(g.candidates, &candidate{field, compiled})
	}
	return g
}

func readSample(ctx context.Context, records source, guesses []*guess) (int, error) {
	if _, isKeyed := records.(keyed); !isKeyed {
		if err := nextOfSample(ctx, records); err != nil {
			return 0, err
		}
	}
	for rows := 0; ; rows++ {
		err := nextOfSample(ctx, records)
		if errors.Is(err, io.EOF) || rows == sampleRows {
			return rows, nil
		}
		if err != nil {
			return rows, sampleFault(records, err)
		}
		fields := records.fields()
		if len(fields) != len(guesses) {
			return rows, fmt.Errorf("line %d has %d fields, the header has %d", records.at(), len(fields), len(guesses))
		}
		for i, f := range fields {
			guesses[i].add(f, records.at())
		}
	}
}

func nextOfSample(ctx context.Context, records source) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := records.next(); err != nil || !records.blank() {
			return err
		}
	}
}

// add drops the candidates that a value rules out.
func (g *guess) add(f field, line int) {
	text := string(f.text)
	if f.native == nativeNull || f.native == nativeText && text == "" {
		g.missing++
		return
	}
	g.values++
	if first, _ := g.distinct.first(f.text, line); first > 0 {
		g.isRepeated = true
	}
	if len(g.choices) <= maxChoices {
		g.choices[text] = true
	}
	kept := g.candidates[:0]
	for _, c := range g.candidates {
		if !c.fits(f, text) {
			continue
		}
		kept = append(kept, c)
	}
	g.candidates = kept
	if len(kept) > 0 {
		g.extend(kept[0].read(f, text))
	}
}

// fits reports whether a value is one of the type. Digits with a leading zero are identifiers, and 1 is not a boolean.
func (c *candidate) fits(f field, text string) bool {
	if f.native == nativeText {
		switch {
		case c.numeric() && len(text) > 1 && text[0] == '0' && strings.Trim(text, "0123456789") == "":
			return false
		case c.kind == typeBoolean && (text == "0" || text == "1"):
			return false
		}
	}
	return !c.read(f, text).broken
}

// extend keeps the smallest and the largest value of the first candidate, which later values may replace by another.
func (g *guess) extend(value cell) {
	c := g.candidates[0]
	if g.values == 1 || c.compare(value, c.parseAgain(g.low)) < 0 {
		g.low = value
	}
	if g.values == 1 || c.compare(value, c.parseAgain(g.high)) > 0 {
		g.high = value
	}
}

// parseAgain reads a value that another candidate has read.
func (c *candidate) parseAgain(value cell) cell {
	if again := c.parse(value.text); !again.broken {
		return again
	}
	return value
}

// propose writes the configuration. What a sample cannot prove is a note.
func propose(guesses []*guess, dialect dialectConfig, rows int) (engine.Inferred, error) {
	inferred := engine.Inferred{Notes: map[string]string{}}
	var config struct {
		Schema struct {
			Fields []json.RawMessage `json:"fields"`
		} `json:"schema"`
		Dialect *dialectConfig `json:"dialect,omitempty"`
	}
	for i, g := range guesses {
		field := g.field(rows)
		text, err := json.Marshal(field)
		if err != nil {
			return engine.Inferred{}, fmt.Errorf("write a field: %w", err)
		}
		config.Schema.Fields = append(config.Schema.Fields, text)
		if note := g.note(rows); note != "" {
			inferred.Notes[engine.Pointer("schema", "fields", strconv.Itoa(i), "name")] = note
		}
	}
	if dialect.Delimiter != "" {
		config.Dialect = &dialect
	}
	var err error
	if inferred.Config, err = json.Marshal(config); err != nil {
		return engine.Inferred{}, fmt.Errorf("write a configuration: %w", err)
	}
	return inferred, nil
}

// inferredField is the part of a field that a sample shows.
type inferredField struct {
	Name        string          `json:"name"`
	Type        string          `json:"type"`
	Format      string          `json:"format,omitempty"`
	DecimalChar string          `json:"decimalChar,omitempty"` //nolint:tagliatelle // Table Schema's own name
	GroupChar   string          `json:"groupChar,omitempty"`   //nolint:tagliatelle // Table Schema's own name
	Constraints map[string]bool `json:"constraints,omitempty"`
}

func (g *guess) field(rows int) inferredField {
	if g.values == 0 || len(g.candidates) == 0 {
		return inferredField{Name: g.name, Type: string(typeAny)}
	}
	best := g.candidates[0].field
	field := inferredField{
		Name: g.name, Type: best.Type, Format: best.Format, DecimalChar: best.DecimalChar, GroupChar: best.GroupChar,
	}
	if g.missing == 0 && rows > 0 {
		field.Constraints = map[string]bool{"required": true}
	}
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
	if best.numeric() || best.timed() || best.kind == typeTime {
		if g.low.text == g.high.text {
			return ""
		}
		return fmt.Sprintf("from %s to %s", engine.Clip(g.low.text), engine.Clip(g.high.text))
	}
	if best.kind != typeString || len(g.choices) > maxChoices || g.values < enoughRows {
		return ""
	}
	choices := slices.Sorted(maps.Keys(g.choices))
	return "one of " + engine.ClipTo(strings.Join(choices, ", "), engine.MaxMessage)
}
