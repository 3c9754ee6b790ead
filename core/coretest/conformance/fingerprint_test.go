package conformance

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// meant is a JSON document that is written in another way below.
const meant = `{"building":{"name":"Hä","zones":[1,2.0,null]},"a":true}`

func (s *site) testFingerprint(t *testing.T) {
	t.Helper()
	t.Run("Same", s.testSameRequests)
	t.Run("Other", s.testOtherRequests)
	t.Run("LargeJSON", s.testLargeJSON)

	t.Run("DuplicateNamesInAnEnvelope", func(t *testing.T) {
		t.Parallel()
		s.refused(t, s.start(t).json(`{"content":"x","content":"x"}`), core.CodeInvalidPayload)
		s.refused(t, s.start(t).json(`{"content":"x","metadata":{"a":1,"a":1}}`), core.CodeInvalidPayload)
		s.wantNothing(t, t.Name())
	})

	t.Run("EmptyBody", func(t *testing.T) {
		t.Parallel()
		s.refused(t, s.start(t).json(""), core.CodeInvalidPayload)
		s.wantNothing(t, t.Name())
		first := s.created(t, s.start(t))
		s.refused(t, s.start(t).json(""), core.CodeInvalidPayload)
		s.replayed(t, s.start(t), first)
	})
}

func (s *site) testSameRequests(t *testing.T) {
	t.Parallel()
	raw := s.start(t)
	doc := raw.json(meant)
	table := raw.to(startReadings).csv(string(program.Sample(t, "good/meter-readings.csv")))
	envelope := raw.json(`{"content":{"a":1,"b":"ä"},"metadata":{"x":1,"y":[]},"filename":"a.json"}`)
	file := part{"file", "a.csv", "text/csv", table.body}
	name, metadata := part{name: "name", content: "N"}, part{name: "metadata", content: `{"a":1,"b":2}`}
	form := table.form(t, "one", file, name, metadata)
	for _, tt := range []struct {
		name       string
		first, and call
	}{
		{"EveryByte", raw, raw},
		{"MembersInAnotherOrder", doc, doc.json(`{"a":true,"building":{"zones":[1,2.0,null],"name":"Hä"}}`)},
		{
			"WhiteSpace", doc,
			doc.json("\n{ \"building\": {\"name\":\t\"Hä\", \"zones\": [1, 2.0, null]},\r\n\"a\": true } "),
		},
		{"EscapesInStrings", doc, doc.json(`{"building":{"n\u0061me":"H\u00e4","zones":[1,2.0,null]},"a":true}`)},
		{"DuplicateNamesByTheirBytes", raw.json(`{"a":1,"a":2}`), raw.json(`{"a":1,"a":2}`)},
		{"BrokenJSONByItsBytes", raw.json(`{"a":`), raw.json(`{"a":`)},
		{"SpellingOfTheMediaType", table, table.with("Content-Type", "TEXT/CSV")},
		{"CharsetOfUTF8", table, table.with("Content-Type", `text/csv; charset="UTF-8"`)},
		{
			"OrderOfTheMediaTypesParameters", table.with("Content-Type", "text/csv; header=present; x=1"),
			table.with("Content-Type", "text/csv;x=1;header=present"),
		},
		{
			"EnvelopeInAnotherOrder", envelope,
			envelope.json(`{"filename": "a.json", "metadata": {"y": [], "x": 1}, "content": {"b": "\u00e4", "a": 1}}`),
		},
		{"AnotherBoundary", form, table.form(t, "another", file, name, metadata)},
		{"PartsInAnotherOrder", form, table.form(t, "one", metadata, name, file)},
		{
			"MetadataInAnotherOrder", form,
			table.form(t, "one", file, name, part{name: "metadata", content: `{ "b": 2, "a": 1 }`}),
		},
		{"WithoutTheSlash", raw, raw.to(strings.TrimSuffix(raw.path, "/"))},
		{"TracingHeaders", raw, raw.with("Traceparent", "00-1").with("User-Agent", "other").with("X-Request-Id", "x")},
		{"AnotherRequestID", raw.with("Request-Id", "one"), raw.with("Request-Id", "two")},
		{"Preferences", raw, raw.with("Prefer", "respond-async")},
		{"AnotherToken", raw, raw.by(s.Harbour.Tokens.Owner)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s.replayed(t, tt.and.key(t.Name()), s.created(t, tt.first.key(t.Name())))
			s.wantRuns(t, t.Name(), 1)
		})
	}
}

