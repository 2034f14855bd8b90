package repl

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// layout is a text that consists of ranges of other texts and of generated text. It records the
// origin of each range.
type layout struct {
	text  strings.Builder
	parts []part
	file  *source.File // the complete text; nil until toFile is called
}

// part is a range of the text with the file and the range that it was copied from.
type part struct {
	at   source.Pos
	file *source.File
	from source.Span
	size source.Pos // length in the text, which may differ from the length of the original
}

// addRaw adds generated text.
func (l *layout) addRaw(text string) { l.text.WriteString(text) }

// add adds a range of a file.
func (l *layout) add(f *source.File, at source.Span) {
	if at.Start >= at.End {
		return
	}
	l.parts = append(l.parts, part{source.Pos(l.text.Len()), f, at, at.End - at.Start})
	l.text.WriteString(f.Slice(at))
}

// addPieces adds the pieces of an input.
func (l *layout) addPieces(f *source.File, all []piece) {
	for _, p := range all {
		if p.text != "" {
			l.parts = append(l.parts, part{source.Pos(l.text.Len()), f, p.at, source.Pos(len(p.text))})
			l.addRaw(p.text)
			continue
		}
		l.add(f, p.at)
	}
}

// toFile returns the complete text as a file.
func (l *layout) toFile(name string) *source.File {
	l.file = source.NewFile(name, []byte(l.text.String()))
	return l.file
}

// origin returns the file and position from which a position of the text was copied. In generated
// text, ok is false and the result is the end of the copied range before it.
func (l *layout) origin(at source.Pos) (f *source.File, pos source.Pos, ok bool) {
	for _, p := range l.parts {
		if p.at > at {
			break
		}
		f, pos, ok = p.file, p.from.End, false
		switch same := p.size == p.from.End-p.from.Start; {
		case at >= p.at+p.size || p.from.End == p.from.Start: // the position is after the part, or the part is generated
		case same:
			return p.file, p.from.Start + (at - p.at), true
		default:
			return p.file, p.from.Start, true
		}
	}
	return f, pos, false
}

// span converts a range of the text to a range of the original file. ok is false if the range is in
// generated text.
func (l *layout) span(s source.Span) (f *source.File, out source.Span, ok bool) {
	f, start, ok := l.origin(s.Start)
	out = source.Span{Start: start, End: start}
	if !ok || s.End <= s.Start {
		return f, out, ok
	}
	if g, last, in := l.origin(s.End - 1); g == f {
		out.End = last
		if in {
			out.End = min(last+1, source.Pos(len(f.Text)))
		}
	}
	return f, out, true
}

// diagnostic converts a diagnostic to its original position. ok is false if the diagnostic is about
// generated text.
func (l *layout) diagnostic(d *diag.Diagnostic) (out *diag.Diagnostic, ok bool) {
	copied := *d
	out = &copied
	mine := func(f *source.File) bool { return f != nil && f.Name == l.file.Name && f.String() == l.file.String() }
	own := mine(d.File)
	ok = true
	if own {
		out.File, out.Span, ok = l.span(d.Span)
	}
	out.Labels = nil
	for _, x := range d.Labels {
		if x.File == nil && own || mine(x.File) {
			f, at, in := l.span(x.Span)
			if !in {
				continue
			}
			x.File, x.Span = f, at
		}
		out.Labels = append(out.Labels, x)
	}
	out.Fixes = nil
	out.Message = restoreLastName(d.Message)
	out.Hints = nil
	for _, h := range d.Hints {
		out.Hints = append(out.Hints, restoreLastName(h))
	}
	return out, ok
}

// restoreLastName replaces the generated name of the last value by `_`.
func restoreLastName(text string) string { return strings.ReplaceAll(text, lastName, "_") }
