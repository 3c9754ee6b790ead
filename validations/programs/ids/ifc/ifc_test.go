package ifc_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
)

func load(tb testing.TB, name string) *ifc.Schema {
	tb.Helper()
	schema, err := ifc.Load(name)
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

func TestClasses(t *testing.T) {
	t.Parallel()
	attributes := func(schema, class string) string {
		c := load(t, schema).Class(class)
		if c == nil {
			return ""
		}
		var b strings.Builder
		for _, a := range c.Attributes {
			b.WriteString(a.Name)
			b.WriteString(map[bool]string{true: "*", false: ""}[a.Derived])
			b.WriteString(map[bool]string{true: "[]", false: ""}[a.Many])
			b.WriteString(":" + a.Type + " ")
		}
		return strings.TrimSpace(b.String())
	}
	for _, tt := range []struct{ schema, class, want string }{
		{
			"IFC2X3", "IFCWALL", "GlobalId:IfcGloballyUniqueId OwnerHistory:IfcOwnerHistory Name:IfcLabel " +
				"Description:IfcText " +
				"ObjectType:IfcLabel ObjectPlacement:IfcObjectPlacement Representation:IfcProductRepresentation " +
				"Tag:IfcIdentifier",
		},
		{
			"IFC4", "IFCWALL", "GlobalId:IfcGloballyUniqueId OwnerHistory:IfcOwnerHistory Name:IfcLabel " +
				"Description:IfcText " +
				"ObjectType:IfcLabel ObjectPlacement:IfcObjectPlacement Representation:IfcProductRepresentation " +
				"Tag:IfcIdentifier " +
				"PredefinedType:IfcWallTypeEnum",
		},
		{"IFC4", "IFCSIUNIT", "Dimensions*:IfcDimensionalExponents UnitType:IfcUnitEnum Prefix:IfcSIPrefix " +
			"Name:IfcSIUnitName"},
		{
			"IFC4X3_ADD2", "IFCRELAGGREGATES", "GlobalId:IfcGloballyUniqueId OwnerHistory:IfcOwnerHistory " +
				"Name:IfcLabel " +
				"Description:IfcText RelatingObject:IfcObjectDefinition RelatedObjects[]:IfcObjectDefinition",
		},
		{"IFC4", "IFCROAD", ""},
		{"IFC4", "IfcWall", ""},
	} {
		if diff := cmp.Diff(tt.want, attributes(tt.schema, tt.class)); diff != "" {
			t.Errorf("attributes of %s in %s (-want +got):\n%s", tt.class, tt.schema, diff)
		}
	}
	wall := load(t, "IFC4").Class("IFCWALLSTANDARDCASE")
	if !wall.Is("IFCWALL") || !wall.Is("IFCROOT") || wall.Is("IFCSLAB") || wall.Abstract ||
		!wall.Parent.Parent.Abstract {
		t.Errorf("class = %+v", wall)
	}
	if own := load(t, "IFC4").Class("IFCQUANTITYLENGTH").Own("IFCPHYSICALSIMPLEQUANTITY"); len(own) != 2 ||
		own[0].Name != "LengthValue" {
		t.Errorf("own attributes = %+v", own)
	}
	for name, count := range map[string]int{"IFC2X3": 653, "IFC4": 776, "IFC4X3_ADD2": 876} {
		if got := len(load(t, name).Classes); got != count {
			t.Errorf("%s has %d classes, want %d", name, got, count)
		}
	}
}

// Every class has a parent that is there, and every attribute a type.
func TestSchemasAreWhole(t *testing.T) {
	t.Parallel()
	for _, name := range ifc.Names() {
		schema := load(t, name)
		for _, c := range schema.Classes {
			for _, a := range c.Attributes {
				if schema.BaseOf(a.Type) == ifc.BaseUnknown {
					t.Errorf("%s: %s.%s is of the unknown type %s", name, c.Name, a.Name, a.Type)
				}
			}
			if c.Parent == nil && len(c.Attributes) == 0 && !c.Abstract {
				t.Errorf("%s: %s has neither a parent nor attributes", name, c.Name)
			}
		}
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	s := load(t, "IFC4")
	for name, want := range map[string]ifc.Base{
		"IfcLabel": ifc.BaseText, "IfcPositiveLengthMeasure": ifc.BaseReal, "IfcCountMeasure": ifc.BaseReal,
		"IfcInteger": ifc.BaseInteger, "IfcBoolean": ifc.BaseBoolean, "IfcLogical": ifc.BaseLogical,
		"IfcWallTypeEnum": ifc.BaseEnumeration, "IfcValue": ifc.BaseSelect, "IfcWall": ifc.BaseObject,
		"IfcArcIndex": ifc.BaseMany, "IfcBinary": ifc.BaseBinary, "Nothing": ifc.BaseUnknown,
		"BOOLEAN": ifc.BaseBoolean,
	} {
		if got := s.BaseOf(name); got != want {
			t.Errorf("base of %s = %d, want %d", name, got, want)
		}
	}
	if got := s.Measure("IfcPositiveLengthMeasure"); got != "IFCLENGTHMEASURE" {
		t.Errorf("measure = %s", got)
	}
	if got := s.Type("IFCDOORPANELPOSITIONENUM").Of; !cmp.Equal(got,
		[]string{"LEFT", "MIDDLE", "RIGHT", "NOTDEFINED"}) {
		t.Errorf("values = %v", got)
	}
}

func TestMappedClasses(t *testing.T) {
	t.Parallel()
	found := map[string]string{}
	for _, m := range load(t, "IFC2X3").Mapped() {
		found[m.Name] = m.Occurrence.Name + " " + m.Type.Name
	}
	if found["IFCAIRTERMINAL"] != "IFCFLOWTERMINAL IFCAIRTERMINALTYPE" || len(found) != 57 {
		t.Errorf("%d classes, with %q", len(found), found["IFCAIRTERMINAL"])
	}
	if more := load(t, "IFC4").Mapped(); len(more) > 0 {
		t.Errorf("IFC4 has %v", more)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"IFC2X3": "IFC2X3", "ifc4": "IFC4", "IFC4_ADD2": "IFC4", "IFC4X3": "IFC4X3_ADD2", "IFC4X3_TC1": "IFC4X3_ADD2",
		"IFC4X1": "", "IFC4X3_RC4": "", "AP214": "",
	} {
		if got := ifc.NameOf(written); got != want {
			t.Errorf("NameOf(%s) = %q, want %q", written, got, want)
		}
	}
	if _, err := ifc.Load("IFC5"); !errors.Is(err, ifc.ErrUnknownSchema) {
		t.Errorf("error = %v", err)
	}
}

func TestWrittenTables(t *testing.T) {
	t.Parallel()
	declared := func(name, extra string) ifc.Declared {
		return ifc.Declared{
			Name: name,
			Classes: []ifc.DeclaredClass{
				{
					Name: "IfcB", Parent: "IfcA", Derived: []string{"X"},
					Attributes: []ifc.Attribute{{Name: extra, Type: "IfcT"}},
				},
				{Name: "IfcA", Abstract: true, Attributes: []ifc.Attribute{{Name: "X", Type: "REAL", Many: true}}},
			},
			Types: []ifc.Type{{Name: "IfcT", Form: ifc.Enumeration, Of: []string{"A", "B"}}},
		}
	}
	var tables bytes.Buffer
	if err := ifc.Write(&tables, []ifc.Declared{declared("ONE", "Y"), declared("TWO", "Z")}); err != nil {
		t.Fatal(err)
	}
	for name, extra := range map[string]string{"ONE": "Y", "TWO": "Z"} {
		s, err := ifc.Read(bytes.NewReader(tables.Bytes()), name)
		if err != nil {
			t.Fatal(err)
		}
		want := []ifc.Attribute{{Name: "X", Type: "REAL", Many: true, Derived: true}, {Name: extra, Type: "IfcT"}}
		if diff := cmp.Diff(want, s.Class("IFCB").Attributes); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		if !s.Class("IFCA").Abstract || s.Class("IFCA").Attributes[0].Derived ||
			s.BaseOf("IfcT") != ifc.BaseEnumeration {
			t.Errorf("%s = %+v", name, s)
		}
	}
	for _, broken := range []string{"", "x"} {
		if _, err := ifc.Read(strings.NewReader(broken), "ONE"); err == nil {
			t.Errorf("no error for the tables %q", broken)
		}
	}
}
