// Package mediatype finds the type of a document from what its sender declared and from the ending of its name.
//
// It is the one table of types for the API, the dashboard and the commands. The table is fixed: a document has the same
// type on every machine, whatever types are installed there. It never looks into a document.
package mediatype

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// The types that documents commonly have.
const (
	JSON = "application/json"
	YAML = "application/yaml"
	XML  = "application/xml"
	CSV  = "text/csv"
	TSV  = "text/tab-separated-values"
	Text = "text/plain"
	// JSONLines has one JSON value on each line (jsonlines.org); it is not JSON.
	JSONLines = "application/jsonl"
	XLSX      = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	Parquet   = "application/vnd.apache.parquet"
	// STEP is that of STEP physical files (ISO 10303-21), such as IFC models.
	STEP = "model/step"
	// Binary says nothing about a document: clients declare it for what they do not know.
	Binary = "application/octet-stream"

	excel = "application/vnd.ms-excel"
	zip   = "application/zip"
)

// Sent is what a request says about its document.
type Sent struct {
	// Declared is a normalized media type, or "" where none was declared.
	Declared string
	// Filename may be "".
	Filename string
	// Default is the type where neither the declared one nor the name helps; "" means Binary.
	Default string
}

// Types lists the types that the document may be taken as, the best first. A declared type stands alone, unless it is
// one that clients declare without knowing the document; then the types of the name's ending come first.
//
// The list depends on nothing but the request, so a retry has the same one whatever became of the workflow meanwhile.
func (s Sent) Types() []string {
	if !s.isVague() {
		return []string{s.Declared}
	}
	types := OfName(s.Filename)
	if last := cmp.Or(s.Declared, s.Default, Binary); !slices.Contains(types, last) {
		types = append(types, last)
	}
	return types
}

// isVague reports whether the declared type says less than the name. Programs on Windows declare all that Excel opens
// as a file of Excel, tables of plain text too.
func (s Sent) isVague() bool {
	switch base, _ := split(s.Declared); base {
	case "", Binary:
		return true
	case excel:
		return slices.ContainsFunc(OfName(s.Filename), func(t string) bool { return t == CSV || t == TSV || t == XLSX })
	default:
		return false
	}
}

// ending is the end of a file's name and the types that it stands for, the best first.
type ending struct {
	text  string
	types []string
}

// endings are the types that the endings of names stand for.
var endings = []ending{
	{".json", []string{JSON}},
	{".epjson", []string{JSON}},
	{".geojson", []string{"application/geo+json", JSON}},
	{".yaml", []string{YAML}},
	{".yml", []string{YAML}},
	{".jsonl", []string{JSONLines, Text}},
	{".ndjson", []string{JSONLines, Text}},
	{".csv", []string{CSV, Text}},
	{".tsv", []string{TSV, Text}},
	{".xlsx", []string{XLSX}},
	{".parquet", []string{Parquet}},
	{".xml", []string{XML}},
	{".idf", []string{Text, Binary}},
	{".ifc", []string{STEP, Text, Binary}},
	{".txt", []string{Text}},
	{".zip", []string{zip}},
}

// Endings lists the endings of names whose documents a workflow that accepts these types takes.
func Endings(accepts []string) []string {
	var taken []string
	for _, e := range endings {
		if _, ok := Choose(accepts, e.types); ok {
			taken = append(taken, e.text)
		}
	}
	return taken
}

// OfName lists the types of documents whose name ends like this one, the best first. It is empty where the ending tells
// nothing.
func OfName(name string) []string {
	text := strings.ToLower(path.Ext(name))
	for _, e := range endings {
		if e.text == text {
			return e.types
		}
	}
	return nil
}

// OfFile returns the type as which a file is sent to a workflow that accepts these: that of its name, or the first
// accepted one where the name tells none. It reports false where the workflow takes no file of the name.
func OfFile(name string, accepts []string) (string, bool) {
	types := OfName(name)
	if len(types) == 0 {
		types = accepts
	}
	return Choose(accepts, types)
}

// Choose returns the first of the types that is accepted, as the accepted type spells it and with the parameters that
// it came with. It reports false where none is.
func Choose(accepts, types []string) (string, bool) {
	for _, mediaType := range types {
		base, parameters := split(mediaType)
		if slices.Contains(accepts, base) {
			return mediaType, true
		}
		isSame := func(accepted string) bool { return Canonical(accepted) == Canonical(base) }
		if i := slices.IndexFunc(accepts, isSame); i >= 0 {
			return accepts[i] + parameters, true
		}
	}
	return "", false
}

// IsJSON reports whether documents of the type are JSON.
func IsJSON(mediaType string) bool {
	base, _ := split(Canonical(mediaType))
	return base == JSON || strings.HasSuffix(base, "+json")
}

// Canonical returns the one name of a type, with the parameters as they are. It knows the names that are in use beside
// the registered one, or instead of it in systems of the past.
func Canonical(mediaType string) string {
	base, parameters := split(mediaType)
	switch base {
	case "text/json":
		base = JSON
	case "application/x-yaml", "text/yaml", "text/x-yaml", "text/vnd.yaml":
		base = YAML
	case "text/xml":
		base = XML
	case "application/csv", "application/x-csv", "text/x-csv", "text/comma-separated-values",
		"text/x-comma-separated-values":
		base = CSV
	case "application/x-ndjson", "application/ndjson", "application/x-jsonlines", "application/jsonlines",
		"application/x-jsonl":
		base = JSONLines
	case "application/parquet", "application/x-parquet":
		base = Parquet
	case "application/step", "application/x-step", "application/p21", "application/x-ifc", "application/ifc",
		"model/ifc":
		base = STEP
	case "application/x-zip-compressed", "application/x-zip":
		base = zip
	}
	return base + parameters
}

// split parts a normalized type from its parameters, which keep their semicolon.
func split(mediaType string) (string, string) {
	if i := strings.IndexByte(mediaType, ';'); i >= 0 {
		return mediaType[:i], mediaType[i:]
	}
	return mediaType, ""
}
