package redfa

import (
	"encoding/binary"
	"regexp/syntax"
)

// edge stands for the beginning or the end of the text.
const edge rune = -1

// symbols is the number of columns in the table of steps: the ASCII characters
// and the edge of the text. Steps for other characters are in a map for each
// state.
const (
	symbols    = 129
	edgeSymbol = 128
)

// maxStates bounds an automaton, which gives up when it needs more. A state
// takes half a KiB.
const maxStates = 4096

// dead is the state that nothing comes after.
const dead int32 = 0

// dfa is the automaton of a program, with the states that texts have needed so
// far. A state is the list of the program's threads that wait for a character,
// by priority. What a thread asks of its surroundings (such as \b) needs the
// characters on both sides: the state knows the one before, and the step brings
// the one after. So a match is seen one step late.
type dfa struct {
	prog     *syntax.Prog
	backward bool // the text is read backwards, and the longest match wanted
	looks    bool // the program asks for what stands beside

	states []state
	ids    map[string]int32
	// steps are the next states, by state and symbol. An entry is twice the next
	// state, plus 1 when there was a match before the symbol; -1 is not computed
	// yet.
	steps []int32

	begin [4]int32 // the first state, by the kind of the character before; -1 is not known yet

	// For one step.
	threads []uint32
	next    []uint32
	mark    []uint32 // by instruction: the step in which it was reached
	marks   uint32
	key     []byte
	matched bool
}

type state struct {
	waiting []uint32
	kind    uint8 // of the character before
	others  map[rune]int32
}

func newDFA(p *syntax.Prog, backward bool) *dfa {
	d := &dfa{prog: p, backward: backward, looks: looksAround(p), ids: map[string]int32{}, mark: make([]uint32, len(p.Inst)),
		begin: [4]int32{-1, -1, -1, -1}}
	d.add(nil, 0) // dead
	return d
}

// The kinds of characters that what stands beside can ask for, and one of each.
var kinds = [4]rune{edge, '\n', 'a', ' '}

func kindOf(c rune) uint8 {
	switch {
	case c == edge:
		return 0
	case c == '\n':
		return 1
	case syntax.IsWordChar(c):
		return 2
	}
	return 3
}

// start gives the first state behind a character.
func (d *dfa) start(c rune) int32 {
	kind := uint8(0)
	if d.looks {
		kind = kindOf(c)
	}
	if d.begin[kind] < 0 {
		d.begin[kind] = d.add([]uint32{uint32(d.prog.Start)}, kind)
	}
	return d.begin[kind]
}

// add gives the state of waiting threads, a new one when there is none.
func (d *dfa) add(waiting []uint32, kind uint8) int32 {
	d.key = append(d.key[:0], kind)
	for _, pc := range waiting {
		d.key = binary.AppendUvarint(d.key, uint64(pc))
	}
	if id, ok := d.ids[string(d.key)]; ok {
		return id
	}
	id := int32(len(d.states))
	d.ids[string(d.key)] = id
	d.states = append(d.states, state{waiting: append([]uint32(nil), waiting...), kind: kind})
	for range symbols {
		d.steps = append(d.steps, -1)
	}
	return id
}

// step gives the entry of steps for a state and the next character, computed if
// need be. ok is false when there are too many states.
func (d *dfa) step(at int32, c rune) (step int32, ok bool) {
	symbol := int(c)
	switch {
	case c == edge:
		symbol = edgeSymbol
	case c >= edgeSymbol:
		if step, ok := d.states[at].others[c]; ok {
			return step, true
		}
		symbol = -1
	}
	if symbol >= 0 {
		if step := d.steps[int(at)*symbols+symbol]; step >= 0 {
			return step, true
		}
	}
	if len(d.states) >= maxStates {
		return 0, false
	}
	step = d.make(at, c)
	if symbol >= 0 {
		d.steps[int(at)*symbols+symbol] = step
		return step, true
	}
	s := &d.states[at]
	if s.others == nil {
		s.others = map[rune]int32{}
	}
	if len(s.others) < maxStates {
		s.others[c] = step
	}
	return step, true
}

// make computes a step. It decides what the threads ask of their surroundings,
// and keeps those that accept the character, behind it.
func (d *dfa) make(at int32, c rune) int32 {
	s := &d.states[at]
	var beside syntax.EmptyOp
	if d.looks {
		l, r := kinds[s.kind], c
		if d.backward {
			l, r = r, l
		}
		beside = syntax.EmptyOpContext(l, r)
	}
	d.threads, d.matched = d.threads[:0], false
	d.marks++
	for _, pc := range s.waiting {
		d.follow(pc, beside)
	}
	d.next = d.next[:0]
	d.marks++
	for _, pc := range d.threads {
		i := &d.prog.Inst[pc]
		if c != edge && takes(i, c) && d.mark[i.Out] != d.marks {
			d.mark[i.Out] = d.marks
			d.next = append(d.next, i.Out)
		}
	}
	kind := uint8(0)
	if d.looks && len(d.next) > 0 {
		kind = kindOf(c)
	}
	step := d.add(d.next, kind) << 1
	if d.matched {
		step |= 1
	}
	return step
}

// follow goes on from pc to the instructions that accept a character. Forwards,
// a match ends all threads of lower priority.
func (d *dfa) follow(pc uint32, beside syntax.EmptyOp) {
	if d.mark[pc] == d.marks || d.matched && !d.backward {
		return
	}
	d.mark[pc] = d.marks
	switch i := &d.prog.Inst[pc]; i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		d.follow(i.Out, beside)
		d.follow(i.Arg, beside)
	case syntax.InstCapture, syntax.InstNop:
		d.follow(i.Out, beside)
	case syntax.InstEmptyWidth:
		if syntax.EmptyOp(i.Arg)&^beside == 0 {
			d.follow(i.Out, beside)
		}
	case syntax.InstMatch:
		d.matched = true
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		d.threads = append(d.threads, pc)
	}
}

func takes(i *syntax.Inst, c rune) bool {
	switch i.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return c != '\n'
	case syntax.InstRune1:
		return c == i.Rune[0]
	}
	return i.MatchRune(c)
}
