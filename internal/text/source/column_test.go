package source

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLongLineColumns checks that columns in long lines equal the number of code points from the
// start of the line, for different characters and for invalid UTF-8.
func TestLongLineColumns(t *testing.T) {
	for name, part := range map[string]string{"ascii": "abcdefg ", "wide": "aé漢😀", "not UTF-8": "a\xff\x80é\xc3", "stray": "\x80"} {
		line := strings.Repeat(part, 5000/len(part))
		f := NewFile("a.conc", []byte("first\n"+line+"\nlast"))
		for p := range len(line) + 1 {
			want := Position{2, utf8.RuneCountInString(line[:p]) + 1}
			if got := f.Position(Pos(6 + p)); got != want {
				t.Fatalf("line of %s: Position(%d) = %s, want %s", name, p, got, want)
			}
		}
	}
}

// TestLongLineWork checks that computing a column reads at most a few hundred bytes, however long
// the line is.
func TestLongLineWork(t *testing.T) {
	f := NewFile("a.conc", []byte(strings.Repeat("naïve;", 50_000)))
	for p := range Pos(len(f.Text)) {
		if m := f.markBefore(1, p); m.at > p || p-m.at > 2*stride {
			t.Fatalf("the column of position %d is counted from position %d, which is too far", p, m.at)
		}
	}
}
