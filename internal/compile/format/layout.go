package format

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// step is the number of spaces in one level of indentation.
const step = 4

// mode is the layout of a group.
type mode uint8

const (
	flat   mode = iota // the group is on one line
	broken             // each possible line end in the group is written
	hugged             // the group's last part is broken, and the rest is on one line
)

// engine converts layout operations to text. It defers spaces, line ends and comments at the end of
// a line until the next text. Therefore no line ends in a space, and no code follows a `//`.
type engine struct {
	*doc
	limit int32 // maximum width of a line

	out     []byte
	col     int32 // number of characters on the current line, including its indentation
	fresh   bool  // the current line is empty
	spaced  bool  // a space precedes the next text on the line
	blanked bool  // the current line follows a blank line or the start of the file

	modes   []mode
	indents []int32
	pending []int32 // comments that are written at the end of the line

	ended     int32 // indentation of the next line if a comment has ended this one, else -1
	withBlank bool  // a blank line precedes the next line
}

// render returns the text of the operations, with lines of at most limit characters.
func (d *doc) render(limit int) []byte {
	e := &engine{
		doc: d, limit: int32(limit), out: make([]byte, 0, len(d.src)+len(d.src)/8),
		fresh: true, blanked: true, modes: []mode{broken}, indents: []int32{0}, ended: -1,
	}
	for i := range d.ops {
		e.op(int32(i))
	}
	e.flush()
	if len(e.out) > 0 && !e.fresh {
		e.out = append(e.out, '\n')
	}
	return e.out
}

func (e *engine) mode() mode    { return e.modes[len(e.modes)-1] }
func (e *engine) indent() int32 { return e.indents[len(e.indents)-1] }

func (e *engine) op(i int32) {
	o := &e.ops[i]
	switch o.kind {
	case opText:
		e.text(e.src[o.a:o.b], o.flags&hops != 0, true)
	case opRaw:
		e.text("", false, true)
		e.raw(e.src[o.a:o.b])
	case opComma:
		if e.mode() == broken {
			e.text(",", o.flags&hops != 0, false)
		}
	case opSep:
		e.text(",", true, false)
	case opSpace:
		e.spaced = true
	case opLine, opSoft:
		switch {
		case e.mode() == broken:
			e.newline(e.indent(), o.flags&blank != 0)
		case o.kind == opLine:
			e.spaced = true
		}
	case opHard:
		e.newline(e.indent(), o.flags&blank != 0)
	case opDecl:
		e.newline(e.indent(), o.flags&blank != 0 || e.isTall(o.a) || e.isTall(o.b))
	case opGroup:
		m := e.choose(i)
		o.flags |= flagIf(m == broken, wasBroken)
		e.modes = append(e.modes, m)
	case opEnd:
		e.modes = e.modes[:len(e.modes)-1]
	case opNest:
		n := e.indent()
		if e.mode() != hugged {
			n += step
		}
		e.indents = append(e.indents, n)
	case opUnnest:
		e.indents = e.indents[:len(e.indents)-1]
	case opLead:
		e.lead(o)
	case opInline:
		e.inline(i)
	case opTrail:
		e.pending = append(e.pending, i)
	}
}

// text writes s after the deferred spaces and line ends. If hop is set, it writes s before a
// deferred comment, which stays at the end of the line. A doc comment stays before s if written is
// set, which means that the source contains s: after s, the comment would document something else.
func (e *engine) text(s string, hop, written bool) {
	if len(e.pending) > 0 && (!hop || written && e.pendingDoc()) {
		e.flush()
	}
	if e.ended >= 0 {
		e.newline(e.ended, e.withBlank)
	}
	switch {
	case e.fresh:
		e.startLine()
	case e.spaced:
		e.out = append(e.out, ' ')
		e.col++
	}
	e.spaced = false
	e.out = append(e.out, s...)
	e.col += width(s)
}

func (e *engine) startLine() {
	for range e.col { // newline has set col to the indentation of this line
		e.out = append(e.out, ' ')
	}
	e.fresh, e.blanked = false, false
}

// raw writes a text that contains line ends unchanged.
func (e *engine) raw(s string) {
	e.out = append(e.out, s...)
	e.col = int32(utf8.RuneCountInString(s[strings.LastIndexByte(s, '\n')+1:]))
}

// newline ends the line, unless the line is empty. indent is the indentation of the next line.
func (e *engine) newline(indent int32, withBlank bool) {
	e.flush()
	if !e.fresh {
		e.out = append(e.out, '\n')
		e.fresh = true
	}
	if withBlank && !e.blanked {
		e.out = append(e.out, '\n')
		e.blanked = true
	}
	e.col, e.spaced, e.ended, e.withBlank = indent, false, -1, false
}

func (e *engine) pendingDoc() bool {
	for _, i := range e.pending {
		if e.ops[i].flags&isDoc != 0 {
			return true
		}
	}
	return false
}

// flush writes the comments that end the line. If text follows without a line end, it continues on
// the next line, one level deeper.
func (e *engine) flush() {
	if len(e.pending) == 0 {
		return
	}
	for _, i := range e.pending {
		if !e.fresh {
			e.out = append(e.out, ' ')
			e.col++
		}
		e.comment(&e.ops[i])
	}
	e.pending = e.pending[:0]
	e.ended = e.indent() + step
}

