package format

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// place is where a comment stands, seen from the tokens around it.
type place uint8

const (
	lead   place = iota // on lines of its own, before the token that follows
	inline              // amid a line, before the token that follows
	trail               // at the end of a line, after the preceding token
)

// comment is a comment of the source with its place.
type comment struct {
	start, end int
	place      place
	doc        bool
}

// placed determines the position of each comment: at the end of a line, on lines of its own, or
// within a line. The position depends only on the tokens around the comment and on line ends, and
// formatting preserves both: so formatting twice changes nothing.
func placed(src string, toks []lexer.Token, comments []lexer.Comment) []comment {
	out := make([]comment, len(comments))
	t := 0 // the token that follows
	for i, c := range comments {
		for toks[t].Start < c.Start {
			t++
		}
		n := comment{start: int(c.Start), end: int(c.End), doc: c.Doc}
		text := src[c.Start:c.End]
		if strings.HasPrefix(text, "/*") && toks[t].Kind != lexer.EOF && !strings.Contains(src[c.Start:toks[t].Start], "\n") {
			n.place = inline
			out[i] = n
			continue
		}
		before, prev := 0, lead
		if t > 0 {
			before, prev = int(toks[t-1].End), trail
		}
		if i > 0 && int(comments[i-1].End) > before {
			before, prev = int(comments[i-1].End), out[i-1].place
		}
		n.place = prev
		if strings.Contains(src[before:c.Start], "\n") {
			n.place = lead
		}
		out[i] = n
	}
	return out
}

// leads writes the comments between the preceding token and the current one. With dangling, the
// current token is a closing bracket: the comments are the last thing in the brackets, and no blank
// line follows them. after then means that something comes before them.
func (p *printer) leads(dangling, after bool) {
	for first := true; p.comesBefore(); first = false {
		c := p.comments[p.c]
		if c.place == inline && !(dangling && (p.tail >= 0 || p.newLine())) {
			p.c++
			p.inline(c.start, c.end, dangling)
			continue
		}
		var flags uint16
		if dangling && first && after && p.gapBlank() {
			flags |= blankBefore
		}
		p.c++
		if !(dangling && !p.comesBefore()) && blankIn(p.src[c.end:p.nextStart()]) {
			flags |= blankAfter
		}
		p.lead(c.start, c.end, flags)
	}
}

// trails writes the comments at the end of the line of the token before.
func (p *printer) trails() {
	for p.comesBefore() && p.comments[p.c].place == trail {
		c := p.comments[p.c]
		p.c++
		p.trail(c.start, c.end, c.doc)
		p.prevEnd = c.end
	}
}

// comesBefore reports whether a comment comes before the current token.
func (p *printer) comesBefore() bool {
	return p.c < len(p.comments) && p.comments[p.c].start < int(p.toks[p.i].Start)
}

// hasComment reports whether there is a comment between the token before and the
// current one, written already or not.
func (p *printer) hasComment() bool { return p.tail >= 0 || p.comesBefore() }

// lineComment reports whether one of them makes the current token start a line.
func (p *printer) lineComment() bool {
	return p.tail >= 0 || p.comesBefore() && p.comments[p.c].place == lead
}

// commentsBefore reports whether there are comments before a later position.
func (p *printer) commentsBefore(end source.Pos) bool {
	return p.c < len(p.comments) && p.comments[p.c].start < int(end)
}

// nextStart is where the next comment or token starts.
func (p *printer) nextStart() int {
	if p.comesBefore() {
		return p.comments[p.c].start
	}
	return int(p.toks[p.i].Start)
}

// gapBlank reports whether the source has a blank line before the current token and
// the comments before it.
func (p *printer) gapBlank() bool { return blankIn(p.src[p.prevEnd:p.nextStart()]) }

func blankIn(gap string) bool {
	n := strings.IndexByte(gap, '\n')
	return n >= 0 && strings.IndexByte(gap[n+1:], '\n') >= 0
}

// newLine reports whether the source has a line end right before the current
// token or the comments before it.
func (p *printer) newLine() bool {
	return strings.IndexByte(p.src[p.tokEnd:p.toks[p.i].Start], '\n') >= 0
}
