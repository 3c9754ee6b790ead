package mediatype_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
)

func TestTypes(t *testing.T) {
	t.Parallel()
	const binary = "application/octet-stream"
	type sent = mediatype.Sent
	for name, tt := range map[string]struct {
		sent sent
		want string
	}{
		"Declared":       {sent{Declared: "text/csv; a=1", Filename: "a.json"}, "text/csv; a=1"},
		"DeclaredAsText": {sent{Declared: "text/plain", Filename: "a.csv"}, "text/plain"},
		"Nothing":        {sent{}, "application/octet-stream"},
		"UnknownEnding":  {sent{Filename: "a.data"}, "application/octet-stream"},
		"NoEnding":       {sent{Declared: binary, Filename: "csv"}, "application/octet-stream"},
		"EndingAlone":    {sent{Filename: ".csv"}, "text/csv, text/plain, application/octet-stream"},
		"LastEnding":     {sent{Filename: "a.json.csv"}, "text/csv, text/plain, application/octet-stream"},
		"Bytes": {
			sent{Declared: binary, Filename: "a.YML"}, "application/yaml, application/octet-stream",
		},
		"BytesWithParameters": {
			sent{Declared: binary + "; a=1", Filename: "a.xml"}, "application/xml, application/octet-stream; a=1",
		},
		"Model":       {sent{Filename: "a.epJSON"}, "application/json, application/octet-stream"},
		"ModelAsText": {sent{Filename: "a.idf"}, "text/plain, application/octet-stream"},
		"TableOfExcel": {
			sent{Declared: "application/vnd.ms-excel", Filename: "a.csv"},
			"text/csv, text/plain, application/vnd.ms-excel",
		},
		"Excel": {
			sent{Declared: "application/vnd.ms-excel", Filename: "a.xls"}, "application/vnd.ms-excel",
		},
		"Default":           {sent{Default: "text/plain", Filename: "a"}, "text/plain"},
		"DefaultBehindName": {sent{Default: "text/plain", Filename: "a.xml"}, "application/xml, text/plain"},
		"DefaultOfTheName":  {sent{Default: "text/plain", Filename: "a.csv"}, "text/csv, text/plain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(tt.sent.Types(), ", "); got != tt.want {
				t.Errorf("Types = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		accepts, types []string
		want           string
	}{
		"Exact":            {[]string{"text/xml", "application/xml"}, []string{"application/xml"}, "application/xml"},
		"OtherName":        {[]string{"text/xml"}, []string{"application/xml"}, "text/xml"},
		"OtherNameBack":    {[]string{"application/xml"}, []string{"text/xml; a=1"}, "application/xml; a=1"},
		"Parameters":       {[]string{"text/csv"}, []string{"text/csv; charset=latin1"}, "text/csv; charset=latin1"},
		"BestFirst":        {[]string{"text/plain", "text/csv"}, []string{"text/csv", "text/plain"}, "text/csv"},
		"Second":           {[]string{"text/plain"}, []string{"text/csv", "text/plain"}, "text/plain"},
		"NamesOfYAML":      {[]string{"application/x-yaml"}, []string{"text/yaml"}, "application/x-yaml"},
		"NotTextForBytes":  {[]string{"text/plain"}, []string{"application/octet-stream"}, ""},
		"NotJSONForJSONLD": {[]string{"application/json"}, []string{"application/ld+json"}, ""},
		"NotAPrefix":       {[]string{"text/csv"}, []string{"text/csvx", "text"}, ""},
		"NothingAccepted":  {nil, []string{"text/csv"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, taken := mediatype.Choose(tt.accepts, tt.types)
			if got != tt.want || taken != (tt.want != "") {
				t.Errorf("Choose = %q, %t, want %q", got, taken, tt.want)
			}
		})
	}
}

func TestOfFile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		accepts []string
		want    string
	}{
		"a.csv":       {[]string{"application/json", "text/csv"}, "text/csv"},
		"a.CSV":       {[]string{"text/plain"}, "text/plain"},
		"-":           {[]string{"text/csv", "text/plain"}, "text/csv"},
		"folder.csv/": {[]string{"application/json"}, "application/json"},
		"a.json":      {[]string{"text/csv"}, ""},
		"a.data":      {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, known := mediatype.OfFile(name, tt.accepts); got != tt.want || known != (tt.want != "") {
				t.Errorf("OfFile = %q, %t, want %q", got, known, tt.want)
			}
		})
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	want := []string{
		".json", ".epjson", ".geojson", ".jsonl", ".ndjson", ".csv", ".tsv", ".xml", ".idf", ".ifc",
		".txt",
	}
	if diff := cmp.Diff(want, mediatype.Endings([]string{"text/xml", "text/plain", "text/json"})); diff != "" {
		t.Errorf("Endings (-want +got):\n%s", diff)
	}
}

// FuzzSent checks of anything that is sent that it has a type, that a workflow for that type takes it, and that all
// names of the type are one.
func FuzzSent(f *testing.F) {
	for _, declared := range []string{"", "text/xml", "application/octet-stream", "application/vnd.ms-excel; a=1"} {
		for _, name := range []string{"", "a.csv", "a.xml", ".JSON", "a.b/c"} {
			f.Add(declared, name, "text/plain")
		}
	}
	f.Fuzz(func(t *testing.T, declared, name, fallback string) {
		types := mediatype.Sent{Declared: declared, Filename: name, Default: fallback}.Types()
		if len(types) == 0 {
			t.Fatal("Types is empty, want a type")
		}
		for _, mediaType := range types {
			once := mediatype.Canonical(mediaType)
			if twice := mediatype.Canonical(once); twice != once {
				t.Errorf("Canonical(%q) = %q, want it to stay", once, twice)
			}
			base, _, _ := strings.Cut(once, ";")
			if chosen, taken := mediatype.Choose([]string{base}, []string{mediaType}); !taken ||
				mediatype.Canonical(chosen) != once {
				t.Errorf("Choose of %q for %q = %q, %t, want it to be taken", mediaType, base, chosen, taken)
			}
			if mediatype.IsJSON(mediaType) != mediatype.IsJSON(once) {
				t.Errorf("IsJSON(%q) and IsJSON(%q) differ", mediaType, once)
			}
		}
	})
}
