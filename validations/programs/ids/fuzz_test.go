package main_test

import (
	"encoding/json"
	"testing"

	program "github.com/simplevalidations/simplevalidations/validations/programs/ids"
)

// FuzzModel checks whatever comes by all facets: it never panics, and every finding has a code and a message.
func FuzzModel(f *testing.F) {
	for _, instances := range []string{
		"#1=IFCWALL('g',$,'W',$,$,$,$,$,.USERDEFINED.);#2=IFCRELAGGREGATES('',$,$,$,#1,(#1));",
		"#1=IFCWALL();#2=IFCRELDEFINESBYPROPERTIES('',$,$,$,(#1),#3);#3=IFCPROPERTYSET('',$,'s',$,(#4));" +
			"#4=IFCPROPERTYSINGLEVALUE('p',$,IFCLENGTHMEASURE(1.),#5);#5=IFCSIUNIT(*,.LENGTHUNIT.,.MILLI.,.METRE.);",
		"#1=IFCWALL();#2=IFCRELASSOCIATESMATERIAL('',$,$,$,(#1),#3);#3=IFCMATERIALLIST((#3));",
		"#1=IFCWALL();#2=IFCRELASSOCIATESCLASSIFICATION('',$,$,$,(#1),#3);" +
			"#3=IFCCLASSIFICATIONREFERENCE($,'a',$,#3,$,$);",
		"#1=IFCPROJECT('',$,$,$,$,$,$,$,#2);#2=IFCUNITASSIGNMENT((#3));#3=IFCDERIVEDUNIT((#4),.AREAUNIT.,$);" +
			"#4=IFCDERIVEDUNITELEMENT(#3,9999);",
	} {
		f.Add(instances, "IFC4")
	}
	f.Add("#1=IFCFLOWTERMINAL();", "IFC2X3")
	f.Add("#1=IFCROAD($,$", "IFC4X3_ADD2")
	config, err := json.Marshal(map[string]string{"ids": everything()})
	if err != nil {
		f.Fatal(err)
	}
	checker, faults := program.Compile(config)
	if len(faults) > 0 {
		f.Fatal(faults)
	}
	f.Fuzz(func(t *testing.T, instances, schema string) {
		report, err := attempt(checker, modelOf(schema, instances))
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		for _, finding := range report.Findings {
			if finding.Code == "" || finding.Message == "" {
				t.Errorf("finding = %+v, want a code and a message", finding)
			}
		}
	})
}

// FuzzText reads whatever comes as a text: it never panics, and says what is wrong with what it refuses.
func FuzzText(f *testing.F) {
	f.Add(everything())
	f.Add(specOf(entity("IFCWALL"), `<attribute cardinality="optional"><name>{{<xs:pattern `+
		`value="[a-z-[b]]"/>}}</name></attribute>`))
	f.Fuzz(func(t *testing.T, text string) {
		config, err := json.Marshal(map[string]string{"ids": text})
		if err != nil {
			t.Fatal(err)
		}
		faults, _ := program.Program{}.Configure(config)
		for _, fault := range faults {
			if fault.Code == "" || fault.Detail == "" {
				t.Errorf("fault = %+v, want a code and a detail", fault)
			}
		}
	})
}
