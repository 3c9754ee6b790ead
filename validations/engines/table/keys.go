package table

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tableschema"
)

// rowKey is a list of columns whose values together occur once.
type rowKey struct {
	columns []int
	names   string
	code    string
	// complete says that no part of the key may be missing. Of other keys, incomplete ones are not compared.
	complete bool
}

// foreignKey is a list of columns whose values occur together in the target columns of some row.
type foreignKey struct {
	columns, target []int
	names           string
	targetNames     string
	// resource is the name of another table, empty for this one.
	resource string
}

// foreignKeyConfig is a reference of Table Schema.
type foreignKeyConfig struct {
	Fields    json.RawMessage `json:"fields"`
	Reference struct {
		Resource string          `json:"resource,omitempty"`
		Fields   json.RawMessage `json:"fields"`
		// Package and DataPackage lead to another package, in which the resource is.
		Package     string `json:"package,omitempty"`
		DataPackage string `json:"datapackage,omitempty"`

		Further tableschema.Further `json:",embed"`
	} `json:"reference"`

	Further tableschema.Further `json:",embed"`
}

// compileKeys returns the keys of a schema, or what is wrong with them.
func (s *schemaConfig) compileKeys(columns []*tableschema.Column) ([]rowKey, []engine.ConfigError) {
	var keys []rowKey
	var faults []engine.ConfigError
	add := func(raw json.RawMessage, at, kind string, complete bool) {
		key, found := keyColumns(raw, columns, at, "schema."+kind)
		keys = append(keys, rowKey{key, namesOf(columns, key), "csv." + kind, complete})
		faults = append(faults, found...)
	}
	if len(s.PrimaryKey) > 0 {
		add(s.PrimaryKey, "/schema/primaryKey", "primary_key", true)
	}
	for i, raw := range s.UniqueKeys {
		add(raw, engine.Pointer("schema", "uniqueKeys", strconv.Itoa(i)), "unique_key", false)
	}
	return keys, faults
}

func (s *schemaConfig) compileForeignKeys(columns []*tableschema.Column) ([]foreignKey, []engine.ConfigError) {
	const code = "schema.foreign_key"
	var keys []foreignKey
	var faults []engine.ConfigError
	for i, config := range s.ForeignKeys {
		at := engine.Pointer("schema", "foreignKeys", strconv.Itoa(i))
		from, found := keyColumns(config.Fields, columns, at+"/fields", code)
		faults = append(faults, found...)
		reference := config.Reference
		key := foreignKey{columns: from, names: namesOf(columns, from)}
		key.resource = cmp.Or(reference.Resource, reference.Package, reference.DataPackage)
		if key.resource == "" {
			key.target, found = keyColumns(reference.Fields, columns, at+"/reference/fields", code)
			key.targetNames = namesOf(columns, key.target)
			faults = append(faults, found...)
		}
		if len(found) == 0 && len(engine.TextsOf(reference.Fields)) != len(key.columns) {
			detail := "name as many fields as the key has"
			faults = append(faults, engine.NewConfigError(at+"/reference/fields", code, detail))
		}
		keys = append(keys, key)
	}
	return keys, faults
}

// keyColumns reads the columns of a key, which the specification allows to be one name or a list of names.
func keyColumns(raw json.RawMessage, columns []*tableschema.Column, at, code string) ([]int, []engine.ConfigError) {
	list := engine.TextsOf(raw)
	if len(list) == 0 {
		return nil, engine.Refuse(at, code, "use a name or a list of names")
	}
	key := []int{}
	for _, name := range list {
		i := columnIndex(columns, name)
		if i < 0 {
			return nil, engine.Refuse(at, code, "there is no field "+engine.Quote(name))
		}
		key = append(key, i)
	}
	return key, nil
}

func namesOf(columns []*tableschema.Column, key []int) string {
	return strings.Join(engine.Each(key, func(i int) string { return columns[i].Name }), ", ")
}

