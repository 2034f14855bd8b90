package procgroup

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// Limits on the size of a tail. They are large enough to show why a process exited.
const (
	tailLines = 20
	tailBytes = 8 << 10
	lineBytes = 4 << 10 // maximum bytes of one line; the rest counts as another line
)

// tail stores the last lines of a process's standard error.
type tail struct {
	most int // maximum bytes to store, in any number of lines; 0 for the limits tailBytes and tailLines
	mu   sync.Mutex
	text []byte // the last lines, each with a newline, and before them lines that are no longer needed
}

// capture reads r until it ends and stores the last lines. It calls each with every line; a very
// long line is passed in several pieces, to limit memory. It calls raw with all bytes unchanged.
func (t *tail) capture(r io.Reader, each func([]byte), raw func([]byte)) {
	buf := make([]byte, 2*lineBytes)
	n := 0
	for {
		k, err := r.Read(buf[n:])
		if raw != nil && k > 0 {
			raw(buf[n : n+k])
		}
		n += k
		rest := buf[:n]
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			t.addLine(rest[:i], each)
			rest = rest[i+1:]
		}
		if len(rest) >= lineBytes || err != nil && len(rest) > 0 {
			t.addLine(rest, each)
			rest = nil
		}
		n = copy(buf, rest)
		if err != nil {
			return
		}
	}
}

// addLine does not allocate memory for a line, because a process may write any number of them.
func (t *tail) addLine(line []byte, each func([]byte)) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\ufffd"))
	}
	t.mu.Lock()
	if _, most := t.limits(); len(t.text) > 2*most {
		t.text = t.text[:copy(t.text, t.stored())]
	}
	t.text = append(append(t.text, line...), '\n')
	t.mu.Unlock()
	if each != nil {
		each(line)
	}
}

// limits returns the maximum number of lines and bytes to store.
func (t *tail) limits() (lines, most int) {
	if t.most > 0 {
		return t.most, t.most
	}
	return tailLines, tailBytes
}

// stored returns the last lines within the limits, and at least one line.
func (t *tail) stored() []byte {
	lines, most := t.limits()
	at := len(t.text)
	for n := 0; n < lines && at > 0; n++ {
		begin := bytes.LastIndexByte(t.text[:at-1], '\n') + 1
		if n > 0 && len(t.text)-begin > most {
			break
		}
		at = begin
	}
	return t.text[at:]
}

// String returns the stored lines separated by newlines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSuffix(t.stored(), []byte{'\n'}))
}
