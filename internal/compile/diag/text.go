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

	"github.com/concerto-lang/concerto/internal/text/source"
)

// TextOptions are the options of Text.
type TextOptions struct {
	Color bool // use terminal colours; the caller decides whether the output supports them
}

// Text writes diagnostics for people, separated by blank lines: the position and the message, the
// source line with carets under the span, the labels and the hints. It writes at most MaxShown
// errors and MaxShown warnings, and then the number of the others. It returns only errors of w.
//
//	main.conc:3:8: error[E0101]: expected `:`, found `Int`
//	  |
//	3 | fn f(x Int) {}
//	  |        ^^^
//	  = hint: add `:` before `Int`
func Text(w io.Writer, ds []*Diagnostic, opt TextOptions) error {
	b := bufio.NewWriter(w)
	r := renderer{w: b, palette: palette(opt.Color)}
	r.all(ds)
	return b.Flush()
}

// MaxShown is the maximum number of errors, and of warnings, that Text writes. JSON writes all.
const MaxShown = 200

// renderer writes diagnostics as text.
type renderer struct {
	palette
	layouts
	w      *bufio.Writer
	gutter int // width of the line numbers of the current diagnostic
}

func (r *renderer) all(ds []*Diagnostic) {
	var n counts
	for i, d := range ds {
		if n[d.Severity()]++; n[d.Severity()] > MaxShown {
			continue
		}
		if i > 0 {
			r.w.WriteByte('\n')
		}
		r.diagnostic(d)
	}
	if rest := n.beyond(MaxShown).words(" more"); rest != "" {
		fmt.Fprintf(r.w, "\nand %s\n", rest)
	}
}

// mark is a span that is underlined in an excerpt.
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

// indented writes head and text, and indents the lines of text after the first.
func (r *renderer) indented(head, text string) {
	pad := strings.Repeat(" ", r.gutter+1)
	fmt.Fprintf(r.w, "%s%s%s\n", pad, head, strings.ReplaceAll(text, "\n", "\n"+pad+"        "))
}

// excerpts writes the marked lines of each file. The first file has no heading, because the message
// contains its name.
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

// excerpt writes the marked lines of f. The marks of a line are below it, with the diagnostic's own
// mark first.
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

// row writes the gutter with a line number, and text after it.
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
	start := f.LineStart(n)
	v := r.around(r.of(f, n), int(marks[0].span.Start-start))
	r.row(strconv.Itoa(n), v.text)
	for _, m := range marks {
		from := v.column(int(m.span.Start - start))
		to := v.column(int(min(m.span.End-start, source.Pos(len(v.line)))))
		under := r.paint(m.role, strings.Repeat(m.char, max(to-from, 1)))
		if m.text != "" {
			under += " " + r.paint(m.role, m.text)
		}
		r.row("", strings.Repeat(" ", from)+under)
	}
}

// isControl reports whether a character can control a terminal. These are control characters, and
// characters that change the direction of text.
func isControl(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// clean returns text that is safe to print. It retains line feeds, and replaces other characters
// that can control a terminal by visible ones.
func clean(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && isControl(r) || r == utf8.RuneError }) {
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
		case isControl(r):
			return utf8.RuneError
		}
		return r
	}, s)
}
