package view

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// Escape sequences of the styles on a terminal with colours.
const (
	plain   = ""
	strong  = "1"
	faint   = "2"
	turned  = "7"
	red     = "31"
	green   = "32"
	yellow  = "33"
	current = "1;36"
)

// piece is a text with its style.
type piece struct{ style, text string }

// row is a row of the screen.
type row []piece

func textRow(style, text string) row { return row{{style, text}} }

// Draw returns the screen as height rows, each at most width cells wide.
func (b *View) Draw(width, height int) []string {
	width, height = max(width, 1), max(height, 1)
	var rows []row
	if height > 2 {
		rows = append(rows, textRow(turned, b.title()))
		rows = append(rows, b.body(width, height-2)...)
	}
	rows = append(rows, b.bottom(width))
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = b.render(r, width, i == 0 && height > 2)
	}
	return out
}

// title returns the first row, which shows the position.
func (b *View) title() string {
	at := fmt.Sprintf("effect %d of %d", b.s.Effects, len(b.r.Effects))
	switch {
	case b.s.Ended:
		at = fmt.Sprintf("the end, after %d effects", len(b.r.Effects))
	case b.s.Effect == 0:
		at = fmt.Sprintf("after effect %d of %d", b.s.Effects, len(b.r.Effects))
	}
	if b.s.Task > 1 {
		at += fmt.Sprintf(", task %d", b.s.Task)
	}
	return fmt.Sprintf(" %s  %s  %s", b.Name, b.r.Name(), at)
}

// bottom returns the last row, which shows the prompt, the message, or the list of keys.
func (b *View) bottom(width int) row {
	switch {
	case b.asking != nil:
		return textRow(strong, tail(b.asking.prompt+string(b.asking.text)+"▏", width)) // shows the end of the input
	case b.message != "":
		return textRow(yellow, firstLine(b.message))
	}
	return textRow(faint, "→ ← effect  ↓ ↑ line  g go to  / search  f fork  ? help  q quit")
}