// lead writes a comment on separate lines. The text after it has the same indentation.
func (e *engine) lead(o *op) {
	indent := e.indent()
	if e.ended >= 0 && !e.fresh {
		indent = e.ended
	}
	e.flush()
	if !e.fresh || o.flags&blankBefore != 0 {
		e.newline(indent, o.flags&blankBefore != 0 || e.withBlank)
	}
	indent = e.col
	e.comment(o)
	e.ended, e.withBlank = indent, o.flags&blankAfter != 0
}

// inline writes a comment within a line. Spaces separate it from the text around it, except from
// brackets.
func (e *engine) inline(i int32) {
	o := &e.ops[i]
	e.spaced = e.spaced || len(e.out) > 0 && !e.fresh && bytes.IndexByte([]byte("(["), e.out[len(e.out)-1]) < 0
	e.text(e.src[o.a:o.b], false, true)
	e.spaced = true
	for _, next := range e.ops[i+1:] {
		switch next.kind {
		case opText, opRaw:
			e.spaced = strings.IndexByte(")],;.?", e.src[next.a]) < 0
			return
		case opSoft, opComma, opSep:
			e.spaced = false
			return
		case opLine, opSpace, opInline, opHard:
			return
		}
	}
}

// comment writes a comment at the current position. All lines of a block comment are shifted by the
// same number of characters.
func (e *engine) comment(o *op) {
	if e.fresh {
		e.startLine()
	}
	s := e.src[o.a:o.b]
	if !strings.Contains(s, "\n") {
		s = strings.TrimRight(s, " \t\r")
		e.out = append(e.out, s...)
		e.col += width(s)
		return
	}
	start := strings.LastIndexByte(e.src[:o.a], '\n') + 1
	shift := int(e.col) - utf8.RuneCountInString(strings.TrimPrefix(e.src[start:o.a], "\ufeff"))
	for i, line := range strings.Split(s, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if i > 0 {
			e.out = append(e.out, '\n')
			e.col = 0
			line = shiftLine(line, shift)
		}
		e.out = append(e.out, line...)
		e.col += width(line)
	}
}

// shiftLine shifts a line by n characters, to the left only as far as it starts with white space.
func shiftLine(line string, n int) string {
	switch {
	case line == "":
		return line
	case n > 0:
		return strings.Repeat(" ", n) + line
	}
	for ; n < 0 && (line[0] == ' ' || line[0] == '\t'); n++ {
		line = line[1:]
	}
	return line
}

// isTall reports whether a group of declarations takes more than one line.
func (e *engine) isTall(group int32) bool {
	o := &e.ops[group]
	return o.flags&(forced|tall) != 0 || e.indent()+o.width > e.limit
}

// choose returns the layout of a group that starts at the current column.
func (e *engine) choose(i int32) mode {
	o := &e.ops[i]
	switch {
	case e.mode() == flat:
		return flat
	case o.flags&follows != 0 && e.ops[o.b].flags&wasBroken != 0:
		return broken
	}
	col := e.col
	if e.spaced && !e.fresh {
		col++
	}
	if e.ended >= 0 {
		col = e.ended
	}
	if o.flags&forced == 0 && col+o.width <= e.limit && (o.flags&tall != 0 || e.restFits(o.a+1, e.limit-col-o.width)) {
		return flat
	}
	if o.b > 0 && o.flags&(unhuggable|follows) == 0 {
		if head := e.ops[o.b].cum - o.cum; col+head <= e.limit && e.firstLineFits(o.b, e.limit-col-head) {
			return hugged
		}
	}
	return broken
}

// restFits reports whether the text after operation i, up to the next possible line end, has at
// most room characters. The layout of the groups around i is known. Groups that start later count
// as possible line ends.
func (e *engine) restFits(i, room int32) bool {
	outer, inner := len(e.modes)-1, 0
	start := e.cumAt(i)
	for ; int(i) < len(e.ops); i++ {
		o := &e.ops[i]
		if o.cum-start > room {
			return false
		}
		switch o.kind {
		case opHard, opDecl, opLead:
			return true
		case opRaw:
			return o.cum+o.width-start <= room
		case opLine, opSoft:
			if inner > 0 || e.modes[outer] == broken {
				return true
			}
		case opGroup:
			inner++
		case opEnd:
			if inner > 0 {
				inner--
			} else {
				outer--
			}
		}
	}
	return e.cum-start <= room
}

// firstLineFits reports whether the text from operation i to the first possible line end has at
// most room characters.
func (e *engine) firstLineFits(i, room int32) bool {
	start := e.cumAt(i)
	for ; int(i) < len(e.ops); i++ {
		o := &e.ops[i]
		switch o.kind {
		case opHard, opDecl, opLead, opLine, opSoft:
			return o.cum-start <= room
		case opRaw:
			return o.cum+o.width-start <= room
		}
		if o.cum-start > room {
			return false
		}
	}
	return e.cum-start <= room
}

func (e *engine) cumAt(i int32) int32 {
	if int(i) < len(e.ops) {
		return e.ops[i].cum
	}
	return e.cum
}
