package repair

import (
	"math"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Compose returns edits with the same effect as first, followed by second, which applies to the
// text that first produces. Each list is in the order of its text, and so is the result. Edits that
// do not touch each other stay separate.
func Compose(first, second []diag.Edit) (out []diag.Edit) {
	between := pieces{}
	at := source.Pos(0)
	for _, e := range first {
		between = append(between, piece{span: source.Span{Start: at, End: e.Span.Start}}, piece{text: e.Text})
		at = e.Span.End
	}
	between = append(between, piece{span: source.Span{Start: at, End: math.MaxInt32}})
	var result pieces
	at = 0
	for _, e := range second {
		result = append(result, between.take(int(e.Span.Start-at))...)
		between.take(int(e.Span.End - e.Span.Start))
		result = append(result, piece{text: e.Text})
		at = e.Span.End
	}
	return append(result, between...).edits()
}

// piece is a span of the original text, or an inserted text.
type piece struct {
	span source.Span
	text string
}

func (p piece) len() int { return int(p.span.End-p.span.Start) + len(p.text) }

type pieces []piece

// take removes the first n bytes from the pieces and returns them.
func (p *pieces) take(n int) (out pieces) {
	for n > 0 {
		first := &(*p)[0]
		if size := first.len(); size <= n {
			out, *p, n = append(out, *first), (*p)[1:], n-size
			continue
		}
		part := piece{}
		if first.text != "" {
			part.text, first.text = first.text[:n], first.text[n:]
		} else {
			cut := first.span.Start + source.Pos(n)
			part.span, first.span.Start = source.Span{Start: first.span.Start, End: cut}, cut
		}
		return append(out, part)
	}
	return out
}

// edits returns the edits that produce the pieces from the original text.
func (p pieces) edits() (out []diag.Edit) {
	at, text := source.Pos(0), ""
	for _, x := range p {
		if x.span.Start == x.span.End {
			text += x.text
			continue
		}
		if x.span.Start != at || text != "" {
			out = append(out, diag.Replace(source.Span{Start: at, End: x.span.Start}, text))
		}
		at, text = x.span.End, ""
	}
	return out
}
