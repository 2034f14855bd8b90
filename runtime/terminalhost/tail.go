package terminalhost

import (
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// tail stores the last part of an output.
type tail struct {
	limit int

	mu  sync.Mutex
	b   []byte // stored bytes; at most twice the limit
	cut bool   // earlier output was dropped
}

func (t *tail) appendBytes(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if over := len(t.b) - t.limit; over > t.limit || over > 0 && t.limit < 64<<10 {
		t.b = t.b[:copy(t.b, t.b[over:])]
		t.cut = true
	}
}

// storedText returns the stored text in whole characters. cut reports whether earlier text was
// dropped. While the output has not ended, an incomplete last character is omitted.
func (t *tail) storedText(ended bool) (text string, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, cut := t.b, t.cut
	if over := len(b) - t.limit; over > 0 {
		b, cut = b[over:], true
	}
	if !ended {
		b = b[:len(b)-utf8cut.Unfinished(b)]
	}
	if cut {
		b = b[utf8cut.Rest(b):]
	}
	if text = strings.ToValidUTF8(string(b), "\ufffd"); len(text) > t.limit {
		text, cut = text[len(text)-t.limit:], true
		text = text[utf8cut.Rest(text):]
	}
	return text, cut
}
