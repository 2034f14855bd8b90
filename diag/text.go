package diag

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/source"
)

// TextOptions says how Text renders.
type TextOptions struct {
	Color bool // with terminal colours; the caller knows whether that fits
}

// Text writes diagnostics for people, one after the other with a blank line
// between: where and what, the source line with carets under the place, the
// labelled places, the hints. The only errors are w's.
//
//	main.conc:3:8: error[E0101]: expected `:`, found `Int`
//	  |
//	3 | fn f(x Int) {}
//	  |        ^^^
//	  = hint: write `:` before `Int`
func Text(w io.Writer, ds []*Diagnostic, opt TextOptions) error {
	b := bufio.NewWriter(w)
	for i, d := range ds {
		if i > 0 {
			b.WriteByte('\n')
		}
		r := renderer{w: b, palette: palette(opt.Color)}
		r.diagnostic(d)
	}
	return b.Flush()
}

// renderer writes one diagnostic.
type renderer struct {
	palette
	w      *bufio.Writer
	gutter int // width of the line numbers
}

// mark is one underlined place.
type mark struct {
	file *source.File
	span source.Span
	text string
	role role
	char string
}

func (r *renderer) diagnostic(d *Diagnostic) {
	role := severityRole(d.Severity())
	if d.File != nil {
		fmt.Fprintf(r.w, "%s:%s: ", clean(d.File.Name), d.File.Position(d.Span.Start))
	}
	fmt.Fprintf(r.w, "%s: %s\n",
		r.paint(role, d.Severity().String()+"["+d.Info.Code+"]"), r.paint(strong, clean(d.Message)))
	var marks []mark
	if d.File != nil {
		marks = append(marks, mark{d.File, d.Span, "", role, "^"})
	}
	for _, l := range d.Labels {
		f := l.File
		if f == nil {
			f = d.File
		}
		if f != nil {
			marks = append(marks, mark{f, l.Span, clean(l.Text), helpful, "-"})
		}
	}
	r.gutter = 1
	for _, m := range marks {
		r.gutter = max(r.gutter, len(strconv.Itoa(m.file.LineOf(m.span.Start))))
	}
	r.excerpts(marks)
	for _, h := range d.Hints {
		r.indented(r.paint(quiet, "= ")+r.paint(helpful, "hint")+": ", clean(h))
	}
}

// indented writes text behind head, its further lines below it.
func (r *renderer) indented(head, text string) {
	pad := strings.Repeat(" ", r.gutter+1)
	fmt.Fprintf(r.w, "%s%s%s\n", pad, head, strings.ReplaceAll(text, "\n", "\n"+pad+"        "))
}

// excerpts writes the marked lines, file by file; the first mark's file needs
// no heading, the message has it.
func (r *renderer) excerpts(marks []mark) {
	for i := 0; len(marks) > 0; i++ {
		f := marks[0].file
		var here, rest []mark
		for _, m := range marks {
			if m.file == f {
				here = append(here, m)
			} else {
				rest = append(rest, m)
			}
		}
		if i > 0 {
			fmt.Fprintf(r.w, "%s%s %s:%s\n", strings.Repeat(" ", r.gutter), r.paint(quiet, "-->"),
				clean(f.Name), f.Position(here[0].span.Start))
		}
		r.excerpt(f, here)
		marks = rest
	}
}

// excerpt writes the lines of f that marks stand on, each with its marks
// below, the diagnostic's own first.
func (r *renderer) excerpt(f *source.File, marks []mark) {
	slices.SortStableFunc(marks, func(a, b mark) int {
		return f.LineOf(a.span.Start) - f.LineOf(b.span.Start)
	})
	r.row("", "")
	last := 0
	for i := 0; i < len(marks); {
		line := f.LineOf(marks[i].span.Start)
		n := i
		for n < len(marks) && f.LineOf(marks[n].span.Start) == line {
			n++
		}
		if last > 0 && line > last+1 {
			fmt.Fprintf(r.w, "%s\n", r.paint(quiet, strings.Repeat(".", r.gutter+2)))
		}
		r.line(f, line, marks[i:n])
		last, i = line, n
	}
}

