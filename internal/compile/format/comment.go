package format

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// place is the position of a comment relative to the tokens around it.
type place uint8

const (
	lead   place = iota // on separate lines, before the next token
	inline              // within a line, before the next token
	trail               // at the end of a line, after the previous token
)

// comment is a comment of the source and its place.
type comment struct {
	start, end int
	place      place
	doc        bool
}

// placed determines the place of each comment: at the end of a line, on separate lines, or within a
// line. The place depends only on the tokens around the comment and on line ends. Formatting
// preserves these, so the formatted text has the same places.
func placed(src string, toks []lexer.Token, comments []lexer.Comment) []comment {
	out := make([]comment, len(comments))
	t := 0 // index of the next token
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

// leads writes the comments between the previous token and the current one. dangling reports that
// the current token is a closing bracket, so that no blank line follows the comments. after then
// reports that the brackets contain something before the comments.
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

// trails writes the comments at the end of the line of the previous token.
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

// hasComment reports whether there is a comment between the previous token and the current one. The
// comment may already have been written.
func (p *printer) hasComment() bool { return p.tail >= 0 || p.comesBefore() }

// lineComment reports whether a comment forces the current token to start a line.
func (p *printer) lineComment() bool {
	return p.tail >= 0 || p.comesBefore() && p.comments[p.c].place == lead
}

// commentsBefore reports whether there are comments before a later position.
func (p *printer) commentsBefore(end source.Pos) bool {
	return p.c < len(p.comments) && p.comments[p.c].start < int(end)
}

// nextStart returns the offset of the next comment or token.
func (p *printer) nextStart() int {
	if p.comesBefore() {
		return p.comments[p.c].start
	}
	return int(p.toks[p.i].Start)
}

// gapBlank reports whether the source contains a blank line before the current token and the
// comments before it.
func (p *printer) gapBlank() bool { return blankIn(p.src[p.prevEnd:p.nextStart()]) }

func blankIn(gap string) bool {
	n := strings.IndexByte(gap, '\n')
	return n >= 0 && strings.IndexByte(gap[n+1:], '\n') >= 0
}

// newLine reports whether the source contains a line end directly before the current token or the
// comments before it.
func (p *printer) newLine() bool {
	return strings.IndexByte(p.src[p.tokEnd:p.toks[p.i].Start], '\n') >= 0
}
