// Package screen manages some lines at the bottom of a terminal: a view that is redrawn when it
// changes, and below the view a prompt with the typed text. Other output is written above these
// lines and remains there. The package uses only the terminal's normal scrolling, not the alternate
// screen, and never hides the cursor.
//
// While only a view is shown, the cursor is at the first character of the view. Therefore the view
// can be erased even if the terminal has changed the line breaks after a resize.
package screen

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// Color is the colour of a line's mark.
type Color uint8

// Colours of marks.
const (
	Plain Color = iota
	Green
	Yellow
	Cyan
	Red
)

var codes = [...]string{Red: "\x1b[31m", Green: "\x1b[32m", Yellow: "\x1b[33m", Cyan: "\x1b[36m"}

// Line is a line of the view. It consists of a mark and a text without control characters.
type Line struct {
	Mark  string
	Color Color
	Text  string
}

// Options are the options of New.
type Options struct {
	// Out is the terminal. All other output to the terminal must be written through Writer.
	Out io.Writer
	// Size returns the size of the terminal in cells.
	Size func() (width, height int)
	// Color enables the colours of marks.
	Color bool

	// Keys is the input. Raw puts the terminal into raw mode until restore is called. Interrupt is
	// called when the user presses Ctrl-C, which causes no signal in raw mode.
	Keys      io.Reader
	Raw       func() (restore func(), err error)
	Interrupt func()
	Now       func() time.Time
}

// Screen draws lines at the bottom of a terminal. It is safe for concurrent use.
type Screen struct {
	o Options

	mu      sync.Mutex
	drawn   []string  // lines that the terminal currently shows
	cursor  int       // index of the line with the cursor
	size    [2]int    // size of the terminal when drawn was drawn
	at      time.Time // time when drawn was drawn
	midline bool      // the text above the drawn lines does not end with a line feed
	view    func(width, most int) []Line

	turns
	keys
	prompt *prompt // the open prompt, or nil
	stale  bool    // the last prompt was withdrawn before the user answered it
}

// New returns a Screen that shows nothing.
func New(o Options) *Screen {
	s := &Screen{o: o}
	s.keys.begin()
	return s
}

// Refresh draws the changes. The caller should call it about eight times per second.
func (s *Screen) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw()
}

// Show sets the view. view returns the lines for a width in cells and a maximum number of lines.
// The next Refresh draws the view.
func (s *Screen) Show(view func(width, most int) []Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = view
}

// Clear erases the drawn lines and removes the view. It closes an open prompt and restores the
// terminal.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = nil
	s.shut()
	s.write(s.erased())
}

// soon is the minimum time between two drawings caused by text. It avoids redrawing for each of
// many writes.
const soon = 30 * time.Millisecond

// Writer returns a writer that prints above the view. w must write to the same terminal as
// Options.Out.
func (s *Screen) Writer(w io.Writer) io.Writer { return above{s, w} }

type above struct {
	s *Screen
	w io.Writer
}

func (a above) Write(b []byte) (int, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.s.pass(a.w, b)
}

// pass writes text above the drawn lines. The caller holds mu.
func (s *Screen) pass(w io.Writer, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.write(s.erased())
	text := b
	if s.prompt != nil { // in raw mode a line feed does not return the cursor to the first column
		text = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	if _, err := w.Write(text); err != nil {
		return 0, err
	}
	s.midline = b[len(b)-1] != '\n'
	if s.prompt != nil || s.o.Now().Sub(s.at) > soon {
		s.draw()
	}
	return len(b), nil
}

// write writes to the terminal. It ignores errors, because the terminal is the only output for
// reporting them.
func (s *Screen) write(text string) {
	if text != "" {
		_, _ = io.WriteString(s.o.Out, text)
	}
}

// home returns the sequence that moves the cursor to the start of the drawn lines.
func (s *Screen) home() string {
	if len(s.drawn) == 0 {
		return ""
	}
	if s.cursor == 0 {
		return "\r"
	}
	return "\r\x1b[" + strconv.Itoa(s.cursor) + "A"
}

// erased returns the sequence that erases the drawn lines. It records that no lines are drawn.
func (s *Screen) erased() string {
	if len(s.drawn) == 0 {
		return ""
	}
	text := s.home() + "\x1b[J"
	s.drawn, s.cursor = nil, 0
	return text
}

// draw draws the changes. The caller holds mu.
func (s *Screen) draw() {
	if s.midline && s.prompt == nil || s.view == nil && s.prompt == nil && len(s.drawn) == 0 {
		return
	}
	width, height := s.o.Size()
	var below []string // lines of the prompt, below the view
	column := 0
	if s.prompt != nil {
		if s.prompt.page != nil {
			below = s.prompt.pageLines(width-1, max(height-1, 2))
		} else {
			below, column = s.prompt.lines(width-1, max(height-1, 3), s.o.Now(), s.turns.waiting())
		}
	}
	var lines []string
	if most := height - 2 - len(below); most > 0 && s.view != nil {
		for _, l := range s.view(width-1, most) {
			lines = append(lines, s.line(l, width-1))
		}
	}
	lines = append(lines, below...)
	size := [2]int{width, height}
	if slices.Equal(lines, s.drawn) && size == s.size {
		if s.prompt != nil && column != s.prompt.column {
			s.prompt.column = column
			s.write("\r" + right(column))
		}
		return
	}
	s.size, s.at = size, s.o.Now()
	if len(lines) == 0 {
		s.write(s.erased())
		return
	}
	s.write(s.picture(lines, column))
}

// picture returns the sequences that replace the drawn lines by lines.
func (s *Screen) picture(lines []string, column int) string {
	var b strings.Builder
	b.WriteString(s.home())
	if s.midline { // show the prompt although the last line of the text above is incomplete
		b.WriteString("\r\n")
		s.midline = false
	}
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(l + "\x1b[K")
	}
	if len(lines) < len(s.drawn) {
		b.WriteString("\x1b[J")
	}
	s.drawn, s.cursor = lines, len(lines)-1
	if s.prompt != nil {
		s.prompt.column = column
		b.WriteString("\r" + right(column))
		return b.String()
	}
	if s.cursor > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(s.cursor) + "A")
	}
	b.WriteByte('\r')
	s.cursor = 0
	return b.String()
}

// right returns the sequence that moves the cursor n columns to the right.
func right(n int) string {
	if n == 0 {
		return ""
	}
	return "\x1b[" + strconv.Itoa(n) + "C"
}

// line returns a line of the view as text with control sequences.
func (s *Screen) line(l Line, width int) string {
	text := terminal.Cut(l.Text, width-terminal.Width(l.Mark)-1)
	mark := l.Mark
	if s.o.Color && l.Color != Plain {
		mark = codes[l.Color] + mark + "\x1b[0m"
	}
	return strings.TrimRight(mark+" "+text, " ")
}