// row writes one line behind the gutter.
func (r *renderer) row(number, text string) {
	gutter := fmt.Sprintf("%*s |", r.gutter, number)
	if text == "" {
		fmt.Fprintf(r.w, "%s\n", r.paint(quiet, gutter))
		return
	}
	fmt.Fprintf(r.w, "%s %s\n", r.paint(quiet, gutter), text)
}

// line writes a source line and a row for each of its marks.
func (r *renderer) line(f *source.File, n int, marks []mark) {
	text := f.Line(n)
	start := f.LineStart(n)
	v := view(text, int(marks[0].span.Start-start))
	r.row(strconv.Itoa(n), v.text)
	for _, m := range marks {
		from := v.column(int(m.span.Start - start))
		to := v.column(int(min(m.span.End-start, source.Pos(len(text)))))
		under := r.paint(m.role, strings.Repeat(m.char, max(to-from, 1)))
		if m.text != "" {
			under += " " + r.paint(m.role, m.text)
		}
		r.row("", strings.Repeat(" ", from)+under)
	}
}

const (
	tabWidth = 4
	// Longer lines are shown in part: lead columns before the place, maxColumns
	// in all.
	maxColumns = 160
	lead       = 60
)

// visible is a source line as it is shown: tabs as blanks, characters that
// would upset a terminal as visible ones, a long line cut to a window.
type visible struct {
	text    string
	columns []int // the column of each byte offset, and of the line's end
}

// column is where byte offset i stands, as columns from the left.
func (v *visible) column(i int) int {
	return v.columns[max(min(i, len(v.columns)-1), 0)]
}

// view lays out a line so that byte offset at is in sight.
func view(line []byte, at int) *visible {
	v := &visible{columns: make([]int, len(line)+1)}
	cells := make([]string, 0, len(line)) // a character each
	widths := make([]int, 0, len(line))
	col, joined := 0, false
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRune(line[i:])
		cell, w := showRune(r, n, col)
		if joined {
			w = 0
		}
		joined = r == 0x200d
		for j := range n {
			v.columns[i+j] = col
		}
		cells, widths = append(cells, cell), append(widths, w)
		col += w
		i += n
	}
	v.columns[len(line)] = col
	if col <= maxColumns {
		v.text = strings.TrimRight(strings.Join(cells, ""), " ")
		return v
	}
	return v.cut(cells, widths, v.column(at))
}

// cut keeps the part of a long line around column at, with marks of omission.
func (v *visible) cut(cells []string, widths []int, at int) *visible {
	const gap = "… "
	first := max(at-lead, 0)
	var b strings.Builder
	shift := first
	if first > 0 {
		b.WriteString(gap)
		shift -= 2
	}
	col, shown := 0, false
	for i, c := range cells {
		if col >= first+maxColumns {
			b.WriteString(" …")
			break
		}
		if col >= first {
			if !shown {
				shift += col - first
				shown = true
			}
			b.WriteString(c)
		}
		col += widths[i]
	}
	for i, c := range v.columns {
		v.columns[i] = min(max(c-shift, 0), maxColumns+2)
	}
	v.text = b.String()
	return v
}

// showRune is what to print for a character of n bytes at a column, and its
// width.
func showRune(r rune, n, col int) (string, int) {
	switch {
	case r == '\t':
		w := tabWidth - col%tabWidth
		return strings.Repeat(" ", w), w
	case r == utf8.RuneError && n <= 1:
		return "\ufffd", 1
	case r < 0x20:
		return string(0x2400 + r), 1
	case r == 0x7f:
		return "\u2421", 1
	case steers(r):
		return "\ufffd", 1
	}
	return string(r), runeWidth(r)
}

// steers says whether a character would steer the terminal: controls, and
// those that turn the direction of the text.
func steers(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// clean makes text of a message safe to print: line feeds stay, what steers a
// terminal is shown.
func clean(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && steers(r) || r == utf8.RuneError }) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case r < 0x20:
			return 0x2400 + r
		case steers(r):
			return utf8.RuneError
		}
		return r
	}, s)
}
