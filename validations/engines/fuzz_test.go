package engines

import (
	"encoding/csv"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// FuzzCSVReader compares with the standard library's reader wherever that one reads the whole text.
func FuzzCSVReader(f *testing.F) {
	seeds := []string{
		"a,b\n1,2\n", "\"a\"\"b\",\n\n\"x\ny\",2", "a\r\nb\rc\n", "\"open", "a\"b,c", "\"a\"b\n", ",,,\n", "\ufeffa",
		"é,\xff\n", "\"\"",
	}
	for _, seed := range seeds {
		f.Add(seed)
	}
	limits := DefaultLimits()
	limits.MaxRecordBytes, limits.MaxColumns = 1000, 20
	f.Fuzz(func(t *testing.T, text string) {
		got, clean := readRecords(t, text, limits)
		// The two differ in bare carriage returns, which end lines here, and in the byte order mark.
		if !clean || strings.Contains(text, "\r") || strings.HasPrefix(text, bom) {
			return
		}
		reference := csv.NewReader(strings.NewReader(text))
		reference.FieldsPerRecord, reference.LazyQuotes = -1, false
		want, err := reference.ReadAll()
		if err != nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records of %q (-want +got):\n%s", text, diff)
		}
	})
}

// readRecords reads all records, checks the places of their fields, and says whether none was faulty.
func readRecords(t *testing.T, text string, limits Limits) ([][]string, bool) {
	t.Helper()
	reader, err := newCSVReader(strings.NewReader(text), csvDialect{delimiter: ',', quote: '"'}, limits)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	var records [][]string
	clean := true
	for {
		err := reader.next()
		if errors.Is(err, io.EOF) {
			return records, clean
		}
		if fault, ok := errors.AsType[*csvError](err); ok {
			clean = false
			reader.place(Finding{}, min(fault.offset, len(reader.raw)), limits.MaxExcerpt)
			if fault.final {
				return records, false
			}
			continue
		}
		if err != nil {
			t.Fatalf("error = %v, want none of the reader's own", err)
		}
		var record []string
		for _, field := range reader.cells {
			record = append(record, string(field.text))
			placed := reader.place(Finding{}, field.start, limits.MaxExcerpt)
			if placed.Line < reader.line || placed.Column < 1 || !utf8.ValidString(placed.Excerpt) {
				t.Errorf("field %q of %q is at %d:%d", field.text, text, placed.Line, placed.Column)
			}
		}
		records = append(records, record)
	}
}

// FuzzJSONPositions finds every value of a document again at the place that the index gives for it.
func FuzzJSONPositions(f *testing.F) {
	seeds := []string{
		`{"a": [1, {"b": null}], "a/b": "é"}`, ` [ [ ] , true ]`, `1e5`, `{"": {"": ""}}`, "[\n\"\\u0041\"\n]",
	}
	for _, seed := range seeds {
		f.Add(seed)
	}
	limits := DefaultLimits()
	f.Fuzz(func(t *testing.T, text string) {
		document, fault := parseJSON([]byte(text), limits)
		if fault != nil {
			if fault.at.offset < 0 || fault.at.offset > len(text) {
				t.Errorf("fault %+v lies outside of %q", fault, text)
			}
			return
		}
		root := &spot{}
		wantAll(root, document.value)
		document.locate(root)
		checkPlaces(t, text, root, document.value)
	})
}

// FuzzSchema runs whatever compiles on whatever document: neither may panic, and a document is never an error.
func FuzzSchema(f *testing.F) {
	f.Add(`{"properties": {"a": {"type": "string", "pattern": "^x"}}, "required": ["b"]}`, `{"a": 1}`)
	f.Add(`{"$id": "a", "$dynamicAnchor": "n", "$defs": {"b": {"$id": "b", "$anchor": "c"}}, "$ref": "b#c"}`,
		`[1, "x", null]`)
	f.Add(`{"anyOf": [{"multipleOf": 0.1}, {"uniqueItems": true}], "propertyNames": {"maxLength": 1}}`,
		`{"ab": [1, 1]}`)
	f.Add(`{"$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "dependencies": {"a": ["b"]}}`,
		`{"a": -0.0}`)
	f.Add(`{"unevaluatedProperties": false, "if": {"$ref": "#"}, "format": "date-time", "enum": [1e3, {}]}`, `1000`)
	limits := DefaultLimits()
	limits.MaxSchemaWork = 10_000
	f.Fuzz(func(t *testing.T, schema, document string) {
		engine, faults := Compile(KindJSONSchema, []byte(`{"schema": `+schema+`}`), limits)
		if len(faults) > 0 {
			return
		}
		report, err := engine.Run(t.Context(), NewDocument([]byte(document), "", ""))
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		for _, finding := range report.Findings {
			if finding.Code == "schema.failed" || finding.Message == "" || !utf8.ValidString(finding.Message) {
				t.Errorf("finding = %+v, want words of our own", finding)
			}
		}
	})
}

