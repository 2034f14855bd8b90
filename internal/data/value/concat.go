package value

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Growing Strings. `s += x` in a loop would copy s each time. Therefore a String that came from an
// append is given spare room after its text (a tail) when it is appended to again. The next append
// writes into the room and returns another String over the same memory.
//
// A String's text never changes. An append in place requires that the String's text ends where the
// tail ends: of two appends to one String, the second copies.

// How a String was created, in Head.Sub.
const (
	textPlain  uint16 = iota
	textJoined        // by an append, in memory of its exact size
	textGrown         // by an append to a joined one: it is a grown
)

// grown is a String whose text is a prefix of its tail's.
type grown struct {
	Str
	tail *strings.Builder
}

const (
	// MaxText is the maximum length of a String, in bytes.
	MaxText = 1 << 30
	// grownText is the length in bytes from which a String gets room to grow.
	// Copying shorter ones hardly costs time, and memory of the exact size is
	// less.
	grownText = 256
	// joinedShort is the length up to which a joined String has its text in its
	// own allocation.
	joinedShort = longerText
)

// Concat returns a + b and the number of bytes copied for it. The result must not be longer than
// MaxText.
func Concat(a, b *Str) (s Slot, copied int) {
	if a.S == "" {
		return Slot{0, unsafe.Pointer(b)}, 0
	}
	return a.append(b.S, b.runes)
}

// Append returns a + text and the number of bytes copied for it. The result must not be longer than
// MaxText. The memory of text is not retained.
func (a *Str) Append(text string) (s Slot, copied int) { return a.append(text, 0) }

// append is Append; runes is the rune count of text plus one, or 0 for unknown.
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

// sumOfRunes returns the rune count of a + b plus one, or 0 for unknown, as Str.runes holds it.
// When the longer text's count is known, it counts the shorter text: so s.len() in a loop of
// appends need not count all of s each time.
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

// extend appends text to a tail and returns the String of the whole. If the room is too small it
// doubles, in new memory; earlier Strings retain the old memory.
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

// Growth returns how much memory an append of n bytes to a takes, roughly.
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
