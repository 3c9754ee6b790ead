package main_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestClassifications(t *testing.T) {
	t.Parallel()
	classified := func(object int, system, code string) string {
		return fmt.Sprintf("#%d1=IFCRELASSOCIATESCLASSIFICATION('r',$,$,$,(#%d),#%d2);"+
			"#%d2=IFCCLASSIFICATIONREFERENCE($,'%s',$,#%d3,$,$);#%d3=IFCCLASSIFICATIONREFERENCE($,'EF',$,#%d4,$,$);"+
			"#%d4=IFCCLASSIFICATION($,$,$,%s,$,$,$);", object, object, object, object, code, object, object, object,
			object, system)
	}
	facet := func(of, value string) string {
		return "<classification" + of + ">" + value + "<system>«Uniclass»</system></classification>"
	}
	const typed = "#2=IFCRELDEFINESBYTYPE('t',$,$,$,(#1),#3);#3=IFCWALLTYPE('u',$,$,$,$,$,$,$,$,.SOLIDWALL.);"
	const code, value = `ids.classification: IfcWall "W" `, "<value>«EF_1»</value>"
	testRequirements(t, map[string]holding{
		"System": {facet("", ""), map[string]string{
			classified(1, "'Uniclass'", "x"):  "",
			classified(1, "'Omniclass'", "x"): code + `has no classification by "Uniclass"`,
			classified(1, "$", "x"):           code + `has no classification by "Uniclass"`,
			"#2=IFCRELASSOCIATESCLASSIFICATION('r',$,$,$,(#1),#3);#3=IFCCLASSIFICATION($,$,$,'Uniclass',$,$,$);": "",
			// A reference that leads to itself has no system.
			"#2=IFCRELASSOCIATESCLASSIFICATION('r',$,$,$,(#1),#3);" +
				"#3=IFCCLASSIFICATIONREFERENCE($,'EF_1',$,#3,$,$);": code +
				`has no classification by "Uniclass"`,
		}},
		"Code": {facet("", value), map[string]string{
			classified(1, "'Uniclass'", "EF_1"): "",
			classified(1, "'Uniclass'", "EF_2"): code +
				`is classified by "Uniclass" as "EF_2", "EF"; required: "EF_1"`,
		}},
		"MoreGeneralCode": {
			facet("", "<value>«EF»</value>"), map[string]string{classified(1, "'Uniclass'", "EF_2"): ""},
		},
		"OfTheType": {facet("", value), map[string]string{
			typed + classified(3, "'Uniclass'", "EF_1"):                                        "",
			typed + classified(3, "'Uniclass'", "EF_1") + classified(1, "'Omniclass'", "EF_3"): "",
			typed + classified(3, "'Uniclass'", "EF_1") + classified(1, "'Uniclass'", "EF_3"): code +
				`is classified by "Uniclass" as "EF_3", "EF"; required: "EF_1"`,
		}},
		"Optional": {facet(` cardinality="optional"`, value), map[string]string{
			"": "", classified(1, "'Uniclass'", "EF_1"): "",
			classified(1, "'Uniclass'", "EF_2"): code +
				`is classified by "Uniclass" as "EF_2", "EF"; required: "EF_1"`,
		}},
		"Prohibited": {facet(` cardinality="prohibited"`, value), map[string]string{
			"": "", classified(1, "'Uniclass'", "EF_2"): "",
			classified(1, "'Uniclass'", "EF_1"): code +
				`is classified by "Uniclass" as "EF_1", "EF", which is prohibited`,
		}},
	})
}

func TestClassificationsOfResources(t *testing.T) {
	t.Parallel()
	ids := specOf(entity("IFCMATERIAL"), "<classification><value>«1»</value><system>«S»</system></classification>")
	same(t, []string{}, messages(check(t, ids, "#1=IFCMATERIAL('a',$,$);",
		"#2=IFCEXTERNALREFERENCERELATIONSHIP($,$,#3,(#1));", "#3=IFCCLASSIFICATIONREFERENCE($,'1',$,#4,$,$);",
		"#4=IFCCLASSIFICATION($,$,$,'S',$,$,$);")))
	// IFC2X3 has other names.
	ids = specOf(entity("IFCWALL"), "<classification><value>«1»</value><system>«S»</system></classification>")
	checker := compile(t, step(t, ids))
	model := modelOf("IFC2X3", "#1=IFCWALL('g',$,'W',$,$,$,$,$);",
		"#2=IFCRELASSOCIATESCLASSIFICATION('r',$,$,$,(#1),#3);", "#3=IFCCLASSIFICATIONREFERENCE($,'1',$,#4);",
		"#4=IFCCLASSIFICATION('a','b',$,'S');")
	same(t, 0, run(t, checker, model).Counts.Errors)
}