func wantAll(s *spot, value any) {
	eachChild(value, func(token string, child any) { wantAll(s.at([]string{token}), child) })
}

func checkPlaces(t *testing.T, text string, s *spot, value any) {
	t.Helper()
	decoder := jsontext.NewDecoder(strings.NewReader(text[s.value.offset:]))
	raw, err := decoder.ReadValue()
	if err != nil {
		t.Fatalf("no value at %d of %q: %v", s.value.offset, text, err)
	}
	found, fault := parseJSON(raw, DefaultLimits())
	if fault != nil {
		t.Fatalf("value at %d of %q: %v", s.value.offset, text, fault)
	}
	if diff := cmp.Diff(value, found.value); diff != "" {
		t.Errorf("value at %d of %q (-want +got):\n%s", s.value.offset, text, diff)
	}
	eachChild(value, func(token string, child any) { checkPlaces(t, text, s.children[token], child) })
}

func eachChild(value any, visit func(token string, child any)) {
	switch v := value.(type) {
	case map[string]any:
		for name, child := range v {
			visit(name, child)
		}
	case []any:
		for i, child := range v {
			visit(strconv.Itoa(i), child)
		}
	}
}

func TestNearestNames(t *testing.T) {
	t.Parallel()
	candidates := []string{"floor_area_m2", "name", "id", "setpoint_c"}
	tests := map[string]string{
		"flor_area_m2": "floor_area_m2", "naem": "name", "Name": "name", "xd": "", "zzz": "", "setpoint": "setpoint_c",
		strings.Repeat("n", 1000): "",
	}
	for name, want := range tests {
		if got := nearest(name, candidates); got != want {
			t.Errorf("nearest(%.20q) = %q, want %q", name, got, want)
		}
	}
}

func TestEditDistanceUpToALimit(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 2))
	word := func() []rune {
		letters := make([]rune, source.IntN(9))
		for i := range letters {
			letters[i] = 'a' + source.Int32N(3)
		}
		return letters
	}
	for range 20_000 {
		x, y := word(), word()
		full := editDistance(x, y, len(x)+len(y)+1)
		for limit := 1; limit < 5; limit++ {
			if got := editDistance(x, y, limit); got != min(full, limit) {
				t.Fatalf("distance of %q and %q up to %d = %d, want %d", x, y, limit, got, min(full, limit))
			}
		}
	}
}

func TestColumnsOfLongLines(t *testing.T) {
	t.Parallel()
	text := []byte("\naaaaa" + strings.Repeat("€é", markStride) + "\xff\xbf" + strings.Repeat("z", 9))
	lines := newLineIndex(text, 10)
	for offset := 1; offset < len(text); offset += 997 {
		want := utf8.RuneCount(text[1:offset]) + 1
		if got := lines.place(Finding{}, offset).Column; got != want {
			t.Fatalf("column of offset %d = %d, want %d", offset, got, want)
		}
		if !utf8.RuneStart(text[offset]) {
			continue
		}
		byColumn, byOffset := lines.placeLine(Finding{}, 2, want).Excerpt, lines.place(Finding{}, offset).Excerpt
		if byColumn != byOffset {
			t.Fatalf("excerpt at column %d = %q, at its offset %q", want, byColumn, byOffset)
		}
	}
}

func TestNodesOfYAMLAreBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a", "[a,b,c]", "{a,b}", "{a}", "[{a},{b}]", "{{a}}", "- - - a", "-\n-\n-\n", "- a: b\n  c: d\n", "? a",
		"? [a]\n: b", "[a: b, c: d]", `{"a":1,"b":2}`, `{'a':[]}`, "a:\n b:\n  c:\n", "a: &x {b: c}\nd: *x\n",
		"[a,[b,[c]],]", "{a: ,b:}",
	} {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			t.Fatalf("parse %q: %v", text, err)
		}
		if nodes, most := countNodes(document.Content[0]), 2*countIndicators([]byte(text))+1; nodes > most {
			t.Errorf("%q has %d nodes, at most %d were expected", text, nodes, most)
		}
	}
}

