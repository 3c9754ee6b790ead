package main_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

func TestSamples(t *testing.T) {
	t.Parallel()
	checker := compile(t, text(t, "schemas/house.ids-step.json"))
	same(t, []brief{}, briefs(run(t, checker, text(t, "good/house.ifc"))))
	report := run(t, checker, text(t, "bad/house.ifc"))
	same(t, []brief{
		{
			"ids.attribute", "0aHouseWall0000000002A", 22, 1,
			`IfcWall "Wall:Basic 2" has the attribute Name with the value "Wall:Basic 2"; required: matching ` +
				`W-[0-9]{2}-[0-9]{3} [W1 Walls are named]. ` +
				`Hint: Name walls by their storey and a number, such as W-01-002.`,
		},
		{
			"ids.property", "0aHouseWall0000000001A", 21, 1,
			`IfcWall "W-01-001" has the property "FireRating" in "Pset_WallCommon" with the value "REI 30"; ` +
				`required: "REI 60" or "REI 90" [W2 External walls resist fire]`,
		},
		{
			"ids.property", "0aHouseWall0000000001A", 21, 1,
			`IfcWall "W-01-001" has the property "Width" in "Qto_WallBaseQuantities" with the value 200. (0.2 in SI ` +
				`units); required: >= 0.24 [W2 External walls resist fire]`,
		},
		{
			"ids.material", "0aHouseWall0000000001A", 21, 1,
			`IfcWall "W-01-001" has a material named "Outer wall", "Concrete", "Gypsum"; required: "Brick" ` +
				`[W2 External walls resist fire]`,
		},
		{
			"ids.classification", "0aHouseSpace000000001A", 38, 1,
			`IfcSpace "001" is classified by "Uniclass 2015" as "EF_25"; required: matching ` +
				`SL_[0-9]{2}(_[0-9]{2})* [S1 Spaces are classified]`,
		},
		{
			"ids.partof", "0aHouseSpace000000001A", 38, 1,
			`IfcSpace "001" is not part of class "IFCBUILDINGSTOREY" by IFCRELAGGREGATES [S1 Spaces are classified]`,
		},
		{
			"ids.prohibited", "0aHouseProxy000000001A", 39, 1,
			`IfcBuildingElementProxy "Dünn 1" must not be in the model (class "IFCBUILDINGELEMENTPROXY", attribute ` +
				`"ObjectType" with the value matching .*[Dd]oor.*) [P1 Doors are no proxies]`,
		},
	}, briefs(report))
	if first := report.Findings[0]; first.AssertionID != "W1" ||
		!strings.HasPrefix(text(t, "bad/house.ifc")[*first.Offset:], "#21=IFCWALL(") {
		t.Errorf("finding = %+v", first)
	}
}

func TestCardinalitiesOfSpecifications(t *testing.T) {
	t.Parallel()
	spec := func(occurs, requirements string) string {
		return idsOf(`<specification name="Walls" ifcVersion="IFC2X3 IFC4" instructions="Draw  one."><applicability ` +
			occurs +
			`>` + entity("IFCWALL") + `</applicability>` + requirements + `</specification>`)
	}
	const named = `<requirements><attribute><name>«Name»</name></attribute></requirements>`
	const wall, nameless = "#1=IFCWALL('g',$,'W',$,$,$,$,$,$);", "#1=IFCWALL('g',$,$,$,$,$,$,$,$);"
	const slab = "#1=IFCSLAB('g',$,'S',$,$,$,$,$,$);"
	const required, optional, prohibited = `maxOccurs="unbounded"`, `minOccurs="0" maxOccurs="unbounded"`,
		`minOccurs="0" maxOccurs="0"`
	missing := `ids.required: Walls: the model has no object that it applies to (class "IFCWALL"), ` +
		`but at least one is ` +
		`required. Hint: Draw one.`
	unnamed := `ids.attribute: IfcWall #1 has no attribute "Name" with a value [Walls]. Hint: Draw one.`
	for _, tt := range []struct{ occurs, requirements, model, want string }{
		{required, named, wall, ""},
		{required, named, slab, missing},
		{required, named, nameless, unnamed},
		{required, "", wall, ""},
		{required, "", slab, missing},
		{optional, named, wall, ""},
		{optional, named, slab, ""},
		{optional, named, nameless, unnamed},
		{prohibited, "", slab, ""},
		{
			prohibited, "", wall,
			`ids.prohibited: IfcWall "W" must not be in the model (class "IFCWALL") [Walls]. Hint: Draw one.`,
		},
	} {
		want := []string{}
		if tt.want != "" {
			want = append(want, tt.want)
		}
		same(t, want, messages(check(t, spec(tt.occurs, tt.requirements), tt.model)))
	}
}

