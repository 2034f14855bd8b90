package view

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// clean returns at most most cells from the start of a text, without control characters.
func clean(text string, most int) string {
	if most <= 0 {
		return ""
	}
	text = utf8cut.Short(text, 8*most+64) // avoids processing a very long value
	text = strings.NewReplacer("\t", "    ", "\n", "⏎").Replace(terminal.Escape(text))
	return terminal.Cut(text, most)
}

// padded returns a row with spaces up to a width.
func padded(r row, width int) row {
	n := 0
	for _, p := range r {
		n += terminal.Width(p.text)
	}
	if n < width {
		r = append(r, piece{plain, strings.Repeat(" ", width-n)})
	}
	return r
}

// render formats a row as text of at most width cells. If whole is set, spaces fill the text up to
// that width.
func (b *View) render(r row, width int, whole bool) string {
	var out strings.Builder
	left := width
	for _, p := range r {
		text := clean(p.text, left)
		left -= terminal.Width(text)
		if whole {
			text += strings.Repeat(" ", max(left, 0))
			left = 0
		}
		if p.style == plain || !b.Color || text == "" {
			out.WriteString(text)
			continue
		}
		out.WriteString("\x1b[" + p.style + "m" + text + "\x1b[m")
	}
	return strings.TrimRight(out.String(), " ")
}
