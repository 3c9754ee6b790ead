package ecma

import (
	"strings"
	"unicode/utf8"
)

// Verdict is the outcome of a match.
type Verdict int

// The outcomes. Unfinished says that the bounds have ended the search.
const (
	NoMatch Verdict = iota
	Matches
	Unfinished
)

const (
	// stepsPerCharge is how many steps pass between two charges.
	stepsPerCharge = 4096
	// maxFrames bounds the memory of a search, which takes 32 bytes for each.
	maxFrames = 1 << 18
)

// frameKind says what a frame on the stack is for.
type frameKind uint8

const (
	// choice goes on at another instruction.
	choice frameKind = iota
	// undo gives a register its old value back.
	undo
	// shorter gives back one character of a greedy run, and longer takes one more of a lazy one.
	shorter
	longer
)

type frame struct {
	kind frameKind
	// what is the instruction, or the register to undo.
	what int
	at   int
	// bound is where a run may not be shortened beyond, or how many characters it may still take.
	bound int
}

// machine searches one text.
type machine struct {
	*program
	text   string
	values []int
	stack  []frame
	// left are the steps that the search may take, and uncharged those that charge does not know yet.
	left, uncharged int64
	charge          func(steps int64) bool
	ended           bool
}

// Search looks for the pattern in a text in at most so many steps. It calls charge for the steps from time to time, and
// ends when that answers false.
func (p *Pattern) Search(text string, most int64, charge func(steps int64) bool) Verdict {
	if p.linear != nil {
		if p.linear.RE.MatchString(text) {
			return Matches
		}
		return NoMatch
	}
	m := &machine{program: p.program, text: text, left: most, charge: charge, values: make([]int, p.program.registers)}
	for at := 0; ; {
		for i := range m.values {
			m.values[i] = -1
		}
		m.stack = m.stack[:0]
		found := m.run(0, at)
		if m.ended {
			return Unfinished
		}
		if found || m.anchored || at >= len(text) {
			charge(m.uncharged)
			if found {
				return Matches
			}
			return NoMatch
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
}

// step counts one step, and says whether there may be more.
func (m *machine) step() bool {
	return m.count(1)
}

func (m *machine) count(steps int64) bool {
	m.left -= steps
	m.uncharged += steps
	if m.left < 0 {
		m.ended = true
	}
	if m.uncharged >= stepsPerCharge {
		m.ended = !m.charge(m.uncharged) || m.ended
		m.uncharged = 0
	}
	return !m.ended
}

func (m *machine) push(f frame) {
	if len(m.stack) >= maxFrames {
		m.ended = true
		return
	}
	m.stack = append(m.stack, f)
}

func (m *machine) assign(register, value int) {
	if old := m.values[register]; old != value {
		m.push(frame{kind: undo, what: register, at: old})
		m.values[register] = value
	}
}

// run executes the program from an instruction on. Where it fails, registers and stack are as they were.
func (m *machine) run(pc, at int) bool {
	base := len(m.stack)
	for m.step() {
		i := &m.code[pc]
		if i.op == opMatch {
			return true
		}
		var ok bool
		if pc, at, ok = m.execute(i, pc, at); ok {
			continue
		}
		if pc, at, ok = m.backtrack(base); !ok {
			return false
		}
	}
	return false
}

// execute returns where to go on, false where the way ends.
func (m *machine) execute(i *instruction, pc, at int) (int, int, bool) {
	switch i.op {
	case opSet:
		c, size := m.character(at, i.backwards)
		return pc + 1, at + size, size != 0 && i.set.has(c)
	case opRun:
		return m.runSet(i, pc, at)
	case opSplit:
		m.push(frame{kind: choice, what: i.b, at: at})
		return i.a, at, true
	case opJump:
		return i.a, at, true
	case opAssert:
		return pc + 1, at, m.holds(i.assertion, at)
	case opLook:
		return i.b, at, m.look(i, pc, at)
	case opRefer:
		return m.refer(i, pc, at)
	case opLoop:
		return m.decide(i.loop, at)
	case opSave, opBegin, opEnter, opMatch:
		m.note(i, at)
	}
	return pc + 1, at, true
}

// note changes registers as an instruction says.
func (m *machine) note(i *instruction, at int) {
	switch i.op { //nolint:exhaustive // the others change none
	case opSave:
		m.assign(i.a, at)
	case opBegin:
		m.assign(i.loop.count, 0)
		m.assign(i.loop.start, -1)
	case opEnter:
		m.assign(i.loop.count, m.values[i.loop.count]+1)
		m.assign(i.loop.start, at)
		for r := range i.loop.clears {
			m.assign(i.loop.clear+r, -1)
		}
	}
}

// decide reports whether a loop has one more round. An optional round that consumes nothing is not repeated.
func (m *machine) decide(l *loop, at int) (int, int, bool) {
	count := m.values[l.count]
	switch {
	case count > l.least && m.values[l.start] == at:
		return 0, 0, false
	case count < l.least:
		return l.body, at, true
	case l.most != unbounded && count >= l.most:
		return l.exit, at, true
	case l.greedy:
		m.push(frame{kind: choice, what: l.exit, at: at})
		return l.body, at, true
	default:
		m.push(frame{kind: choice, what: l.body, at: at})
		return l.exit, at, true
	}
}

// character returns the character at an offset or before it, and its length, which is 0 at the end of the text.
func (m *machine) character(at int, backwards bool) (rune, int) {
	if backwards {
		c, size := utf8.DecodeLastRuneInString(m.text[:at])
		return c, -size
	}
	return utf8.DecodeRuneInString(m.text[at:])
}

// runSet takes as many characters of a set as it can, or as few.
func (m *machine) runSet(i *instruction, pc, at int) (int, int, bool) {
	l := i.loop
	least, taken := m.takeSet(i, at, l.least)
	if taken < l.least {
		return 0, 0, false
	}
	left := l.most
	if left != unbounded {
		left -= taken
	}
	if !l.greedy {
		m.push(frame{kind: longer, what: pc, at: least, bound: left})
		return pc + 1, least, true
	}
	end, _ := m.takeSet(i, least, left)
	if end != least {
		m.push(frame{kind: shorter, what: pc, at: end, bound: least})
	}
	return pc + 1, end, true
}

// takeSet takes at most so many characters of a set.
func (m *machine) takeSet(i *instruction, at, most int) (int, int) {
	taken := 0
	for most == unbounded || taken < most {
		c, size := m.character(at, i.backwards)
		if size == 0 || !i.set.has(c) || !m.step() {
			break
		}
		at += size
		taken++
	}
	return at, taken
}

func (m *machine) holds(a assertion, at int) bool {
	switch a {
	case atBegin:
		return at == 0
	case atEnd:
		return at == len(m.text)
	case atWordEdge:
		return m.isWord(at-1) != m.isWord(at)
	default:
		return m.isWord(at-1) == m.isWord(at)
	}
}

func (m *machine) isWord(at int) bool {
	if at < 0 || at >= len(m.text) {
		return false
	}
	c := m.text[at]
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// look reports whether an assertion about what is ahead or behind holds. What it captures stays where it does.
func (m *machine) look(i *instruction, pc, at int) bool {
	base := len(m.stack)
	found := m.run(pc+1, at)
	if !found || m.ended {
		return !found && i.negative
	}
	if i.negative {
		for len(m.stack) > base {
			m.pop()
		}
		return false
	}
	kept := base
	for _, f := range m.stack[base:] {
		if f.kind == undo {
			m.stack[kept] = f
			kept++
		}
	}
	m.stack = m.stack[:kept]
	return true
}

// refer takes the text of a group. One that has captured nothing matches the empty text.
func (m *machine) refer(i *instruction, pc, at int) (int, int, bool) {
	begin, end := m.values[i.a], m.values[i.a+1]
	if begin < 0 || end < 0 {
		return pc + 1, at, true
	}
	captured := m.text[begin:end]
	m.count(int64(len(captured)) / wordSize)
	if i.backwards {
		return pc + 1, at - len(captured), strings.HasSuffix(m.text[:at], captured)
	}
	return pc + 1, at + len(captured), strings.HasPrefix(m.text[at:], captured)
}

// pop takes a frame from the stack and undoes what it is to undo.
func (m *machine) pop() frame {
	last := len(m.stack) - 1
	f := m.stack[last]
	m.stack = m.stack[:last]
	if f.kind == undo {
		m.values[f.what] = f.at
	}
	return f
}

// backtrack returns where the last choice leads; false where none is left above the base.
func (m *machine) backtrack(base int) (int, int, bool) {
	for len(m.stack) > base {
		f := m.pop()
		switch f.kind {
		case choice:
			return f.what, f.at, true
		case undo:
		case shorter:
			i := &m.code[f.what]
			_, size := m.character(f.at, !i.backwards)
			f.at += size
			if f.at != f.bound {
				m.stack = append(m.stack, f)
			}
			return f.what + 1, f.at, true
		case longer:
			i := &m.code[f.what]
			c, size := m.character(f.at, i.backwards)
			if f.bound == 0 || size == 0 || !i.set.has(c) {
				continue
			}
			f.at += size
			if f.bound != unbounded {
				f.bound--
			}
			m.stack = append(m.stack, f)
			return f.what + 1, f.at, true
		}
	}
	return 0, 0, false
}