func TestMaterials(t *testing.T) {
	t.Parallel()
	of := func(material string) string { return "#2=IFCRELASSOCIATESMATERIAL('r',$,$,$,(#1),#3);#3=" + material }
	const typed = "#8=IFCRELDEFINESBYTYPE('t',$,$,$,(#1),#9);#9=IFCWALLTYPE('u',$,$,$,$,$,$,$,$,.SOLIDWALL.);" +
		"#10=IFCRELASSOCIATESMATERIAL('q',$,$,$,(#9),#11);"
	const code = `ids.material: IfcWall "W" `
	const ofOak = "<material><value>«Oak»</value></material>"
	testRequirements(t, map[string]holding{
		"Any": {"<material/>", map[string]string{of("IFCMATERIAL('x',$,$);"): "", "": code + "has no material"}},
		"Named": {ofOak, map[string]string{
			of("IFCMATERIAL('Oak',$,$);"): "", of("IFCMATERIAL('x',$,'Oak');"): "",
			of("IFCMATERIALLIST((#4,#5));#4=IFCMATERIAL('x',$,$);#5=IFCMATERIAL('Oak',$,$);"): "",
			of("IFCMATERIALLAYERSETUSAGE(#4,.AXIS2.,.POSITIVE.,0.,$);#4=IFCMATERIALLAYERSET((#5),'L',$);" +
				"#5=IFCMATERIALLAYER(#6,1.,$,$,$,$,$);#6=IFCMATERIAL('Oak',$,$);"): "",
			of("IFCMATERIALLAYERSET((#5),'Oak',$);#5=IFCMATERIALLAYER($,1.,$,$,$,$,$);"): "",
			of("IFCMATERIALLAYERSET((#5),$,$);#5=IFCMATERIALLAYER($,1.,$,'Oak',$,$,$);"): "",
			of("IFCMATERIALLAYERSET((#5),$,$);#5=IFCMATERIALLAYER($,1.,$,$,$,'Oak',$);"): "",
			of("IFCMATERIALPROFILESETUSAGE(#4,$,$);#4=IFCMATERIALPROFILESET($,$,(#5),$);" +
				"#5=IFCMATERIALPROFILE('Oak',$,$,#6,$,$);#6=IFCPARAMETERIZEDPROFILEDEF(.AREA.,$,$);"): "",
			of("IFCMATERIALCONSTITUENTSET($,$,(#5));#5=IFCMATERIALCONSTITUENT($,$,#6,$,'Oak');" +
				"#6=IFCMATERIAL('x',$,$);"): "",
			of("IFCMATERIAL('Ash',$,'Wood');"): code + `has a material named "Ash", "Wood"; required: "Oak"`,
			of("IFCMATERIALLAYERSET((#5),$,$);#5=IFCMATERIALLAYER($,1.,$,$,$,$,$);"): code +
				`has a material without a name; required: "Oak"`,
			"": code + `has no material; required: "Oak"`,
			// Layers that are made of themselves end.
			of("IFCMATERIALLIST((#3,#3,#4));#4=IFCMATERIAL('Ash',$,$);"): code +
				`has a material named "Ash"; required: "Oak"`,
		}},
		"OfTheType": {ofOak, map[string]string{
			typed + "#11=IFCMATERIAL('Oak',$,$);": "",
			typed + "#11=IFCMATERIAL('Oak',$,$);" + of("IFCMATERIAL('Ash',$,$);"): code +
				`has a material named "Ash"; required: "Oak"`,
		}},
		"Optional": {`<material cardinality="optional"><value>«Oak»</value></material>`, map[string]string{
			"": "", of("IFCMATERIAL('Oak',$,$);"): "",
			of("IFCMATERIAL('Ash',$,$);"): code + `has a material named "Ash"; required: "Oak"`,
		}},
		"Prohibited": {`<material cardinality="prohibited"><value>«Oak»</value></material>`, map[string]string{
			"": "", of("IFCMATERIAL('Ash',$,$);"): "",
			of("IFCMATERIAL('Oak',$,$);"): code + `has a material named "Oak", which is prohibited`,
		}},
		"AnyProhibited": {`<material cardinality="prohibited"/>`, map[string]string{
			"": "", of("IFCMATERIAL('Ash',$,$);"): code + `has a material named "Ash", which is prohibited`,
		}},
	})
}

