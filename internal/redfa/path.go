package redfa

import (
	"regexp/syntax"
	"unicode/utf8"
)

// path runs a program by backtracking from one position, in the order of
// priority, and records the groups. For most expressions the first attempt
// succeeds. Its work is bounded, so that a search stays linear: beyond the
// bound, the automata or package regexp take over.
type path struct {
	prog  *syntax.Prog
	ascii [][2]uint64 // by instruction: the ASCII characters that it takes
	caps  []int       // offsets of pairs by group, -1 where there is none
	tight []bool      // by instruction: a loop over characters that is never left early
	jobs  []job

	// first are the ASCII characters with which a match may begin. any says that
	// a match may be empty, and so begin anywhere.
	first [2]uint64
	any   bool
}

// job is an alternative that has not been tried: an instruction at a position.
// When slot is not negative, it is instead the old offset at of that slot in
// caps, to be restored.
type job struct {
	pc   uint32
	slot int32
	at   int
}

func newPath(p *syntax.Prog) *path {
	x := &path{prog: p, ascii: make([][2]uint64, len(p.Inst)), tight: make([]bool, len(p.Inst)), caps: make([]int, max(p.NumCap, 2))}
	for pc := range p.Inst {
		i := &p.Inst[pc]
		if takesCharacter(i) {
			for c := range rune(utf8.RuneSelf) {
				if takes(i, c) {
					x.ascii[pc][c>>6] |= 1 << (c & 63)
				}
			}
		}
	}
	for pc := range p.Inst {
		x.tight[pc] = x.isTight(uint32(pc))
	}
	x.begins(uint32(p.Start), make([]bool, len(p.Inst)))
	return x
}

// isTight says whether the instruction is a greedy loop over characters that
// must take all it can: what follows cannot be one of these characters, or
// nothing follows.
func (x *path) isTight(pc uint32) bool {
	loop := &x.prog.Inst[pc]
	if loop.Op != syntax.InstAlt || !takesCharacter(&x.prog.Inst[loop.Out]) || x.prog.Inst[loop.Out].Out != pc {
		return false
	}
	next := loop.Arg
	for x.prog.Inst[next].Op == syntax.InstNop || x.prog.Inst[next].Op == syntax.InstCapture {
		next = x.prog.Inst[next].Out
	}
	i, class := &x.prog.Inst[next], x.ascii[loop.Out]
	switch {
	case i.Op == syntax.InstMatch:
		return true
	case i.Op == syntax.InstRune1 && i.Rune[0] < utf8.RuneSelf:
		return x.ascii[next][0]&class[0]|x.ascii[next][1]&class[1] == 0
	}
	return false
}

func takesCharacter(i *syntax.Inst) bool {
	switch i.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// all gives the position after all characters from at on that an instruction
// accepts.
func (x *path) all(pc uint32, text string, at int) int {
	class := x.ascii[pc]
	for at < len(text) {
		c := text[at]
		if c < utf8.RuneSelf {
			if class[c>>6]>>(c&63)&1 == 0 {
				return at
			}
			at++
			continue
		}
		r, width := utf8.DecodeRuneInString(text[at:])
		if !takes(&x.prog.Inst[pc], r) {
			return at
		}
		at += width
	}
	return at
}

// begins adds what a match that goes on at pc may begin with.
func (x *path) begins(pc uint32, seen []bool) {
	if seen[pc] {
		return
	}
	seen[pc] = true
	switch i := &x.prog.Inst[pc]; i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		x.begins(i.Out, seen)
		x.begins(i.Arg, seen)
	case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
		x.begins(i.Out, seen)
	case syntax.InstMatch:
		x.any = true
	default:
		x.first[0] |= x.ascii[pc][0]
		x.first[1] |= x.ascii[pc][1]
	}
}

// candidate is the first position from pos on where a match may begin; -1
// without one. Any character beyond ASCII counts as one.
func (x *path) candidate(text string, pos int) int {
	for ; pos < len(text); pos++ {
		if c := text[pos]; c >= utf8.RuneSelf || x.first[c>>6]>>(c&63)&1 != 0 {
			return pos
		}
	}
	return -1
}

// The outcomes of a try.
const (
	missed = iota
	matched
	tooMuch
)

// try looks for a match that begins at start, and records it in caps. It takes
// at most work steps and gives how many are left.
func (x *path) try(text string, start, work int) (outcome, left int) {
	for i := range x.caps {
		x.caps[i] = -1
	}
	x.jobs = append(x.jobs[:0], job{uint32(x.prog.Start), -1, start})
	for len(x.jobs) > 0 {
		j := x.jobs[len(x.jobs)-1]
		x.jobs = x.jobs[:len(x.jobs)-1]
		if j.slot >= 0 {
			x.caps[j.slot] = j.at
			continue
		}
		pc, at := j.pc, j.at
		for failed := false; !failed; work-- {
			if work <= 0 {
				return tooMuch, 0
			}
			switch i := &x.prog.Inst[pc]; i.Op {
			case syntax.InstAlt, syntax.InstAltMatch:
				if x.tight[pc] {
					end := x.all(i.Out, text, at)
					work -= end - at
					pc, at = i.Arg, end
					continue
				}
				x.jobs = append(x.jobs, job{i.Arg, -1, at})
				pc = i.Out
			case syntax.InstCapture:
				if s := int(i.Arg); s < len(x.caps) {
					x.jobs = append(x.jobs, job{0, int32(s), x.caps[s]})
					x.caps[s] = at
				}
				pc = i.Out
			case syntax.InstNop:
				pc = i.Out
			case syntax.InstEmptyWidth:
				failed = syntax.EmptyOp(i.Arg)&^syntax.EmptyOpContext(before(text, at), behind(text, at)) != 0
				pc = i.Out
			case syntax.InstMatch:
				x.caps[0], x.caps[1] = start, at
				return matched, work
			case syntax.InstFail:
				failed = true
			default:
				if at == len(text) {
					failed = true
				} else if c := text[at]; c < utf8.RuneSelf {
					failed = x.ascii[pc][c>>6]>>(c&63)&1 == 0
					at++
				} else {
					c, width := utf8.DecodeRuneInString(text[at:])
					failed = !takes(i, c)
					at += width
				}
				pc = i.Out
			}
		}
	}
	return missed, work
}
