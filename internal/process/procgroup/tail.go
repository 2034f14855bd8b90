package procgroup

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Limits on the size of a tail. They are large enough to show why a process exited.
const (
	tailLines = 20
	tailBytes = 8 << 10
	lineBytes = 4 << 10 // maximum bytes of one line; the rest counts as another line
)

// tail stores the last lines of a process's standard error.
type tail struct {
	most  int // maximum bytes to store, in any number of lines; 0 for the limits tailBytes and tailLines
	mu    sync.Mutex
	lines []string
	bytes int
}

// capture reads r until it ends and stores the last lines. It calls each with every line; a very
// long line is passed in several pieces, to limit memory. It calls raw with all bytes unchanged.
func (t *tail) capture(r io.Reader, each func(string), raw func([]byte)) {
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

func (t *tail) addLine(b []byte, each func(string)) {
	s := strings.ToValidUTF8(strings.TrimSuffix(string(b), "\r"), "\ufffd")
	t.mu.Lock()
	t.lines = append(t.lines, s)
	t.bytes += len(s) + 1
	lines, most := tailLines, tailBytes
	if t.most > 0 {
		lines, most = t.most, t.most
	}
	for len(t.lines) > lines || t.bytes > most && len(t.lines) > 1 {
		t.bytes -= len(t.lines[0]) + 1
		t.lines = t.lines[1:]
	}
	t.mu.Unlock()
	if each != nil {
		each(s)
	}
}

// String returns the stored lines separated by newlines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