// A specification for another version is checked nevertheless, and that is said.
func TestVersionsOfSpecifications(t *testing.T) {
	t.Parallel()
	ids := idsOf(`<specification name="Walls" ifcVersion="IFC2X3 IFC4X3_ADD2"><applicability maxOccurs="unbounded">` +
		entity("IFCWALL") + `</applicability><requirements><attribute><name>«Tag»</name></attribute></requirements>` +
		`</specification>`)
	report := check(t, ids, "#1=IFCWALL('g',$,'W',$,$,$,$,$,$);")
	same(t, []string{
		"ids.version: Walls is written for IFC2X3, IFC4X3_ADD2, and the model is of IFC4; it is checked nevertheless",
		`ids.attribute: IfcWall "W" has no attribute "Tag" with a value [Walls]`,
	}, messages(report))
	if report.Counts.Errors != 1 || report.Counts.Infos != 1 {
		t.Errorf("report = %+v", report)
	}
	for schema, want := range map[string]int{"IFC4X3": 0, "IFC4X3_ADD2": 0, "ifc4x3_add1": 0, "IFC2X3": 0, "IFC4": 1} {
		checker := compile(t, step(t, ids))
		model := modelOf(schema, "#1=IFCWALL('g',$,'W',$,$,$,$,'T',$);")
		if got := run(t, checker, model); got.Counts.Infos != want || got.Counts.Errors > 0 {
			t.Errorf("findings in %s = %v", schema, messages(got))
		}
	}
}

func TestUnreadableModels(t *testing.T) {
	t.Parallel()
	checker := compile(t, step(t, specOf(entity("IFCWALL"), entity("IFCWALL"))))
	for model, want := range map[string]brief{
		modelOf("IFC4X1"): {
			"ids.schema", "", 5, 1,
			`the file is of the schema "IFC4X1"; models of IFC2X3, IFC4, IFC4X3_ADD2 can be checked`,
		},
		strings.Replace(modelOf("IFC4"), "FILE_SCHEMA(('IFC4'));", "", 1): {
			"step.header", "", 0, 0, "the header names no schema (FILE_SCHEMA)",
		},
		modelOf("IFC4", "#1=IFCWALL('a';"): {
			"step.malformed", "", 8, 15, `a list is not closed: ";" is found`,
		},
		modelOf("IFC4", "#1=IFCWALL();", "#1=IFCDOOR();"): {
			"step.duplicate", "", 9, 1, "a second instance has the name #1",
		},
	} {
		same(t, []brief{want}, briefs(run(t, checker, model)))
	}
}

// What is wrong with the model itself may be why something passes, so it is an error.
func TestFaultsOfModels(t *testing.T) {
	t.Parallel()
	ids := specOf(entity("IFCWALL"), `<material cardinality="prohibited"/>`)
	report := check(t, ids, "#1=IFCWALL('g',$,'W',$,$,$,$,$,$);", "#2=IFCRELASSOCIATESMATERIAL('h',$,$,$,(#1,#8),#9);",
		"#3=IFCRABBIT($);", "#4=IFCRABBIT($);")
	same(t, []brief{
		{"step.class", "", 0, 0, `not evaluated: IFC4 has no class "IFCRABBIT", but the model has 2 objects of it`},
		{"step.reference", "h", 9, 1, "IfcRelAssociatesMaterial #2 refers to #8, which is not in the file"},
		{"step.reference", "h", 9, 1, "IfcRelAssociatesMaterial #2 refers to #9, which is not in the file"},
	}, briefs(report))
}

func TestManyFindingsAreFolded(t *testing.T) {
	t.Parallel()
	instances := []string{}
	for i := range 250 {
		instances = append(instances, fmt.Sprintf("#%d=IFCWALL('g',$,$,$,$,$,$,$,$);", i+1))
	}
	report := check(t, specOf(entity("IFCWALL"), `<attribute><name>«Name»</name></attribute>`), instances...)
	if report.Counts.Errors != 250 || len(report.Findings) != 101 || !report.Truncated {
		t.Fatalf("errors = %d, listed = %d", report.Counts.Errors, len(report.Findings))
	}
	last := report.Findings[100]
	same(t, `S: attribute "Name" ids.attribute failed 250 times in total; `+
		`150 of the failures are not listed individually`,
		last.Message)
}

func TestBoundsOfACheck(t *testing.T) {
	t.Parallel()
	checker := compile(t, step(t, specOf(entity("IFCWALL"), `<attribute><name>«Name»</name></attribute>`)))
	checker.MaxWork = 100
	_, err := attempt(checker, modelOf("IFC4", "#1=IFCWALL('g',$,'W',$,$,$,$,$,$);"))
	if exhausted, ok := errors.AsType[*port.ExhaustedError](err); !ok || !strings.Contains(exhausted.Reason, "100") {
		t.Errorf("error = %v, want that the work ran out", err)
	}
	report, err := checker.Check(port.Request{Size: 1<<30 + 1, Limits: port.Limits{Findings: 1, PerCheck: 1}}, nil)
	if err != nil || len(report.Findings) != 1 || report.Findings[0].Code != "step.too_large" {
		t.Errorf("report = %+v, %v", report, err)
	}
	if _, err := checker.Check(port.Request{Size: 10}, strings.NewReader("ISO")); err == nil {
		t.Error("a model that ends too early has no error")
	}
}
