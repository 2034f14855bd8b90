package terminalhost

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// tail is the end of an output.
type tail struct {
	limit int

	mu  sync.Mutex
	b   []byte // twice limit at most
	cut bool   // there was more
}

func (t *tail) add(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if over := len(t.b) - t.limit; over > t.limit || over > 0 && t.limit < 64<<10 {
		t.b = t.b[:copy(t.b, t.b[over:])]
		t.cut = true
	}
}

// text is whole characters of it, and whether there was more. A character that is not yet whole is left
// for later while the output has not ended.
func (t *tail) text(ended bool) (text string, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, cut := t.b, t.cut
	if over := len(b) - t.limit; over > 0 {
		b, cut = b[over:], true
	}
	if !ended {
		b = wholeEnd(b)
	}
	if cut {
		b = wholeBegin(b)
	}
	if text = strings.ToValidUTF8(string(b), "\ufffd"); len(text) > t.limit {
		text, cut = string(wholeBegin([]byte(text[len(text)-t.limit:]))), true
	}
	return text, cut
}

// wholeBegin leaves out the rest of a character at the beginning.
func wholeBegin(b []byte) []byte {
	for n := 0; n < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); n++ {
		b = b[1:]
	}
	return b
}

// wholeEnd leaves out the beginning of a character at the end.
func wholeEnd(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if at := len(b) - n; utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return b[:at]
			}
			break
		}
	}
	return b
}
