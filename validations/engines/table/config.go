package table

import (
	"encoding/json"
	"fmt"
	"mime"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// stepConfig is the configuration of a table step.
type stepConfig struct {
	Schema       schemaConfig        `json:"schema"`
	Dialect      dialectConfig       `json:"dialect,omitzero"`
	RowRules     []rowRuleConfig     `json:"row_rules,omitempty"`
	DatasetRules []datasetRuleConfig `json:"dataset_rules,omitempty"`
}

// tableSchema is the part of Table Schema that is checked. Its names are those of that specification.
type schemaConfig struct {
	schemaAnnotations

	Fields        []fieldConfig   `json:"fields"`
	PrimaryKey    json.RawMessage `json:"primaryKey,omitempty"`    //nolint:tagliatelle // Table Schema's own name
	MissingValues missingValues   `json:"missingValues,omitempty"` //nolint:tagliatelle // Table Schema's own name

	UniqueKeys  []json.RawMessage  `json:"uniqueKeys,omitempty"`  //nolint:tagliatelle // Table Schema's own name
	ForeignKeys []foreignKeyConfig `json:"foreignKeys,omitempty"` //nolint:tagliatelle // Table Schema's own name
	FieldsMatch json.RawMessage    `json:"fieldsMatch,omitempty"` //nolint:tagliatelle // Table Schema's own name

	Further furtherMembers `json:",embed"`
}

// schemaAnnotations are members for people and other programs, which are ignored.
type schemaAnnotations struct {
	Schema       json.RawMessage `json:"$schema,omitempty"`
	Name         json.RawMessage `json:"name,omitempty"`
	Title        json.RawMessage `json:"title,omitempty"`
	Description  json.RawMessage `json:"description,omitempty"`
	Homepage     json.RawMessage `json:"homepage,omitempty"`
	Version      json.RawMessage `json:"version,omitempty"`
	Created      json.RawMessage `json:"created,omitempty"`
	Keywords     json.RawMessage `json:"keywords,omitempty"`
	Sources      json.RawMessage `json:"sources,omitempty"`
	Licenses     json.RawMessage `json:"licenses,omitempty"`
	Contributors json.RawMessage `json:"contributors,omitempty"`
}

// fieldAnnotations are those of a field.
type fieldAnnotations struct {
	Title       json.RawMessage `json:"title,omitempty"`
	Description json.RawMessage `json:"description,omitempty"`
	RDFType     json.RawMessage `json:"rdfType,omitempty"` //nolint:tagliatelle // Table Schema's own name
	Example     json.RawMessage `json:"example,omitempty"`
	Examples    json.RawMessage `json:"examples,omitempty"`
}

type fieldConfig struct {
	fieldAnnotations

	Name        string      `json:"name"`
	Type        string      `json:"type,omitempty"`
	Format      string      `json:"format,omitempty"`
	DecimalChar string      `json:"decimalChar,omitempty"` //nolint:tagliatelle // Table Schema's own name
	GroupChar   string      `json:"groupChar,omitempty"`   //nolint:tagliatelle // Table Schema's own name
	BareNumber  *bool       `json:"bareNumber,omitempty"`  //nolint:tagliatelle // Table Schema's own name
	TrueValues  []string    `json:"trueValues,omitempty"`  //nolint:tagliatelle // Table Schema's own name
	FalseValues []string    `json:"falseValues,omitempty"` //nolint:tagliatelle // Table Schema's own name
	Constraints constraints `json:"constraints,omitzero"`
	// ItemType and Delimiter are of lists, Categories of strings and integers.
	ItemType      string        `json:"itemType,omitempty"` //nolint:tagliatelle // Table Schema's own name
	Delimiter     string        `json:"delimiter,omitempty"`
	Categories    []labeled     `json:"categories,omitempty"`
	MissingValues missingValues `json:"missingValues,omitempty"` //nolint:tagliatelle // Table Schema's own name

	Further furtherMembers `json:",embed"`
}

// labeled is a value, or an object with a value and its label.
type labeled json.RawMessage

// UnmarshalJSON takes the value of an object.
func (l *labeled) UnmarshalJSON(text []byte) error {
	var object struct {
		Value json.RawMessage `json:"value"`
	}
	*l = slices.Clone(text)
	if json.Unmarshal(text, &object) == nil && object.Value != nil {
		*l = labeled(object.Value)
	}
	return nil
}

// missingValues are the texts that mean no value.
type missingValues []labeled

func (m missingValues) texts() []string {
	texts := make([]string, len(m))
	for i, value := range m {
		texts[i] = scalarText(json.RawMessage(value))
	}
	return texts
}

type constraints struct {
	Required         bool              `json:"required,omitempty"`
	Unique           bool              `json:"unique,omitempty"`
	Minimum          json.RawMessage   `json:"minimum,omitempty"`
	Maximum          json.RawMessage   `json:"maximum,omitempty"`
	ExclusiveMinimum json.RawMessage   `json:"exclusiveMinimum,omitempty"` //nolint:tagliatelle // of Table Schema
	ExclusiveMaximum json.RawMessage   `json:"exclusiveMaximum,omitempty"` //nolint:tagliatelle // of Table Schema
	MinLength        *int              `json:"minLength,omitempty"`        //nolint:tagliatelle // of Table Schema
	MaxLength        *int              `json:"maxLength,omitempty"`        //nolint:tagliatelle // of Table Schema
	Pattern          string            `json:"pattern,omitempty"`
	Enum             []json.RawMessage `json:"enum,omitempty"`
	JSONSchema       json.RawMessage   `json:"jsonSchema,omitempty"` //nolint:tagliatelle // of Table Schema
	// Level says to some programs how grave a violation is; it checks nothing.
	Level json.RawMessage `json:"level,omitempty"`
}

// dialectConfig overrides what the media type and the name of the file say.
type dialectConfig struct {
	Delimiter string  `json:"delimiter,omitempty"`
	Quote     *string `json:"quote,omitempty"`
	Encoding  string  `json:"encoding,omitempty"`
	Header    *bool   `json:"header,omitempty"`
	// Sheet is the name of a sheet of a spreadsheet; without it the first one is checked.
	Sheet string `json:"sheet,omitempty"`
}

// rowRuleConfig is a rule that must hold for every row for which When holds.
type rowRuleConfig struct {
	ID       string          `json:"id"`
	Assert   string          `json:"assert"`
	Message  string          `json:"message,omitempty"`
	Severity engine.Severity `json:"severity,omitempty"`
	Column   string          `json:"column,omitempty"`
	When     string          `json:"when,omitempty"`
	// Group names columns: previous is then the row before that has the same values in them.
	Group []string `json:"group,omitempty"`
}

// datasetRuleConfig is a rule that must hold for the table as a whole. Counts names conditions on rows; the rule sees
// how many rows meet each.
type datasetRuleConfig struct {
	ID       string            `json:"id"`
	Assert   string            `json:"assert"`
	Message  string            `json:"message,omitempty"`
	Severity engine.Severity   `json:"severity,omitempty"`
	Counts   map[string]string `json:"counts,omitempty"`
	// Group names columns: the rule must then hold for the rows of each combination of their values.
	Group []string `json:"group,omitempty"`
}

// checkDialect returns what is wrong with a dialect.
func checkDialect(d dialectConfig) []engine.ConfigError {
	faults := []engine.ConfigError{}
	if d.Delimiter != "" && !isSeparator(d.Delimiter) {
		detail := "use one ASCII character"
		faults = append(faults, engine.NewConfigError("/dialect/delimiter", "dialect.delimiter", detail))
	}
	if d.Quote != nil && *d.Quote != "" && (!isSeparator(*d.Quote) || *d.Quote == d.Delimiter) {
		detail := "use one ASCII character other than the delimiter, or nothing"
		faults = append(faults, engine.NewConfigError("/dialect/quote", "dialect.quote", detail))
	}
	if _, known := engine.DecoderFor(d.Encoding); !known {
		detail := "use " + engine.KnownEncodings
		faults = append(faults, engine.NewConfigError("/dialect/encoding", "dialect.encoding", detail))
	}
	return faults
}

func isSeparator(text string) bool {
	return len(text) == 1 && text[0] < 0x7f && (text[0] > ' ' || text[0] == '\t' || text[0] == ' ')
}

// dialect is how the document is written: as configured, else as its type or name says.
func (d dialectConfig) dialect(doc engine.Document) csvDialect {
	found := csvDialect{delimiter: ',', quote: '"'}
	mediaType, _, err := mime.ParseMediaType(doc.MediaType)
	if err == nil && mediaType == "text/tab-separated-values" || strings.EqualFold(path.Ext(doc.Filename), ".tsv") {
		found.delimiter = '\t'
	}
	if d.Delimiter != "" {
		found.delimiter = d.Delimiter[0]
	}
	if d.Quote != nil {
		found.quote = 0
		if *d.Quote != "" {
			found.quote = (*d.Quote)[0]
		}
	}
	return found
}

func (d dialectConfig) hasHeader() bool {
	return d.Header == nil || *d.Header
}

// compileColumns returns the columns of a schema, or what is wrong with them.
func compileColumns(schema schemaConfig, limits engine.Limits) ([]*column, []engine.ConfigError) {
	faults := []engine.ConfigError{}
	if len(schema.Fields) == 0 || len(schema.Fields) > limits.MaxColumns {
		detail := fmt.Sprintf("a schema has 1 to %d fields", limits.MaxColumns)
		return nil, engine.Refuse("/schema/fields", "schema.fields", detail)
	}
	columns := []*column{}
	names := map[string]bool{}
	for i, field := range schema.Fields {
		at := engine.Pointer("schema", "fields", strconv.Itoa(i))
		if field.Name == "" || names[field.Name] {
			faults = append(faults, engine.NewConfigError(at+"/name", "schema.name", "a field needs a unique name"))
		}
		names[field.Name] = true
		c, found := compileColumn(field, at, limits)
		c.missing = []string{""}
		for _, values := range []missingValues{schema.MissingValues, field.MissingValues} {
			if values != nil {
				c.missing = values.texts()
			}
		}
		faults = append(faults, found...)
		columns = append(columns, c)
	}
	return columns, faults
}

func columnIndex(columns []*column, name string) int {
	return slices.IndexFunc(columns, func(c *column) bool { return c.name == name })
}
