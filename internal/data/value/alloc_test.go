package value

import (
	"strings"
	"testing"
)

// TestAllocations checks the number of allocations of the most frequent operations on Strings and
// blocks.
func TestAllocations(t *testing.T) {
	ascii, wide := String("abcdef").Str(), String("äbcdef").Str()
	short, long := String("short").Str(), String(strings.Repeat("x", 300)).Str()
	grown, _ := long.Append("y")
	grown, _ = grown.Str().Append("z") // now has spare capacity
	digits := []byte("7")
	number := []byte("1234567")
	struct2 := &Type{Kind: TypeStruct, Name: "P", Fields: make([]Field, 2)}
	for _, c := range []struct {
		name string
		want float64
		f    func()
	}{
		{"a character of ASCII text", 0, func() { sink, _ = ascii.At(3) }},
		{"an ASCII character of other text", 0, func() { sink, _ = wide.At(3) }},
		{"a wide character", 1, func() { sink, _ = wide.At(0) }},
		{"one character cut out", 0, func() { sink, _ = ascii.Slice(2, 3) }},
		{"nothing cut out", 0, func() { sink, _ = ascii.Slice(2, 2) }},
		{"a part cut out", 1, func() { sink, _ = ascii.Slice(2, 5) }},
		{"the text of a digit", 0, func() { sink = StringOf(digits) }},
		{"the text of a number", 1, func() { sink = StringOf(number) }},
		{"short + short", 1, func() { sink, _ = Concat(short, short) }},
		{"long + short", 2, func() { sink, _ = Concat(long, short) }},
		{"nothing + long", 0, func() { sink, _ = Concat(String("").Str(), long) }},
		{"grown + short, with room", 1, func() {
			if s := grown.Str(); s.Growth(1) > 0 {
				return
			}
			grown, _ = grown.Str().Append("z")
		}},
		{"Ok", 1, func() { sink = Ok(Int(1)) }},
		{"a struct", 1, func() { sink = struct2.Struct(Int(1), Int(2)) }},
		{"Some", 0, func() { sink = Some(Int(1)) }},
	} {
		if got := testing.AllocsPerRun(100, c.f); got != c.want {
			t.Errorf("%s: %v allocations, want %v", c.name, got, c.want)
		}
	}
}

var sink Slot