func TestParts(t *testing.T) {
	t.Parallel()
	facet := func(of, class string) string { return "<partOf" + of + ">" + entity(class) + "</partOf>" }
	const building = "#9=IFCBUILDING('b',$,'B',$,$,$,$,$,$,$,$,$);"
	const storey = "#8=IFCBUILDINGSTOREY('s',$,'S',$,$,$,$,$,$,$);"
	const opened = "#7=IFCSLAB('l',$,'L',$,$,$,$,$,$);#6=IFCOPENINGELEMENT('o',$,$,$,$,$,$,$,$);" +
		"#5=IFCRELVOIDSELEMENT('v',$,$,$,#7,#6);#4=IFCRELFILLSELEMENT('f',$,$,$,#6,#1);"
	contained := storey + "#3=IFCRELCONTAINEDINSPATIALSTRUCTURE('c',$,$,$,(#1),#8);"
	within := contained + building + "#2=IFCRELAGGREGATES('a',$,$,$,#9,(#8));"
	const code = `ids.partof: IfcWall "W" is `
	testRequirements(t, map[string]holding{
		"AnyRelation": {facet("", "IFCBUILDING"), map[string]string{
			within: "", contained: code + `not part of class "IFCBUILDING"`,
			"": code + `not part of class "IFCBUILDING"`,
			// A ring ends.
			"#2=IFCRELAGGREGATES('a',$,$,$,#1,(#3));#3=IFCSLAB('h',$,$,$,$,$,$,$,$);" +
				"#4=IFCRELAGGREGATES('b',$,$,$,#3,(#1));": code +
				`not part of class "IFCBUILDING"`,
		}},
		"OneRelation": {facet(` relation="IFCRELCONTAINEDINSPATIALSTRUCTURE"`, "IFCBUILDING"), map[string]string{
			within: code + `not part of class "IFCBUILDING" by IFCRELCONTAINEDINSPATIALSTRUCTURE`,
		}},
		"Contained": {facet(` relation="IFCRELCONTAINEDINSPATIALSTRUCTURE"`, "IFCBUILDINGSTOREY"), map[string]string{
			within: "",
		}},
		"Nested": {facet(` relation="IFCRELNESTS"`, "IFCSLAB"), map[string]string{
			"#2=IFCRELNESTS('n',$,$,$,#7,(#1));#7=IFCSLAB('l',$,'L',$,$,$,$,$,$);": "",
		}},
		"Grouped": {facet(` relation="IFCRELASSIGNSTOGROUP"`, "IFCZONE"), map[string]string{
			"#2=IFCRELASSIGNSTOGROUP('n',$,$,$,(#1),$,#7);#7=IFCZONE('l',$,'L',$,$,$);":            "",
			"#2=IFCRELASSIGNSTOGROUPBYFACTOR('n',$,$,$,(#1),$,#7,1.);#7=IFCZONE('l',$,'L',$,$,$);": "",
		}},
		"Filled": {
			facet(` relation="IFCRELVOIDSELEMENT IFCRELFILLSELEMENT"`, "IFCSLAB"), map[string]string{opened: ""},
		},
		"Prohibited": {facet(` cardinality="prohibited"`, "IFCBUILDING"), map[string]string{
			contained: "", within: code + `part of IfcBuilding "B", which is prohibited`,
		}},
		"Predefined": {
			"<partOf><entity><name>«IFCSLAB»</name><predefinedType>«ROOF»</predefinedType></entity></partOf>",
			map[string]string{
				"#2=IFCRELAGGREGATES('n',$,$,$,#7,(#1));#7=IFCSLAB('l',$,'L',$,$,$,$,$,.ROOF.);": "",
				"#2=IFCRELAGGREGATES('n',$,$,$,#7,(#1));#7=IFCSLAB('l',$,'L',$,$,$,$,$,.FLOOR.);": code +
					`not part of class "IFCSLAB" with the predefined type "ROOF"`,
			},
		},
	})
}

