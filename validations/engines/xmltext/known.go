package xmltext

import "embed"

// knownFiles are schemas that declare what the specifications of some namespaces define.
//
//go:embed known/*.xsd
var knownFiles embed.FS

// knownFile has the schema of each of these namespaces, which others import and often do not bring along.
var knownFile = map[string]string{
	"http://www.w3.org/XML/1998/namespace": "known/xml.xsd",
	"http://www.w3.org/1999/xlink":         "known/xlink.xsd",
	"http://www.w3.org/2000/09/xmldsig#":   "known/xmldsig.xsd",
}

// IsKnown reports whether a schema may import a namespace that its step has no schema for.
func IsKnown(namespace string) bool { return knownFile[namespace] != "" }

// known returns the index of the schema of a namespace that its step has no schema for, or -1. These schemas have no
// faults.
func (b *Bundle) known(namespace string) int {
	if at := b.find(namespace); at >= 0 || !IsKnown(namespace) {
		return at
	}
	text, _ := knownFiles.ReadFile(knownFile[namespace])
	d := &document{name: namespace, address: namespace, text: text}
	b.documents = append(b.documents, d)
	root, _ := d.read(b.limits)
	b.note(root)
	_ = b.refer(d, root)
	return b.find(namespace)
}
