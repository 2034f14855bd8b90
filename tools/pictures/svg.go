// Package pictures draws the pictures of README.md from real runs. `make pictures` writes them.
// Otherwise the package's test compares the stored picture of the terminal with the current output
// of the command.
package pictures

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/testkit/testterm"
)

// The sizes of the drawn terminal, in pixels.
const (
	cellWidth  = 8
	lineHeight = 20
	fontSize   = 13.3
	margin     = 16
	titleBar   = 28
)

// colors maps the parameters of an SGR sequence to the colour of the text.
var colors = map[string]string{"": "#d6deeb", "32": "#7fd88f", "33": "#f5c978", "36": "#6fd3e8"}

// drawTerminal returns an SVG of a terminal's rows below the command that was typed. The text of
// the SVG can be selected. It is readable on light and on dark pages. title describes it for people
// who cannot see it.
func drawTerminal(title, command string, rows [][]testterm.Span, width int) (string, error) {
	for len(rows) > 0 && isBlank(rows[len(rows)-1]) {
		rows = rows[:len(rows)-1]
	}
	rows = append([][]testterm.Span{{{Column: 0, Text: "$ ", Style: "32"}, {Column: 2, Text: command}}}, rows...)
	w, h := width*cellWidth+2*margin, len(rows)*lineHeight+titleBar+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, "<title>%s</title>\n", escape.Replace(title))
	fmt.Fprintf(&b, `<rect x="0.5" y="0.5" width="%d" height="%d" rx="8" fill="#161b26" stroke="#3a4358"/>`+"\n", w-1, h-1)
	for i, color := range []string{"#e5695e", "#e0b04f", "#62b958"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="5" fill="%s"/>`+"\n", margin+4+18*i, margin+2, color)
	}
	fmt.Fprintf(&b, `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%.1f">`+"\n", fontSize)
	for y, spans := range rows {
		for _, s := range spans {
			text := strings.TrimRight(s.Text, " ")
			if text == "" {
				continue
			}
			color, ok := colors[s.Style]
			if !ok {
				return "", fmt.Errorf("no colour for the style %q of %q", s.Style, text)
			}
			indent := len(text) - len(strings.TrimLeft(text, " "))
			text = text[indent:]
			fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s" textLength="%d" xml:space="preserve">%s</text>`+"\n", margin+(s.Column+indent)*cellWidth,
				titleBar+margin+y*lineHeight+lineHeight/2, color, len([]rune(text))*cellWidth, escape.Replace(text))
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String(), nil
}

func isBlank(spans []testterm.Span) bool {
	for _, s := range spans {
		if strings.TrimSpace(s.Text) != "" {
			return false
		}
	}
	return true
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