func (s *site) testOtherRequests(t *testing.T) {
	t.Parallel()
	raw := s.start(t)
	table := raw.to(startReadings).csv(string(program.Sample(t, "good/meter-readings.csv")))
	envelope := raw.json(`{"content":{"a":1},"metadata":{"x":1}}`)
	file := part{"file", "a.csv", "text/csv", table.body}
	form := table.form(t, "one", file)
	pinned := raw.to(raw.path + "?version=1")
	content, options, workflow := []string{"content"}, []string{"options"}, []string{"workflow"}
	for _, tt := range []struct {
		name       string
		first, and call
		differs    []string
	}{
		{"OneByte", table, table.csv(table.body + "\n"), content},
		{"AnotherValue", raw.json(`{"a":1}`), raw.json(`{"a":2}`), content},
		{"AnotherFormOfANumber", raw.json(`{"a":1}`), raw.json(`{"a":1.0}`), content},
		{"AnotherExponent", raw.json(`{"a":100}`), raw.json(`{"a":1e2}`), content},
		{"ANumberAsAString", raw.json(`{"a":1}`), raw.json(`{"a":"1"}`), content},
		{"NullInPlaceOfNothing", raw.json(`{"a":1}`), raw.json(`{"a":1,"b":null}`), content},
		{"ItemsInAnotherOrder", raw.json(`[1,2]`), raw.json(`[2,1]`), content},
		{"NamesInAnotherCase", raw.json(`{"a":1}`), raw.json(`{"A":1}`), content},
		{"DuplicateNames", raw.json(`{"a":1}`), raw.json(`{"a":1,"a":1}`), content},
		{"DuplicateNamesByTheirBytes", raw.json(`{"a":1,"a":1}`), raw.json(`{"a":1, "a":1}`), content},
		{"BrokenJSON", raw.json(`{"a":`), raw.json(`{"a": `), content},
		{"AnotherMediaType", table, table.with("Content-Type", "text/plain"), content},
		{"AnotherCharset", table, table.with("Content-Type", "text/csv; charset=latin1"), content},
		{"AFormInPlaceOfTheDocument", table, table.form(t, "one", file.as("", "text/csv")), content},
		{"AnEnvelopeInPlaceOfTheDocument", raw.json(`{"a":1}`), raw.json(`{"content":{"a":1}}`), content},
		{"AnotherByteInAForm", form, table.form(t, "one", file.with(file.content+"\n")), content},
		{"AnotherTypeInAForm", form, table.form(t, "one", file.as("a.csv", "text/plain")), content},
		{"AnotherFileNameInAForm", form, table.form(t, "one", file.as("b.csv", "text/csv")), options},
		{"AnotherFilename", table.named("a.csv"), table.named("b.csv"), options},
		{"AFilenameInPlaceOfNone", table, table.named("a.csv"), options},
		{"AnotherMetadata", envelope, envelope.json(`{"content":{"a":1},"metadata":{"x":1.0}}`), options},
		{"NullInMetadata", envelope, envelope.json(`{"content":{"a":1},"metadata":{"x":1,"y":null}}`), options},
		{
			"ADescriptionInPlaceOfNone", envelope,
			envelope.json(`{"content":{"a":1},"metadata":{"x":1},"short_description":"s"}`), options,
		},
		{"AnotherWorkflow", raw, raw.to(startReadings), workflow},
		{"AVersionInPlaceOfNone", raw, pinned, workflow},
		{"NoVersionInPlaceOfOne", pinned, raw, workflow},
		{"Everything", raw, table.named("b.csv"), []string{"workflow", "content", "options"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s.wantReuse(t, tt.first, tt.and, tt.differs)
		})
	}

	t.Run("AnotherVersion", func(t *testing.T) {
		t.Parallel()
		s.created(t, creation("two-versions").by(s.Harbour.Tokens.Owner))
		s.created(t, versionOf("two-versions", "floor").by(s.Harbour.Tokens.Owner))
		c := s.start(t).to("/api/workflows/two-versions/start/")
		s.wantReuse(t, c.to(c.path+"?version=1"), c.to(c.path+"?version=2"), workflow)
	})
}

// wantReuse demands that the second request is refused, that the refusal says why and not more, and that the key
// still stands for the first.
func (s *site) wantReuse(t *testing.T, one, other call, differs []string) {
	t.Helper()
	first := s.created(t, one.key(t.Name()))
	program.WantProblem(t, s.on(t, s.other, other.key(t.Name())), 422, core.CodeKeyReused)
	refusal := s.do(t, other.key(t.Name()))
	p := program.WantProblem(t, refusal, 422, core.CodeKeyReused)
	if !slices.Equal(p.Differs, differs) {
		t.Errorf("differs = %v, want %v", p.Differs, differs)
	}
	if p.OriginalRequestID != first.Header.Get("Request-Id") || p.Retryable {
		t.Errorf("original_request_id = %q and retryable = %t, want %q and false",
			p.OriginalRequestID, p.Retryable, first.Header.Get("Request-Id"))
	}
	if bytes.Contains(refusal.Body, []byte(first.Run(t).String())) || refusal.Header.Get("Location") != "" {
		t.Errorf("the refusal tells of the run: %v %s", refusal.Header, refusal.Body)
	}
	s.replayed(t, one.key(t.Name()), first)
	s.wantRuns(t, t.Name(), 1)
}

// testLargeJSON has documents on both sides of the size from which on bytes are compared.
func (s *site) testLargeJSON(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	sized := func(size int, space string) string {
		const around = len(`{"a":"","b":1}`)
		return `{"a":"` + strings.Repeat("x", size-around) + `",` + space + `"b":1}`
	}

	t.Run("ByItsMeaningUpToAMebibyte", func(t *testing.T) {
		t.Parallel()
		first := s.created(t, s.start(t).json(sized(mebibyte-1, "")))
		s.replayed(t, s.start(t).json(sized(mebibyte-1, " ")), first)
	})

	t.Run("ByItsBytesBeyond", func(t *testing.T) {
		t.Parallel()
		c := s.start(t)
		s.wantReuse(t, c.json(sized(mebibyte+1, "")), c.json(sized(mebibyte+1, " ")), []string{"content"})
	})
}
