package repair

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/format"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Restyle returns edits of a program that also format what they change: the whole program if it was
// formatted, otherwise the changed stretches alone. A text that has syntax errors afterwards stays
// as the edits have it.
func Restyle(f *source.File, edits []diag.Edit) []diag.Edit {
	slices.SortStableFunc(edits, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	after := Apply(f, edits)
	out, ok := formatted(source.NewFile(f.Name, after))
	if !ok || bytes.Equal(out, after) {
		return edits
	}
	style := Splices(after, out)
	if !Styled(f) {
		style = touching(style, edits)
	}
	return Compose(edits, style)
}

// Styled reports whether a program is formatted, or cannot be.
func Styled(f *source.File) bool {
	out, ok := formatted(f)
	return !ok || bytes.Equal(out, f.Text)
}

// formatted is the text of a program without syntax errors, formatted, with the line ends that it
// has.
func formatted(f *source.File) (out []byte, ok bool) {
	out, found := format.Source(f, 0)
	if bytes.Contains(f.Text, []byte("\r\n")) {
		out = bytes.ReplaceAll(bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}
	return out, !found.HasErrors()
}

// touching returns those of style that touch a text which edits have put in.
func touching(style, edits []diag.Edit) (out []diag.Edit) {
	for _, s := range style {
		by := source.Pos(0) // by how much the text is longer, before the edit
		for _, e := range edits {
			start := e.Span.Start + by
			if s.Span.Start <= start+source.Pos(len(e.Text)) && s.Span.End >= start {
				out = append(out, s)
				break
			}
			by += source.Pos(len(e.Text)) - (e.Span.End - e.Span.Start)
		}
	}
	return out
}

// Narrowed is one edit that makes one text of another.
func Narrowed(was, is []byte) []diag.Edit {
	start := 0
	for start < len(was) && start < len(is) && was[start] == is[start] {
		start++
	}
	end, stop := len(was), len(is)
	for end > start && stop > start && was[end-1] == is[stop-1] {
		end, stop = end-1, stop-1
	}
	for start > 0 && start < len(is) && is[start]&0xC0 == 0x80 { // not within a character
		start--
	}
	for end < len(was) && was[end]&0xC0 == 0x80 {
		end, stop = end+1, stop+1
	}
	return []diag.Edit{diag.Replace(source.Span{Start: source.Pos(start), End: source.Pos(end)}, string(is[start:stop]))}
}

// Splices returns the edits that turn one text into another that differs only in spaces, and commas
// before them: an edit for each range between words that differs. If the texts differ otherwise,
// the last edit is all the rest.
func Splices(was, is []byte) (out []diag.Edit) {
	i, j := 0, 0   // up to where the texts are compared
	i0, j0 := 0, 0 // after the last common word
	flush := func() {
		if !bytes.Equal(was[i0:i], is[j0:j]) {
			out = append(out, diag.Replace(source.Span{Start: source.Pos(i0), End: source.Pos(i)}, string(is[j0:j])))
		}
	}
	for {
		i, j = i+spaces(was[i:]), j+spaces(is[j:])
		switch {
		case i == len(was) && j == len(is):
			flush()
			return out
		case i < len(was) && j < len(is) && was[i] == is[j]:
			flush()
			for i < len(was) && j < len(is) && was[i] == is[j] && !isSpace(was[i]) {
				i, j = i+1, j+1
			}
			i0, j0 = i, j
		case j < len(is) && is[j] == ',':
			j++
		case i < len(was) && was[i] == ',':
			i++
		default:
			i, j = len(was), len(is)
			for i > i0 && j > j0 && was[i-1] == is[j-1] {
				i, j = i-1, j-1
			}
			flush()
			return out
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// spaces is how many spaces a text begins with.
func spaces(b []byte) int {
	for i, c := range b {
		if !isSpace(c) {
			return i
		}
	}
	return len(b)
}
