package table

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tablefile"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tableschema"
)

// Config is the configuration of a table step.
type Config struct {
	Schema       schemaConfig        `json:"schema"`
	Dialect      tablefile.Dialect   `json:"dialect,omitzero"`
	RowRules     []rowRuleConfig     `json:"row_rules,omitempty"`
	DatasetRules []datasetRuleConfig `json:"dataset_rules,omitempty"`
}

// schemaConfig is the part of Table Schema that is checked. Its names are those of that specification.
type schemaConfig struct {
	Fields        []tableschema.Field       `json:"fields"`
	PrimaryKey    json.RawMessage           `json:"primaryKey,omitempty"`    //nolint:tagliatelle // of Table Schema
	MissingValues tableschema.MissingValues `json:"missingValues,omitempty"` //nolint:tagliatelle // of Table Schema

	UniqueKeys  []json.RawMessage  `json:"uniqueKeys,omitempty"`  //nolint:tagliatelle // Table Schema's own name
	ForeignKeys []foreignKeyConfig `json:"foreignKeys,omitempty"` //nolint:tagliatelle // Table Schema's own name
	FieldsMatch json.RawMessage    `json:"fieldsMatch,omitempty"` //nolint:tagliatelle // Table Schema's own name

	Further tableschema.Further `json:",embed"`
}

// rowRuleConfig is a rule that must hold for every row for which When holds.
type rowRuleConfig struct {
	expression.RuleConfig

	Column string `json:"column,omitempty"`
	When   string `json:"when,omitempty"`
	// Group names columns: previous is then the row before that has the same values in them.
	Group []string `json:"group,omitempty"`
}

// datasetRuleConfig is a rule that must hold for the table as a whole. Counts names conditions on rows; the rule sees
// how many rows meet each.
type datasetRuleConfig struct {
	expression.RuleConfig

	Counts map[string]string `json:"counts,omitempty"`
	// Group names columns: the rule must then hold for the rows of each combination of their values.
	Group []string `json:"group,omitempty"`
}

// compileColumns returns the columns of a schema, or what is wrong with them.
func compileColumns(schema schemaConfig, limits engine.Limits) ([]*tableschema.Column, []engine.ConfigError) {
	faults := []engine.ConfigError{}
	if len(schema.Fields) == 0 || len(schema.Fields) > limits.MaxColumns {
		detail := fmt.Sprintf("a schema has 1 to %d fields", limits.MaxColumns)
		return nil, engine.Refuse("/schema/fields", "schema.fields", detail)
	}
	columns := []*tableschema.Column{}
	names := map[string]bool{}
	for i, field := range schema.Fields {
		at := engine.Pointer("schema", "fields", strconv.Itoa(i))
		if field.Name == "" || names[field.Name] {
			faults = append(faults, engine.NewConfigError(at+"/name", "schema.name", "a field needs a unique name"))
		}
		names[field.Name] = true
		c, found := tableschema.Compile(field, schema.MissingValues, at, limits)
		faults = append(faults, found...)
		columns = append(columns, c)
	}
	return columns, faults
}

// Layout is how a step with this configuration expects a table to be written, and the names of its columns. A
// configuration that cannot be read is taken for an empty one.
func Layout(config json.RawMessage) (tablefile.Dialect, []string) {
	var c Config
	if err := json.Unmarshal(config, &c); err != nil {
		return tablefile.Dialect{}, nil
	}
	return c.Dialect, engine.Each(c.Schema.Fields, func(field tableschema.Field) string { return field.Name })
}

func columnIndex(columns []*tableschema.Column, name string) int {
	return slices.IndexFunc(columns, func(c *tableschema.Column) bool { return c.Name == name })
}