func countNodes(node *yaml.Node) int {
	count := 1
	for _, below := range node.Content {
		count += countNodes(below)
	}
	return count
}

func TestExcerpts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300) + "X" + strings.Repeat("ü", 300)
	index := newLineIndex([]byte("one\r\n"+long+"\nlast"), 10)
	tests := []struct {
		offset, line, column int
		excerpt              string
	}{
		{0, 1, 1, "one"},
		{5 + 600, 2, 301, "éééééXüüüü"},
		{5, 2, 1, "éééééééééé"},
		{10_000, 3, 5, "last"},
	}
	for _, tt := range tests {
		got := index.place(Finding{}, tt.offset)
		want := Finding{Line: tt.line, Column: tt.column, Excerpt: tt.excerpt}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("place of %d (-want +got):\n%s", tt.offset, diff)
		}
	}
}

// FuzzRules runs whatever compiles on whatever document in each format: nothing may panic, a document is never an
// error, and whatever a finding points at is there.
func FuzzRules(f *testing.F) {
	f.Add(`"path": "/a/*/b", "operator": "lt", "value": 1`, `{"a": [{"b": 1}, {"b": "x"}, {}]}`)
	f.Add(`"path": "/*", "operator": "any", "value": {"path": "/x", "operator": "in", "value": [1, "a"]}`,
		`{"b": [{}]}`)
	f.Add(`"path": "/r/@a", "operator": "matches", "value": "^x"`, `<r a="1" b='2'>t<s/><s> u </s></r>`)
	f.Add(`"path": "/r", "operator": "unique", "value": "/~0"`, "r:\n- ~: 1\n- '~': 1.0\n- 2026-01-01\n")
	f.Add(`"when": "has(doc.a)", "assert": "sum(doc.a) > 1.0 || doc.b[0] == value", "message": "{doc.a}"`,
		`{"a": [1, 2]}`)
	f.Add(`"path": "/a/#text", "operator": "within", "value": ["2026-01-01", "2026-01-02"]`, `<a b="">2026-01-01</a>`)
	limits := DefaultLimits()
	limits.MaxDocumentRuleCost = 10_000
	f.Fuzz(func(t *testing.T, rule, document string) {
		engine, faults := Compile(KindRules, []byte(`{"rules": [{"id": "r", `+rule+`}]}`), limits)
		if len(faults) > 0 {
			return
		}
		for _, mediaType := range []string{"application/json", "application/yaml", "application/xml"} {
			doc := NewDocument([]byte(document), mediaType, "")
			report, err := engine.Run(t.Context(), doc)
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			read, unreadable, err := readAnyTree(doc, limits)
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			for _, finding := range report.Findings {
				if finding.Message == "" || !utf8.ValidString(finding.Message) {
					t.Errorf("finding = %+v, want words of our own", finding)
				}
				if unreadable == nil && finding.Line == 0 {
					t.Errorf("finding = %+v, want a line", finding)
				}
				if unreadable != nil || finding.Message == "missing" {
					continue
				}
				if path, err := parsePath(strings.ReplaceAll(finding.Path, "*", "~2"), limits); err == nil {
					if _, known := path.find(read.value); !known {
						t.Errorf("finding = %+v, want a path that leads somewhere", finding)
					}
				}
			}
		}
	})
}

// FuzzXMLPositions finds every element and attribute again at the place that the index gives for it.
func FuzzXMLPositions(f *testing.F) {
	for _, seed := range []string{
		`<a b="1" c = '"'><d/>x<d>y</d></a>`, "<?xml version='1.0'?>\n<a>\n<b x:c='' xmlns:x='u'> t </b></a>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		document, fault := parseXML([]byte(text), DefaultLimits())
		if fault != nil {
			return
		}
		root := &spot{}
		wantAll(root, document.value)
		document.locate(root)
		checkXMLPlaces(t, text, root, document.value)
	})
}

func checkXMLPlaces(t *testing.T, text string, s *spot, value any) {
	t.Helper()
	eachChild(value, func(token string, child any) {
		below := s.children[token]
		at := text[below.value.offset:]
		_, object := value.(map[string]any)
		switch name, attribute := strings.CutPrefix(token, xmlAttribute); {
		case attribute && !strings.HasPrefix(at, name):
			t.Errorf("attribute %q of %q is at %q", token, text, at)
		case object && !attribute && token != xmlText && !strings.HasPrefix(at, "<"+token):
			t.Errorf("element %q of %q is at %q", token, text, at)
		}
		checkXMLPlaces(t, text, below, child)
	})
}
