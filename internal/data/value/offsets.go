package value

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"
)

// Offsets finds the characters of long texts that are not ASCII. For the few
// texts that were used last it knows where every chartEach-th character begins.
// An Offsets belongs to one goroutine. A nil *Offsets walks to a character from
// the nearer end of the text.
//
// The chart of a text that is no longer used is dropped after the second garbage
// collection.
type Offsets struct {
	Intern *InternCache // makes short parts; nil without one

	charts    [4]chart
	next      int          // which chart is given up next
	collected *atomic.Bool // there has been a collection
	walked    int          // characters, in all: what tests count
}

const (
	// chartEach is the number of characters between two known offsets.
	chartEach = 64
	// charted is how long a text must be to have a chart, in bytes.
	charted = 256
)

// chart holds the known offsets of one text, and so of all that begin at the same memory.
type chart struct {
	text  string   // as far as it is charted
	at    []uint32 // offsets of the characters 0, chartEach, 2*chartEach, …
	runes int      // characters in text
	used  bool     // since the last collection

	index, offset int // a character that was found last
}

// Clear lets go of all texts.
func (o *Offsets) Clear() {
	if o != nil {
		o.charts = [4]chart{}
	}
}

// At is x.At.
func (o *Offsets) At(x *Str, i int64, p *Pace) (s Slot, ok bool) {
	if i < 0 || i >= int64(x.LenIn(p)) {
		return Nil, false
	}
	if x.ASCII() {
		return Slot{0, unsafe.Pointer(&asciiStrs[x.S[i]])}, true
	}
	from := o.offset(x, int(i), p)
	_, w := utf8.DecodeRuneInString(x.S[from:])
	return o.newPart(x.S[from : from+w]), true
}

// newPart makes a String of a part of a text.
func (o *Offsets) newPart(s string) Slot {
	if o == nil || o.Intern == nil || len(s) > ShortText {
		return String(s)
	}
	return o.Intern.StringOf(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// Slice is x.Slice.
func (o *Offsets) Slice(x *Str, lo, hi int64, p *Pace) (s Slot, ok bool) {
	n := int64(x.LenIn(p))
	if lo < 0 || lo > hi || hi > n {
		return Nil, false
	}
	from := o.offset(x, int(lo), p)
	to := from
	if hi-lo < chartEach && !x.ASCII() {
		to = o.walk(x.S, from, int(hi-lo))
	} else {
		to = o.offset(x, int(hi), p)
	}
	return o.newPart(x.S[from:to]), true
}

// offset returns the byte offset of character i, 0 <= i <= x.Len().
func (o *Offsets) offset(x *Str, i int, p *Pace) int {
	switch n := x.Len(); {
	case n == len(x.S):
		return i
	case i == n:
		return len(x.S)
	case o == nil || len(x.S) < charted:
		return x.offset(i)
	}
	c := o.chartOf(x, p)
	index, at := i&^(chartEach-1), int(c.at[i/chartEach])
	if c.index <= i && c.index > index {
		index, at = c.index, c.offset
	}
	at = o.walk(x.S, at, i-index)
	c.index, c.offset = i, at
	return at
}

// walk returns the offset n characters after another.
func (o *Offsets) walk(s string, at, n int) int {
	if o != nil {
		o.walked += n
	}
	return at + skip(s[at:], n)
}

// skip returns the length of the first n characters of s.
func skip(s string, n int) (length int) {
	const tops = 0x8080808080808080
	at := 0
	for n > 8 && at+8 <= len(s) { // eight bytes at a time; the bytes that begin a character count
		w := binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s[at:]), 8))
		n -= 8 - bits.OnesCount64(w&^(w<<1)&tops)
		at += 8
	}
	for at < len(s) && !utf8.RuneStart(s[at]) { // the rest of the last one
		at++
	}
	for ; n > 0; n-- {
		_, w := utf8.DecodeRuneInString(s[at:])
		at += w
	}
	return at
}

// chartOf returns the chart of a text, made or completed.
func (o *Offsets) chartOf(x *Str, p *Pace) *chart {
	if o.collected == nil || o.collected.Load() {
		o.dropUnused()
	}
	memory := unsafe.StringData(x.S)
	for i := range o.charts {
		if c := &o.charts[i]; unsafe.StringData(c.text) == memory && c.text != "" {
			c.used = true
			if len(c.text) < len(x.S) {
				o.extend(c, x.S, p)
			}
			return c
		}
	}
	c := &o.charts[o.next]
	o.next = (o.next + 1) % len(o.charts)
	*c = chart{used: true, at: make([]uint32, 0, len(x.S)/chartEach/2+1)}
	o.extend(c, x.S, p)
	return c
}

// extend computes the offsets of the rest of a text.
func (o *Offsets) extend(c *chart, s string, p *Pace) {
	at, n := len(c.text), c.runes
	c.at = c.at[:(n+chartEach-1)/chartEach] // an interrupted extension may have added more
	for at < len(s) {
		if step := chartEach - n%chartEach; n%chartEach == 0 {
			c.at = append(c.at, uint32(at))
			p.Step(step)
		}
		_, w := utf8.DecodeRuneInString(s[at:])
		at += w
		n++
	}
	o.walked += n - c.runes
	c.text, c.runes = s, n
}

// dropUnused lets go of the texts that were not used since the collection before.
func (o *Offsets) dropUnused() {
	for i := range o.charts {
		if c := &o.charts[i]; c.used {
			c.used = false
		} else {
			*c = chart{}
		}
	}
	flag := new(atomic.Bool)
	o.collected = flag
	runtime.AddCleanup(new([4]*int), func(flag *atomic.Bool) { flag.Store(true) }, flag)
}
