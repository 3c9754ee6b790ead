package main_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// everything asks for all facets.
func everything() string {
	wall := entity("IFCWALL")
	return specOf(wall, `<partOf>`+entity("IFCBUILDING")+
		`</partOf><classification><value>«a»</value><system>«b»</system>`+
		`</classification><attribute><name>{{<xs:pattern value=".*"/>}}</name></attribute><property `+
		`dataType="IFCLENGTHMEASURE">`+
		`<propertySet>{{<xs:pattern value=".*"/>}}</propertySet><baseName>{{<xs:pattern value=".*"/>}}</baseName>`+
		`<value>«1»</value></property><material><value>«c»</value></material>`+
		`<entity><name>«IFCWALL»</name><predefinedType>«d»</predefinedType></entity>`)
}

// Models that refer in rings, to themselves and to objects of other classes are checked to their end.
func TestRings(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	classes := []string{
		"IFCWALL", "IFCWALLTYPE", "IFCRELDEFINESBYTYPE", "IFCRELDEFINESBYPROPERTIES", "IFCPROPERTYSET",
		"IFCPROPERTYSINGLEVALUE", "IFCPROPERTYENUMERATEDVALUE", "IFCELEMENTQUANTITY", "IFCQUANTITYLENGTH", "IFCPROJECT",
		"IFCUNITASSIGNMENT", "IFCCONVERSIONBASEDUNIT", "IFCMEASUREWITHUNIT", "IFCDERIVEDUNIT", "IFCDERIVEDUNITELEMENT",
		"IFCRELASSOCIATESMATERIAL", "IFCMATERIALLAYERSET", "IFCMATERIALLIST", "IFCRELASSOCIATESCLASSIFICATION",
		"IFCCLASSIFICATIONREFERENCE", "IFCRELAGGREGATES", "IFCRELNESTS", "IFCRELVOIDSELEMENT", "IFCRELFILLSELEMENT",
		"IFCRELCONTAINEDINSPATIALSTRUCTURE", "IFCRELASSIGNSTOGROUP", "IFCMATERIALPROPERTIES", "IFCDOORPANELPROPERTIES",
		"IFCEXTERNALREFERENCERELATIONSHIP", "IFCPROPERTYTABLEVALUE", "IFCPROPERTYBOUNDEDVALUE", "IFCMATERIAL",
	}
	for i, class := range classes {
		for j, value := range []string{
			"#%d", "(#%d,#%d)", "IFCLENGTHMEASURE(#%d)", "()", "'%d'", ".U.", "((1))",
			"\"%d\"",
		} {
			value = strings.ReplaceAll(value, "%d", strconv.Itoa((i*7+j)%len(classes)*10+j))
			fmt.Fprintf(&b, "#%d=%s(%s);\n", i*10+j, class, strings.Repeat(value+",", 11)+value)
		}
	}
	checker := compile(t, step(t, everything()))
	for _, schema := range []string{"IFC2X3", "IFC4", "IFC4X3"} {
		if report := run(t, checker, modelOf(schema, b.String())); report.Counts.Errors == 0 {
			t.Errorf("%s: no findings", schema)
		}
	}
}

// Much work ends with a reason, and much memory with a finding.
func TestHostileModels(t *testing.T) {
	t.Parallel()
	list := func(count int) string { return "(#1" + strings.Repeat(",#1", count-1) + ")" }
	rows := func(count int, row string) string {
		var b strings.Builder
		for i := range count {
			b.WriteString(strings.ReplaceAll(row, "%d", strconv.Itoa(i+100)))
			b.WriteString("\n")
		}
		return b.String()
	}
	for name, tt := range map[string]struct{ model, want string }{
		// One relation of a thousand objects with a thousand sets has a million edges.
		"Product": {
			"#1=IFCWALL();#2=IFCRELDEFINESBYPROPERTIES('',$,$,$," + list(2000) + ",IFCPROPERTYSETDEFINITIONSET(" +
				list(2000) + "));",
			"work",
		},
		// One of many objects with itself has as many.
		"Edges": {
			"#1=IFCWALL();" + rows(3000, "#%d=IFCRELAGGREGATES('',$,$,$,#1,"+list(1000)+");"), "step.too_large",
		},
		// Each wall is part of the one before.
		"Chain": {chain(20_000), "work"},
		// All walls have one set of many properties.
		"Sharing": {
			"#1=IFCPROPERTYSET('',$,'s',$,(" + strings.TrimSuffix(rows(3000, "#7000%d,"), ",\n") + "));" +
				rows(3000, "#7000%d=IFCPROPERTYSINGLEVALUE('p',$,IFCLENGTHMEASURE(1.),$);#%d=IFCWALL();"+
					"#8000%d=IFCRELDEFINESBYPROPERTIES('',$,$,$,(#%d),#1);"), "work",
		},
		"Text": {"#1=IFCWALL('" + strings.Repeat("x", 5<<20) + "');", "step.too_large"},
		"Deep": {"#1=IFCWALL(" + strings.Repeat("(", 1_000_000), "step.depth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checker := compile(t, step(t, everything()))
			checker.MaxWork, checker.MaxHeld = 10_000_000, 4<<20
			report, err := attempt(checker, modelOf("IFC4", tt.model))
			if _, exhausted := errors.AsType[*port.ExhaustedError](err); tt.want == "work" {
				if !exhausted {
					t.Errorf("error = %v, report = %d errors, want that the work ran out", err, report.Counts.Errors)
				}
				return
			}
			if err != nil || len(report.Findings) != 1 || report.Findings[0].Code != tt.want {
				t.Errorf("report = %.300s, %v", fmt.Sprint(messages(report)), err)
			}
		})
	}
}

// chain is walls of which each is part of the next.
func chain(count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "#%d=IFCWALL('',$,$,$,$,$,$,$,$);#%d=IFCRELAGGREGATES('',$,$,$,#%d,(#%d));\n", 2*i+2, 2*i+3,
			2*i+4, 2*i+2)
	}
	return b.String() + fmt.Sprintf("#%d=IFCBEAM();", 2*count+2)
}
