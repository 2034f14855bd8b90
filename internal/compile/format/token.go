package format

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// printer traverses the syntax tree and the tokens in parallel. It writes the tokens; the tree
// determines their role. Therefore it also writes what the tree does not contain, such as
// parentheses around a type or the form of a literal, and comments stay with their tokens.
type printer struct {
	doc
	toks     []lexer.Token
	i        int // index of the current token
	comments []comment
	c        int  // index of the next comment
	tokEnd   int  // end of the previous token
	prevEnd  int  // end of the previous token, including the comments on its line
	rigid    bool // types are written on one line, because a signature is broken elsewhere first
	half     bool // the first half of a `??` token that means two separate `?` has been written
}

func newPrinter(src string, toks []lexer.Token, comments []lexer.Comment) *printer {
	p := &printer{toks: toks, comments: placed(src, toks, comments)}
	p.doc = doc{src: src, ops: make([]op, 0, 3*len(toks)), lastText: -1, tail: -1}
	return p
}

func (p *printer) kind() lexer.Kind { return p.toks[p.i].Kind }

// at reports whether the current token is of kind k.
func (p *printer) at(k lexer.Kind) bool { return p.toks[p.i].Kind == k }

// tok writes the current token, which is of kind k, with its comments.
func (p *printer) tok(k lexer.Kind) {
	if !p.at(k) {
		panic(fmt.Sprintf("format: %s where %s was expected, at byte %d", p.kind(), k, p.toks[p.i].Start))
	}
	p.anyToken()
}

// anyToken writes the current token with its comments.
func (p *printer) anyToken() {
	p.leads(false, false)
	t := p.toks[p.i]
	hop := t.Kind == lexer.Comma || t.Kind == lexer.Semi
	p.text(int(t.Start), int(t.End), hop && !p.hasTrail())
	p.advance()
}

// hasTrail reports whether comments follow the current token on its line. Then the comments of the
// preceding token may not move after it, where the two would become one.
func (p *printer) hasTrail() bool {
	next := p.toks[p.i]
	for _, c := range p.comments[p.c:] {
		if c.start >= int(next.End) {
			return c.place == trail && (p.i+1 >= len(p.toks) || c.start < int(p.toks[p.i+1].Start))
		}
	}
	return false
}

// advance advances to the next token and writes the comments on the line.
func (p *printer) advance() {
	p.tokEnd = int(p.toks[p.i].End)
	p.prevEnd = p.tokEnd
	if p.i < len(p.toks)-1 {
		p.i++
	}
	p.trails()
}

// whole writes the tokens up to end as one text: an interpolated string.
func (p *printer) whole(end source.Pos) {
	p.leads(false, false)
	p.text(int(p.toks[p.i].Start), int(end), false)
	for p.toks[p.i+1].Start < end {
		p.i++
	}
	for p.c < len(p.comments) && p.comments[p.c].start < int(end) {
		p.c++
	}
	p.advance()
}

// afterNumber reports whether the previous token is a number and not an index.
func (p *printer) afterNumber() bool {
	if p.i == 0 {
		return false
	}
	k := p.toks[p.i-1].Kind
	return k == lexer.Float || k == lexer.Int && (p.i == 1 || p.toks[p.i-2].Kind != lexer.Dot)
}

// question writes one `?`, which may be a half of a `??` token. Two separate `?` need a space
// between them, because they would otherwise be read as `??`.
func (p *printer) question() {
	t := p.toks[p.i]
	if !p.half && p.i > 0 && p.toks[p.i-1].Kind == lexer.Question && p.lastText == p.next()-1 {
		p.space()
	}
	switch {
	case t.Kind != lexer.Coalesce:
		p.tok(lexer.Question)
	case p.half:
		p.half = false
		p.text(int(t.Start)+1, int(t.End), false)
		p.advance()
	default:
		p.half = true
		p.leads(false, false)
		p.text(int(t.Start), int(t.Start)+1, false)
	}
}

// gap writes a space, or a line end if there are comments.
func (p *printer) gap() {
	if p.lineComment() {
		p.hard(false)
		return
	}
	p.space()
}
