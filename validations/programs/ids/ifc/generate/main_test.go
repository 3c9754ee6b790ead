package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
)

// schema has one declaration of each form.
const schema = `(* a comment; ENTITY no; *)
SCHEMA IFC4;
TYPE IfcLabel = STRING(255); END_TYPE; -- another ; comment
TYPE IfcIndex = LIST [3:3] OF IfcLabel; END_TYPE;
TYPE IfcRatio = REAL;
 WHERE
	WR1 : SELF > 0.; WR2 : SELF <> 'END_TYPE;';
END_TYPE;
TYPE IfcKindEnum = ENUMERATION OF
	(ONE
	,TWO);
END_TYPE;
TYPE IfcChoice = SELECT (IfcLabel, IfcA); END_TYPE;
ENTITY IfcA
 ABSTRACT SUPERTYPE OF (ONEOF
	(IfcB, IfcC));
	X, Y : OPTIONAL LIST [1:?] OF UNIQUE LIST [1:2] OF IfcLabel;
	Kind : IfcKindEnum;
 UNIQUE
	UR1 : X, Y;
END_ENTITY;
ENTITY IfcB
 SUBTYPE OF (IfcA);
	SELF\IfcA.Kind : IfcOtherEnum;
	Z : INTEGER;
 DERIVE
	SELF\IfcA.X : IfcLabel := Y[1];
	Own : REAL := 1.5;
 INVERSE
	Inverse : SET [0:?] OF IfcC FOR Other;
 WHERE
	WR1 : EXISTS(Z);
END_ENTITY;
FUNCTION IfcF (a : REAL) : REAL;
	LOCAL b : ENTITY; END_LOCAL;
	RETURN (a);
END_FUNCTION;
RULE IfcR FOR (IfcA);
 WHERE WR1 : TRUE;
END_RULE;
END_SCHEMA;
`

func TestReadSchema(t *testing.T) {
	t.Parallel()
	got, err := readSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	want := ifc.Declared{
		Name: "IFC4",
		Classes: []ifc.DeclaredClass{
			{Name: "IfcA", Abstract: true, Attributes: []ifc.Attribute{
				{Name: "X", Type: "IfcLabel", Many: true},
				{Name: "Y", Type: "IfcLabel", Many: true},
				{Name: "Kind", Type: "IfcKindEnum"},
			}},
			{
				Name: "IfcB", Parent: "IfcA", Attributes: []ifc.Attribute{{Name: "Z", Type: "INTEGER"}},
				Derived: []string{"X"},
			},
		},
		Types: []ifc.Type{
			{Name: "IfcLabel", Form: ifc.Defined, Of: []string{"STRING"}},
			{Name: "IfcIndex", Form: ifc.Many, Of: []string{"IfcLabel"}},
			{Name: "IfcRatio", Form: ifc.Defined, Of: []string{"REAL"}},
			{Name: "IfcKindEnum", Form: ifc.Enumeration, Of: []string{"ONE", "TWO"}},
			{Name: "IfcChoice", Form: ifc.Select, Of: []string{"IfcLabel", "IfcA"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	source, target := filepath.Join(folder, "a.exp"), filepath.Join(folder, "tables.gz")
	if err := os.WriteFile(source, []byte(schema), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run([]string{"-o", target, source}, &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != "IFC4: 2 classes, 5 types\n" {
		t.Errorf("output = %q", out.String())
	}
	tables, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ifc.Read(strings.NewReader(string(tables)), "IFC4")
	if err != nil || len(s.Class("IFCB").Attributes) != 4 {
		t.Errorf("schema = %+v, %v", s, err)
	}
	empty := filepath.Join(folder, "empty.exp")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"-x"}, {"nothing.exp"}, {empty}, {"-o", folder, source}} {
		if err := run(args, io.Discard); err == nil {
			t.Errorf("run %v succeeds", args)
		}
	}
}
