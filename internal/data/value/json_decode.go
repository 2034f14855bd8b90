package value

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// MaxDepth is the maximum nesting of arrays and objects in JSON text.
const MaxDepth = 10_000

// SyntaxError describes an error in a JSON text, with its offset in bytes.
type SyntaxError struct {
	Offset  int
	Message string
	UTF8    bool // the text is not valid UTF-8
	Deep    bool // the text is nested deeper than MaxDepth
	Range   bool // a number is out of range
}

func (e *SyntaxError) Error() string { return e.Message + " at offset " + strconv.Itoa(e.Offset) }

// Place returns the line and the column of the error in data, the parsed text. Both start at 1.
// Columns are counted in code points.
func (e *SyntaxError) Place(data []byte) (line, column int) {
	before := data[:min(e.Offset, len(data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1
}

// Parse parses a JSON text. Integers of up to 64 bits become Ints, all other numbers Floats.
// Objects become maps in the order of the text. If a key is repeated, the last value is used at the
// position of the first. Invalid UTF-8, lone surrogates and nesting beyond MaxDepth are errors.
// Every error is a *SyntaxError.
func Parse(data []byte) (Slot, error) { return ParseIn(data, unbounded, nil) }

// ParseWire is like Parse for texts of other programs: a lone surrogate becomes U+FFFD. RFC 8259
// permits it, and it remains when a program cuts a text inside a character.
func ParseWire(data []byte) (Slot, error) {
	d := decoders.Get().(*decoder)
	d.data, d.at, d.wire = data, 0, true
	s, err := d.document()
	d.release()
	return s, err
}

// ParseIn is like Parse, and a Pace can interrupt it. It calls room before it allocates memory,
// with the number of bytes. room panics if the memory limit would be exceeded.
func ParseIn(data []byte, room func(n int), pace *Pace) (Slot, error) {
	if room == nil {
		room = unbounded
	}
	d := decoders.Get().(*decoder)
	d.data, d.at, d.room, d.pace = data, 0, room, pace
	s, err := d.document()
	d.release()
	if err != nil {
		return Nil, err
	}
	return s, nil
}

// decoder decodes a JSON text. The elements and entries of open containers are on two stacks, so
// that each container is allocated once, with its exact size. The cache of keys remains for the
// next text, because hosts repeat keys.
type decoder struct {
	data    []byte
	at      int
	slots   []Slot
	entries []entry
	keys    [256]*Str
	keyed   *Str   // key of the last call of member
	text    []byte // buffer for the string being decoded
	fault   *SyntaxError
	wire    bool         // a lone surrogate is no error
	huge    *SyntaxError // the first number that is out of range, which is read as nil, if wire is set
	room    func(n int)
	pace    *Pace
}

var decoders = sync.Pool{New: func() any { return &decoder{room: unbounded} }}

func unbounded(int) {}

func (d *decoder) release() {
	clear(d.slots) // removes the slots that an error has left; without an error, closed containers are already removed
	clear(d.entries)
	d.slots, d.entries, d.data, d.fault, d.room = d.slots[:0], d.entries[:0], nil, nil, unbounded
	d.pace, d.wire, d.huge = nil, false, nil
	if cap(d.slots) > 1<<14 || cap(d.entries) > 1<<14 || cap(d.text) > 1<<20 {
		return // lets the garbage collector free the memory of a huge text
	}
	decoders.Put(d)
}

func (d *decoder) document() (Slot, error) {
	s := d.value(0)
	if d.fault == nil {
		d.space()
		if d.at < len(d.data) {
			d.fail("unexpected text after the value")
		}
	}
	if d.fault == nil {
		d.fault = d.huge
	}
	if d.fault != nil {
		return Nil, d.fault
	}
	return s, nil
}

// fail stores the first error. Decoding then stops.
func (d *decoder) fail(message string) Slot {
	if d.fault == nil {
		d.fault = &SyntaxError{Offset: d.at, Message: message}
	}
	return Nil
}

func (d *decoder) space() {
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case ' ', '\n', '\r', '\t':
			if d.at++; d.at%paceWindow == 0 {
				d.pace.Bytes(paceWindow)
			}
		default:
			return
		}
	}
}

// peek returns the next byte that is not white space, or 0 at the end.
func (d *decoder) peek() byte {
	d.space()
	if d.at < len(d.data) {
		return d.data[d.at]
	}
	return 0
}

func (d *decoder) value(depth int) Slot {
	d.pace.Step(1)
	c := d.peek()
	switch {
	case c == '"':
		return d.str()
	case c == '{':
		return d.object(depth)
	case c == '[':
		return d.array(depth)
	case c == '-' || '0' <= c && c <= '9':
		return d.number()
	case c == 't' && d.word("true"):
		return Bool(true)
	case c == 'f' && d.word("false"):
		return Bool(false)
	case c == 'n' && d.word("null"):
		return Nil
	case d.at >= len(d.data):
		return d.fail("unexpected end of the text")
	}
	return d.fail(d.missingValueMessage())
}

// missingValueMessage returns the message for a missing value.
func (d *decoder) missingValueMessage() string {
	for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(d.data[d.at:], []byte(w)) {
			return "JSON has no `" + w + "`"
		}
	}
	return "expected a value"
}

