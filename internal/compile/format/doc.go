package format

import (
	"math"
	"strings"
	"unicode/utf8"
)

// opKind is a kind of layout operation.
type opKind uint8

const (
	opText   opKind = iota // a part of the source without line ends
	opRaw                  // a part of the source with line ends, which is written unchanged
	opComma                // a comma if the group is broken
	opSep                  // a comma that the source omits
	opSpace                // a space
	opLine                 // a space, or a line end if the group is broken
	opSoft                 // nothing, or a line end if the group is broken
	opHard                 // a line end
	opDecl                 // a line end between declarations
	opGroup                // start of a group, which is on one line if it fits, and else broken
	opEnd                  // end of a group
	opNest                 // start of text that is indented one level more
	opUnnest               // end of that text
	opLead                 // a comment on separate lines
	opInline               // a comment within a line
	opTrail                // a comment at the end of a line
)

// Flags of operations.
const (
	hops        = 1 << iota // opText, opComma: the text is written before comments at the end of the line
	blank                   // operations with a line end: a blank line follows if the line end is written
	blankBefore             // opLead: a blank line precedes the comment
	blankAfter              // opLead: a blank line follows the comment
	forced                  // opGroup: cannot be on one line
	unhuggable              // opGroup: has several lines not only because of its last part
	tall                    // opGroup: contains text with line ends
	follows                 // opGroup: broken if the earlier group b is broken
	wasBroken               // opGroup: has been broken
	isDoc                   // opTrail: a doc comment, which belongs to the next token
)

// op is one operation. Widths are in characters. cum is the total width of all previous operations
// on one line. The width of a part of the document is the difference of two cums.
type op struct {
	kind  opKind
	flags uint16
	width int32
	cum   int32
	a, b  int32 // texts and comments: offsets in the source; opGroup: indices of its opEnd and of its last part
}

// frame is an open group.
type frame struct {
	start   int32 // index of the group's opGroup
	forced  bool
	hugging bool // the operations that are now added belong to the group's last part
	bad     bool // the group is unhuggable
	multi   bool // the group contains an opRaw, whose first line determines the width
	width   int32
}

// doc is a sequence of layout operations under construction. A group cannot be on one line if it
// contains a hard line end, if text follows a comment that ends its line, or if text precedes a
// comment on separate lines. Such groups are marked when the operations are added.
type doc struct {
	src      string
	ops      []op
	frames   []frame
	cum      int32
	lastText int32 // index of the last operation with text
	tail     int32 // index of the first comment after the last text that ends a line, or -1
	tailDoc  bool  // one of these comments is a doc comment
}

func (d *doc) add(o op) {
	o.cum = d.cum
	d.cum += o.width
	d.ops = append(d.ops, o)
}

func (d *doc) next() int32 { return int32(len(d.ops)) }

// text adds src[a:b]. If hop is set, the text (a `,` or `;`) is written before a comment that ends
// the line. A doc comment stays before the text, because after a comma it would document the next
// declaration.
func (d *doc) text(a, b int, hop bool) {
	s := d.src[a:b]
	d.beginText(hop && !d.tailDoc)
	d.lastText = d.next()
	o := op{kind: opText, a: int32(a), b: int32(b), width: width(s)}
	if hop {
		o.flags = hops
	}
	n := strings.IndexByte(s, '\n')
	if n < 0 {
		d.add(o)
		return
	}
	o.kind, o.width = opRaw, width(s[:n])
	for i := len(d.frames) - 1; i >= 0 && !d.frames[i].multi; i-- {
		f := &d.frames[i]
		f.multi, f.width = true, d.cum+o.width-d.ops[f.start].cum
	}
	d.add(o)
}

// beginText starts a text. A group that contains both this text and the comments before it must
// contain a line end between them.
func (d *doc) beginText(hop bool) {
	if d.tail >= 0 && !hop {
		d.force(d.tail)
		d.tail, d.tailDoc = -1, false
	}
}

