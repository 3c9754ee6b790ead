package ecma

// operation is what one instruction does.
type operation int

const (
	// opSet takes one character.
	opSet operation = iota
	// opRun takes characters of a set, as often as the loop says.
	opRun
	// opSplit goes on at a, and at b where that fails.
	opSplit
	opJump
	// opSave stores the place in a register.
	opSave
	opAssert
	// opLook runs the instructions up to b as a separate expression, then continues at b.
	opLook
	// opRefer takes what a group has captured.
	opRefer
	// opBegin begins a loop, opLoop decides whether there is one more round, and opEnter begins that.
	opBegin
	opLoop
	opEnter
	opMatch
)

// instruction is one step of a program. Backwards instructions take the text before the place.
type instruction struct {
	op        operation
	a, b      int
	set       *set
	loop      *loop
	assertion assertion
	backwards bool
	negative  bool
}

// loop is a repetition. Its registers hold how many rounds have begun, and where the last one did.
type loop struct {
	least, most   int
	greedy        bool
	count, start  int
	body, exit    int
	clear, clears int
}

// program is an expression for the machine.
type program struct {
	code []instruction
	// registers are two for each group, where it begins and ends, and two for each loop.
	registers int
	anchored  bool
}

// assembler writes a program.
type assembler struct {
	program
	backwards bool
}

func assemble(tree node, groups int) *program {
	a := &assembler{program: program{registers: 2 * groups, anchored: startsAtBegin(tree)}}
	a.write(tree)
	a.add(instruction{op: opMatch})
	return &a.program
}

// add appends an instruction and returns its place.
func (a *assembler) add(i instruction) int {
	i.backwards = a.backwards
	a.code = append(a.code, i)
	return len(a.code) - 1
}

func (a *assembler) write(n node) {
	switch n := n.(type) {
	case *set:
		a.add(instruction{op: opSet, set: n})
	case assertion:
		a.add(instruction{op: opAssert, assertion: n})
	case sequence:
		for i := range n {
			if a.backwards {
				i = len(n) - 1 - i
			}
			a.write(n[i])
		}
	case alternatives:
		a.writeAlternatives(n)
	case *group:
		first, second := 2*(n.number-1), 2*(n.number-1)+1
		if a.backwards {
			first, second = second, first
		}
		a.add(instruction{op: opSave, a: first})
		a.write(n.body)
		a.add(instruction{op: opSave, a: second})
	case *repeat:
		a.writeRepeat(n)
	case *look:
		outside := a.backwards
		at := a.add(instruction{op: opLook, negative: n.negative})
		a.backwards = n.behind
		a.write(n.body)
		a.add(instruction{op: opMatch})
		a.backwards = outside
		a.code[at].b = len(a.code)
	case *reference:
		a.add(instruction{op: opRefer, a: 2 * (n.number - 1)})
	}
}

func (a *assembler) writeAlternatives(all alternatives) {
	var jumps []int
	for i, one := range all {
		if i == len(all)-1 {
			a.write(one)
			break
		}
		split := a.add(instruction{op: opSplit})
		a.code[split].a = len(a.code)
		a.write(one)
		jumps = append(jumps, a.add(instruction{op: opJump}))
		a.code[split].b = len(a.code)
	}
	for _, jump := range jumps {
		a.code[jump].a = len(a.code)
	}
}

func (a *assembler) writeRepeat(n *repeat) {
	l := &loop{least: n.least, most: n.most, greedy: n.greedy}
	if one, ok := n.body.(*set); ok {
		a.add(instruction{op: opRun, set: one, loop: l})
		return
	}
	l.count, l.start = a.registers, a.registers+1
	a.registers += 2
	l.clear, l.clears = 2*(n.first-1), 2*(n.last-n.first+1)
	a.add(instruction{op: opBegin, loop: l})
	decide := a.add(instruction{op: opLoop, loop: l})
	l.body = a.add(instruction{op: opEnter, loop: l})
	a.write(n.body)
	a.add(instruction{op: opJump, a: decide})
	l.exit = len(a.code)
}
