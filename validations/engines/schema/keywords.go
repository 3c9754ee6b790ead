package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

type dialect struct {
	name    string
	library *jsonschema.Draft
}

// drafts are the drafts by their names, oldest first.
var drafts = []dialect{
	{"4", jsonschema.Draft4},
	{"6", jsonschema.Draft6},
	{"7", jsonschema.Draft7},
	{"2019-09", jsonschema.Draft2019},
	{"2020-12", jsonschema.Draft2020},
}

// The drafts by their places in drafts.
const (
	draft4 = iota
	draft6
	draft7
	draft2019
	draft2020
)

// keyword is what a draft demands of documents by one member of a schema, and from which draft to which.
type keyword struct{ since, until int }

// keywords are those that mean something to this engine, with those that name schemas and places.
var keywords = map[string]keyword{
	"$ref": {draft4, draft2020}, "$schema": {draft4, draft2020}, "id": {draft4, draft4}, "$id": {draft4, draft2020},
	"$anchor": {draft2019, draft2020}, "$dynamicAnchor": {draft2020, draft2020}, "$dynamicRef": {draft2020, draft2020},
	"$recursiveAnchor": {draft2019, draft2019}, "$recursiveRef": {draft2019, draft2019},
	"allOf": {draft4, draft2020}, "anyOf": {draft4, draft2020}, "oneOf": {draft4, draft2020},
	"not": {draft4, draft2020},
	"if":  {draft7, draft2020}, "then": {draft7, draft2020}, "else": {draft7, draft2020},
	"type": {draft4, draft2020}, "enum": {draft4, draft2020}, "const": {draft6, draft2020},
	"multipleOf": {draft4, draft2020}, "minimum": {draft4, draft2020}, "maximum": {draft4, draft2020},
	"exclusiveMinimum": {draft4, draft2020}, "exclusiveMaximum": {draft4, draft2020},
	"minLength": {draft4, draft2020}, "maxLength": {draft4, draft2020}, "pattern": {draft4, draft2020},
	"format": {draft4, draft2020}, "items": {draft4, draft2020}, "prefixItems": {draft2020, draft2020},
	"additionalItems": {draft4, draft2019}, "contains": {draft6, draft2020}, "minContains": {draft2019, draft2020},
	"maxContains": {draft2019, draft2020}, "minItems": {draft4, draft2020}, "maxItems": {draft4, draft2020},
	"uniqueItems": {draft4, draft2020}, "unevaluatedItems": {draft2019, draft2020},
	"properties": {draft4, draft2020}, "patternProperties": {draft4, draft2020},
	"additionalProperties": {draft4, draft2020}, "propertyNames": {draft6, draft2020},
	"unevaluatedProperties": {draft2019, draft2020}, "required": {draft4, draft2020},
	"minProperties": {draft4, draft2020}, "maxProperties": {draft4, draft2020}, "dependencies": {draft4, draft2020},
	"dependentRequired": {draft2019, draft2020}, "dependentSchemas": {draft2019, draft2020},
}

// annotations say something to people and programs, in schemas of all drafts: those of JSON Schema, and the well-known
// ones of OpenAPI, editors and generators of code.
const annotations = ` $comment $defs $vocabulary contentEncoding contentMediaType contentSchema default definitions
	deprecated description examples readOnly title writeOnly

	discriminator example externalDocs nullable xml

	allowComments allowTrailingCommas completionDetail defaultSnippets deprecationMessage doNotSuggest enumDescriptions
	enumDetails enumSortTexts errorMessage errorMessages markdownDescription markdownDeprecationMessage
	markdownEnumDescriptions patternErrorMessage suggestSortText

	displayName enumNames existingJavaType goJSONSchema goType headerTemplate javaEnumNames javaInterfaces javaName
	javaType options propertyOrder tsEnumNames tsType

	$dynamicDefaults author comment comments copyright fileMatch id license name since unit units url version `

// isAnnotation reports whether a member of a schema is meant for other programs, as prefixed names are.
func isAnnotation(name string) bool {
	known := slices.Contains(strings.Fields(annotations), name)
	return known || strings.HasPrefix(name, "x-") || strings.ContainsAny(name, ":@/_ ") || name == ""
}

// inner is a value below a keyword that is a schema.
type inner struct {
	tokens []string
	value  any
}

// within are the schemas that a keyword applies, or keeps for references.
func within(name string, value any) []inner {
	var found []inner
	switch name {
	case "not", "if", "then", "else", "contains", "propertyNames", "additionalItems", "additionalProperties",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema", "items", "allOf", "anyOf", "oneOf", "prefixItems":
		list, several := value.([]any)
		if !several {
			return []inner{{[]string{name}, value}}
		}
		for i, one := range list {
			found = append(found, inner{[]string{name, strconv.Itoa(i)}, one})
		}
	case "properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions":
		members, _ := value.(map[string]any)
		return engine.Each(slices.Sorted(maps.Keys(members)), func(member string) inner {
			return inner{[]string{name, member}, members[member]}
		})
	}
	return found
}

// draftOf returns the index of a draft in drafts, by its name or its address, or -1 if it is unknown.
func draftOf(name, address string) int {
	if name == "" && address == "" {
		return draft2020
	}
	for i, draft := range drafts {
		if address == "" && draft.name == name || strings.Contains(address, "json-schema.org/draft-0"+draft.name+"/") ||
			strings.Contains(address, "json-schema.org/draft/"+draft.name+"/") {
			return i
		}
	}
	return -1
}
