package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	program "github.com/simplevalidations/simplevalidations/validations/programs/ids"
)

func TestRefusedTexts(t *testing.T) {
	t.Parallel()
	wall := entity("IFCWALL")
	attribute := func(content string) string { return specOf(wall, "<attribute>"+content+"</attribute>") }
	property := func(of, value string) string {
		return specOf(wall, "<property"+of+"><propertySet>«S»</propertySet><baseName>«P»</baseName>"+value+
			"</property>")
	}
	named := "<attribute><name>«Name»</name></attribute>"
	occurs := func(attributes, requirements string) string {
		return idsOf(`<specification name="S" ifcVersion="IFC4"><applicability ` + attributes + ">" + wall +
			"</applicability>" + requirements + "</specification>")
	}
	for name, tt := range map[string]struct{ ids, code, detail string }{
		"NoXML":    {"<ids", "ids.malformed", "line 1: "},
		"DTD":      {`<!DOCTYPE a><ids/>`, "ids.malformed", "line 1: a document type declaration is refused"},
		"NoIDS":    {"<a/>", "ids.structure", "line 1: the root element must be <ids> in the namespace"},
		"File":     {"../house.ids", "ids.malformed", "run: simplevalidations workflows bundle"},
		"Empty":    {"", "ids.missing", "the text of an Information Delivery Specification is needed"},
		"TooLarge": {strings.Repeat(" ", 2<<20), "ids.too_large", "the text has 2097152 bytes, at most 1048576"},
		"NoInfo": {
			`<ids xmlns="http://standards.buildingsmart.org/IDS"/>`, "ids.structure", "line 1: <ids> needs a <info>",
		},
		"Line": {
			strings.Replace(attribute("<name>«Naem»</name>"), "<attribute>", "\n\n<attribute>", 1), "ids.attribute",
			"line 3: IFCWALL of IFC4 has no attribute \"Naem\" that has a value in files; did you mean Name?",
		},
		"Unknown": {
			specOf(wall, "<atribut/>"), "ids.structure",
			"<atribut> in <requirements> is not allowed; did you mean attribute?",
		},
		"Attribute": {
			attribute(`<name>«Name»</name><value a="b">«x»</value>`), "ids.structure",
			"the attribute a of <value> is not allowed",
		},
		"Text": {
			attribute(`<name>«Name»</name>x`), "ids.structure", `the text "x" is not allowed in <attribute>`,
		},
		"Order": {
			attribute(`<value>«x»</value><name>«Name»</name>`), "ids.structure",
			"<name> must come before <value> in <attribute>",
		},
		"Second": {
			attribute(`<name>«Name»</name><name>«Tag»</name>`), "ids.structure", "<attribute> has a second <name>",
		},
		"TwoValues": {
			attribute(`<name>«Name»«Tag»</name>`), "ids.structure",
			"<name> needs one <simpleValue> or one <xs:restriction>",
		},
		"NoValue": {
			attribute(`<name><a/></name>`), "ids.structure",
			"<name> needs one <simpleValue> or one <xs:restriction>, not <a>",
		},
		"EmptyValue": {attribute(`<name>«»</name>`), "ids.value", "the value of <name> is empty"},
		"Nested":     {attribute(`<name>«<b/>»</name>`), "ids.structure", "<b> in <simpleValue> is not allowed"},
		"Author": {
			strings.Replace(attribute("<name>«Name»</name>"), "</title>", "</title><author>me</author>", 1),
			"ids.structure", `the author "me" is not an e-mail address`,
		},
		"Date": {
			strings.Replace(attribute("<name>«Name»</name>"), "</title>", "</title><date>1.2.2026</date>", 1),
			"ids.structure", `the date "1.2.2026" is not written as 2026-01-31`,
		},
		"Version": {
			strings.Replace(specOf(wall, named), `"IFC4"`, `"IFC4x3"`, 1), "ids.structure",
			`the version "IFC4x3" is not allowed`,
		},
		"NoVersion": {
			strings.Replace(specOf(wall, named), `"IFC4"`, `""`, 1), "ids.structure",
			"<specification> needs the attribute ifcVersion",
		},
		"NoName": {
			strings.Replace(specOf(wall, named), ` name="S"`, "", 1), "ids.structure",
			"<specification> needs the attribute name",
		},
		"Occurs": {
			occurs("", ""), "ids.cardinality", "minOccurs and maxOccurs of <applicability> must be 1 and unbounded",
		},
		"Requirements": {
			occurs(`minOccurs="0" maxOccurs="0"`, "<requirements>"+named+"</requirements>"), "ids.cardinality",
			"a prohibited specification must not have requirements",
		},
		"Nothing": {
			occurs(`maxOccurs="unbounded"`, "<requirements/>"), "ids.structure", "<requirements> has no requirement",
		},

		"Class": {
			specOf(entity("IFCWAL"), named), "ids.class", `IFC4 has no class "IFCWAL"; did you mean IFCWALL?`,
		},
		"LowerCase": {
			specOf(entity("IfcWall"), named), "ids.class", `the class "IfcWall" must be written in upper case`,
		},
		"Abstract": {
			specOf(entity("IFCELEMENT"), named), "ids.class",
			"no object is of the class IFCELEMENT itself, as it is abstract in IFC4",
		},
		"ClassPattern": {
			specOf(`<entity><name>{{<xs:pattern value="WALL"/>}}</name></entity>`, named), "ids.class",
			"IFC4 has no class matching WALL",
		},
		"OtherVersion": {
			strings.Replace(specOf(entity("IFCCHIMNEY"), named), `"IFC4"`, `"IFC2X3 IFC4"`, 1), "ids.class",
			`IFC2X3 has no class "IFCCHIMNEY"`,
		},
		"NoPredefined": {
			specOf("<entity><name>«IFCPROJECT»</name><predefinedType>«A»</predefinedType></entity>", named),
			"ids.class", `the class "IFCPROJECT" of IFC4 has no predefined types`,
		},
		"Predefined": {
			specOf("<entity><name>«IFCPERMEABLECOVERINGPROPERTIES»</name></entity>",
				"<partOf><entity><name>«IFCWALL»</name></entity></partOf>"),
			"ids.class", "no applicable object of IFC4 can be part of another",
		},
		"Overlap": {
			specOf(wall, entity("IFCSLAB")), "ids.class", `no applicable object can be of the class "IFCSLAB"`,
		},
		"Whole": {
			specOf(wall, "<partOf>"+entity("IFCPERSON")+"</partOf>"), "ids.class",
			`nothing can be part of the class "IFCPERSON" of IFC4`,
		},
		"Relation": {
			specOf(wall, `<partOf relation="IFCRELFILLSELEMENT">`+wall+"</partOf>"), "ids.value",
			`the relation "IFCRELFILLSELEMENT" is not allowed`,
		},
		"Inverse": {
			attribute("<name>«IsDefinedBy»</name>"), "ids.attribute",
			`has no attribute "IsDefinedBy" that has a value in files`,
		},
		"Derived": {
			specOf(entity("IFCSIUNIT"), "<attribute><name>«Dimensions»</name></attribute>"), "ids.attribute",
			`IFCSIUNIT of IFC4 has no attribute "Dimensions"`,
		},
		"ObjectValue": {
			attribute("<name>«ObjectPlacement»</name><value>«x»</value>"), "ids.value",
			`the attribute "ObjectPlacement" refers to objects or lists (IfcObjectPlacement)`,
		},
		"NumberValue": {
			specOf(entity("IFCBUILDINGSTOREY"), "<attribute><name>«Elevation»</name><value>«1,5»</value></attribute>"),
			"ids.value", `the attribute "Elevation" is of the type IfcLengthMeasure, of which "1,5" is not a value`,
		},
		"TextForNumber": {
			specOf(entity("IFCBUILDINGSTOREY"), `<attribute><name>«Elevation»</name><value>{{<xs:pattern `+
				`value=".*"/>}}</value></attribute>`),
			"ids.value", `to which the restriction of xs:string (matching .*) does not fit`,
		},
		"NumberPattern": {
			specOf(entity("IFCBUILDINGSTOREY"), `<attribute><name>«Elevation»</name><value>[[<xs:pattern `+
				`value=".*"/>]]</value></attribute>`),
			"ids.pattern", "patterns are for texts, not for xs:double",
		},
		"Pattern": {
			attribute(`<name>«Name»</name><value>{{<xs:pattern value="^W"/>}}</value>`), "ids.pattern",
			"^ stands for itself in patterns of XML Schema",
		},
		"EmptyPattern": {
			attribute(`<name>«Name»</name><value>{{<xs:pattern value=""/>}}</value>`), "ids.pattern",
			"the pattern is empty",
		},
		"NoRestriction": {
			attribute(`<name>«Name»</name><value>{{}}</value>`), "ids.value", "the restriction is empty",
		},
		"Base": {
			attribute(`<name>«Name»</name><value><xs:restriction base="xs:token"><xs:length ` +
				`value="1"/></xs:restriction></value>`),
			"ids.value", "the base of a restriction is one of xs:string",
		},
		"Facet": {
			attribute(`<name>«Name»</name><value>{{<xs:totalDigits value="1"/>}}</value>`), "ids.value",
			"<xs:totalDigits> in a restriction is not allowed",
		},
		"Length": {
			attribute(`<name>«Name»</name><value>{{<xs:length value="-1"/>}}</value>`), "ids.value",
			"<xs:length> needs a number, and the base xs:string",
		},
		"Bound": {
			attribute(`<name>«Name»</name><value>{{<xs:minInclusive value="1"/>}}</value>`), "ids.value",
			`<xs:minInclusive> with "1" does not fit the base xs:string`,
		},
		"Enumeration": {
			attribute(`<name>«Name»</name><value>[[<xs:enumeration value="a"/>]]</value>`), "ids.value",
			`"a" is not a value of xs:double`,
		},
		"RestrictionNS": {
			attribute(`<name>«Name»</name><value>{{<length value="1"/>}}</value>`), "ids.structure",
			"<length> is not allowed in a restriction",
		},
		"WithoutValue": {
			attribute(`<name>«Name»</name><value>{{<xs:length/>}}</value>`), "ids.structure",
			"<length> needs the attribute value",
		},
		"DataType": {
			property(` dataType="IfcLabel"`, ""), "ids.data_type",
			`IFC4 has no type "IfcLabel" for values of properties, written in upper case`,
		},
		"DataTypeObject": {property(` dataType="IFCWALL"`, ""), "ids.data_type", `IFC4 has no type "IFCWALL"`},
		"NoDataType": {
			property("", "<value>«x»</value>"), "ids.data_type", "a property with a value needs the attribute dataType",
		},
		"IntegerValue": {
			property(` dataType="IFCINTEGER"`, "<value>«42.0»</value>"), "ids.value",
			`the property "P" is of the type IFCINTEGER, of which "42.0" is not a value`,
		},
		"BooleanValue": {
			property(` dataType="IFCBOOLEAN"`, "<value>«FALSE»</value>"), "ids.value",
			`of the type IFCBOOLEAN, of which "FALSE" is not a value`,
		},
		"Cardinality": {
			property(` cardinality="maybe"`, ""), "ids.cardinality",
			`the cardinality "maybe" is not one of required, optional and prohibited`,
		},
		"OptionalWhole": {
			specOf(wall, `<partOf cardinality="optional">`+wall+"</partOf>"), "ids.cardinality",
			"<partOf> is required or prohibited, never optional",
		},
		"OptionalClass": {
			specOf(wall, `<entity cardinality="optional"><name>«IFCWALL»</name></entity>`), "ids.structure",
			"the attribute cardinality of <entity> is not allowed",
		},
		"Optional": {
			property(` cardinality="optional"`, ""), "ids.cardinality",
			"an optional <property> needs the attribute dataType, or it can never fail",
		},
		"OptionalAny": {
			specOf(wall, `<material cardinality="optional"/>`), "ids.cardinality",
			"an optional <material> needs a <value>, or it can never fail",
		},
		"Prohibited": {
			property(` cardinality="prohibited" dataType="IFCLABEL"`, ""), "ids.cardinality",
			"a prohibited <property> must not have a dataType",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults := program.Compile(json.RawMessage(step(t, tt.ids)))
			for _, fault := range faults {
				if fault.Code == tt.code && strings.Contains(fault.Detail, tt.detail) && fault.Pointer == "/ids" {
					return
				}
			}
			t.Errorf("faults = %+v, want %s: %s", faults, tt.code, tt.detail)
		})
	}
}