func TestPredefinedTypes(t *testing.T) {
	t.Parallel()
	wall := func(object, own string) string { return "#1=IFCWALL('g',$,'W',$," + object + ",$,$,$," + own + ");" }
	ofType := func(element, own string) string {
		return "#2=IFCRELDEFINESBYTYPE('t',$,$,$,(#1),#3);#3=IFCWALLTYPE('u',$,$,$,$,$,$,$," + element + "," + own +
			");"
	}
	facet := func(predefined string) string {
		return "<entity><name>«IFCWALL»</name><predefinedType>" + predefined + "</predefinedType></entity>"
	}
	const code = `ids.entity: IfcWall "W" has `
	testRequirements(t, map[string]holding{
		"OfTheEnumeration": {facet("«SHEAR»"), map[string]string{
			wall("$", ".SHEAR."): "", wall("$", ".SHEAR.") + ofType("$", ".NOTDEFINED."): "",
			wall("$", "$") + ofType("$", ".SHEAR."): "",
			wall("$", "$"):                          code + `no predefined type; required: "SHEAR"`,
			wall("'SHEAR'", ".PARAPET."): code +
				`the predefined type PARAPET; required: "SHEAR"`,
			wall("$", ".SHEAR.") + ofType("$", ".PARAPET."): code +
				`the predefined type PARAPET; required: "SHEAR"`,
		}},
		"OfItsOwn": {facet("«Dry»"), map[string]string{
			wall("'Dry'", ".USERDEFINED."): "", wall("$", "$") + ofType("'Dry'", ".USERDEFINED."): "",
			wall("'dry'", ".USERDEFINED."): code + `the predefined type dry; required: "Dry"`,
			wall("'Dry'", "$"):             code + `no predefined type; required: "Dry"`,
			wall("$", ".USERDEFINED."):     code + `the predefined type USERDEFINED; required: "Dry"`,
		}},
		"UserDefined": {facet("«USERDEFINED»"), map[string]string{wall("'Dry'", ".USERDEFINED."): ""}},
		"Pattern": {facet(`{{<xs:pattern value="S.*"/>}}`), map[string]string{
			wall("$", ".SHEAR."): "", wall("'Some'", ".USERDEFINED."): "",
		}},
	})
}

// IDS names the objects of IFC2X3 by their types as later versions do.
func TestClassesOfIFC2X3ByTheirTypes(t *testing.T) {
	t.Parallel()
	ids := strings.Replace(specOf("<entity><name>«IFCAIRTERMINAL»</name>"+
		"<predefinedType>«GRILLE»</predefinedType></entity>",
		"<attribute><name>«Tag»</name></attribute>"), `"IFC4"`, `"IFC2X3 IFC4"`, 1)
	checker := compile(t, step(t, ids))
	model := modelOf("IFC2X3", "#1=IFCFLOWTERMINAL('g',$,'T',$,$,$,$,$);", "#2=IFCRELDEFINESBYTYPE('t',$,$,$,(#1),#3);",
		"#3=IFCAIRTERMINALTYPE('u',$,$,$,$,$,$,$,$,.GRILLE.);", "#4=IFCFLOWTERMINAL('h',$,'L',$,$,$,$,$);",
		"#5=IFCRELDEFINESBYTYPE('t',$,$,$,(#4),#6);", "#6=IFCLAMPTYPE('u',$,$,$,$,$,$,$,$,.NOTDEFINED.);")
	same(t, []string{`ids.attribute: IfcFlowTerminal "T" has no attribute "Tag" with a value [S]`},
		messages(run(t, checker, model)))
}

// An applicability without a class is for objects of all classes, and its facets have to hold all.
func TestApplicabilityOfAllClasses(t *testing.T) {
	t.Parallel()
	ids := specOf(`<attribute><name>«Name»</name><value>«A»</value></attribute><attribute>`+
		`<name>«Description»</name></attribute>`,
		`<attribute><name>«Description»</name><value>«D»</value></attribute>`)
	report := check(t, ids, "#1=IFCMATERIAL('A','D',$);", "#2=IFCMATERIAL('A',$,$);", "#3=IFCMATERIAL('B','x',$);",
		"#4=IFCMATERIAL('A','x',$);")
	same(t, []brief{{
		"ids.attribute", "#4", 11, 1,
		`IfcMaterial "A" has the attribute Description with the value "x"; required: "D" [S]`,
	}}, briefs(report))
}
