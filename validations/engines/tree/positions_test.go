package tree

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// FuzzJSONPositions finds every value of a document again at the place that the index gives for it.
func FuzzJSONPositions(f *testing.F) {
	seeds := []string{
		`{"a": [1, {"b": null}], "a/b": "é"}`, ` [ [ ] , true ]`, `1e5`, `{"": {"": ""}}`, "[\n\"\\u0041\"\n]",
	}
	for _, seed := range seeds {
		f.Add(seed)
	}
	limits := engine.DefaultLimits()
	f.Fuzz(func(t *testing.T, text string) {
		document, fault := ParseJSON([]byte(text), limits)
		if fault != nil {
			if fault.At.Offset < 0 || fault.At.Offset > len(text) {
				t.Errorf("fault %+v lies outside of %q", fault, text)
			}
			return
		}
		root := &Spot{}
		wantAll(root, document.Value)
		document.Locate(root)
		checkPlaces(t, text, root, document.Value)
	})
}

func wantAll(s *Spot, value any) {
	eachChild(value, func(token string, child any) { wantAll(s.At([]string{token}), child) })
}

func checkPlaces(t *testing.T, text string, s *Spot, value any) {
	t.Helper()
	decoder := jsontext.NewDecoder(strings.NewReader(text[s.Value.Offset:]))
	raw, err := decoder.ReadValue()
	if err != nil {
		t.Fatalf("no value at %d of %q: %v", s.Value.Offset, text, err)
	}
	found, fault := ParseJSON(raw, engine.DefaultLimits())
	if fault != nil {
		t.Fatalf("value at %d of %q: %v", s.Value.Offset, text, fault)
	}
	if diff := cmp.Diff(value, found.Value); diff != "" {
		t.Errorf("value at %d of %q (-want +got):\n%s", s.Value.Offset, text, diff)
	}
	eachChild(value, func(token string, child any) { checkPlaces(t, text, s.Children[token], child) })
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

// FuzzXMLPositions finds every element and attribute again at the place that the index gives for it.
func FuzzXMLPositions(f *testing.F) {
	for _, seed := range []string{
		`<a b="1" c = '"'><d/>x<d>y</d></a>`, "<?xml version='1.0'?>\n<a>\n<b x:c='' xmlns:x='u'> t </b></a>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		document, fault := parseXML([]byte(text), engine.DefaultLimits())
		if fault != nil {
			return
		}
		root := &Spot{}
		wantAll(root, document.Value)
		document.Locate(root)
		checkXMLPlaces(t, text, root, document.Value)
	})
}

func checkXMLPlaces(t *testing.T, text string, s *Spot, value any) {
	t.Helper()
	eachChild(value, func(token string, child any) {
		below := s.Children[token]
		at := text[below.Value.Offset:]
		_, object := value.(map[string]any)
		switch name, attribute := strings.CutPrefix(token, attributeMark); {
		case attribute && !strings.HasPrefix(at, name):
			t.Errorf("attribute %q of %q is at %q", token, text, at)
		case object && !attribute && token != textName && !strings.HasPrefix(at, "<"+token):
			t.Errorf("element %q of %q is at %q", token, text, at)
		}
		checkXMLPlaces(t, text, below, child)
	})
}