// force breaks the open groups that start before an operation. The groups around a broken group are
// already broken, so the loop ends there.
func (d *doc) force(before int32) {
	for i := len(d.frames) - 1; i >= 0; i-- {
		f := &d.frames[i]
		if f.start >= before {
			continue
		}
		f.bad = f.bad || !f.hugging
		if f.forced {
			return
		}
		f.forced = true
	}
}

func (d *doc) forceAll() { d.force(math.MaxInt32) }

// comma adds the comma after a list's last element. With fixed, comments that end the comma's line
// stay after it.
func (d *doc) comma(fixed bool) {
	d.beginText(!fixed)
	o := op{kind: opComma, flags: hops}
	if fixed {
		o.flags = 0
	}
	d.add(o)
}

// sep adds a comma that the source leaves out between two elements.
func (d *doc) sep() {
	d.add(op{kind: opSep, flags: hops, width: 1})
}

func (d *doc) space() { d.add(op{kind: opSpace, width: 1}) }

// line adds a line end in a broken group and a space in any other group.
func (d *doc) line(withBlank bool) {
	d.add(op{kind: opLine, width: 1, flags: flagIf(withBlank, blank)})
}

// soft adds a line end in a broken group, and nothing in any other group.
func (d *doc) soft() { d.add(op{kind: opSoft}) }

func (d *doc) hard(withBlank bool) {
	d.forceAll()
	d.add(op{kind: opHard, flags: flagIf(withBlank, blank)})
}

func flagIf(on bool, flag uint16) uint16 {
	if on {
		return flag
	}
	return 0
}

func (d *doc) group() {
	d.frames = append(d.frames, frame{start: d.next()})
	d.add(op{kind: opGroup})
}

// groupAfter starts a group that is broken if an earlier group is broken. The earlier group is
// complete.
func (d *doc) groupAfter(earlier int32) {
	d.group()
	o := &d.ops[len(d.ops)-1]
	o.flags, o.b = follows, earlier
}

func (d *doc) end() {
	n := len(d.frames) - 1
	f := d.frames[n]
	d.frames = d.frames[:n]
	o := &d.ops[f.start]
	o.a, o.width = d.next(), d.cum-o.cum
	if f.multi {
		o.width = f.width
	}
	o.flags |= flagIf(f.forced, forced) | flagIf(f.bad, unhuggable) | flagIf(f.multi, tall)
	d.add(op{kind: opEnd})
}

// hug marks the start of the last part of the innermost group. The group may stay on one line up to
// this part if only the part is broken. endHug marks the end of the part.
func (d *doc) hug() {
	f := &d.frames[len(d.frames)-1]
	f.hugging = true
	d.ops[f.start].b = d.next()
}

func (d *doc) endHug() { d.frames[len(d.frames)-1].hugging = false }

func (d *doc) nest()   { d.add(op{kind: opNest}) }
func (d *doc) unnest() { d.add(op{kind: opUnnest}) }

// lead adds a comment on separate lines.
func (d *doc) lead(a, b int, flags uint16) {
	d.beginText(false)
	d.force(d.lastText)
	d.add(op{kind: opLead, a: int32(a), b: int32(b), flags: flags})
}

// inline adds a comment within a line. The last comment in brackets has no width, because it ends a
// line if the brackets are broken.
func (d *doc) inline(a, b int, last bool) {
	d.beginText(false)
	d.lastText = d.next()
	o := op{kind: opInline, a: int32(a), b: int32(b)}
	if !last {
		o.width = width(d.src[a:b]) + 1
	}
	d.add(o)
}

// trail adds a comment at the end of a line. It has no width, because code is not broken because of
// a comment.
func (d *doc) trail(a, b int, doc bool) {
	if d.tail < 0 {
		d.tail = d.next()
	}
	d.tailDoc = d.tailDoc || doc
	d.add(op{kind: opTrail, a: int32(a), b: int32(b), flags: flagIf(doc, isDoc)})
}

// width returns the number of characters in s.
func width(s string) int32 {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return int32(utf8.RuneCountInString(s))
		}
	}
	return int32(len(s))
}