func (d *decoder) word(w string) bool {
	if len(d.data)-d.at < len(w) || string(d.data[d.at:d.at+len(w)]) != w {
		return false
	}
	d.at += len(w)
	return true
}

// str decodes a String at its opening quote.
func (d *decoder) str() Slot {
	seg, ok := d.scan()
	if !ok {
		return Nil
	}
	return StringOf(seg)
}

// key decodes the key of an object. Cached keys are complete, so goroutines of several runs may
// share them.
func (d *decoder) key() *Str {
	seg, ok := d.scan()
	if !ok {
		return nil
	}
	if len(seg) == 0 {
		return &emptyStr
	}
	if len(seg) > 64 {
		return completeStr(string(seg))
	}
	h := uint32(len(seg))*31*31 + uint32(seg[0])*31 + uint32(seg[len(seg)-1]) + uint32(seg[len(seg)/2])*7
	cached := &d.keys[h%uint32(len(d.keys))]
	if *cached == nil || (*cached).S != string(seg) {
		*cached = completeStr(string(seg))
	}
	return *cached
}

// comma reads the token after an element. more is true for a comma and false for end.
func (d *decoder) comma(end byte) (more bool) {
	switch c := d.peek(); {
	case c == ',':
		d.at++
		return true
	case c == end:
		d.at++
	case d.at >= len(d.data):
		d.fail("unexpected end of the text")
	default:
		d.fail("expected `,` or `" + string(rune(end)) + "`")
	}
	return false
}

// beginList reads the start of an array or object. nonempty is false if the closing bracket
// follows.
func (d *decoder) beginList(depth int, end byte) (nonempty bool) {
	if depth >= MaxDepth {
		d.fail("nesting is too deep")
		d.fault.Deep = true
		return false
	}
	d.at++
	if d.peek() == end {
		d.at++
		return false
	}
	return true
}

func (d *decoder) array(depth int) Slot {
	base := len(d.slots)
	for more := d.beginList(depth, ']'); more; more = d.comma(']') {
		s := d.value(depth + 1)
		if d.fault != nil {
			return Nil
		}
		if len(d.slots) == cap(d.slots) {
			d.room(cap(d.slots) * int(SlotSize))
		}
		d.slots = append(d.slots, s)
	}
	if d.fault != nil {
		return Nil
	}
	d.room(arraySize + len(d.slots[base:])*8)
	a := NewArray()
	a.fill(d.slots[base:])
	clear(d.slots[base:])
	d.slots = d.slots[:base]
	return a.Slot()
}

func (d *decoder) object(depth int) Slot {
	base := len(d.entries)
	for more := d.beginList(depth, '}'); more; more = d.comma('}') {
		if !d.member() {
			return Nil
		}
		k := d.keyed
		s := d.value(depth + 1)
		if d.fault != nil {
			return Nil
		}
		d.pushEntry(base, k, s)
	}
	if d.fault != nil {
		return Nil
	}
	return d.close(base)
}

// pushEntry adds an entry to the stack. In a small object, it searches for a repeated key. In a
// large object, close finds repeated keys when it builds the index.
func (d *decoder) pushEntry(base int, k *Str, s Slot) {
	if open := d.entries[base:]; len(open) <= smallMap {
		for i := range open {
			if (*Str)(open[i].key.Ref) == k || open[i].key.AsString() == k.S {
				open[i].value = s
				return
			}
		}
	}
	if len(d.entries) == cap(d.entries) {
		d.room(cap(d.entries) * entrySize)
	}
	d.entries = append(d.entries, entry{Slot{0, unsafe.Pointer(k)}, s})
}

// close returns a map of the entries on the stack from base on.
func (d *decoder) close(base int) Slot {
	open := d.entries[base:]
	d.room(mapSize + len(open)*entrySize)
	m := NewMap(len(open))
	if len(open) <= smallMap {
		m.entries = append(m.entries, open...)
		m.live = uint32(len(open))
	} else {
		m.index = newIndex(len(open))
		for _, e := range open {
			m.Set(e.key, e.value)
		}
	}
	clear(open)
	d.entries = d.entries[:base]
	return m.Slot()
}

// number decodes a number. Integers of up to 18 digits are decoded directly.
func (d *decoder) number() Slot {
	data, from := d.data, d.at
	i := from
	negative := data[i] == '-'
	if negative {
		i++
	}
	first := i
	var n uint64
	for i < len(data) && data[i]-'0' <= 9 {
		n = n*10 + uint64(data[i]-'0')
		i++
	}
	if i == first {
		if i < len(data) && data[i] == 'I' {
			return d.fail(d.missingValueMessage())
		}
		d.at = i
		return d.fail("expected a digit")
	}
	if data[first] == '0' && i > first+1 {
		d.at = first
		return d.fail("a number must not begin with 0")
	}
	if i-first <= 18 && (i == len(data) || data[i] != '.' && data[i]|0x20 != 'e') {
		d.at = i
		if negative {
			return Int(-int64(n))
		}
		return Int(int64(n))
	}
	return d.longNumber(from, i)
}

