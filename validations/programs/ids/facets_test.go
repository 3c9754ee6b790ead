package main_test

import (
	"strings"
	"testing"
)

// holding is a requirement for walls with models that meet it, "", and others with the reason.
type holding struct {
	requirement string
	// models are the instances beside the wall #1 by what is found. Where there is a wall among them, it is the wall.
	models map[string]string
}

// testRequirements checks the wall #1 of a model of IFC4 that has units in millimetres.
func testRequirements(t *testing.T, tests map[string]holding) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for instances, want := range tt.models {
				if !strings.Contains(instances, "#1=") {
					instances = "#1=IFCWALL('g',$,'W',$,$,$,$,$,$);" + instances
				}
				instances += "#90=IFCPROJECT('p',$,$,$,$,$,$,$,#91);#91=IFCUNITASSIGNMENT((#92,#93,#94,#95));" +
					"#92=IFCSIUNIT(*,.LENGTHUNIT.,.MILLI.,.METRE.);" +
					"#93=IFCSIUNIT(*,.AREAUNIT.,.CENTI.,.SQUARE_METRE.);" +
					"#94=IFCSIUNIT(*,.THERMODYNAMICTEMPERATUREUNIT.,$,.DEGREE_CELSIUS.);" +
					"#95=IFCSIUNIT(*,.MASSUNIT.,$,.GRAM.);"
				got := messages(check(t, specOf(entity("IFCWALL"), tt.requirement), instances))
				wants := []string{}
				if want != "" {
					wants = append(wants, want+" [S]")
				}
				same(t, wants, got)
			}
		})
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	wall := func(name, tag string) string { return "#1=IFCWALL('g',$," + name + ",$,$,$,$," + tag + ",$);" }
	const code = "ids.attribute: IfcWall "
	testRequirements(t, map[string]holding{
		"Value": {`<attribute><name>«Name»</name><value>«a'\b ä»</value></attribute>`, map[string]string{
			wall(`'a''\\b \X2\00E4\X0\'`, "$"): "",
			wall("'A'", "$"): code +
				`"A" has the attribute Name with the value "A"; required: "a'\b ä"`,
			wall("''", "$"): code + `#1 has no attribute "Name" with a value; required: "a'\b ä"`,
		}},
		"AnyOf": {
			`<attribute><name>{{<xs:enumeration value="Name"/><xs:enumeration value="Tag"/>}}</name></attribute>`,
			map[string]string{
				wall("'a'", "$"): "", wall("$", "'b'"): "",
				wall("$", "$"): code + `#1 has no attribute "Name" or "Tag" with a value`,
			},
		},
		"AllThatAreFilled": {
			`<attribute><name>{{<xs:pattern value="Name|Tag"/>}}</name><value>{{<xs:length ` +
				`value="1"/>}}</value></attribute>`,
			map[string]string{
				wall("'a'", "$"): "", wall("'a'", "'b'"): "",
				wall("'a'", "'bb'"): code + `"a" has the attribute Tag with the value "bb"; required: of 1 character`,
			},
		},
		"Optional": {
			`<attribute cardinality="optional"><name>«Tag»</name><value>«x»</value></attribute>`,
			map[string]string{
				wall("'a'", "$"): "", wall("'a'", "'x'"): "",
				wall("'a'", "'y'"): code + `"a" has the attribute Tag with the value "y"; required: "x"`,
				wall("'a'", "''"): code + `"a" has the attribute Tag with an empty value; ` +
					`required if present: "x"`,
			},
		},
		"Prohibited": {
			`<attribute cardinality="prohibited"><name>«Tag»</name><value>«x»</value></attribute>`,
			map[string]string{
				wall("'a'", "$"): "", wall("'a'", "'y'"): "",
				wall("'a'", "'x'"): code + `"a" has the attribute Tag with the value "x", which is prohibited`,
			},
		},
	})
}

