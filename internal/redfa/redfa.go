// Package redfa finds the matches of regular expressions by deterministic
// automata that are built while they run, several times as fast as package
// regexp on large texts. Package regexp takes over what automata do badly, and
// after an automaton has given up. The matches are always those of package
// regexp.
//
// A search runs forwards from a position to the end of the leftmost match, then
// backwards from there to its start, with the automaton of the reversed
// expression. Groups are then searched within the match only.
package redfa

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Regexp is a compiled expression. Safe for concurrent use.
type Regexp struct {
	std *regexp.Regexp

	// What follows is nil or empty where package regexp does it all.
	forward, backward *syntax.Prog
	plain             *syntax.Prog
	looks             bool   // a match hangs on the text around it
	prefix            string // what every match begins with

	mu             sync.Mutex
	ahead, reverse *dfa // made at the first search
	path           *path
	guesses        bool // the search under way guesses where matches begin
	wasted         int  // steps of guesses that came to nothing
	tooLarge       bool // they have given up, for good

	step func(n int) // of the search under way; see MatchString

	behindOnce sync.Once
	behindOne  *regexp.Regexp
}

// Compile reads an expression as package regexp does; so are its errors.
func Compile(expr string) (*Regexp, error) {
	std, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	r := &Regexp{std: std}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	forward, err := syntax.Compile(after(tree).Simplify())
	if err != nil {
		return nil, err
	}
	plain, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if plain.StartCond()&syntax.EmptyBeginText != 0 {
		return r, nil // it matches at one place or not at all
	}
	backward, err := syntax.Compile(reversed(tree).Simplify())
	if err != nil {
		return nil, err
	}
	r.forward, r.backward, r.plain = forward, backward, plain
	r.prefix, _ = std.LiteralPrefix()
	r.looks = looksAround(plain)
	return r, nil
}

// Std is the expression as package regexp has it.
func (r *Regexp) Std() *regexp.Regexp { return r.std }

// after is an expression with anything before it, as little as can be.
func after(tree *syntax.Regexp) *syntax.Regexp {
	anything := &syntax.Regexp{Op: syntax.OpStar, Flags: syntax.NonGreedy, Sub: []*syntax.Regexp{{Op: syntax.OpAnyChar}}}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{anything, tree}}
}

// reversed is the expression that matches the same texts read backwards.
// Assertions such as ^ stay as they are: a backward automaton swaps the two
// sides itself.
func reversed(tree *syntax.Regexp) *syntax.Regexp {
	out := *tree
	out.Rune = slices.Clone(tree.Rune)
	if tree.Op == syntax.OpLiteral {
		slices.Reverse(out.Rune)
	}
	out.Sub = nil
	for _, s := range tree.Sub {
		out.Sub = append(out.Sub, reversed(s))
	}
	if tree.Op == syntax.OpConcat {
		slices.Reverse(out.Sub)
	}
	return &out
}

// looksAround says whether the expression asks for what stands beside a match.
func looksAround(p *syntax.Prog) bool {
	for i := range p.Inst {
		if p.Inst[i].Op == syntax.InstEmptyWidth {
			return true
		}
	}
	return false
}

