package value

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Appending to Strings. If `s += x` copied s each time, a loop of appends would take quadratic
// time. Therefore the second append to a String allocates memory with spare capacity after the
// text, the tail. The next append writes into the spare capacity and returns another String in the
// same memory.
//
// The text of a String never changes. An append can only use the spare capacity if the text of the
// String ends where the tail ends. So if there are two appends to one String, the second one copies
// the text.

// The values of Head.Sub for a String: how the String was created.
const (
	textPlain  uint16 = iota
	textJoined        // by an append, in memory of the exact size
	textGrown         // by an append to a joined String; it is a grown
)

// grown is a String whose text is the start of its tail.
type grown struct {
	Str
	tail *strings.Builder
}

const (
	// MaxText is the maximum length of a String, in bytes.
	MaxText = 1 << 30
	// grownText is the length in bytes from which a String has spare capacity. Shorter texts are
	// copied quickly, and memory of the exact size is smaller.
	grownText = 256
	// joinedShort is the maximum length in bytes of a joined String whose text is in the same
	// allocation.
	joinedShort = longerText
)

// Concat returns a + b, and the number of bytes that were copied. The result must not be longer
// than MaxText.
func Concat(a, b *Str) (s Slot, copied int) {
	if a.S == "" {
		return Slot{0, unsafe.Pointer(b)}, 0
	}
	return a.append(b.S, b.runes)
}

// Append returns a + text, and the number of bytes that were copied. The result must not be longer
// than MaxText. Append does not retain the memory of text.
func (a *Str) Append(text string) (s Slot, copied int) { return a.append(text, 0) }

// append is Append. runes is the number of code points in text plus one, or 0 if it is unknown.
func (a *Str) append(text string, runes int32) (s Slot, copied int) {
	n := len(a.S) + len(text)
	switch {
	case text == "":
		return Slot{0, unsafe.Pointer(a)}, 0
	case n <= joinedShort:
		var room [joinedShort]byte
		return StringOf(append(append(room[:0], a.S...), text...)), n
	}
	var x *Str
	switch {
	case a.Sub == textGrown && a.tail().Len() == len(a.S):
		x, copied = extend(a.tail(), text)
	case a.Sub == textJoined && n >= grownText:
		tail := new(strings.Builder)
		tail.Grow(2 * n)
		tail.WriteString(a.S)
		x, _ = extend(tail, text)
		copied = n
	default:
		x, copied = &Str{Head: Head{Kind: KindString, Sub: textJoined}, S: a.S + text}, n
	}
	x.runes = sumOfRunes(a.S, a.runes, text, runes)
	return Slot{0, unsafe.Pointer(x)}, copied
}

// sumOfRunes returns the number of code points in a + b plus one, or 0 if it is unknown, as in
// Str.runes. If the number for the longer text is known, it counts the shorter text. So s.len() in
// a loop of appends does not count all of s each time.
func sumOfRunes(a string, ofA int32, b string, ofB int32) int32 {
	switch {
	case ofA != 0 && ofB != 0:
		return ofA + ofB - 1
	case ofA != 0 && len(b) <= len(a):
		return ofA + int32(utf8.RuneCountInString(b))
	case ofB != 0 && len(a) <= len(b):
		return ofB + int32(utf8.RuneCountInString(a))
	}
	return 0
}

func (x *Str) tail() *strings.Builder { return (*grown)(unsafe.Pointer(x)).tail }

// extend appends text to a tail and returns the String of the whole text. If the spare capacity is
// too small, extend allocates new memory of twice the size; earlier Strings retain the old memory.
func extend(tail *strings.Builder, text string) (x *Str, copied int) {
	copied = len(text)
	if tail.Cap()-tail.Len() < len(text) {
		copied += tail.Len()
		tail.Grow(len(text))
	}
	tail.WriteString(text)
	g := &grown{Str{Head: Head{Kind: KindString, Sub: textGrown}, S: tail.String()}, tail}
	return &g.Str, copied
}

// Growth returns approximately how much memory an append of n bytes to a allocates.
func (a *Str) Growth(n int) int {
	if a.Sub == textGrown {
		if t := a.tail(); t.Len() == len(a.S) {
			if t.Cap()-t.Len() >= n {
				return 0
			}
			return 2*t.Cap() + n
		}
	}
	return len(a.S) + n
}