// longNumber decodes a number whose integer part ends at i.
func (d *decoder) longNumber(from, i int) Slot {
	data := d.data
	digits := func() bool {
		start := i
		for i < len(data) && data[i]-'0' <= 9 {
			i++
		}
		if i == start {
			d.at = i
			d.fail("expected a digit")
		}
		return i > start
	}
	integral := true
	if i < len(data) && data[i] == '.' {
		integral = false
		i++
		if !digits() {
			return Nil
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		integral = false
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if !digits() {
			return Nil
		}
	}
	text := unsafe.String(&data[from], i-from)
	if integral {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			d.at = i
			return Int(n)
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && math.IsInf(f, 0) {
		huge := &SyntaxError{Offset: from, Message: "number is out of range", Range: true}
		if !d.wire {
			d.fault = huge
			return Nil
		}
		if d.huge == nil {
			d.huge = huge
		}
		d.at = i
		return Nil
	}
	d.at = i
	return Float(f)
}

// stops marks the bytes at which the fast scan of a string stops.
var stops = func() (t [256]bool) {
	for i := range t {
		t[i] = i < 0x20 || i == '"' || i == '\\' || i >= utf8.RuneSelf
	}
	return t
}()

// scan decodes a string from its opening quote and returns its bytes, which are valid until the
// next call of scan.
func (d *decoder) scan() (seg []byte, ok bool) {
	data := d.data
	from := d.at + 1
	i := from
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(data) { // eight bytes at a time, until one of them is in stops
		w := binary.LittleEndian.Uint64(data[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		if ((quote-ones)&^quote|(slash-ones)&^slash|(w-ones*' ')|w)&tops != 0 {
			break
		}
		i += 8
	}
	for i < len(data) && !stops[data[i]] {
		i++
	}
	d.pace.Bytes(i - from)
	if i < len(data) && data[i] == '"' {
		d.at = i + 1
		return data[from:i], true
	}
	return d.scanSlow(from, i)
}

// scanSlow continues the scan of a string that starts at from. At i is an escape, a byte that is
// not ASCII, or an error.
func (d *decoder) scanSlow(from, i int) (seg []byte, ok bool) {
	data := d.data
	d.text = d.text[:0]
	copied := from
	for next := i + paceWindow; i < len(data); {
		if i >= next {
			d.pace.Bytes(paceWindow)
			next += paceWindow
		}
		switch c := data[i]; {
		case c == '"':
			d.at = i + 1
			if copied == from {
				return data[from:i], true
			}
			d.text = append(d.text, data[copied:i]...)
			return d.text, true
		case c == '\\':
			d.text = append(d.text, data[copied:i]...)
			n := d.escape(i)
			if n == 0 {
				return nil, false
			}
			i += n
			copied = i
		case c < ' ':
			d.at = i
			d.fail("control character in a string")
			return nil, false
		case c < utf8.RuneSelf:
			i++
		default:
			r, w := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && w == 1 {
				d.at = i
				d.fail("invalid UTF-8")
				d.fault.UTF8 = true
				return nil, false
			}
			i += w
		}
	}
	d.at = i
	d.fail("unexpected end of the text in a string")
	return nil, false
}

// escape decodes the escape at i into d.text. It returns the length of the escape, or 0 for an
// error.
func (d *decoder) escape(i int) int {
	if i+1 >= len(d.data) {
		d.at = len(d.data)
		d.fail("unexpected end of the text in a string")
		return 0
	}
	d.at = i
	switch c := d.data[i+1]; c {
	case '"', '\\', '/':
		d.text = append(d.text, c)
	case 'n':
		d.text = append(d.text, '\n')
	case 't':
		d.text = append(d.text, '\t')
	case 'r':
		d.text = append(d.text, '\r')
	case 'b':
		d.text = append(d.text, '\b')
	case 'f':
		d.text = append(d.text, '\f')
	case 'u':
		return d.unicode(i)
	default:
		d.fail("unknown escape in a string")
		return 0
	}
	return 2
}

// unicode decodes \uXXXX, or two of them for a surrogate pair.
func (d *decoder) unicode(i int) int {
	r, ok := hex4(d.data[i:])
	if !ok {
		d.fail("expected four hexadecimal digits after `\\u`")
		return 0
	}
	if r < 0xd800 || r > 0xdfff {
		d.text = utf8.AppendRune(d.text, r)
		return 6
	}
	low, ok := hex4(d.data[i+6:])
	if r > 0xdbff || !ok || low < 0xdc00 || low > 0xdfff {
		if d.wire {
			d.text = utf8.AppendRune(d.text, utf8.RuneError)
			return 6
		}
		d.fail("lone surrogate in a string")
		return 0
	}
	d.text = utf8.AppendRune(d.text, (r-0xd800)<<10+(low-0xdc00)+0x10000)
	return 12
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 + rune(c)
	}
	return r, true
}
