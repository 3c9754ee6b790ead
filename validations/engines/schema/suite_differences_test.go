package schema_test

import "slices"

// Why the engine differs from the suite.
const (
	leavesTheSchema  = "references never leave the schema: nothing is loaded from a network or a file"
	contentIsNotRead = "contentEncoding and contentMediaType say what a text is; it is not decoded"
	spaceIsOfECMA    = "\\s has all spaces of ECMA-262, also that of Latin-1, as in later versions of the suite"
	formatIsNotKnown = "the formats idn-email and idn-hostname are not known, so they are not checked"
	wholeIsAnInteger = "1.0 is an integer in all drafts, as newer drafts have it"
)

// suiteDifference are cases of one file that differ for one reason. A case without a test is a group whose schema is
// refused.
type suiteDifference struct {
	reason string
	file   string
	drafts []string
	cases  []string
}

// differencesIn returns the cases of a draft that differ, sorted.
func differencesIn(draft string) []string {
	found := []string{}
	for _, difference := range suiteDifferences() {
		if !slices.Contains(difference.drafts, draft) {
			continue
		}
		for _, name := range difference.cases {
			found = append(found, difference.file+": "+name)
		}
	}
	slices.Sort(found)
	return found
}

func suiteDifferences() []suiteDifference {
	return []suiteDifference{
		{
			leavesTheSchema, "dynamicRef.json",
			[]string{"2020-12"},
			[]string{
				"strict-tree schema, guards against misspelled properties",
				"tests for implementation dynamic anchor and reference link",
				"$ref and $dynamicAnchor are independent of order - $defs first",
				"$ref and $dynamicAnchor are independent of order - $ref first",
				"$ref to $dynamicRef finds detached $dynamicAnchor",
			},
		},
		{
			leavesTheSchema, "refRemote.json",
			[]string{"2020-12", "7", "2019-09", "6", "4"},
			[]string{
				"remote ref",
				"fragment within remote ref",
				"ref within remote ref",
				"base URI change",
				"base URI change - change folder",
				"base URI change - change folder in subschema",
				"root ref in remote ref",
			},
		},
		{
			leavesTheSchema, "refRemote.json",
			[]string{"2020-12"},
			[]string{
				"anchor within remote ref",
				"remote ref with ref to defs",
				"remote HTTP ref with different $id",
				"remote HTTP ref with different URN $id",
				"remote HTTP ref with nested absolute ref",
				"$ref to $ref finds detached $anchor",
			},
		},
		{
			leavesTheSchema, "refRemote.json",
			[]string{"2020-12", "7"},
			[]string{
				"Location-independent identifier in remote ref",
				"retrieved nested refs resolve relative to their URI not $id",
			},
		},
		{
			leavesTheSchema, "refRemote.json",
			[]string{"7"},
			[]string{
				"remote ref with ref to definitions",
				"$ref to $ref finds location-independent $id",
			},
		},
		{
			contentIsNotRead, "optional/content.json",
			[]string{"2019-09"},
			[]string{
				"validation of string-encoded content based on media type: an invalid JSON document",
				"validation of binary string-encoding: an invalid base64 string (% is not a valid character)",
				"validation of binary-encoded media type documents: a validly-encoded invalid JSON document",
				"validation of binary-encoded media type documents: " +
					"an invalid base64 string that is valid JSON",
			},
		},
		{
			spaceIsOfECMA, "optional/ecmascript-regex.json",
			[]string{"2019-09", "6", "4"},
			[]string{
				`ECMA 262 \S matches everything but ascii whitespace: ` +
					"latin-1 non-breaking-space matches (unlike e.g. Python)",
				`ECMA 262 \s matches ascii whitespace only: ` +
					"latin-1 non-breaking-space does not match (unlike e.g. Python)",
			},
		},
		{
			formatIsNotKnown, "optional/format/idn-email.json",
			[]string{"2019-09"},
			[]string{
				"validation of an internationalized e-mail addresses: an invalid idn e-mail address",
			},
		},
		{
			formatIsNotKnown, "optional/format/idn-hostname.json",
			[]string{"2019-09"},
			[]string{
				"validation of internationalized host names: " +
					"illegal first char U+302E Hangul single dot tone mark",
				"validation of internationalized host names: " +
					"contains illegal char U+302E Hangul single dot tone mark",
				"validation of internationalized host names: a host name with a component too long",
			},
		},
		{
			wholeIsAnInteger, "optional/zeroTerminatedFloats.json",
			[]string{"4"},
			[]string{
				"some languages do not distinguish between different types of numeric value: " +
					"a float is not an integer even without fractional part",
			},
		},
	}
}
