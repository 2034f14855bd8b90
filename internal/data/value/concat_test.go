package value

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func joined(t *testing.T, a Slot, text string) Slot {
	t.Helper()
	s, _ := Concat(a.Str(), String(text).Str())
	if s.AsString() != a.AsString()+text {
		t.Fatalf("Concat(%q, %q) = %q", a.AsString(), text, s.AsString())
	}
	return s
}

// TestAppendShares appends several texts to the same String. The results must not affect each
// other, and the String must not change.
func TestAppendShares(t *testing.T) {
	base := strings.Repeat("é", 200)
	a := joined(t, String(base), "1")
	b := joined(t, a, "2") // has spare capacity
	c := joined(t, b, "left")
	d := joined(t, b, "right") // copies, because b no longer ends where the tail ends
	e := joined(t, c, "x")
	f := joined(t, d, "y")
	g := joined(t, e, strings.Repeat("z", 10_000)) // does not fit into the spare capacity
	h := joined(t, e, "w")
	for i, x := range []struct {
		s    Slot
		want string
	}{
		{a, "1"}, {b, "12"}, {c, "12left"}, {d, "12right"}, {e, "12leftx"}, {f, "12righty"},
		{g, "12leftx" + strings.Repeat("z", 10_000)}, {h, "12leftxw"},
	} {
		if x.s.AsString() != base+x.want {
			t.Errorf("string %d without the base = %q", i, strings.TrimPrefix(x.s.AsString(), base))
		}
		if n := x.s.Str().Len(); n != 200+len(x.want) {
			t.Errorf("length of string %d = %d code points", i, n)
		}
	}
	if part, _ := c.Str().Slice(198, 204); joined(t, part, strings.Repeat("!", 300)).AsString() != "éé12le"+strings.Repeat("!", 300) || c.AsString() != base+"12left" {
		t.Error("an append to a slice changed the original String")
	}
	self, _ := Concat(b.Str(), b.Str())
	if self.AsString() != base+"12"+base+"12" || b.AsString() != base+"12" {
		t.Error("Concat of a String with itself returned a wrong text")
	}
}

// TestAppendRandomly compares random trees of appends with Go strings.
func TestAppendRandomly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	slots, texts := []Slot{String("")}, []string{""}
	for range 3000 {
		i := len(slots) - 1
		if r.IntN(4) == 0 {
			i = r.IntN(len(slots))
		}
		text := strings.Repeat(string(rune('a'+r.IntN(400))), r.IntN(40))
		s, _ := slots[i].Str().Append(text)
		if r.IntN(3) == 0 {
			s.Str().Len()
		}
		slots, texts = append(slots, s), append(texts, texts[i]+text)
	}
	for i, s := range slots {
		if s.AsString() != texts[i] || s.Str().Len() != String(texts[i]).Str().Len() || s.Str().Hash() != String(texts[i]).Str().Hash() {
			t.Fatalf("string %d = %q, want %q", i, s.AsString(), texts[i])
		}
	}
}

// TestAppendCopies limits the number of copied bytes: in a loop of appends, and in one append to a
// long String.
func TestAppendCopies(t *testing.T) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		s, all := String(""), 0
		x := String("xyz").Str()
		for range n {
			var copied int
			s, copied = Concat(s.Str(), x)
			all += copied
		}
		if all > 4*3*n+grownText*grownText {
			t.Errorf("%d appends of 3 bytes copied %d bytes", n, all)
		}
	}
	long := String(strings.Repeat("x", 1000)).Str()
	if s, copied := long.Append("y"); copied != 1001 || s.Str().Sub != textJoined {
		t.Errorf("one append to 1000 bytes copied %d bytes, want 1001", copied)
	}
}

func TestAppendGrowth(t *testing.T) {
	a := joined(t, joined(t, String(strings.Repeat("x", 300)), "y"), "z").Str()
	if n := a.Growth(10); n != 0 {
		t.Errorf("Growth within the spare capacity = %d, want 0", n)
	}
	if n := a.Growth(10_000); n < 10_000 {
		t.Errorf("Growth beyond the spare capacity = %d, want at least 10000", n)
	}
	if b := joined(t, a.plain(), "w"); b.Str().Growth(1) != 304 {
		t.Errorf("Growth without spare capacity = %d, want 304", b.Str().Growth(1))
	}
}

func (x *Str) plain() Slot { return String(x.S) }