// What is no mistake is taken.
func TestTakenTexts(t *testing.T) {
	t.Parallel()
	wall := entity("IFCWALL")
	for name, ids := range map[string]string{
		"Annotation": specOf(wall, `<attribute><name>{{<xs:annotation/><xs:pattern `+
			`value="Name"/>}}</name></attribute>`),
		"Location": strings.Replace(specOf(wall, wall), "<ids ",
			`<ids xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" `+
				`xsi:schemaLocation="a b" `, 1),
		"Prefix": strings.NewReplacer("</", "</i:", "<", "<i:", "xmlns=", "xmlns:i=").Replace(
			specOf(wall, `<attribute><name>«Name»</name></attribute>`)),
		"OwnPredefinedType": specOf("<entity><name>«IFCWALL»</name><predefinedType>«x»</predefinedType></entity>",
			wall),
		"AnyBase": specOf(wall, `<attribute><name>«Name»</name><value><xs:restriction base="xs:anyURI">`+
			`<xs:enumeration value="a"/></xs:restriction></value></attribute>`),
		"Boolean": specOf(entity("IFCTASK"), `<attribute><name>«IsMilestone»</name><value><xs:restriction `+
			`base="xs:boolean">`+
			`<xs:pattern value="t.*"/></xs:restriction></value></attribute>`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compile(t, step(t, ids))
		})
	}
}

