package format

import (
	"math"
	"strings"
	"unicode/utf8"
)

// opKind is a kind of layout operation.
type opKind uint8

const (
	opText   opKind = iota // a stretch of the source without line ends
	opRaw                  // a stretch of the source with line ends, written unchanged
	opComma                // a comma where the group is broken
	opSep                  // a comma that the source leaves out
	opSpace                // a space
	opLine                 // a space, or a line end where the group is broken
	opSoft                 // nothing, or a line end where the group is broken
	opHard                 // a line end
	opDecl                 // a line end between declarations
	opGroup                // begins a group: flat if it fits, else broken
	opEnd                  // ends it
	opNest                 // what follows is indented by one step more
	opUnnest               // ends that
	opLead                 // a comment on lines of its own
	opInline               // a comment amid the code of a line
	opTrail                // a comment at the end of a line
)

// Flags of operations.
const (
	hops        = 1 << iota // opText, opComma: stays before the comments that end its line
	blank                   // line ends: with a blank line, where broken
	blankBefore             // opLead: there is a blank line before it
	blankAfter              // opLead: there is a blank line after it
	forced                  // opGroup: cannot be flat
	unhuggable              // opGroup: what makes it more than a line is not its last part alone
	tall                    // opGroup: some text in it has line ends
	follows                 // opGroup: broken if the earlier group at b is
	wasBroken               // opGroup: has been broken
	isDoc                   // opTrail: a doc comment, which belongs to the token that comes next
)

// op is one operation. Widths are in characters. cum is the width on one line of
// all that comes before, so that the width of a stretch is the difference of two
// cums.
type op struct {
	kind  opKind
	flags uint16
	width int32
	cum   int32
	a, b  int32 // texts and comments: place in the source; opGroup: its opEnd, and where its last part begins
}

// frame is an open group.
type frame struct {
	start   int32 // its opGroup
	forced  bool
	hugging bool // what comes now is its last part
	bad     bool // unhuggable
	multi   bool // holds an opRaw; width is fixed by the first
	width   int32
}

// doc is a sequence of layout operations under construction. A group cannot be
// flat when it has a hard line end, when text follows a comment that ends its
// line, or when text precedes a comment on lines of its own. Such groups are
// marked while the operations are written.
type doc struct {
	src      string
	ops      []op
	frames   []frame
	cum      int32
	lastText int32 // the last text
	tail     int32 // the first comment that ends a line since then; -1 without one
	tailDoc  bool  // a doc comment is among them
}

func (d *doc) add(o op) {
	o.cum = d.cum
	d.cum += o.width
	d.ops = append(d.ops, o)
}

func (d *doc) next() int32 { return int32(len(d.ops)) }

// text adds src[a:b]. With hop, the text (a `,` or `;`) is written before a comment that ends the
// line. A doc comment stays before it: after a comma it would document the next declaration.
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

// beginText begins a text: a group that contains both the text and the comments before it has a
// line end between them.
func (d *doc) beginText(hop bool) {
	if d.tail >= 0 && !hop {
		d.force(d.tail)
		d.tail, d.tailDoc = -1, false
	}
}

// force breaks the open groups that began before an operation. The groups around
// a forced group are forced already, so the walk outwards ends there.
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

// line adds a line end of broken groups, a space of flat ones.
func (d *doc) line(withBlank bool) {
	d.add(op{kind: opLine, width: 1, flags: flagIf(withBlank, blank)})
}

// soft adds a line end of broken groups.
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

// groupAfter begins a group that is broken when an earlier group, which has
// ended, is broken.
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

// hug marks where the last part of the innermost group begins. The group may
// then stay on its line up to there while only this part is broken. endHug marks
// the part's end.
func (d *doc) hug() {
	f := &d.frames[len(d.frames)-1]
	f.hugging = true
	d.ops[f.start].b = d.next()
}

func (d *doc) endHug() { d.frames[len(d.frames)-1].hugging = false }

func (d *doc) nest()   { d.add(op{kind: opNest}) }
func (d *doc) unnest() { d.add(op{kind: opUnnest}) }

// lead adds a comment on lines of its own.
func (d *doc) lead(a, b int, flags uint16) {
	d.beginText(false)
	d.force(d.lastText)
	d.add(op{kind: opLead, a: int32(a), b: int32(b), flags: flags})
}

// inline adds a comment amid a line. The last comment in brackets has no width,
// as it ends a line when the brackets are broken.
func (d *doc) inline(a, b int, last bool) {
	d.beginText(false)
	d.lastText = d.next()
	o := op{kind: opInline, a: int32(a), b: int32(b)}
	if !last {
		o.width = width(d.src[a:b]) + 1
	}
	d.add(o)
}

// trail adds a comment at the end of a line. It has no width, as code is not
// broken to make room for a comment.
func (d *doc) trail(a, b int, doc bool) {
	if d.tail < 0 {
		d.tail = d.next()
	}
	d.tailDoc = d.tailDoc || doc
	d.add(op{kind: opTrail, a: int32(a), b: int32(b), flags: flagIf(doc, isDoc)})
}

// width is the number of characters in s.
func width(s string) int32 {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return int32(utf8.RuneCountInString(s))
		}
	}
	return int32(len(s))
}
