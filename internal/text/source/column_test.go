package source

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLongLineColumns: columns in long lines are those counted from the line's
// start, whatever the characters.
func TestLongLineColumns(t *testing.T) {
	for name, part := range map[string]string{"ascii": "abcdefg ", "wide": "aé漢😀", "not UTF-8": "a\xff\x80é\xc3", "stray": "\x80"} {
		line := strings.Repeat(part, 5000/len(part))
		f := NewFile("a.conc", []byte("first\n"+line+"\nlast"))
		for p := range len(line) + 1 {
			want := Position{2, utf8.RuneCountInString(line[:p]) + 1}
			if got := f.Position(Pos(6 + p)); got != want {
				t.Fatalf("%s: %d is %s, want %s", name, p, got, want)
			}
		}
	}
}

// However long a line is, a column is counted over a few hundred bytes.
func TestLongLineWork(t *testing.T) {
	f := NewFile("a.conc", []byte(strings.Repeat("naïve;", 50_000)))
	for p := range Pos(len(f.Text)) {
		if m := f.markBefore(1, p); m.at > p || p-m.at > 2*stride {
			t.Fatalf("the column of %d is counted from %d", p, m.at)
		}
	}
}
