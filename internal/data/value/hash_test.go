package value

import (
	"fmt"
	"strings"
	"testing"
)

// TestHashOfTexts checks that few of many similar texts have the same hash, and that the hash of a
// text does not depend on its position in memory.
func TestHashOfTexts(t *testing.T) {
	seen := map[uint32]string{}
	same := 0
	note := func(text string) {
		h := hashText(text)
		if h == 0 || h != hashText(strings.Clone(text)) || h != StringOf([]byte(text)).Str().Hash() {
			t.Fatalf("two computations of the hash of %q differ; one is %d", text, h)
		}
		if other, ok := seen[h]; ok && other != text {
			same++
		}
		seen[h] = text
	}
	for n := range 2 * ShortText {
		note(strings.Repeat("\x00", n))
		for i := range n {
			note(strings.Repeat("a", i) + "b" + strings.Repeat("a", n-i-1))
		}
	}
	for i := range 100_000 {
		note(fmt.Sprint("key ", i))
		note(fmt.Sprintf("a longer key of %d bytes", i))
	}
	if same > 40 { // about ten collisions of 31 bits are expected among 200,000 texts
		t.Errorf("%d texts have the same hash as another text, want at most 40", same)
	}
}

// TestShortJoin compares ShortJoin with AppendText.
func TestShortJoin(t *testing.T) {
	texts := []string{"", "w", "four", "fives", "é", strings.Repeat("x", 11), strings.Repeat("y", JoinedText-1), strings.Repeat("z", JoinedText), strings.Repeat("!", JoinedText+1)}
	ints := []int64{0, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 99_999, 100_000, -1, -10, 1<<63 - 1, -1 << 63}
	var parts [][]Slot
	for _, s := range texts {
		for _, i := range ints {
			parts = append(parts, []Slot{String(s)}, []Slot{Int(i)}, []Slot{String(s), Int(i)}, []Slot{Int(i), String(s)}, []Slot{String(s), Int(i), String(s)})
		}
	}
	for n := range JoinedText + 1 {
		for _, i := range ints {
			parts = append(parts, []Slot{String(strings.Repeat("-", n)), Int(i)})
		}
	}
	parts = append(parts, nil, []Slot{Nil}, []Slot{Float(1)}, []Slot{Int(1), Bool(true)})
	joined := 0
	r := new(InternCache)
	for _, p := range parts {
		var want []byte
		for _, s := range p {
			want = AppendText(want, s)
		}
		var room [JoinedText]byte
		n, ok := ShortJoin(&room, p)
		if !ok {
			if len(want) <= JoinedText-maxDigits && len(p) > 0 && p[len(p)-1].Kind() == KindInt {
				t.Errorf("ShortJoin did not join %q", want)
			}
			continue
		}
		joined++
		if string(room[:n]) != string(want) {
			t.Errorf("ShortJoin of %q = %q", want, room[:n])
		}
		if s := r.Joined(&room, n); s.AsString() != string(want) {
			t.Errorf("String for %q = %s", want, Text(s))
		}
	}
	if joined < len(parts)/3 {
		t.Errorf("ShortJoin joined %d of %d texts, want more", joined, len(parts))
	}
}
