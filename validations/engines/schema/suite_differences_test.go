package schema_test

import "slices"

// Why the engine differs from the suite.
const (
	leavesTheSchema  = "references never leave the schema: nothing is loaded from a network or a file"
	contentIsNotRead = "contentEncoding and contentMediaType say what a text is; it is not decoded"
	formatIsChecked  = "formats are checked in all drafts, whatever the vocabulary says"
	formatIsNotKnown = "the formats idn-email and idn-hostname are not known, so they are not checked"
	wholeIsAnInteger = "1.0 is an integer in all drafts, as newer drafts have it"
	escapeIsOfRE2    = "\\a is a control character, as RE2 has it"
)

// suiteDifference are cases of one file that differ for one reason. A case without a test is a group whose schema is
// refused.
type suiteDifference struct {
	reason string
	file   string
	drafts []string
	// group begins the names of all cases; "" where they are of different groups.
	group string
	cases []string
}

// differencesIn returns the cases of a draft that differ, sorted.
func differencesIn(draft string) []string {
	found := []string{}
	for _, difference := range suiteDifferences() {
		if !slices.Contains(difference.drafts, draft) {
			continue
		}
		for _, name := range difference.cases {
			found = append(found, difference.file+": "+difference.group+name)
		}
	}
	slices.Sort(found)
	return found
}

