package screen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// body is the Body of a prompt, broken into lines for a width.
type body struct {
	rows  []Row
	color bool
	width int
	lines []string
}

// wrapped returns the lines for a width. They are computed again only if the width has changed,
// because a body may have a million characters.
func (b *body) wrapped(width int) []string {
	if b.width == width {
		return b.lines
	}
	b.width, b.lines = width, Wrap(b.rows, b.color, width)
	return b.lines
}

// Wrap breaks rows into lines for a width, in cells.
func Wrap(rows []Row, color bool, width int) (lines []string) {
	for _, r := range rows {
		lead, indent := r.Lead, terminal.Width(r.Lead)
		if indent > width/2 {
			lead, indent = "", 0
		}
		for _, line := range terminal.Wrap(r.Text, width-indent) {
			line = strings.TrimRight(lead+line, " ")
			if color && r.Color != Plain {
				line = codes[r.Color] + line + "\x1b[0m"
			}
			lines = append(lines, line)
			lead = strings.Repeat(" ", indent)
		}
	}
	return lines
}

// withBody adds the body and what follows it to the lines of a question. The body has at most two
// thirds of most lines.
func (p *prompt) withBody(lines []string, width, most int) []string {
	var after []string
	if p.After != "" {
		after = terminal.Wrap(p.After, width)
	}
	all := p.body.wrapped(width)
	room := max(min(most-1-len(lines)-len(after), most*2/3), 1)
	hidden := 0
	shown := all
	if len(all) > room {
		hidden = len(all) - room + 1
		shown = append(slices.Clone(all[:room-1]), terminal.Cut(fmt.Sprintf("… %d more lines; v shows everything", hidden), width))
	}
	if p.Cut != nil {
		*p.Cut = hidden
	}
	return slices.Concat(lines, shown, after)
}

// timeLeft returns a time for people.
func timeLeft(left time.Duration) string {
	switch {
	case left < 2*time.Minute:
		return fmt.Sprintf("%d s left", int((left+time.Second-1)/time.Second))
	case left < 2*time.Hour:
		return fmt.Sprintf("%d min left", int((left+time.Minute-1)/time.Minute))
	}
	return fmt.Sprintf("%d h left", int((left+time.Hour-1)/time.Hour))
}

// page is the visible part of a body that is shown alone.
type page struct {
	top    int // first line
	height int // lines of the last drawing
}

// pageLines returns the lines of a page: a part of the body, and a line with the keys.
func (p *prompt) pageLines(width, most int) []string {
	all := p.body.wrapped(width)
	p.page.height = most - 1
	p.page.top = max(min(p.page.top, len(all)-p.page.height), 0)
	end := min(p.page.top+p.page.height, len(all))
	keys := fmt.Sprintf("lines %d to %d of %d; space, b, g, G: move, q: return", p.page.top+1, end, len(all))
	return append(slices.Clone(all[p.page.top:end]), terminal.Cut(keys, width))
}

// move handles a key, and returns false if it ends the view. The keys are those of less.
func (g *page) move(key string) bool {
	switch key {
	case "q", "Q", "\r", "\n", "\x1b":
		return false
	case " ", "f", "\x06", "\x1b[6~":
		g.top += g.height
	case "b", "\x02", "\x1b[5~":
		g.top -= g.height
	case "d", "\x04":
		g.top += g.height / 2
	case "u", "\x15":
		g.top -= g.height / 2
	case "j", "e", "\x1b[B":
		g.top++
	case "k", "y", "\x1b[A":
		g.top--
	case "g", "<", "\x1b[H":
		g.top = 0
	case "G", ">", "\x1b[F":
		g.top = 1 << 30
	}
	return true
}

// View shows rows on the whole screen until the user leaves them with q, Enter or Escape. The
// caller must have the turn; see Turn.
func (s *Screen) View(ctx context.Context, rows []Row) error {
	open, err := s.open(Prompt{Body: rows}, &page{})
	if err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	err = s.readPages(ctx, open)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prompt == open {
		s.write(s.erased())
		s.shut()
	}
	s.draw()
	return err
}

// readPages reads keys until the user leaves the view.
func (s *Screen) readPages(ctx context.Context, open *prompt) error {
	for {
		b, err := s.keys.next(ctx)
		if err != nil {
			return err
		}
		s.mu.Lock()
		more := true
		for len(b) > 0 && more {
			var key string
			key, b = nextKey(b)
			if key == string(rune(ctrlC)) {
				s.o.Interrupt()
				more = false
			} else {
				more = open.page.move(key)
			}
		}
		s.keys.putBack(b)
		s.draw()
		s.mu.Unlock()
		if !more {
			return nil
		}
	}
}

// nextKey splits the first key from input: a byte, or an escape sequence.
func nextKey(b []byte) (key string, rest []byte) {
	if len(b) > 2 && b[0] == escape && b[1] == '[' {
		for i := 2; i < len(b); i++ {
			if b[i] >= '@' && b[i] <= '~' {
				return string(b[:i+1]), b[i+1:]
			}
		}
	}
	return string(b[:1]), b[1:]
}