func TestAttributesOfOtherClasses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ class, requirement, good, bad string }{
		"Length": {
			"IFCBUILDINGSTOREY", `<attribute><name>«Elevation»</name><value>[[<xs:minInclusive ` +
				`value="3"/>]]</value></attribute>`,
			"#1=IFCBUILDINGSTOREY('g',$,$,$,$,$,$,$,$,3000.);", "#1=IFCBUILDINGSTOREY('g',$,$,$,$,$,$,$,$,2999.);",
		},
		"Boolean": {
			"IFCTASK", `<attribute><name>«IsMilestone»</name><value>«true»</value></attribute>`,
			"#1=IFCTASK('g',$,$,$,$,$,$,$,$,.T.,$,$,$);", "#1=IFCTASK('g',$,$,$,$,$,$,$,$,.F.,$,$,$);",
		},
		"Logical": {
			"IFCPRESENTATIONLAYERWITHSTYLE", `<attribute><name>«LayerOn»</name></attribute>`,
			"#1=IFCPRESENTATIONLAYERWITHSTYLE('a',$,(#1),$,.F.,.T.,.T.,(#1));",
			"#1=IFCPRESENTATIONLAYERWITHSTYLE('a',$,(#1),$,.U.,.T.,.T.,(#1));",
		},
		"Reference": {
			"IFCTASK", `<attribute><name>«TaskTime»</name></attribute>`,
			"#1=IFCTASK('g',$,$,$,$,$,$,$,$,.T.,$,#9,$);", "#1=IFCTASK('g',$,$,$,$,$,$,$,$,.T.,$,$,$);",
		},
		"EmptyList": {
			"IFCRELCONNECTSPATHELEMENTS", `<attribute><name>«RelatingPriorities»</name></attribute>`,
			"#1=IFCRELCONNECTSPATHELEMENTS('g',$,$,$,$,#1,#1,(1),(),.ATEND.,.ATEND.);",
			"#1=IFCRELCONNECTSPATHELEMENTS('g',$,$,$,$,#1,#1,(),(),.ATEND.,.ATEND.);",
		},
		"Integer": {
			"IFCSTAIRFLIGHT", `<attribute><name>«NumberOfRisers»</name><value>«42»</value></attribute>`,
			"#1=IFCSTAIRFLIGHT('g',$,$,$,$,$,$,$,42,$,$,$,$);", "#1=IFCSTAIRFLIGHT('g',$,$,$,$,$,$,$,43,$,$,$,$);",
		},
		"Duration": {
			"IFCTASKTIME", `<attribute><name>«ScheduleDuration»</name><value><xs:restriction base="xs:duration">` +
				`<xs:minInclusive value="P1D"/><xs:maxExclusive value="P1M"/></xs:restriction></value></attribute>`,
			"#1=IFCTASKTIME($,$,$,$,'P27DT23H',$,$,$,$,$,$,$,$,$,$,$,$,$,$,$);",
			"#1=IFCTASKTIME($,$,$,$,'P30D',$,$,$,$,$,$,$,$,$,$,$,$,$,$,$);",
		},
		"Date": {
			"IFCCLASSIFICATION", `<attribute><name>«EditionDate»</name><value><xs:restriction base="xs:date">` +
				`<xs:minExclusive value="2026-01-31"/></xs:restriction></value></attribute>`,
			"#1=IFCCLASSIFICATION($,$,'2026-02-01','a',$,$,$);", "#1=IFCCLASSIFICATION($,$,'2026-01-31','a',$,$,$);",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			units := "#90=IFCPROJECT('p',$,$,$,$,$,$,$,#91);#91=IFCUNITASSIGNMENT((#92));" +
				"#92=IFCSIUNIT(*,.LENGTHUNIT.,.MILLI.,.METRE.);" +
				"#9=IFCTASKTIME($,$,$,$,'P1D',$,$,$,$,$,$,$,$,$,$,$,$,$,$,$);"
			if name == "Duration" {
				units = ""
			}
			ids := specOf(entity(tt.class), tt.requirement)
			same(t, []string{}, messages(check(t, ids, tt.good+units)))
			report := check(t, ids, tt.bad+units)
			if report.Counts.Errors != 1 || report.Findings[0].Code != "ids.attribute" {
				t.Errorf("findings = %v", messages(report))
			}
		})
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	set := func(properties ...string) string {
		return "#2=IFCRELDEFINESBYPROPERTIES('r',$,$,$,(#1),#3);#3=IFCPROPERTYSET('s',$,'Set',$,(#4));#4=" +
			strings.Join(properties, "")
	}
	single := func(value string) string { return set("IFCPROPERTYSINGLEVALUE('P',$," + value + ",$);") }
	property := func(of, value string) string {
		return `<property` + of + `><propertySet>«Set»</propertySet>` +
			`<baseName>«P»</baseName>` + value + `</property>`
	}
	const code = `ids.property: IfcWall "W" has `
	const label, length = ` dataType="IFCLABEL"`, ` dataType="IFCLENGTHMEASURE"`
	const two = `<value>«2»</value>`
	testRequirements(t, map[string]holding{
		"Presence": {property("", ""), map[string]string{
			single("IFCLABEL('x')"): "", single("IFCBOOLEAN(.F.)"): "", single("IFCREAL(0.)"): "",
			single("$"):               code + `the property "P" in "Set" without a value`,
			single("IFCLABEL('')"):    code + `the property "P" in "Set" without a value`,
			single("IFCLOGICAL(.U.)"): code + `the property "P" in "Set" without a value`,
			"":                        code + `no property set "Set", where the property "P" in "Set" is required`,
			set("IFCPROPERTYSINGLEVALUE('Q',$,IFCREAL(1.),$);"): code + `no property "P" in "Set"`,
			set("IFCCOMPLEXPROPERTY('P',$,'u',(#5));#5=IFCPROPERTYSINGLEVALUE('P',$,IFCREAL(1.),$);"): code +
				`the property "P" in "Set" as IfcComplexProperty, whose values are not compared`,
		}},
		"DataType": {property(label, `<value>«x»</value>`), map[string]string{
			single("IFCLABEL('x')"): "",
			single("IFCTEXT('x')"):  code + `the property "P" in "Set" of the type IFCTEXT; required: IFCLABEL`,
			single("IFCLABEL('y')"): code + `the property "P" in "Set" with the value "y"; required: "x"`,
		}},
		"Units": {property(length, two), map[string]string{
			single("IFCLENGTHMEASURE(2000.)"): "", single("IFCLENGTHMEASURE(2000.001)"): "",
			single("IFCLENGTHMEASURE(2.)"): code +
				`the property "P" in "Set" with the value 2. (0.002 in SI units); required: "2"`,
			set("IFCPROPERTYSINGLEVALUE('P',$,IFCLENGTHMEASURE(2.),#5);#5=IFCSIUNIT(*,.LENGTHUNIT.,$,.METRE.);"): "",
			set("IFCPROPERTYSINGLEVALUE('P',$,IFCLENGTHMEASURE(78.740157480314961),#5);" +
				"#5=IFCCONVERSIONBASEDUNIT(#8,.LENGTHUNIT.,'INCH',#6);" +
				"#6=IFCMEASUREWITHUNIT(IFCLENGTHMEASURE(2.54),#7);" +
				"#7=IFCSIUNIT(*,.LENGTHUNIT.,.CENTI.,.METRE.);#8=IFCDIMENSIONALEXPONENTS(1,0,0,0,0,0,0);"): "",
		}},
		"PositiveLength": {property(` dataType="IFCPOSITIVELENGTHMEASURE"`, two), map[string]string{
			single("IFCPOSITIVELENGTHMEASURE(2000.)"): "",
		}},
		"Area": {property(` dataType="IFCAREAMEASURE"`, two), map[string]string{single("IFCAREAMEASURE(20000.)"): ""}},
		"Mass": {property(` dataType="IFCMASSMEASURE"`, two), map[string]string{
			single("IFCMASSMEASURE(2000.)"): "",
			"#2=IFCRELDEFINESBYPROPERTIES('r',$,$,$,(#1),#3);#3=IFCELEMENTQUANTITY('s',$,'Set',$,$,(#4));" +
				"#4=IFCQUANTITYWEIGHT('P',$,$,2000.,$);": "",
		}},
		"Temperature": {
			property(` dataType="IFCTHERMODYNAMICTEMPERATUREMEASURE"`, `<value>«293.15»</value>`),
			map[string]string{single("IFCTHERMODYNAMICTEMPERATUREMEASURE(20.)"): ""},
		},
		"DerivedUnit": {property(` dataType="IFCLINEARVELOCITYMEASURE"`, `<value>«10»</value>`), map[string]string{
			set("IFCPROPERTYSINGLEVALUE('P',$,IFCLINEARVELOCITYMEASURE(36.),#5);" +
				"#5=IFCDERIVEDUNIT((#6,#7),.LINEARVELOCITYUNIT.,$);#6=IFCDERIVEDUNITELEMENT(#8,1);" +
				"#7=IFCDERIVEDUNITELEMENT(#9,-1);#8=IFCSIUNIT(*,.LENGTHUNIT.,.KILO.,.METRE.);" +
				"#9=IFCCONVERSIONBASEDUNIT($,.TIMEUNIT.,'HOUR',#10);" +
				"#10=IFCMEASUREWITHUNIT(IFCTIMEMEASURE(3600.),#11);" +
				"#11=IFCSIUNIT(*,.TIMEUNIT.,$,.SECOND.);"): "",
		}},
		"AnyOfSeveral": {property(length, two), map[string]string{
			set("IFCPROPERTYLISTVALUE('P',$,(IFCLENGTHMEASURE(1.),IFCLENGTHMEASURE(2000.)),$);"): "",
			set("IFCPROPERTYENUMERATEDVALUE('P',$,(IFCLENGTHMEASURE(2.)),#5);#5=IFCPROPERTYENUMERATION('E',(),#6);" +
				"#6=IFCSIUNIT(*,.LENGTHUNIT.,$,.METRE.);"): "",
			set("IFCPROPERTYBOUNDEDVALUE('P',$,IFCLENGTHMEASURE(9.),$,$,IFCLENGTHMEASURE(2000.));"): "",
			set("IFCPROPERTYTABLEVALUE('P',$,(IFCLABEL('a')),(IFCLENGTHMEASURE(2000.)),$,$,$,$);"):  "",
			set("IFCPROPERTYLISTVALUE('P',$,(IFCLENGTHMEASURE(1000.),IFCLENGTHMEASURE(3000.)),$);"): code +
				`the property "P" in "Set" with the value 1000. (1 in SI units), 3000. (3 in SI units); ` +
				`required: "2"`,
			set("IFCPROPERTYLISTVALUE('P',$,$,$);"): code +
				`the property "P" in "Set" without a value; required: "2"`,
		}},
		"Quantities": {property(length, two), map[string]string{
			"#2=IFCRELDEFINESBYPROPERTIES('r',$,$,$,(#1),#3);#3=IFCELEMENTQUANTITY('s',$,'Set',$,$,(#4));" +
				"#4=IFCQUANTITYLENGTH('P',$,$,2000.,$);": "",
			"#2=IFCRELDEFINESBYPROPERTIES('r',$,$,$,(#1),#3);#3=IFCELEMENTQUANTITY('s',$,'Set',$,$,(#4));" +
				"#4=IFCQUANTITYAREA('P',$,$,2.,$);": code +
				`the property "P" in "Set" of the type IFCAREAMEASURE; required: IFCLENGTHMEASURE`,
		}},
		"SetOfSets": {property(label, ""), map[string]string{
			"#2=IFCRELDEFINESBYPROPERTIES('r',$,$,$,(#1),IFCPROPERTYSETDEFINITIONSET((#3)));" +
				"#3=IFCPROPERTYSET('s',$,'Set',$,(#4));#4=IFCPROPERTYSINGLEVALUE('P',$,IFCLABEL('x'),$);": "",
		}},
		"Inherited": {property(label, `<value>«x»</value>`), map[string]string{
			"#2=IFCRELDEFINESBYTYPE('r',$,$,$,(#1),#5);#5=IFCWALLTYPE('t',$,$,$,$,(#3),$,$,$,.SOLIDWALL.);" +
				"#3=IFCPROPERTYSET('s',$,'Set',$,(#4));#4=IFCPROPERTYSINGLEVALUE('P',$,IFCLABEL('x'),$);": "",
			// The wall's own property hides that of its type, and only that.
			"#2=IFCRELDEFINESBYTYPE('r',$,$,$,(#1),#5);#5=IFCWALLTYPE('t',$,$,$,$,(#3),$,$,$,.SOLIDWALL.);" +
				"#3=IFCPROPERTYSET('s',$,'Set',$,(#4));#4=IFCPROPERTYSINGLEVALUE('P',$,IFCLABEL('y'),$);" +
				"#6=IFCRELDEFINESBYPROPERTIES('q',$,$,$,(#1),#7);#7=IFCPROPERTYSET('u',$,'Set',$,(#8));" +
				"#8=IFCPROPERTYSINGLEVALUE('P',$,IFCLABEL('x'),$);": "",
			"#2=IFCRELDEFINESBYTYPE('r',$,$,$,(#1),#5);#5=IFCWALLTYPE('t',$,$,$,$,(#3),$,$,$,.SOLIDWALL.);" +
				"#3=IFCPROPERTYSET('s',$,'Set',$,(#4));#4=IFCPROPERTYSINGLEVALUE('P',$,IFCLABEL('x'),$);" +
				"#6=IFCRELDEFINESBYPROPERTIES('q',$,$,$,(#1),#7);#7=IFCPROPERTYSET('u',$,'Set',$,(#8));" +
				"#8=IFCPROPERTYSINGLEVALUE('Q',$,IFCLABEL('y'),$);": "",
		}},
		"Predefined": {
			`<property dataType="IFCWINDOWPANELPOSITIONENUM"><propertySet>«Set»</propertySet>` +
				`<baseName>«PanelPosition»</baseName><value>«LEFT»</value></property>`,
			map[string]string{
				"#2=IFCRELDEFINESBYPROPERTIES('r',$,$,$,(#1),#3);" +
					"#3=IFCWINDOWPANELPROPERTIES('s',$,'Set',$,.OTHEROPERATION.,.LEFT.,$,$,$);": "",
				"#2=IFCRELDEFINESBYPROPERTIES('r',$,$,$,(#1),#3);" +
					"#3=IFCWINDOWPANELPROPERTIES('s',$,'Set',$,.OTHEROPERATION.,.RIGHT.,$,$,$);": code +
					`the property "PanelPosition" in "Set" with the value "RIGHT"; required: "LEFT"`,
			},
		},
		"EverySet": {
			`<property dataType="IFCLABEL"><propertySet>{{<xs:pattern value="Set.*"/>}}</propertySet>` +
				`<baseName>«P»</baseName></property>`,
			map[string]string{
				single("IFCLABEL('x')"): "",
				single("IFCLABEL('x')") + "#6=IFCRELDEFINESBYPROPERTIES('q',$,$,$,(#1),#7);" +
					"#7=IFCPROPERTYSET('u',$,'Set2',$,(#8));#8=IFCPROPERTYSINGLEVALUE('Q',$,IFCLABEL('y'),$);": code +
					`no property "P" in "Set2"`,
			},
		},
		"Optional": {property(label+` cardinality="optional"`, `<value>«x»</value>`), map[string]string{
			"": "", single("IFCLABEL('x')"): "", set("IFCPROPERTYSINGLEVALUE('Q',$,$,$);"): "",
			single("IFCLABEL('y')"): code + `the property "P" in "Set" with the value "y"; required: "x"`,
			single("$"):             code + `the property "P" in "Set" without a value; required: "x"`,
		}},
		"Prohibited": {property(` cardinality="prohibited"`, ""), map[string]string{
			"": "", set("IFCPROPERTYSINGLEVALUE('Q',$,$,$);"): "",
			single("$"): code + `the property "P" in "Set", which is prohibited`,
		}},
	})
}

// Materials and profiles have properties as well.
func TestPropertiesOfMaterials(t *testing.T) {
	t.Parallel()
	ids := specOf(entity("IFCMATERIAL"), `<property dataType="IFCLABEL"><propertySet>«Set»</propertySet>`+
		`<baseName>«P»</baseName></property>`)
	same(t, []string{}, messages(check(t, ids, "#1=IFCMATERIAL('a',$,$);", "#2=IFCMATERIALPROPERTIES('Set',$,(#3),#1);",
		"#3=IFCPROPERTYSINGLEVALUE('P',$,IFCLABEL('x'),$);")))
	same(t, 1, check(t, ids, "#1=IFCMATERIAL('a',$,$);").Counts.Errors)
}
