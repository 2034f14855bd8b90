package repair

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/format"
	"github.com/concerto-lang/concerto/internal/source"
)

// Restyle are edits of a program that also put into the one style what they change: all of a program that was in it,
// of any other the stretch that is different. A text that has mistakes of syntax afterwards stays as the edits have it.
func Restyle(f *source.File, edits []diag.Edit) []diag.Edit {
	slices.SortStableFunc(edits, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	after := Apply(f, edits)
	out, found := format.Source(source.NewFile(f.Name, after), 0)
	if found.HasErrors() || bytes.Equal(out, after) {
		return edits
	}
	if !Styled(f) {
		out = partly(f.Text, after, out)
	}
	return Narrowed(f.Text, out)
}

// Styled says whether a program is in the one style, as far as it is one.
func Styled(f *source.File) bool {
	out, found := format.Source(f, 0)
	return found.HasErrors() || bytes.Equal(out, f.Text)
}

// partly is after in the style, in the stretch alone in which it is not what it was.
func partly(was, after, out []byte) []byte {
	file := source.NewFile("", after)
	var kept []diag.Edit
	for _, d := range Narrowed(was, after) {
		changed := source.Span{Start: d.Span.Start, End: d.Span.Start + source.Pos(len(d.Text))}
		for _, s := range Splices(after, out) {
			if s.Span.Start <= changed.End && s.Span.End >= changed.Start {
				kept = append(kept, s)
			}
		}
	}
	return Apply(file, kept)
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

// Splices are what makes one text of another that says the same with other spaces, and commas before them: an
// edit for each stretch between words that is different. Where the texts say different things, the
// last one is all the rest.
func Splices(was, is []byte) (out []diag.Edit) {
	i, j := 0, 0   // up to where the texts are compared
	i0, j0 := 0, 0 // behind the last word that they share
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