// tail returns the last most cells of a text.
func tail(text string, most int) string {
	r := []rune(text)
	for len(r) > 0 && terminal.Width(string(r)) > most {
		r = r[1:]
	}
	return string(r)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// leastBeside is the minimum screen width, in cells, for drawing the effects to the left of the
// source. On a narrower screen, the effects are above the source.
const leastBeside = 72

func (b *View) body(width, height int) []row {
	if b.help {
		return padRows(b.helping(), height)
	}
	if width < leastBeside {
		top := max(height/4, 1)
		out := append(padRows(b.effects(width, top), top), textRow(faint, strings.Repeat("─", width)))
		return padRows(append(out, b.locationRows(width, height-top-1)...), height)
	}
	left := min(max(width*2/5, 30), 60)
	all, right := padRows(b.effects(left, height), height), padRows(b.locationRows(width-left-3, height), height)
	for i := range all {
		all[i] = append(append(padded(all[i], left), piece{faint, " │ "}), right[i]...)
	}
	return all
}

func (b *View) helping() (out []row) {
	for _, c := range commands {
		out = append(out, textRow(plain, "  "+c.what))
	}
	return append(out, nil, textRow(faint, "  done ✓   did not happen ✗   unknown ?   pending …   any key goes back"))
}

// padRows appends empty rows until there are n.
func padRows(rows []row, n int) []row {
	for len(rows) < n {
		rows = append(rows, nil)
	}
	return rows[:max(n, 0)]
}

// marks maps the status of effects to marks.
var marks = map[string]piece{
	timetravel.Done: {green, "✓"}, timetravel.None: {red, "✗"}, timetravel.Unknown: {yellow, "?"}, timetravel.Pending: {yellow, "…"},
}

// effects returns rows for the effects around the position.
func (b *View) effects(width, height int) (out []row) {
	all := b.r.Effects
	if len(all) == 0 {
		return []row{textRow(faint, "the run has no effects")}
	}
	at := int(min(b.s.Effects, int64(len(all)))) - 1
	from := max(min(at-height/2, len(all)-height), 0)
	digits := len(fmt.Sprint(len(all)))
	for i := from; i < len(all) && len(out) < height; i++ {
		x := &all[i]
		pointer, style := "  ", plain
		if i == at {
			pointer, style = "▸ ", current
		}
		place := x.At
		if file, rest, ok := strings.Cut(place, ":"); ok && file == b.r.Name() {
			place = rest
		}
		text := fmt.Sprintf(" %s %s", x.Kind, brief(x))
		room := width - terminal.Width(pointer) - digits - 2 - terminal.Width(place) - 1
		if room < 8 {
			room, place = width-terminal.Width(pointer)-digits-2, ""
		}
		text = clean(text, room)
		r := row{{style, fmt.Sprintf("%s%*d ", pointer, digits, x.N)}, marks[x.Status], {style, text}}
		if place != "" {
			r = append(padded(r, width-terminal.Width(place)), piece{faint, place})
		}
		out = append(out, r)
	}
	return out
}

// brief returns a short description of an effect.
func brief(x *timetravel.Effect) string {
	if x.Of > 0 {
		return fmt.Sprintf("of %d", x.Of)
	}
	if text := string(x.Request); text != "{}" {
		return text
	}
	return ""
}

// locationRows returns rows for the position: the source, the calls with their variables, and the
// effect.
func (b *View) locationRows(width, height int) (out []row) {
	if len(b.s.Frames) == 0 {
		if b.s.Ended {
			return append([]row{textRow(strong, "end of the recording")}, b.asked(width)...)
		}
		return append([]row{textRow(faint, "in the standard library")}, b.asked(width)...)
	}
	f := &b.s.Frames[min(b.frame, len(b.s.Frames)-1)]
	info := append(b.variables(f, width), b.asked(width)...)
	source := min(max(height-len(info)-1, height/3), height)
	out = b.source(f, width, source)
	out = append(out, nil)
	return append(out, info...)
}

// source returns rows for the source text around the line of a frame.
func (b *View) source(f *timetravel.Frame, width, height int) (out []row) {
	text, ok := b.r.Text(f.File)
	if !ok {
		return []row{textRow(faint, f.At)}
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	from := max(min(f.Line-1-height/2, len(lines)-height), 0)
	digits := len(fmt.Sprint(len(lines)))
	for i := from; i < len(lines) && len(out) < height; i++ {
		pointer, style := "  ", plain
		if i == f.Line-1 {
			pointer, style = "▸ ", current
		}
		out = append(out, row{{style, pointer}, {faint, fmt.Sprintf("%*d ", digits, i+1)}, {style, clean(lines[i], width-3-digits)}})
	}
	return out
}

// variables returns rows for the running calls, and for the variables of the call at.
func (b *View) variables(at *timetravel.Frame, width int) (out []row) {
	for i := range b.s.Frames {
		f := &b.s.Frames[i]
		style := faint
		if f == at {
			style = strong
		}
		out = append(out, textRow(style, clean(f.Function+"  "+f.At, width)))
		if f != at {
			continue
		}
		for _, v := range f.Locals {
			name := "  " + v.Name + " = "
			out = append(out, row{{plain, name}, {plain, clean(string(v.Value), width-terminal.Width(name))}})
		}
	}
	return out
}

// asked returns rows for the request and the result of the current effect.
func (b *View) asked(width int) []row {
	if b.s.Effect == 0 || b.s.Effect > int64(len(b.r.Effects)) {
		return nil
	}
	x := &b.r.Effects[b.s.Effect-1]
	out := []row{nil, textRow(strong, clean(fmt.Sprintf("%s, effect %d: %s", x.Kind, x.N, x.Status), width)),
		textRow(plain, clean("  request  "+string(x.Request), width))}
	switch {
	case x.Error != nil:
		out = append(out, textRow(red, clean("  error    "+x.Error.Kind+": "+x.Error.Message, width)))
	case len(x.Result) > 0:
		out = append(out, textRow(plain, clean("  result   "+string(x.Result), width)))
	}
	return out
}
