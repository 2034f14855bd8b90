package screen

import "testing"

func TestEditor(t *testing.T) {
	for _, c := range []struct {
		keys, text string
		at         int
		now        outcome
		rest       string
	}{
		{"abc\rd", "abc", 3, entered, "d"},
		{"abc\nd", "abc", 3, entered, "d"},
		{"日本\x7fe\u0301", "日e\u0301", 3, typing, ""},
		{"one two  \x17x", "one x", 5, typing, ""},
		{"abc\x15d", "d", 1, typing, ""},
		{"abc\x1b[D\x1b[Dx", "axbc", 2, typing, ""},
		{"abc\x1b[D\x1b[D\x1b[C\x1b[C\x1b[C\x1b[Cx", "abcx", 4, typing, ""},
		{"abc\x01x\x05y", "xabcy", 5, typing, ""},
		{"abc\x1b[Hx\x1bOFy", "xabcy", 5, typing, ""},
		{"abc\x1b[1~\x1b[3~\x04", "c", 0, typing, ""},
		{"\x1b[D\x7f\x1b[3~\x1b[15~\x1b[1;5Ca", "a", 1, typing, ""},
		{"\x1ba\x08\u202e\x00\x0bb", "b", 1, typing, ""},
		{"a\tb", "a b", 3, typing, ""},
		{"\x04x", "", 0, ended, "x"},
		{"ab\x03c", "ab", 2, interrupted, "c"},
	} {
		var whole, bytes editor
		rest, now := whole.feed([]byte(c.keys))
		if string(whole.text) != c.text || whole.at != c.at || now != c.now || string(rest) != c.rest {
			t.Errorf("keys %q: text %q, cursor at %d, outcome %d, rest %q", c.keys, string(whole.text), whole.at, now, rest)
		}
		for i := range len(c.keys) - len(c.rest) { // feeding single bytes must have the same result
			rest, now = bytes.feed([]byte{c.keys[i]})
		}
		if string(bytes.text) != c.text || bytes.at != c.at || now != c.now || len(rest) > 0 {
			t.Errorf("keys %q byte by byte: text %q, cursor at %d, outcome %d, rest %q", c.keys, string(bytes.text), bytes.at, now, rest)
		}
	}
}

// TestWindow checks that a line that is too long for the window shows the part around the cursor.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		text   string
		left   int // number of characters between the cursor and the end of the text
		shown  string
		column int
	}{
		{"abc", 0, "abc", 3}, {"abcdefghij", 0, "defghij", 7}, {"abcdefghij", 3, "abcdefg", 7}, {"abcdefghij", 10, "abcdefg", 0}, {"日本語日本", 0, "語日本", 6}, {"日本語日本", 5, "日本語", 0},
	} {
		var e editor
		e.begin(c.text)
		e.at -= c.left
		if shown, column := e.window(8); shown != c.shown || column != c.column {
			t.Errorf("window of %s with the cursor %d characters before the end = %q, column %d; want %q, column %d", c.text, c.left, shown, column, c.shown, c.column)
		}
	}
}
