package xmltext

import (
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Simplify writes a schema in forms that libxml2 checks in linear time, and that accept the same documents, best first.
//
// libxml2 counts the repetitions of a choice, of a wildcard and of limited occurrences. A content model with such a
// counter is run by trying and going back, which may take ten million attempts for each element that does not fit, and
// then gives up. Models without counters are run by a table. So repeated choices become repeated
// sequences of one choice, occurrences that a repetition makes meaningless are dropped, and small counts are written
// out. What has no such form stays as it is. Elements keep their declarations; only groups around them change.
//
// libxml2 may refuse the first form, because a count that is written out looks ambiguous to it. The second has none. A
// text that would grow too much is its own form.
func Simplify(text []byte, limits engine.Limits) [][]byte {
	forms := make([][]byte, 0, Forms)
	root, fault := readTree(text, limits)
	if fault != nil {
		return [][]byte{text, text}
	}
	for _, most := range [Forms]int{maxCopies, 0} {
		w := &writer{text: text, mostCopies: most}
		w.out.Write(text[:root.start])
		w.node(root)
		w.out.Write(text[root.end:])
		if w.out.Len() > maxGrowth*len(text)+minGrowth {
			forms = append(forms, text)
			continue
		}
		forms = append(forms, w.out.Bytes())
	}
	return forms
}

// Forms is the number of forms of a schema.
const Forms = 2

const (
	// maxCopies is how many particles one particle may become in the first form.
	maxCopies = 40
	// maxGrowth and minGrowth bound the size of what is written.
	maxGrowth = 2
	minGrowth = 1 << 16
)

// simplified returns a particle that accepts the same sequences of elements, without counters where that is possible.
func (w *writer) simplified(p *particle, repeated bool) *particle {
	if !p.plain {
		return p
	}
	if p.kind == choice && p.endless() {
		return w.repeatedChoice(p)
	}
	p = p.copied()
	for i, kid := range p.kids {
		p.kids[i] = w.simplified(kid, repeated || p.max != 1)
	}
	switch {
	case p.max == 1, p.endless() && !p.counted():
		return p
	case p.endless():
		return around(p)
	default:
		return w.writtenOut(p, repeated)
	}
}

// around returns the particle as the only member of a sequence that has its occurrences.
func around(p *particle) *particle {
	one := p.copied()
	one.min, one.max = 1, 1
	return p.sequence(p.min, p.max, one)
}

// sequence returns a sequence in place of the particle.
func (p *particle) sequence(least, most int, kids ...*particle) *particle {
	return &particle{kind: sequence, node: p.node, plain: true, min: least, max: most, kids: kids}
}

// repeatedChoice simplifies a choice that may be taken any number of times. It is always a sequence that it returns.
func (w *writer) repeatedChoice(p *particle) *particle {
	p = p.copied()
	p.kids = members(p)
	if heavy, others := heavyMember(p); heavy != nil && heavy.min <= w.mostCopies {
		return w.withHeavy(p, heavy, others)
	}
	for i, kid := range p.kids {
		p.kids[i] = w.simplified(kid, true)
	}
	return around(p)
}

// members returns the members of a repeated choice without the occurrences that its repetition makes meaningless: for
// (a? | b+)* that is (a | b)*. It changes the choice to an optional one where a member may be empty.
func members(p *particle) []*particle {
	var kids []*particle
	for _, kid := range p.kids {
		if kid.min > 1 {
			kids = append(kids, kid)
			continue
		}
		if kid.min == 0 {
			p.min = 0
		}
		kid = kid.copied()
		kid.min, kid.max = 1, 1
		if kid.kind == choice && kid.plain {
			inner := members(kid)
			p.min = min(p.min, kid.min)
			kids = append(kids, inner...)
			continue
		}
		kids = append(kids, kid)
	}
	return kids
}

// heavyMember returns the only member of an optional repeated choice that has to occur several times in a row, and the
// other members. Repeating it allows any number from its minimum on.
func heavyMember(p *particle) (*particle, []*particle) {
	var heavy *particle
	var others []*particle
	for _, kid := range p.kids {
		if kid.min <= 1 {
			others = append(others, kid)
			continue
		}
		endless := kid.max == unbounded || kid.max+1 >= 2*kid.min
		if heavy != nil || p.min != 0 || kid.kind != element || !kid.repeatable() || !endless {
			return nil, nil
		}
		heavy = kid
	}
	return heavy, others
}

// withHeavy writes (a | b | x{4,})* as x{4,}?, ((a | b), x{4,}?)*.
func (w *writer) withHeavy(p, heavy *particle, others []*particle) *particle {
	heavy = heavy.copied()
	heavy.max = unbounded
	run := p.sequence(0, 1, w.writtenOut(heavy, false))
	if len(others) == 0 {
		return run
	}
	for i, kid := range others {
		others[i] = w.simplified(kid, true)
	}
	rest := p.copied()
	rest.min, rest.max, rest.kids = 1, 1, others
	return p.sequence(1, 1, run, p.sequence(0, unbounded, rest, run))
}

// writtenOut writes x{1,3} as x, (x, x?)? and x{2,} as x, x+ where that is short. Within a repetition, the end of
// such a run and the beginning of the next would be the same element.
func (w *writer) writtenOut(p *particle, repeated bool) *particle {
	times := p.max
	if p.max == unbounded {
		times = p.min
	}
	if repeated && p.min != p.max || times > w.mostCopies || times*p.size() > w.mostCopies {
		return p
	}
	if !p.repeatable() || p.nullable() {
		return p
	}
	one := p.copied()
	one.min, one.max = 1, 1
	var kids []*particle
	for range p.min - 1 {
		kids = append(kids, one)
	}
	last := p.copied()
	last.min, last.max = 1, unbounded
	if p.max != unbounded {
		last = optionalTail(one, p.max-p.min)
		if p.min > 0 {
			kids = append(kids, one)
		}
	} else {
		last = w.simplified(last, repeated)
	}
	if last != nil {
		kids = append(kids, last)
	}
	return p.sequence(1, 1, kids...)
}

// optionalTail returns (x, (x, x?)?)? for three times.
func optionalTail(one *particle, times int) *particle {
	var tail *particle
	for range times {
		kids := []*particle{one}
		if tail != nil {
			kids = append(kids, tail)
		}
		tail = one.sequence(0, 1, kids...)
	}
	return tail
}
