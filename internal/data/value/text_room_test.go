package value

import (
	"strings"
	"testing"
)

// TestStringsOfEveryLength creates Strings of all lengths in several ways. They must have the right
// text, and must not change if the memory changes from which they were created.
func TestStringsOfEveryLength(t *testing.T) {
	for n := range 200 {
		want := strings.Repeat("aé", n)[:n/2*3+n%2]
		text := []byte(want)
		made := []Slot{StringOf(text), StringOwning([]byte(want)), StringOwning(append(make([]byte, 0, 1000), want...))}
		for half := range text {
			if s, _ := StringOf(text[:half]).Str().Append(want[half:]); s.AsString() != want {
				t.Fatalf("Concat of %d and %d bytes = %q", half, len(want)-half, s.AsString())
			}
		}
		clear(text)
		for _, s := range made {
			if s.Kind() != KindString || s.AsString() != want || !Equal(s, String(want)) {
				t.Fatalf("String = %q, want %q", s.AsString(), want)
			}
		}
	}
}

// TestSplitOfEveryLength compares the parts with strings.Split, and changes their array at both
// ends.
func TestSplitOfEveryLength(t *testing.T) {
	for n := 1; n < 70; n++ {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.Repeat("x", i%4)
		}
		a := Split(strings.Join(parts, ", "), ", ", n, nil).Array()
		if a.Len != n {
			t.Fatalf("Split returned %d parts, want %d", a.Len, n)
		}
		for i, want := range parts {
			if got := a.At(i).AsString(); got != want {
				t.Fatalf("part %d of %d = %q, want %q", i, n, got, want)
			}
		}
		b := Own(a.Slot()).Array()
		b.Push(Int(1))
		b.Insert(0, String("first"))
		if b.Remove(1).AsString() != "" || b.Len != n+1 || b.At(0).AsString() != "first" || b.At(n) != Int(1) {
			t.Fatalf("array of %d parts after changes at both ends = %s", n, Text(b.Slot()))
		}
	}
}

// TestLongArrayAsJSON encodes arrays whose first elements are shorter or longer than the others.
// The result must be right although its length is estimated from the first elements.
func TestLongArrayAsJSON(t *testing.T) {
	for _, lengths := range [][2]int{{1, 300}, {300, 1}, {7, 7}} {
		a, want := NewArray(), []string{}
		for i := range 1000 {
			text := strings.Repeat("y", lengths[i*2/1000])
			a.Push(String(text))
			want = append(want, `"`+text+`"`)
		}
		if got := string(AppendJSON([]byte("x"), a.Slot())); got != "x["+strings.Join(want, ",")+"]" {
			t.Errorf("lengths %v: JSON of %d bytes is wrong", lengths, len(got))
		}
		b := &Bound{Max: 4000, Exceeded: Faultf("too long")}
		func() {
			defer func() {
				if r := recover(); r != b.Exceeded {
					t.Errorf("lengths %v: text longer than its bound: panic %v", lengths, r)
				}
			}()
			AppendJSONWithin(nil, a.Slot(), b)
		}()
	}
}
