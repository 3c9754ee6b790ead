package engine

import "net/url"

// SchemaFolder is where the schema of a step is believed to be, so that relative references have a base. It lies so
// deep that they may also lead up. Nothing is loaded from it.
const SchemaFolder = "https://schema.invalid/-/-/-/-/-/-/-/-/"

// ResolveAddress resolves a reference and drops its fragment. It returns "" for an invalid reference.
func ResolveAddress(base, reference string) string {
	from, err := url.Parse(base)
	if err != nil {
		return ""
	}
	target, err := from.Parse(reference)
	if err != nil {
		return ""
	}
	target.Fragment, target.RawFragment = "", ""
	return target.String()
}

// AddressFault says what is wrong with the name of a schema that others refer to.
func AddressFault(name string, taken bool) string {
	if taken {
		return Quote(name) + " is the address of another schema of this step"
	}
	return "schemas are named by the address that refers to them, and " + Quote(name) + " is not an address"
}
