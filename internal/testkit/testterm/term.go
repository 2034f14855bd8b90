// Package testterm provides a terminal for tests. It contains an emulator of the display and a
// pseudo-terminal on which a command runs. It supports the escape sequences that Concerto's output
// may use, and records any others. hinshun/vt10x and charmbracelet/x/vt fail TestTerm: they lose a
// wide character that does not fit into the last column, and a combining one after a wide one.
package testterm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// Term emulates a display. It is safe for concurrent use.
type Term struct {
	mu            sync.Mutex
	width, height int
	rows          [][]cell
	x, y          int
	pending       bool     // the last column is written, so the next character wraps
	style         string   // style of the next character; "" for none
	hidden        bool     // the cursor is hidden
	above         []string // lines scrolled off the top
	first         *screen  // first screen while the second screen is shown; else nil
	rest          []byte   // incomplete sequence at the end of the output
	odd           []string // unsupported sequences
	changed       chan struct{}
	drawn         int // number of bytes written
}

// cell is one column of a row.
type cell struct {
	text  string // "" for the second half of a wide character
	style string
}

// New returns an empty Term.
func New(width, height int) *Term {
	t := &Term{width: width, height: height, changed: make(chan struct{})}
	t.rows = make([][]cell, height)
	for i := range t.rows {
		t.rows[i] = blank(width)
	}
	return t
}

func blank(n int) []cell { return slices.Repeat([]cell{{text: " "}}, n) }

// Resize changes the size as terminals without reflow do. It cuts wide lines and scrolls excess
// rows off the top.
func (t *Term) Resize(width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.width, t.height = width, height
	t.fit()
}

// fit adapts the rows to the size.
func (t *Term) fit() {
	width, height := t.width, t.height
	for i, r := range t.rows {
		if len(r) > width {
			t.rows[i] = r[:width:width]
		} else {
			t.rows[i] = append(r, blank(width-len(r))...)
		}
	}
	for len(t.rows) > height {
		if t.y < len(t.rows)-1 {
			t.rows = t.rows[:len(t.rows)-1]
			continue
		}
		if t.first == nil {
			t.above = append(t.above, lineText(t.rows[0]))
		}
		t.rows = t.rows[1:]
		t.y--
	}
	for len(t.rows) < height {
		t.rows = append(t.rows, blank(width))
	}
	t.pending = false
	t.x = min(t.x, width-1)
}

// Write shows b.
func (t *Term) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drawn += len(b)
	text := append(t.rest, b...)
	for len(text) > 0 {
		n := t.showNext(text)
		if n == 0 {
			break
		}
		text = text[n:]
	}
	t.rest = append([]byte(nil), text...)
	close(t.changed)
	t.changed = make(chan struct{})
	return len(b), nil
}

