package value

import (
	"strings"
	"testing"
)

// TestStringsOfEveryLength: a String has its text, however it was made and
// wherever the text is stored. It does not change when the memory that it was
// made from does.
func TestStringsOfEveryLength(t *testing.T) {
	for n := range 200 {
		want := strings.Repeat("aé", n)[:n/2*3+n%2]
		text := []byte(want)
		made := []Slot{StringOf(text), StringOwning([]byte(want)), StringOwning(append(make([]byte, 0, 1000), want...))}
		for half := range text {
			if s, _ := StringOf(text[:half]).Str().Append(want[half:]); s.AsString() != want {
				t.Fatalf("%d and %d bytes are joined to %q", half, len(want)-half, s.AsString())
			}
		}
		clear(text)
		for _, s := range made {
			if s.Kind() != KindString || s.AsString() != want || !Equal(s, String(want)) {
				t.Fatalf("%q, want %q", s.AsString(), want)
			}
		}
	}
}

// TestSplitOfEveryLength compares parts with those of strings.Split. Their array grows and shrinks
// at both ends like any other.
func TestSplitOfEveryLength(t *testing.T) {
	for n := 1; n < 70; n++ {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.Repeat("x", i%4)
		}
		a := Split(strings.Join(parts, ", "), ", ", n, nil).Array()
		if a.Len != n {
			t.Fatalf("%d parts, want %d", a.Len, n)
		}
		for i, want := range parts {
			if got := a.At(i).AsString(); got != want {
				t.Fatalf("part %d of %d is %q, want %q", i, n, got, want)
			}
		}
		b := Own(a.Slot()).Array()
		b.Push(Int(1))
		b.Insert(0, String("first"))
		if b.Remove(1).AsString() != "" || b.Len != n+1 || b.At(0).AsString() != "first" || b.At(n) != Int(1) {
			t.Fatalf("%d parts become %s", n, Text(b.Slot()))
		}
	}
}

// TestLongArrayAsJSON: the text is right although its room is estimated from the
// first elements, whether those are longer or shorter than the others.
func TestLongArrayAsJSON(t *testing.T) {
	for _, lengths := range [][2]int{{1, 300}, {300, 1}, {7, 7}} {
		a, want := NewArray(), []string{}
		for i := range 1000 {
			text := strings.Repeat("y", lengths[i*2/1000])
			a.Push(String(text))
			want = append(want, `"`+text+`"`)
		}
		if got := string(AppendJSON([]byte("x"), a.Slot())); got != "x["+strings.Join(want, ",")+"]" {
			t.Errorf("%v: %d bytes", lengths, len(got))
		}
		b := &Bound{Max: 4000, Exceeded: Faultf("too long")}
		func() {
			defer func() {
				if r := recover(); r != b.Exceeded {
					t.Errorf("%v: a text beyond its bound: %v", lengths, r)
				}
			}()
			AppendJSONWithin(nil, a.Slot(), b)
		}()
	}
}