// A text that has mistakes everywhere, or makes much work, is refused soon.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	wall := entity("IFCWALL")
	many := func(count int, text func(i int) string) string {
		var b strings.Builder
		for i := range count {
			b.WriteString(text(i))
		}
		return b.String()
	}
	for name, tt := range map[string]struct {
		ids, code string
	}{
		"Mistakes": {specOf(wall, many(6000, func(i int) string {
			return fmt.Sprintf(`<attribute><name>«A%d»</name></attribute>`, i)
		})), "ids.attribute"},
		"Names": {specOf("<entity><name>{{"+many(20_000, func(i int) string {
			return fmt.Sprintf(`<xs:enumeration value="IFCWAL%d"/>`, i)
		})+"}}</name></entity>", wall), "ids.class"},
		"Patterns": {specOf(wall, many(2000, func(int) string {
			return `<attribute><name>«Name»</name><value>{{<xs:pattern value="` + strings.Repeat("a{1000}", 15) +
				`"/>}}</value></attribute>`
		})), "ids.too_large"},
		"Audit": {specOf(`<attribute><name>«Name»</name></attribute>`, many(1500, func(i int) string {
			return fmt.Sprintf(`<attribute><name>{{<xs:pattern value=".*%s.*%d|Name"/>}}</name></attribute>`,
				strings.Repeat("(a|b)*", 50), i)
		})), "ids.too_large"},
		"Depth": {strings.Repeat("<a>", 100_000), "ids.malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults := program.Compile(json.RawMessage(step(t, tt.ids)))
			if len(faults) == 0 || faults[len(faults)-1].Code != tt.code {
				t.Errorf("%d faults, the last one of %+v, want %s", len(faults), faults[max(0, len(faults)-1):],
					tt.code)
			}
		})
	}
}
