package xmltext

import (
	"embed"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// knownFiles are schemas that declare what the specifications of some namespaces define.
//
//go:embed known/*.xsd
var knownFiles embed.FS

// knownFile is the schema of a namespace that others import and often do not bring along, or "".
func knownFile(namespace string) string {
	switch namespace {
	case "http://www.w3.org/XML/1998/namespace":
		return "known/xml.xsd"
	case "http://www.w3.org/1999/xlink":
		return "known/xlink.xsd"
	case "http://www.w3.org/2000/09/xmldsig#":
		return "known/xmldsig.xsd"
	default:
		return ""
	}
}

// IsKnown reports whether a schema may import a namespace that its step has no schema for.
func IsKnown(namespace string) bool {
	return knownFile(namespace) != ""
}

// known returns the index of the schema of a namespace that its step has no schema for, or -1.
func (b *Bundle) known(namespace string) (int, *engine.ReadError) {
	text, err := knownFiles.ReadFile(knownFile(namespace))
	if at := b.find(namespace); at >= 0 || err != nil {
		return at, nil
	}
	d := &document{name: namespace, address: namespace, text: text}
	b.documents = append(b.documents, d)
	root, fault := d.read(b.limits)
	if fault != nil {
		return -1, fault
	}
	b.note(root)
	return len(b.documents) - 1, b.refer(d, root)
}
