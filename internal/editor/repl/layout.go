package repl

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// layout is a text composed of parts of others that records the origin of each part.
type layout struct {
	text  strings.Builder
	parts []part
	file  *source.File // of the whole text, once it is there
}

// part is a range of the text that was copied from another file.
type part struct {
	at   source.Pos
	file *source.File
	from source.Span
	size source.Pos // in the text, if the original text differs
}

// addRaw adds generated text.
func (l *layout) addRaw(text string) { l.text.WriteString(text) }

// add adds a stretch of a file.
func (l *layout) add(f *source.File, at source.Span) {
	if at.Start >= at.End {
		return
	}
	l.parts = append(l.parts, part{source.Pos(l.text.Len()), f, at, at.End - at.Start})
	l.text.WriteString(f.Slice(at))
}

// addPieces adds what an input has become.
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

// toFile returns the text as a file.
func (l *layout) toFile(name string) *source.File {
	l.file = source.NewFile(name, []byte(l.text.String()))
	return l.file
}

// origin returns the origin of a place; ok is false in generated text, where it returns the end of
// the text before.
func (l *layout) origin(at source.Pos) (f *source.File, pos source.Pos, ok bool) {
	for _, p := range l.parts {
		if p.at > at {
			break
		}
		f, pos, ok = p.file, p.from.End, false
		switch same := p.size == p.from.End-p.from.Start; {
		case at >= p.at+p.size || p.from.End == p.from.Start: // after it, or in generated text
		case same:
			return p.file, p.from.Start + (at - p.at), true
		default:
			return p.file, p.from.Start, true
		}
	}
	return f, pos, false
}

// span returns a stretch of the text where it was typed.
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

// diagnostic converts a diagnostic to its original position. ok is false if it is about generated
// text.
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

// restoreLastName names the last value as it is typed.
func restoreLastName(text string) string { return strings.ReplaceAll(text, lastName, "_") }
