package value

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"
)

// Offsets finds characters in long texts that are not ASCII. For the texts that were used last, it
// stores the offset of every chartEach-th character. An Offsets is used by one goroutine. A nil
// *Offsets searches a character from the nearer end of the text.
//
// The chart of a text that is no longer used is removed after the second garbage collection.
type Offsets struct {
	Intern *InternCache // creates short Strings; may be nil

	charts    [4]chart
	next      int          // index of the chart to replace next
	collected *atomic.Bool // set after a garbage collection
	walked    int          // total of visited characters, for tests
}

const (
	// chartEach is the number of characters between two stored offsets.
	chartEach = 64
	// charted is the minimum length in bytes of a text that has a chart.
	charted = 256
)

// chart contains the stored offsets of a text, which are also valid for texts that start at the
// same memory.
type chart struct {
	text  string   // charted part of the text
	at    []uint32 // offsets of the characters 0, chartEach, 2*chartEach, …
	runes int      // number of characters in text
	used  bool     // used since the last garbage collection

	index, offset int // number and offset of the character that was found last
}

// Clear removes all charts, so that their texts can be freed.
func (o *Offsets) Clear() {
	if o != nil {
		o.charts = [4]chart{}
	}
}

// At is like Str.At.
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

// newPart returns a String with a part of a text.
func (o *Offsets) newPart(s string) Slot {
	if o == nil || o.Intern == nil || len(s) > ShortText {
		return String(s)
	}
	return o.Intern.StringOf(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// Slice is like Str.Slice.
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

// offset returns the byte offset of character i, where 0 <= i <= x.Len().
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

// walk returns the offset of the nth character after offset at.
func (o *Offsets) walk(s string, at, n int) int {
	if o != nil {
		o.walked += n
	}
	return at + skip(s[at:], n)
}

// skip returns the length in bytes of the first n characters of s.
func skip(s string, n int) (length int) {
	const tops = 0x8080808080808080
	at := 0
	for n > 8 && at+8 <= len(s) { // eight bytes at a time, counting the bytes that start a character
		w := binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s[at:]), 8))
		n -= 8 - bits.OnesCount64(w&^(w<<1)&tops)
		at += 8
	}
	for at < len(s) && !utf8.RuneStart(s[at]) { // skips the remaining bytes of the last character
		at++
	}
	for ; n > 0; n-- {
		_, w := utf8.DecodeRuneInString(s[at:])
		at += w
	}
	return at
}

// chartOf returns the chart of a text. It creates or extends the chart if necessary.
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

// extend adds the offsets of the uncharted part of a text.
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

// dropUnused removes the charts that were not used since the previous garbage collection.
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
