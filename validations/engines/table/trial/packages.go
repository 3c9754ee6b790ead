package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// table is a table of a data package with its schema, or a schema without a table.
type table struct {
	// file is that of the package or of the schema, and name what the resource is called.
	file, name string
	schema     json.RawMessage
	dialect    map[string]any
	// data is the file of the table, and obstacle why it cannot be checked.
	data, obstacle string
}

// resource is a table as a data package describes it.
type resource struct {
	Name     string          `json:"name"`
	Path     any             `json:"path"`
	Encoding string          `json:"encoding"`
	Schema   json.RawMessage `json:"schema"`
	Dialect  json.RawMessage `json:"dialect"`
	Data     json.RawMessage `json:"data"`
}

// dialect is the part of a CSV dialect that a step knows.
type dialect struct {
	Delimiter  string  `json:"delimiter"`
	QuoteChar  *string `json:"quoteChar"` //nolint:tagliatelle // the name that the specification gives it
	Header     *bool   `json:"header"`
	Escape     string  `json:"escapeChar"`       //nolint:tagliatelle // as above
	Comment    string  `json:"commentChar"`      //nolint:tagliatelle // as above
	SkipSpace  bool    `json:"skipInitialSpace"` //nolint:tagliatelle // as above
	HeaderRows []int   `json:"headerRows"`       //nolint:tagliatelle // as above
}

// tablesIn finds the tables of all packages of a folder, and the schemas that stand alone.
func tablesIn(folder string) ([]*table, error) {
	var found []*table
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // the caller names the folder
		if err != nil {
			return err
		}
		found = append(found, tablesOf(path, content)...)
		return nil
	})
	return found, err
}

// tablesOf reads a file that may be a data package, a resource or a Table Schema.
func tablesOf(path string, content []byte) []*table {
	var file struct {
		resource

		Resources []json.RawMessage `json:"resources"`
		Fields    []json.RawMessage `json:"fields"`
	}
	if json.Unmarshal(bytes.TrimPrefix(content, []byte("\ufeff")), &file) != nil {
		return nil
	}
	var found []*table
	for _, text := range file.Resources {
		var r resource
		if json.Unmarshal(text, &r) == nil {
			found = append(found, r.table(path))
		}
	}
	switch {
	case len(file.Resources) > 0:
	case len(file.Fields) > 0:
		found = append(found, &table{file: path, schema: content})
	case file.Path != nil && file.Schema != nil:
		found = append(found, file.table(path))
	}
	return found
}

// table finds the schema and the data of a resource.
func (r resource) table(file string) *table {
	t := &table{file: file, name: r.Name, schema: r.Schema, dialect: map[string]any{}}
	beside := filepath.Dir(file)
	var named string
	if json.Unmarshal(r.Schema, &named) == nil {
		content, err := os.ReadFile(filepath.Join(beside, named)) //nolint:gosec // the caller names the folder
		if err != nil {
			t.schema, t.obstacle = nil, "its schema is not there: "+named
			return t
		}
		t.schema = content
	}
	if text := string(r.Schema); text == "" || text == "null" || text == "{}" {
		t.schema, t.obstacle = nil, "it has no schema"
		return t
	}
	if t.data, t.obstacle = r.file(beside); t.obstacle == "" {
		t.obstacle = t.readDialect(r)
	}
	return t
}

// file returns the file of the data, or the reason why there is none.
func (r resource) file(beside string) (string, string) {
	path, ok := r.Path.(string)
	if list, several := r.Path.([]any); several && len(list) == 1 {
		path, ok = list[0].(string)
	}
	switch {
	case !ok || path == "":
		return "-", "it has no file of its own"
	case strings.Contains(path, "://"):
		return "-", "it is elsewhere: " + path
	}
	path = filepath.Join(beside, path)
	if _, err := os.Stat(path); err != nil {
		return path, "it is not there"
	}
	return path, ""
}

// encodings are those that a step knows, by the names that packages give them.
var encodings = map[string]string{
	"iso-8859-1": "iso-8859-1", "latin-1": "iso-8859-1", "latin1": "iso-8859-1", "windows-1252": "windows-1252",
	"cp1252": "windows-1252", "utf-16": "utf-16", "utf-8": "utf-8", "utf8": "utf-8", "utf-8-sig": "utf-8", "": "",
	"ascii": "utf-8",
}

// readDialect notes how the table is written. It returns what a step cannot read.
func (t *table) readDialect(r resource) string {
	var d dialect
	if len(r.Dialect) > 0 && json.Unmarshal(r.Dialect, &d) != nil {
		return "its dialect cannot be read"
	}
	if d.Delimiter != "" {
		t.dialect["delimiter"] = d.Delimiter
	}
	if d.QuoteChar != nil {
		t.dialect["quote"] = *d.QuoteChar
	}
	if d.Header != nil {
		t.dialect["header"] = *d.Header
	}
	encoding, isKnown := encodings[strings.ToLower(r.Encoding)]
	if encoding != "" {
		t.dialect["encoding"] = encoding
	}
	switch {
	case !isKnown:
		return "its encoding is " + r.Encoding
	case d.isForeign():
		return "its dialect has members that a step does not have"
	case filepath.Ext(t.data) == ".zip" || filepath.Ext(t.data) == ".gz":
		return "it is compressed"
	}
	return ""
}

// isForeign says that the dialect has members which a step does not have.
func (d dialect) isForeign() bool {
	return d.Escape != "" || d.Comment != "" || d.SkipSpace || len(d.HeaderRows) > 1
}