// keyOf writes the values of some columns into r.key. It answers which of them is missing, -1 for none, and whether the
// key can be compared at all: a broken value has its own finding.
func (r *run) keyOf(columns []int) (int, bool) {
	r.key = r.key[:0]
	for _, i := range columns {
		value := r.cells[i]
		if !r.present[i] || value.Broken {
			return -1, false
		}
		if value.Missing {
			return i, true
		}
		r.key = r.engine.columns[i].AppendKey(r.key, value)
	}
	return -1, true
}

func (r *run) checkKeys() {
	for i, key := range r.engine.keys {
		missing, whole := r.keyOf(key.columns)
		switch {
		case !whole:
		case missing < 0:
			r.checkDuplicate(r.keys[i], key.columns[0], key.code, func(row int) string {
				return fmt.Sprintf("duplicate of row %d (%s)", row, key.names)
			})
		case key.complete:
			r.failValue(missing, r.cells[missing], key.code, func(c *tableschema.Column, _ tableschema.Cell) string {
				return c.Name + " is part of the primary key and is missing"
			})
		}
	}
}

// references are what is known of one foreign key while the table is read.
type references struct {
	targets *seen
	// open are the keys that no row before had, and where they stood first.
	open map[string]reference
	// stopped says that the memory was spent.
	stopped bool
}

type reference struct {
	row, line int
	text      string
}

// referenceBytes is what an open reference takes besides its key and its text.
const referenceBytes = 96

func (r *run) checkReferences() {
	for i, key := range r.engine.foreignKeys {
		state := r.references[i]
		if key.resource != "" || state.stopped {
			continue
		}
		if missing, whole := r.keyOf(key.target); whole && missing < 0 {
			delete(state.open, string(r.key))
			if _, remembered := state.targets.first(r.key, r.row); !remembered {
				r.stopReferences(state, key)
				continue
			}
		}
		missing, whole := r.keyOf(key.columns)
		if !whole || missing >= 0 || state.targets.has(r.key) {
			continue
		}
		if _, known := state.open[string(r.key)]; known {
			continue
		}
		text := r.cells[key.columns[0]].Text
		if !r.budget.take(int64(referenceBytes + len(r.key) + len(text))) {
			r.stopReferences(state, key)
			continue
		}
		state.open[string(r.key)] = reference{r.row, r.records.At(), text}
	}
}

func (r *run) stopReferences(state *references, key foreignKey) {
	state.stopped, state.open = true, nil
	at := key.columns[0]
	r.fail(r.engine.columns[at].Name, r.starts[at], "csv.limit.unique",
		"references were checked only up to here: the memory for them is used up")
}

// concludeReferences reports the references that no row answered. Only a table that was read to its end has all rows.
func (r *run) concludeReferences() {
	for i, key := range r.engine.foreignKeys {
		state, name := r.references[i], r.engine.columns[key.columns[0]].Name
		switch {
		case key.resource != "":
			message := fmt.Sprintf("references of %s to the table %s are not checked: a step has one table",
				key.names, engine.Quote(key.resource))
			r.collector.Add(name, engine.Finding{
				Severity: engine.SeverityInfo, Code: "csv.foreign_key.not_checked", Message: message, Path: name,
			})
			continue
		case !r.complete || state.stopped:
			continue
		}
		open := slices.SortedFunc(maps.Values(state.open), func(a, b reference) int { return a.row - b.row })
		for _, one := range open {
			f := engine.Failure("csv.foreign_key", "")
			f.Path, f.Line, f.Row, f.Column = name, one.line, one.row, 1
			if !r.collector.Full(engine.CheckKey{Code: f.Code, Path: name, Severity: f.Severity}) {
				f.Message = fmt.Sprintf("%s %s is not a value of %s in any row",
					key.names, engine.Quote(one.text), key.targetNames)
			}
			r.collector.Add(name, f)
		}
	}
}
