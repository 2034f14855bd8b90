package repair

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/format"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Restyle extends edits of a program so that the changed text is formatted. If the whole program
// was formatted, it formats the whole result, and otherwise only the changed parts. It does not
// format a result that has syntax errors.
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

// Styled reports whether a program is formatted, or cannot be formatted because of syntax errors.
func Styled(f *source.File) bool {
	out, ok := formatted(f)
	return !ok || bytes.Equal(out, f.Text)
}

// formatted returns the formatted text of a program. The line ends are those of the program. ok is
// false if the program has syntax errors.
func formatted(f *source.File) (out []byte, ok bool) {
	out, found := format.Source(f, 0)
	if bytes.Contains(f.Text, []byte("\r\n")) {
		out = bytes.ReplaceAll(bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}
	return out, !found.HasErrors()
}

// touching returns the edits in style that touch a text which edits have inserted.
func touching(style, edits []diag.Edit) (out []diag.Edit) {
	for _, s := range style {
		by := source.Pos(0) // difference in length between the new and the old text before the edit
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

// Splices returns the edits that produce is from was. The texts should differ only in white space
// and in commas before it. The result then has one edit for each difference between two words. If
// the texts differ otherwise, the last edit replaces the rest of the text.
func Splices(was, is []byte) (out []diag.Edit) {
	i, j := 0, 0   // offsets up to which the texts have been compared
	i0, j0 := 0, 0 // offsets after the last common word
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

// spaces returns the number of white space characters at the start of b.
func spaces(b []byte) int {
	for i, c := range b {
		if !isSpace(c) {
			return i
		}
	}
	return len(b)
}