// MatchString says whether the expression matches anywhere in the text. step is
// called with the number of characters searched, some thousand at a time. It may
// panic to end the search.
func (r *Regexp) MatchString(text string, step func(n int)) bool {
	if r.forward == nil {
		return r.stdNext(text, 0, step) != nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.step = step; r.build() {
		pos := 0
		if r.guesses {
			if pos = r.likely(text, 0); pos < 0 {
				return false
			}
		}
		if end, ok := r.end(text, pos, true); ok {
			return end >= 0
		}
		r.giveUp()
	}
	return r.stdNext(text, 0, step) != nil
}

// All calls found with the matches in order: at most n, or all when n is
// negative. match holds pairs of byte offsets: of the match and, with groups, of
// each group. The slice is valid during the call. step is as for MatchString.
func (r *Regexp) All(text string, n int, groups bool, step func(n int), found func(match []int)) {
	groups = groups && r.std.NumSubexp() > 0
	if r.forward == nil || groups && r.looks {
		r.rest(text, 0, -1, n, groups, step, found)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.step = step; !r.build() {
		r.rest(text, 0, -1, n, groups, step, found)
		return
	}
	match := make([]int, 2, 2*r.std.NumSubexp()+2)
	last := -1 // the end of the match before
	for pos := 0; n != 0 && pos <= len(text); {
		start, end, known, ok := r.next(text, pos)
		if !ok {
			r.giveUp()
			r.rest(text, pos, last, n, groups, step, found)
			return
		}
		if end < 0 {
			return
		}
		accept := true
		if end == pos { // an empty one, not right behind another
			accept = start != last
			_, width := utf8.DecodeRuneInString(text[pos:])
			pos += max(width, 1)
		} else {
			pos = end
		}
		last = end
		if !accept {
			continue
		}
		n--
		r.step(1)
		match = append(match[:0], start, end)
		if groups {
			match = r.groups(match, text, known)
		}
		found(match)
	}
}

// The bound on the work of a path, in steps: workEach for each byte of a match,
// and workExtra.
const (
	workEach  = 4
	workExtra = 256
)

// groups appends the groups of a match. known says that path has recorded them
// already.
func (r *Regexp) groups(match []int, text string, known bool) []int {
	start, end := match[0], match[1]
	if !known {
		outcome := r.try(text, start, workEach*(end-start)+workExtra)
		known = outcome == matched
	}
	if known {
		return append(match, r.path.caps[2:]...)
	}
	for _, at := range r.stdNext(text[start:end], 0, r.step)[2:] {
		if at >= 0 {
			at += start
		}
		match = append(match, at)
	}
	return match
}

// next gives the leftmost match from pos on; end is -1 without one. known says
// that path has recorded its groups. ok is false when the automaton has given
// up.
func (r *Regexp) next(text string, pos int) (start, end int, known, ok bool) {
	if r.guesses {
		start, outcome := r.guess(text, pos)
		switch outcome {
		case matched:
			return start, r.path.caps[1], true, true
		case missed:
			return 0, -1, false, true
		}
		pos = start
	}
	if end, ok = r.end(text, pos, false); !ok || end < 0 {
		return 0, end, false, ok
	}
	start, ok = r.start(text, pos, end)
	return start, end, false, ok
}

// guess runs path at each place where a match may begin, one after the other,
// while that takes little work: most matches are found this way. When the
// outcome is tooMuch, no match begins before start.
func (r *Regexp) guess(text string, pos int) (start, outcome int) {
	for {
		if pos = r.likely(text, pos); pos < 0 {
			return 0, missed
		}
		work := workExtra + pos/2 - r.wasted
		if work <= 0 {
			r.guesses = false // the automaton reads such a text faster
			return pos, tooMuch
		}
		outcome, left := r.path.try(text, pos, workExtra+work)
		r.step(workExtra + work - left)
		if outcome == matched {
			return pos, matched
		}
		r.wasted += workExtra + work - left
		if outcome == tooMuch {
			return pos, tooMuch
		}
		_, width := utf8.DecodeRuneInString(text[pos:])
		pos += max(width, 1)
	}
}

// likely is the next place where a match may begin, -1 without one.
func (r *Regexp) likely(text string, pos int) int {
	for {
		end, found := min(pos+stretch+4*len(r.prefix), len(text)), -1
		if r.prefix == "" {
			found = r.path.candidate(text[:end], pos)
		} else if i := strings.Index(text[pos:end], r.prefix); i >= 0 {
			found = pos + i
		}
		if found >= 0 {
			r.step((found - pos) >> 3)
			return found
		}
		r.step((end - pos) >> 3)
		if end == len(text) {
			return -1
		}
		pos = end - max(len(r.prefix)-1, 0)
	}
}

// try follows the path from a position.
func (r *Regexp) try(text string, start, work int) (outcome int) {
	outcome, left := r.path.try(text, start, work)
	r.step(work - left)
	return outcome
}

// build makes the automata, unless they have given up.
func (r *Regexp) build() bool {
	if r.ahead == nil && !r.tooLarge {
		r.ahead, r.reverse, r.path = newDFA(r.forward, false), newDFA(r.backward, true), newPath(r.plain)
	}
	if r.tooLarge {
		return false
	}
	r.guesses, r.wasted = !r.path.any, 0
	return true
}

// giveUp leaves the expression to package regexp, and frees the automata.
func (r *Regexp) giveUp() { r.ahead, r.reverse, r.path, r.tooLarge = nil, nil, nil, true }

// end runs forwards from pos and gives the end of the leftmost match; -1 without
// one. With first, any match will do.
func (r *Regexp) end(text string, pos int, first bool) (end int, ok bool) {
	d, end := r.ahead, -1
	at := d.start(before(text, pos))
	next := pos + stretch
	for i := pos; ; {
		if i >= next {
			r.step(stretch)
			next += stretch
		}
		var step int32
		width := 1
		switch {
		case i == len(text):
			step, ok = d.step(at, edge)
		case text[i] < utf8.RuneSelf:
			if step = d.steps[int(at)*symbols+int(text[i])]; step < 0 {
				step, ok = d.step(at, rune(text[i]))
			} else {
				ok = true
			}
		default:
			var c rune
			c, width = utf8.DecodeRuneInString(text[i:])
			step, ok = d.step(at, c)
		}
		if !ok {
			return 0, false
		}
		if step&1 != 0 {
			if end = i; first {
				return end, true
			}
		}
		if at = step >> 1; at == dead || i == len(text) {
			return end, true
		}
		i += width
	}
}

// start runs backwards from the end of a match and gives its start, which is not
// before pos.
func (r *Regexp) start(text string, pos, end int) (start int, ok bool) {
	d, start := r.reverse, end
	at := d.start(behind(text, end))
	next := end - stretch
	for i := end; ; {
		if i <= next {
			r.step(stretch)
			next -= stretch
		}
		c, width := before(text, i), 1
		if c >= utf8.RuneSelf {
			_, width = utf8.DecodeLastRuneInString(text[:i])
		}
		step, ok := d.step(at, c)
		if !ok {
			return 0, false
		}
		if step&1 != 0 {
			start = i
		}
		if at = step >> 1; at == dead || i <= pos {
			return start, true
		}
		i -= width
	}
}

// before and behind give the characters on the two sides of a position; edge at
// either end of the text.
func before(text string, i int) rune {
	if i == 0 {
		return edge
	}
	if c := text[i-1]; c < utf8.RuneSelf {
		return rune(c)
	}
	c, _ := utf8.DecodeLastRuneInString(text[:i])
	return c
}

func behind(text string, i int) rune {
	if i == len(text) {
		return edge
	}
	c, _ := utf8.DecodeRuneInString(text[i:])
	return c
}