func suiteDifferences() []suiteDifference {
	return []suiteDifference{
		{
			contentIsNotRead, "optional/content.json",
			[]string{"7"},
			"",
			[]string{
				"validation of binary string-encoding: an invalid base64 string (% is not a valid character)",
				"validation of binary-encoded media type documents: a validly-encoded invalid JSON document",
				"validation of binary-encoded media type documents: an invalid base64 string that is valid JSON",
				"validation of string-encoded content based on media type: an invalid JSON document",
			},
		},
		{
			escapeIsOfRE2, "optional/ecmascript-regex.json",
			[]string{"2020-12"},
			"",
			[]string{
				`\a is not an ECMA 262 control escape: when used as a pattern`,
			},
		},
		{
			formatIsChecked, "format.json",
			[]string{"2020-12"},
			"",
			[]string{
				"date format: invalid date string is only an annotation by default",
				"date-time format: invalid date-time string is only an annotation by default",
				"duration format: invalid duration string is only an annotation by default",
				"email format: invalid email string is only an annotation by default",
				"hostname format: invalid hostname string is only an annotation by default",
				"ipv4 format: invalid ipv4 string is only an annotation by default",
				"ipv6 format: invalid ipv6 string is only an annotation by default",
				"iri format: invalid iri string is only an annotation by default",
				"iri-reference format: invalid iri-reference string is only an annotation by default",
				"json-pointer format: invalid json-pointer string is only an annotation by default",
				"regex format: invalid regex string is only an annotation by default",
				"relative-json-pointer format: invalid relative-json-pointer string is only an annotation by default",
				"time format: invalid time string is only an annotation by default",
				"uri format: invalid uri string is only an annotation by default",
				"uri-reference format: invalid uri-reference string is only an annotation by default",
				"uri-template format: invalid uri-template string is only an annotation by default",
				"uuid format: invalid uuid string is only an annotation by default",
			},
		},
		{
			formatIsNotKnown, "optional/format/idn-email.json",
			[]string{"2020-12", "2019-09", "7"},
			"",
			[]string{
				"validation of an internationalized e-mail addresses: an invalid e-mail address",
				"validation of an internationalized e-mail addresses: an invalid idn e-mail address",
			},
		},
		{
			formatIsNotKnown, "optional/format/idn-hostname.json",
			[]string{"2020-12", "2019-09", "7"},
			"validation of internationalized host names: ",
			[]string{
				"Arabic-Indic digits mixed with Extended Arabic-Indic digits",
				"Begins with a Nonspacing Mark",
				"Begins with a Spacing Combining Mark",
				"Begins with an Enclosing Mark",
				"Exceptions that are DISALLOWED, left-to-right chars",
				"Exceptions that are DISALLOWED, right-to-left chars",
				"Greek KERAIA not followed by Greek",
				"Greek KERAIA not followed by anything",
				"Hebrew GERESH not preceded by Hebrew",
				"Hebrew GERESH not preceded by anything",
				"Hebrew GERSHAYIM not preceded by Hebrew",
				"Hebrew GERSHAYIM not preceded by anything",
				"KATAKANA MIDDLE DOT with no Hiragana, Katakana, or Han",
				"KATAKANA MIDDLE DOT with no other characters",
				"MIDDLE DOT with no following 'l'",
				"MIDDLE DOT with no preceding 'l'",
				"MIDDLE DOT with nothing following",
				"MIDDLE DOT with nothing preceding",
				`U-label contains "--" in the 3rd and 4th position`,
				"U-label ends with a dash",
				"U-label starts and ends with a dash",
				"U-label starts with a dash",
				"ZERO WIDTH JOINER not preceded by Virama",
				"ZERO WIDTH JOINER not preceded by anything",
				"a host name with a component too long",
				"contains illegal char U+302E Hangul single dot tone mark",
				"illegal first char U+302E Hangul single dot tone mark",
				"invalid Punycode",
				"invalid label, correct Punycode",
			},
		},
		{
			leavesTheSchema, "dynamicRef.json",
			[]string{"2020-12"},
			"",
			[]string{
				"$ref and $dynamicAnchor are independent of order - $defs first",
				"$ref and $dynamicAnchor are independent of order - $ref first",
				"$ref to $dynamicRef finds detached $dynamicAnchor",
				"strict-tree schema, guards against misspelled properties",
				"tests for implementation dynamic anchor and reference link",
			},
		},
		{
			leavesTheSchema, "optional/cross-draft.json",
			[]string{"2020-12", "2019-09"},
			"",
			[]string{
				"refs to historic drafts are processed as historic drafts",
			},
		},
		{
			leavesTheSchema, "optional/cross-draft.json",
			[]string{"2019-09", "7"},
			"",
			[]string{
				"refs to future drafts are processed as future drafts",
			},
		},
		{
			leavesTheSchema, "optional/format-assertion.json",
			[]string{"2020-12"},
			"",
			[]string{
				"schema that uses custom metaschema with format-assertion: false",
				"schema that uses custom metaschema with format-assertion: true",
			},
		},
		{
			leavesTheSchema, "refRemote.json",
			[]string{"2020-12", "2019-09", "7", "6", "4"},
			"",
			[]string{
				"Location-independent identifier in remote ref",
				"base URI change",
				"base URI change - change folder",
				"base URI change - change folder in subschema",
				"fragment within remote ref",
				"ref within remote ref",
				"remote ref",
				"root ref in remote ref",
			},
		},
		{
			leavesTheSchema, "refRemote.json",
			[]string{"2020-12", "2019-09", "7", "6"},
			"",
			[]string{
				"retrieved nested refs resolve relative to their URI not $id",
			},
		},
		{
			leavesTheSchema, "refRemote.json",
			[]string{"2020-12", "2019-09"},
			"",
			[]string{
				"$ref to $ref finds detached $anchor",
				"anchor within remote ref",
				"remote HTTP ref with different $id",
				"remote HTTP ref with different URN $id",
				"remote HTTP ref with nested absolute ref",
				"remote ref with ref to defs",
			},
		},
		{
			leavesTheSchema, "refRemote.json",
			[]string{"7", "6"},
			"",
			[]string{
				"$ref to $ref finds location-independent $id",
				"remote ref with ref to definitions",
			},
		},
		{
			leavesTheSchema, "vocabulary.json",
			[]string{"2020-12", "2019-09"},
			"",
			[]string{
				"ignore unrecognized optional vocabulary",
				"schema that uses custom metaschema with with no validation vocabulary", //nolint:dupword // sic
			},
		},
		{
			wholeIsAnInteger, "optional/zeroTerminatedFloats.json",
			[]string{"4"},
			"",
			[]string{
				"some languages do not distinguish between different types of numeric value: " +
					"a float is not an integer even without fractional part",
			},
		},
	}
}