// showNext shows the first character or sequence, and returns its length, or 0 if it is incomplete.
func (t *Term) showNext(b []byte) int {
	switch b[0] {
	case '\r':
		t.x, t.pending = 0, false
		return 1
	case '\n':
		t.lineFeed()
		return 1
	case '\b':
		t.x, t.pending = max(t.x-1, 0), false
		return 1
	case 27:
		return t.executeSequence(b)
	}
	if b[0] < ' ' {
		t.odd = append(t.odd, fmt.Sprintf("%q", b[0]))
		return 1
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	t.put(r)
	return n
}

// lineFeed moves to the next line, scrolling at the bottom.
func (t *Term) lineFeed() {
	t.pending = false
	if t.y < t.height-1 {
		t.y++
		return
	}
	if t.first == nil { // lines scrolled off the second screen are lost
		t.above = append(t.above, lineText(t.rows[0]))
	}
	t.rows = append(t.rows[1:], blank(t.width))
}

func (t *Term) put(r rune) {
	w := terminal.Width(string(r))
	if w == 0 { // the character combines with the previous one
		at := t.x - 1
		if t.pending {
			at = t.x
		}
		for at > 0 && t.rows[t.y][at].text == "" {
			at--
		}
		if at >= 0 {
			t.rows[t.y][at].text += string(r)
		}
		return
	}
	if t.pending || t.x+w > t.width {
		t.x = 0
		t.lineFeed()
	}
	t.rows[t.y][t.x] = cell{string(r), t.style}
	for i := 1; i < w; i++ {
		t.rows[t.y][t.x+i] = cell{"", t.style}
	}
	if t.x += w; t.x >= t.width {
		t.x, t.pending = t.width-1, true
	}
}

// executeSequence executes an escape sequence.
func (t *Term) executeSequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	n := 2
	for n < len(b) && (b[n] < 0x40 || b[n] > 0x7e) {
		n++
	}
	if b[1] != '[' || n == len(b) {
		if b[1] == '[' {
			return 0
		}
		t.odd = append(t.odd, fmt.Sprintf("%q", b[:2]))
		return 2
	}
	args, what := string(b[2:n]), b[n]
	count := 1
	if v, err := strconv.Atoi(args); err == nil {
		count = v
	}
	t.pending = t.pending && what == 'm'
	switch {
	case what == 'A':
		t.y = max(t.y-count, 0)
	case what == 'B':
		t.y = min(t.y+count, t.height-1)
	case what == 'C':
		t.x = min(t.x+count, t.width-1)
	case what == 'K' && args == "":
		copy(t.rows[t.y][t.x:], blank(t.width-t.x))
	case what == 'J' && args == "":
		copy(t.rows[t.y][t.x:], blank(t.width-t.x))
		for y := t.y + 1; y < t.height; y++ {
			t.rows[y] = blank(t.width)
		}
	case what == 'm':
		t.style = strings.TrimLeft(args, "0")
	case what == 'H':
		y, x, _ := strings.Cut(args, ";")
		t.y, t.x, t.pending = parseIndex(y, t.height), parseIndex(x, t.width), false
	case args == "?1049" && what == 'h' && t.first == nil:
		t.first = &screen{t.rows, t.x, t.y}
		t.rows = nil
		for range t.height {
			t.rows = append(t.rows, blank(t.width))
		}
	case args == "?1049" && what == 'l' && t.first != nil:
		t.rows, t.x, t.y, t.first = t.first.rows, t.first.x, t.first.y, nil
		t.fit()
	case args == "?25" && what == 'l':
		t.hidden = true
	case args == "?25" && what == 'h':
		t.hidden = false
	default:
		t.odd = append(t.odd, fmt.Sprintf("%q", b[:n+1]))
	}
	return n + 1
}

// screen is the content of the first screen while the second is shown.
type screen struct {
	rows [][]cell
	x, y int
}

// parseIndex converts a row or column, which counts from 1, to an index.
func parseIndex(text string, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		n = 1
	}
	return min(max(n, 1), most) - 1
}

// lineText returns the text of cells without trailing blanks.
func lineText(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.text)
	}
	return strings.TrimRight(b.String(), " ")
}

// Span is a part of a row with one style.
type Span struct {
	Column int // index of the first cell, from 0
	Text   string
	Style  string // parameters of the SGR sequence; "" for none
}

// Spans returns the visible rows, split where the style changes.
func (t *Term) Spans() [][]Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([][]Span, len(t.rows))
	for y, cells := range t.rows {
		for x, c := range cells {
			if n := len(rows[y]); n > 0 && rows[y][n-1].Style == c.style {
				rows[y][n-1].Text += c.text
			} else {
				rows[y] = append(rows[y], Span{x, c.text, c.style})
			}
		}
	}
	return rows
}

// State is the display of a terminal.
type State struct {
	Above  []string // lines scrolled off the top
	Rows   []string // rows without trailing blanks, and without trailing empty rows
	X, Y   int      // cursor position
	Style  string   // style of the next character; "" for none
	Hidden bool     // the cursor is hidden
	Odd    []string // unsupported sequences
	Bytes  int      // number of bytes written so far
}

// Text returns all lines: those scrolled off the top and the visible ones.
func (s State) Text() string {
	return strings.Join(append(append([]string(nil), s.Above...), s.Rows...), "\n")
}

// State returns the current display.
func (t *Term) State() State {
	s, _ := t.snapshot()
	return s
}

func (t *Term) snapshot() (State, chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := State{Rows: []string{}, Above: append([]string(nil), t.above...), X: t.x, Y: t.y, Style: t.style, Hidden: t.hidden, Odd: append([]string(nil), t.odd...), Bytes: t.drawn}
	for _, r := range t.rows {
		s.Rows = append(s.Rows, lineText(r))
	}
	for len(s.Rows) > 0 && s.Rows[len(s.Rows)-1] == "" {
		s.Rows = s.Rows[:len(s.Rows)-1]
	}
	return s, t.changed
}

// Wait waits until the display satisfies match or done is closed. It reports whether match is
// satisfied.
func (t *Term) Wait(match func(State) bool, done <-chan struct{}) (State, bool) {
	for {
		s, changed := t.snapshot()
		if match(s) {
			return s, true
		}
		select {
		case <-changed:
		case <-done:
			s := t.State()
			return s, match(s)
		}
	}
}
