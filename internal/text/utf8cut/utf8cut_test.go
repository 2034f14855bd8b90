package utf8cut

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// mixed contains characters of one to four bytes.
const mixed = "aé€😀z😀€éa"

// TestCuts checks that each cut of a valid text at Before produces two valid texts, and that the
// cut is less than one character before the limit.
func TestCuts(t *testing.T) {
	for most := -1; most <= len(mixed)+1; most++ {
		at := Before(mixed, most)
		if want := min(max(most, 0), len(mixed)); at > want || want-at >= utf8.UTFMax {
			t.Errorf("Before(%d) = %d, want at most 3 bytes less", most, at)
		}
		if !utf8.ValidString(mixed[:at]) || !utf8.ValidString(mixed[at:]) {
			t.Errorf("Before(%d) = %d, which is inside a character", most, at)
		}
		if b := Before([]byte(mixed), most); b != at {
			t.Errorf("Before(%d) = %d for a string, %d for bytes", most, at, b)
		}
	}
}

// TestPieces cuts a text at each byte. The bytes that Unfinished and Rest report must complete the
// cut character.
func TestPieces(t *testing.T) {
	for at := range len(mixed) + 1 {
		head, tail := mixed[:at], mixed[at:]
		begun, rest := Unfinished(head), Rest(tail)
		if !utf8.ValidString(head[:len(head)-begun]) || !utf8.ValidString(tail[rest:]) {
			t.Errorf("cut at %d: Unfinished = %d, Rest = %d; the remaining parts are not valid UTF-8", at, begun, rest)
		}
		if (begun == 0) != utf8.ValidString(head) || (rest == 0) != utf8.ValidString(tail) {
			t.Errorf("cut at %d: Unfinished = %d, Rest = %d; want 0 exactly for a valid part", at, begun, rest)
		}
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"a😀", 4, "a…"},
		{"a😀", 5, "a😀"},
		{"a\xffb\xffcd", 4, "ab…"},
		{"abc", -1, "…"},
	} {
		if got := Short(c.text, c.most); got != c.want {
			t.Errorf("Short(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

// FuzzCuts checks that all cuts of arbitrary text are inside the text, at most one character before
// the limit, and between characters if the text is valid.
func FuzzCuts(f *testing.F) {
	f.Add(mixed, 5)
	f.Add(strings.Repeat("\x80", 9), 4)
	f.Fuzz(func(t *testing.T, s string, most int) {
		at := Before(s, most)
		if want := min(max(most, 0), len(s)); at > want || want-at >= utf8.UTFMax || utf8.ValidString(s) && !utf8.ValidString(s[:at]) {
			t.Errorf("Before(%q, %d) = %d", s, most, at)
		}
		if n := Unfinished(s); n > len(s) || n >= utf8.UTFMax || n > 0 && utf8.FullRuneInString(s[len(s)-n:]) {
			t.Errorf("Unfinished(%q) = %d", s, n)
		}
		if n := Rest(s); n > len(s) || n >= utf8.UTFMax {
			t.Errorf("Rest(%q) = %d", s, n)
		}
		if short := Short(s, most); len(s) > most && !utf8.ValidString(short) {
			t.Errorf("Short(%q, %d) = %q, which is not valid UTF-8", s, most, short)
		}
	})
}

func TestInvalid(t *testing.T) {
	for text, want := range map[string]int{"": -1, "aé€😀": -1, "\xff": 0, "é\xc3": 2, "a\xed\xa0\x80": 1, "\ufffd": -1, "a\xc0\x80b": 1} {
		if got := Invalid([]byte(text)); got != want {
			t.Errorf("Invalid(%q) = %d, want %d", text, got, want)
		}
	}
}
