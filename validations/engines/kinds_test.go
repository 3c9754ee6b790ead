package engines_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	const schematron = `{"schema":"<schema xmlns='http://purl.oclc.org/dsdl/schematron'>` +
		`<pattern><rule context='bill'><assert test='total'>has a total</assert></rule></pattern></schema>"}`
	total := []engines.Requirement{
		{Words: "the document is well-formed XML"},
		{Expression: "bill: total", Otherwise: "has a total", Severity: engines.SeverityError},
	}
	const ids = `{"ids":"<ids xmlns='http://standards.buildingsmart.org/IDS'><info><title>T</title></info>` +
		`<specifications><specification name='Walls' ifcVersion='IFC4'><applicability maxOccurs='unbounded'>` +
		`<entity><name><simpleValue>IFCWALL</simpleValue></name></entity></applicability><requirements>` +
		`<attribute><name><simpleValue>Name</simpleValue></name></attribute></requirements></specification>` +
		`</specifications></ids>"}`
	type test struct {
		kind, config string
		want         []engines.Requirement
	}
	tests := map[string]test{
		"Table": {engines.KindTable, `{"schema":{"fields":[
				{"name":"kwh","type":"number","constraints":{"required":true,"minimum":0,"maximum":5000}},
				{"name":"quality","constraints":{"unique":true,"pattern":"^[AEM]$","enum":["A","E","M"]}}],
				"primaryKey":["kwh","quality"]},
			"row_rules":[
				{"id":"zero","assert":"row.kwh == 0.0","when":"row.quality == 'M'","message":"found {row.kwh}"}],
			"dataset_rules":[{"id":"some","assert":"count > 0","severity":"WARNING"}]}`, []engines.Requirement{
			{Subject: "kwh", Words: "number, never empty, at least 0, at most 5000"},
			{Subject: "quality", Words: "any value, each value once, like ^[AEM]$, one of A, E, M"},
			{Subject: "kwh, quality", Words: "unique in every row"},
			{Subject: "zero", Expression: "row.kwh == 0.0, where row.quality == 'M'", Otherwise: "found {row.kwh}"},
			{Subject: "some", Expression: "count > 0", Severity: engines.SeverityWarning},
		}},
		"JSONSchema": {
			engines.KindJSONSchema, `{"schema":{"title":"Site","description":"A site.","required":["id","name"]}}`,
			[]engines.Requirement{
				{Subject: "Site", Words: "the document matches the schema: A site.", Severity: engines.SeverityError},
				{Subject: "id, name", Words: "always there"},
			},
		},
		"JSONSchemaThatIsTrue": {engines.KindJSONSchema, `{"schema":true}`, []engines.Requirement{
			{Words: "the document matches the schema", Severity: engines.SeverityError},
		}},
		"Rules": {engines.KindRules, `{"rules":[
				{"id":"a","path":"/x","operator":"le","value":5},
				{"id":"b","path":"/y","assert":"value > 0","when":"value != 3","message":"no"},
				{"id":"c","path":"/z","operator":"not_null"}]}`, []engines.Requirement{
			{Subject: "a", Expression: "/x: le 5"},
			{Subject: "b", Expression: "/y: value > 0, where value != 3", Otherwise: "no"},
			{Subject: "c", Expression: "/z: not_null"},
		}},
		"XML": {engines.KindXML, `{"schema":"<xs:schema/>"}`, []engines.Requirement{
			{Words: "the document is well-formed XML"}, {Words: "it is valid against the XML Schema of this step"},
		}},
		"EnergyPlus": {engines.KindEnergyPlus, `{"versions":["23.1","23.2"],"required_objects":[["A","B"]],
			"rules":[{"id":"lit","assert":"counts['Lights'] > 0"}]}`, []engines.Requirement{
			{Words: "the model is for EnergyPlus 23.1, 23.2"},
			{Subject: "A or B", Words: "the model has an object of this class"},
			{Subject: "lit", Expression: "counts['Lights'] > 0"},
		}},
		"HTTP": {engines.KindHTTP, `{"url":"https://checks.example/"}`, []engines.Requirement{
			{Subject: "https://checks.example/", Words: "this service finds no errors in the document"},
		}},
		"IDS": {engines.KindIDS, ids, []engines.Requirement{
			{Words: "the document is an IFC model as a STEP physical file"},
			{Subject: "Walls", Words: `required for class "IFCWALL": attribute "Name"`},
		}},
		"Program":    {engines.KindProgram, `{"program":"schematron","config":` + schematron + `}`, total},
		"Schematron": {engines.KindSchematron, schematron, total},
		"Unreadable": {engines.KindTable, `{"schema":[]}`, nil},
		"Unknown":    {"horoscope", `{}`, nil},
	}
	tried := slices.Collect(maps.Values(tests))
	for _, kind := range engines.Kinds() {
		if !slices.ContainsFunc(tried, func(tt test) bool { return tt.kind == kind && tt.want != nil }) {
			t.Errorf("no case describes a step of the kind %s", kind)
		}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, engines.Describe(tt.kind, []byte(tt.config))); diff != "" {
				t.Errorf("Describe (-want +got):\n%s", diff)
			}
			if engines.KindTitle(tt.kind) == "" {
				t.Errorf("KindTitle(%q) is empty", tt.kind)
			}
		})
	}
}

func TestEndOfContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	configs := map[string]string{
		engines.KindEnergyPlus: `{}`,
		engines.KindIDS:        `{"ids":"<ids/>"}`,
		engines.KindJSONSchema: `{"schema": {}}`,
		engines.KindProgram:    `{"program":"ids"}`,
		engines.KindRules:      `{"rules":[{"id":"a","assert":"true"}]}`,
		engines.KindSchematron: `{"schema":"<schema/>"}`,
		engines.KindTable:      `{"schema": {"fields": [{"name": "a", "type": "string"}]}}`,
		engines.KindXML:        `{}`,
	}
	for _, kind := range engines.Kinds() {
		config, tried := configs[kind]
		if kind == engines.KindHTTP {
			// Its documents are checked elsewhere.
			continue
		}
		if !tried {
			t.Errorf("no case ends the context of a step of the kind %s", kind)
			continue
		}
		_, err := compile(t, kind, config).Run(ctx, engines.NewDocument([]byte("1\n2\n"), "", ""))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error = %v, want the context's", kind, err)
		}
	}
}
