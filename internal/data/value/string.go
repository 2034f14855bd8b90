package value

import (
	"unicode/utf8"
	"unsafe"
)

// Str is a String, which is valid UTF-8 and immutable. The number of code points and the hash are
// computed at their first use.
type Str struct {
	Head
	S     string
	runes int32 // number of code points plus one; 0 if it was not computed
	hash  uint32
}

// The empty string, and the ASCII strings of one character. Their hashes and lengths are already
// computed, so nothing writes to them and runs may share them.
var (
	emptyStr  Str
	asciiStrs [utf8.RuneSelf]Str
)

func init() {
	emptyStr.complete("")
	for i := range asciiStrs {
		asciiStrs[i].complete(string(rune(i)))
	}
}

// complete sets the text of a Str, with its hash and number of code points. Reading it then writes
// nothing, so several goroutines may read it.
func (x *Str) complete(s string) {
	x.Kind, x.S = KindString, s
	x.Len()
	x.Hash()
}

// completeStr returns a complete Str.
func completeStr(s string) *Str {
	x := &Str{}
	x.complete(s)
	return x
}

// String returns a String with the text s, which must be valid UTF-8.
func String(s string) Slot {
	switch {
	case len(s) == 0:
		return Slot{0, unsafe.Pointer(&emptyStr)}
	case len(s) == 1 && s[0] < utf8.RuneSelf:
		return Slot{0, unsafe.Pointer(&asciiStrs[s[0]])}
	}
	return Slot{0, unsafe.Pointer(&Str{Head: Head{Kind: KindString}, S: s})}
}

// Types for a Str and its text in the same allocation, for four lengths of text.
type (
	tinyStr   = withText[[tinyText]byte]
	shortStr  = withText[[ShortText]byte]
	mediumStr = withText[[mediumText]byte]
	longerStr = withText[[longerText]byte]
)

type withText[T any] struct {
	Str
	text T
}

// The maximum lengths in bytes of a text in the same allocation. With these lengths, the objects
// have exactly the sizes of Go's size classes.
const (
	tinyText   = 16
	ShortText  = 32
	mediumText = 48
	longerText = 64
)

// StringOf returns a String with a copy of text, which must be valid UTF-8.
func StringOf(text []byte) Slot {
	n := len(text)
	switch {
	case n == 0:
		return Slot{0, unsafe.Pointer(&emptyStr)}
	case n == 1 && text[0] < utf8.RuneSelf:
		return Slot{0, unsafe.Pointer(&asciiStrs[text[0]])}
	case n <= tinyText:
		x := new(tinyStr)
		return x.setText(x.text[:copy(x.text[:], text)])
	case n <= ShortText:
		return Slot{0, unsafe.Pointer(newShort(text))}
	case n <= mediumText:
		x := new(mediumStr)
		return x.setText(x.text[:copy(x.text[:], text)])
	case n <= longerText:
		x := new(longerStr)
		return x.setText(x.text[:copy(x.text[:], text)])
	}
	return Slot{0, unsafe.Pointer(&Str{Head: Head{Kind: KindString}, S: string(text)})}
}

// setText completes a String whose text is in the same allocation.
func (x *Str) setText(text []byte) Slot {
	x.Head = Head{Kind: KindString}
	x.S = unsafe.String(unsafe.SliceData(text), len(text))
	return Slot{0, unsafe.Pointer(x)}
}

// StringOwning returns a String with text, which must be valid UTF-8. It takes ownership of the
// memory. If too much of that memory is unused, it copies the text instead.
func StringOwning(text []byte) Slot {
	if spare := cap(text) - len(text); spare > len(text)/8 {
		return StringOf(text)
	}
	return String(unsafe.String(unsafe.SliceData(text), len(text)))
}

// newShort returns a shortStr for a text of 1 to ShortText bytes.
func newShort(text []byte) *shortStr {
	x := new(shortStr)
	x.setText(x.text[:copy(x.text[:], text)])
	return x
}

// AsString returns the text of s, which must be a String.
func (s Slot) AsString() string { return (*Str)(s.Ref).S }

// Str returns the string object of s, or nil for other values.
func (s Slot) Str() *Str {
	if s.Kind() != KindString {
		return nil
	}
	return (*Str)(s.Ref)
}

// Len returns the number of code points.
func (x *Str) Len() int {
	if x.runes == 0 {
		x.runes = int32(utf8.RuneCountInString(x.S)) + 1
	}
	return int(x.runes) - 1
}

// LenIn is like Len, and a Pace can interrupt it.
func (x *Str) LenIn(p *Pace) int {
	if x.runes == 0 {
		x.runes = int32(CountIn(p, x.S)) + 1
	}
	return int(x.runes) - 1
}

// CountIn returns the number of code points in a text, and a Pace can interrupt it.
func CountIn(p *Pace, s string) int {
	n := 0
	for part := range p.Windows(s) {
		n += utf8.RuneCountInString(part)
	}
	return n
}

// Counted returns the number of code points plus one, or 0 if it was not computed.
func (x *Str) Counted() int32 { return x.runes }

// ASCII reports whether all characters are ASCII.
func (x *Str) ASCII() bool { return x.Len() == len(x.S) }

// Hash returns a hash of the text that is the same during the whole process.
func (x *Str) Hash() uint32 {
	if x.hash == 0 {
		x.hash = hashText(x.S)
	}
	return x.hash
}

// offset returns the byte offset of code point i, where 0 <= i <= Len.
func (x *Str) offset(i int) int {
	n := x.Len()
	if n == len(x.S) {
		return i
	}
	if i > n/2 { // search from the end
		at := len(x.S)
		for ; n > i; n-- {
			_, w := utf8.DecodeLastRuneInString(x.S[:at])
			at -= w
		}
		return at
	}
	at := 0
	for ; i > 0; i-- {
		_, w := utf8.DecodeRuneInString(x.S[at:])
		at += w
	}
	return at
}

// At returns code point i as a String; ok is false if it is out of range.
func (x *Str) At(i int64) (s Slot, ok bool) {
	if i < 0 || i >= int64(x.Len()) {
		return Nil, false
	}
	if x.ASCII() {
		return Slot{0, unsafe.Pointer(&asciiStrs[x.S[i]])}, true
	}
	at := x.offset(int(i))
	_, w := utf8.DecodeRuneInString(x.S[at:])
	return String(x.S[at : at+w]), true
}

// Slice returns the code points from lo to hi (exclusive) as a String. ok is false if they are out
// of range or lo > hi.
func (x *Str) Slice(lo, hi int64) (s Slot, ok bool) {
	if lo < 0 || lo > hi || hi > int64(x.Len()) {
		return Nil, false
	}
	from := x.offset(int(lo))
	to := from
	if x.ASCII() {
		to = int(hi)
	} else if hi-lo < int64(x.Len())-hi {
		for n := hi - lo; n > 0; n-- {
			_, w := utf8.DecodeRuneInString(x.S[to:])
			to += w
		}
	} else {
		to = x.offset(int(hi))
	}
	return String(x.S[from:to]), true
}
