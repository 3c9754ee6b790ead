package xmltext

import (
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
)

// kind is what a particle is about.
type kind string

// The kinds of particles, by the names of their elements.
const (
	element  kind = "element"
	wildcard kind = "any"
	group    kind = "group"
	choice   kind = "choice"
	sequence kind = "sequence"
)

// unbounded is the maximum of a particle that may be repeated without end.
const unbounded = -1

// particle is an element, a wildcard or a group of a content model, with its occurrences.
type particle struct {
	kind     kind
	min, max int
	// node is the element of the schema that the particle comes from, or that of a group around it.
	node *node
	kids []*particle
	// plain says that the particle and all below may be changed. Others are written as the schema has them.
	plain bool
}

// readParticle returns the particle of an element of a schema.
func readParticle(n *node) *particle {
	p := &particle{kind: kind(n.name.Local), node: n, min: 1, max: 1}
	if !n.is(string(element), string(wildcard), string(group), string(choice), string(sequence)) {
		return p
	}
	least, ok := occurrences(n, "minOccurs")
	most, alsoOK := occurrences(n, "maxOccurs")
	// A particle that must not occur has no effect, and one that declares a prefix cannot be moved.
	if !ok || !alsoOK || most == 0 || most != unbounded && least > most || declaresPrefix(n) {
		return p
	}
	p.min, p.max, p.plain = least, most, true
	if p.kind == choice || p.kind == sequence {
		p.readMembers()
	}
	return p
}

// readMembers reads what a group holds. A group without members accepts what its kind says, so it stays.
func (p *particle) readMembers() {
	for _, part := range p.node.parts() {
		kid := readParticle(part)
		p.plain = p.plain && kid.plain
		p.kids = append(p.kids, kid)
	}
	p.plain = p.plain && len(p.kids) > 0
}

// copied returns a copy whose members can be replaced.
func (p *particle) copied() *particle {
	other := *p
	other.kids = append([]*particle(nil), p.kids...)
	return &other
}

// endless reports whether the particle may be repeated without end, and need not occur more than once.
func (p *particle) endless() bool {
	return p.max == unbounded && p.min <= 1
}

// counted reports whether libxml2 counts the repetitions of an endless particle. Other elements may stand for one that
// is referred to, so it is a choice.
func (p *particle) counted() bool {
	_, referred := p.node.attribute("ref")
	return p.kind != sequence && (p.kind != element || referred)
}

// repeatable reports whether the particle may be written several times: an element that has its type inside would be
// declared with different types.
func (p *particle) repeatable() bool {
	hasType := p.kind == element && len(p.node.parts()) > 0
	return !hasType && !slices.ContainsFunc(p.kids, func(kid *particle) bool { return !kid.repeatable() })
}

// nullable reports whether the particle, taken once, may accept no element at all. What a reference leads to is not
// known.
func (p *particle) nullable() bool {
	switch p.kind {
	case group:
		return true
	case sequence:
		return !slices.ContainsFunc(p.kids, func(kid *particle) bool { return kid.min > 0 && !kid.nullable() })
	case choice:
		return slices.ContainsFunc(p.kids, func(kid *particle) bool { return kid.min == 0 || kid.nullable() })
	default:
		return false
	}
}

// size is the number of elements, wildcards and references of a particle.
func (p *particle) size() int {
	if len(p.kids) == 0 {
		return 1
	}
	size := 0
	for _, kid := range p.kids {
		size += kid.size()
	}
	return size
}

// occurrences returns the value of minOccurs or maxOccurs.
func occurrences(n *node, name string) (int, bool) {
	text, given := n.attribute(name)
	switch {
	case !given:
		return 1, true
	case text == "unbounded" && name == "maxOccurs":
		return unbounded, true
	}
	number, err := strconv.Atoi(text)
	return number, err == nil && number >= 0
}

func declaresPrefix(n *node) bool {
	return slices.ContainsFunc(n.attributes, func(a xml.Attr) bool { return IsDeclaration(a.Name) })
}

// holdsModel reports whether the particles among the children of a node are content models.
func holdsModel(n *node) bool {
	return n.is("complexType", "extension", "restriction") || n.is("group") && named(n)
}

// noteElements notes the elements of the content models below a node: whether they occur exactly once wherever they
// may.
func (b *Bundle) noteElements(n *node) {
	for _, child := range n.children {
		b.noteElements(child)
	}
	if !n.is(string(element)) || n.parent.is("schema") {
		return
	}
	needed := isOnce(n)
	at := n.parent
	for ; at.schema && !holdsModel(at); at = at.parent {
		needed = needed && at.is(string(sequence)) && isOnce(at)
	}
	name, _ := n.attribute("name")
	if written, refers := n.attribute("ref"); refers {
		name = written[strings.IndexByte(written, ':')+1:]
	}
	before, known := b.needed[name]
	b.needed[name] = needed && !at.is(string(group)) && (before || !known)
}

func isOnce(n *node) bool {
	least, ok := occurrences(n, "minOccurs")
	most, alsoOK := occurrences(n, "maxOccurs")
	return ok && alsoOK && least == 1 && most == 1
}

// Lacks reports whether an element is missing if only it may stand where another stands, by their local names.
func (b *Bundle) Lacks(only, found string) bool {
	_, known := b.needed[found]
	return known && b.needed[only]
}

func named(n *node) bool {
	_, ok := n.attribute("name")
	return ok
}

// occurs writes the occurrences of a particle as attributes.
func (p *particle) occurs() string {
	least, most := "", ""
	if p.min != 1 {
		least = ` minOccurs="` + strconv.Itoa(p.min) + `"`
	}
	if p.max != 1 {
		most = ` maxOccurs="` + strconv.Itoa(p.max) + `"`
	}
	return least + strings.Replace(most, strconv.Itoa(unbounded), "unbounded", 1)
}
