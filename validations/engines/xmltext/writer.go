package xmltext

import (
	"bytes"
	"encoding/xml"
)

// writer writes a schema with simplified content models.
type writer struct {
	// mostCopies is how many particles one particle may become.
	mostCopies int

	text []byte
	out  bytes.Buffer
}

// node writes an element of the schema and all within it.
func (w *writer) node(n *node) {
	w.out.Write(w.text[n.start:n.open])
	w.content(n)
	w.out.Write(w.text[max(n.close, n.open):n.end])
}

// content writes what stands between the tags of an element.
func (w *writer) content(n *node) {
	if n.close < n.open {
		return
	}
	at := n.open
	for _, child := range n.children {
		w.out.Write(w.text[at:child.start])
		if holdsModel(n) && child.is("choice", "sequence", "group") {
			w.particle(w.simplified(readParticle(child), false))
		} else {
			w.node(child)
		}
		at = child.end
	}
	w.out.Write(w.text[at:n.close])
}

// particle writes a particle in its own words: what the schema says of it, and its occurrences.
func (w *writer) particle(p *particle) {
	if !p.plain {
		w.node(p.node)
		return
	}
	name := Written(xml.Name{Space: p.node.name.Space, Local: string(p.kind)})
	w.out.WriteString("<" + name)
	if p.kind == kind(p.node.name.Local) && p.kind != choice && p.kind != sequence {
		w.attributes(p.node.attributes)
	}
	w.out.WriteString(p.occurs() + ">")
	if len(p.kids) == 0 {
		w.content(p.node)
	}
	for _, kid := range p.kids {
		w.particle(kid)
	}
	w.out.WriteString("</" + name + ">")
}

// attributes writes attributes without occurrences, and without ids, which a copy would repeat.
func (w *writer) attributes(attributes []xml.Attr) {
	for _, a := range attributes {
		if a.Name.Space == "" && (a.Name.Local == "minOccurs" || a.Name.Local == "maxOccurs" || a.Name.Local == "id") {
			continue
		}
		w.out.WriteString(" " + Written(a.Name) + `="`)
		// Writing to a buffer does not fail.
		_ = xml.EscapeText(&w.out, []byte(a.Value))
		w.out.WriteByte('"')
	}
}
