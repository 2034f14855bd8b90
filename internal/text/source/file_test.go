package source

import "testing"

func TestPositions(t *testing.T) {
	f := NewFile("t.conc", []byte("ab\nçé😀x\r\n\nlast"))
	if f.Lines() != 4 {
		t.Fatalf("Lines() = %d, want 4", f.Lines())
	}
	for _, c := range []struct {
		at   Pos
		want Position
	}{
		{0, Position{1, 1}}, {2, Position{1, 3}}, {3, Position{2, 1}},
		{5, Position{2, 2}},  // é begins at byte 5 and is the second code point
		{11, Position{2, 4}}, // x follows a character of four bytes
		{14, Position{3, 1}}, {15, Position{4, 1}}, {19, Position{4, 5}},
		{500, Position{4, 5}}, // an offset beyond the text is the end of the text
	} {
		if got := f.Position(c.at); got != c.want {
			t.Errorf("Position(%d) = %v, want %v", c.at, got, c.want)
		}
	}
	for i, want := range []string{"ab", "çé😀x", "", "last"} {
		if got := string(f.Line(i + 1)); got != want {
			t.Errorf("Line(%d) = %q, want %q", i+1, got, want)
		}
	}
	if got := f.LineStart(4); got != 15 {
		t.Errorf("LineStart(4) = %d, want 15", got)
	}
	if got := f.Slice(Span{15, 17}); got != "la" {
		t.Errorf("Slice = %q, want la", got)
	}
}

func TestEmptyFile(t *testing.T) {
	f := NewFile("e.conc", nil)
	if f.Lines() != 1 || len(f.Line(1)) != 0 || f.Position(0) != (Position{1, 1}) {
		t.Errorf("empty text: got %d lines, first line %q, start at %v; want one empty line", f.Lines(), f.Line(1), f.Position(0))
	}
}

func TestSpans(t *testing.T) {
	a, b := Span{2, 5}, Span{4, 9}
	if got := Join(a, b); got != (Span{2, 9}) {
		t.Errorf("Join = %v, want {2 9}", got)
	}
	if !(Span{1, 9}).Contains(a) || a.Contains(b) || !a.Contains(a) {
		t.Error("Contains returns a wrong result")
	}
	if !(Span{}).IsZero() || a.IsZero() {
		t.Error("IsZero returns a wrong result")
	}
}

// TestPos checks that Pos is the inverse of Position, and the results for positions outside the
// text.
func TestPos(t *testing.T) {
	text := "aé漢\n\n😀b\nlast"
	f := NewFile("a.conc", []byte(text))
	for p := range text {
		at := f.Position(Pos(p))
		if got := f.Pos(at.Line, at.Column); got != Pos(p) {
			t.Errorf("Pos(%s) = %d, want %d", at, got, p)
		}
	}
	for at, want := range map[Position]Pos{{1, 100}: 6, {2, 5}: 7, {9, 1}: Pos(len(text)), {0, 1}: Pos(len(text)), {3, 0}: 8} {
		if got := f.Pos(at.Line, at.Column); got != want {
			t.Errorf("Pos(%s) = %d, want %d", at, got, want)
		}
	}
}

// TestMasked checks that masking changes no position, and that Original returns the original text.
func TestMasked(t *testing.T) {
	f := NewFile("x", []byte("a = sä€😀\r\nb"))
	m := f.Masked([]Span{{Start: 4, End: Pos(len(f.Text)) - 1}})
	if got, want := m.String(), "a = *·•🔒\r\nb"; got != want || m.Name != "x" {
		t.Errorf("masked text = %q, want %q", got, want)
	}
	if second := m.Masked([]Span{{Start: 0, End: 1}}); string(second.Original()) != f.String() || string(m.Original()) != f.String() {
		t.Errorf("Original() = %q, want the original text", second.Original())
	}
}
