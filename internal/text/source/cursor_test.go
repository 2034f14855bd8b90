package source

import "testing"

// TestCursor checks that a cursor returns the same positions as the file, whatever the cursor's
// previous position was.
func TestCursor(t *testing.T) {
	f := NewFile("a.conc", []byte("one\n\ntwo é three\nfour\n"))
	n := len(f.Text)
	for first := 0; first <= n+1; first++ {
		for second := 0; second <= n+1; second++ {
			c := Cursor{File: f}
			c.Position(Pos(first))
			if got, want := c.Position(Pos(second)), f.Position(Pos(second)); got != want {
				t.Fatalf("cursor moved from %d to %d: Position = %s, want %s", first, second, got, want)
			}
		}
	}
	for p, want := range map[Pos]string{0: "1:1", 3: "1:4", 4: "2:1", 5: "3:1", 11: "3:6", 20: "4:3", 99: "5:1"} {
		if got := f.Position(p).String(); got != want {
			t.Errorf("Position(%d) = %s, want %s", p, got, want)
		}
	}
}
