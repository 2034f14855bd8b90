package parser

import (
	"github.com/concerto-lang/concerto/diag"
	"github.com/concerto-lang/concerto/lexer"
)

// The pieces of an interpolated string are brackets, too: the code between
// them nests.

func isOpening(k lexer.Kind) bool {
	return k == lexer.LParen || k == lexer.LBracket || k == lexer.LBrace || k == lexer.StringHead
}

func isClosing(k lexer.Kind) bool {
	return k == lexer.RParen || k == lexer.RBracket || k == lexer.RBrace || k == lexer.StringTail
}

// closes says whether closing closes opening.
func closes(opening, closing lexer.Kind) bool {
	switch opening {
	case lexer.LParen:
		return closing == lexer.RParen
	case lexer.LBracket:
		return closing == lexer.RBracket
	case lexer.LBrace:
		return closing == lexer.RBrace
	}
	return closing == lexer.StringTail
}

// partner is the token that closes the bracket at token open; the end of the
// file when none does. All partners are found in one pass, on first use.
func (p *parser) partner(open int) int {
	if p.matches == nil {
		p.matchBrackets()
	}
	return int(p.matches[open])
}

func (p *parser) matchBrackets() {
	end := int32(len(p.toks) - 1)
	p.matches = make([]int32, len(p.toks))
	var stack []int
	for i, t := range p.toks {
		if isOpening(t.Kind) {
			p.matches[i] = end
			stack = append(stack, i)
			continue
		}
		if !isClosing(t.Kind) {
			continue
		}
		// A closing bracket reaches past unclosed ones of other kinds, but
		// never out of a `{`.
		for n := len(stack) - 1; n >= 0; n-- {
			open := p.toks[stack[n]].Kind
			if closes(open, t.Kind) {
				p.matches[stack[n]] = int32(i)
				stack = stack[:n]
				break
			}
			if open == lexer.LBrace {
				break
			}
		}
	}
}

// memberEnd is a token after the header or member that starts at token i: the
// first `{ } ;` outside of parentheses and brackets is its last one, or the
// first `, =` that stands outside of type arguments, too. What goes on after
// that is read by a hook, which moves the window on.
func (p *parser) memberEnd(i int) int {
	depth, angles := 0, 0
	for first := i; i < len(p.toks)-1; i++ {
		switch k := p.toks[i].Kind; k {
		case lexer.LParen, lexer.LBracket:
			depth++
		case lexer.RParen, lexer.RBracket:
			depth--
		case lexer.Less:
			angles++
		case lexer.Greater:
			angles--
		case lexer.LBrace, lexer.RBrace, lexer.Semi:
			if depth <= 0 {
				return i + 1
			}
		case lexer.Comma, lexer.Assign:
			if depth <= 0 && angles <= 0 {
				return i + 1
			}
		default:
			if startsDecl[k] && i > first && p.column0(i) {
				return i
			}
		}
	}
	return i
}

// mapAhead says whether the `{` here is a map's: a key and `:` follow. What a
// bare `{}` is depends on where it stands and is for the caller to say.
func (p *parser) mapAhead() bool {
	switch k := p.peek(1); {
	case k == lexer.String, k == lexer.Int, k.IsWord():
		return p.peek(2) == lexer.Colon
	case k == lexer.LBracket, k == lexer.StringHead:
		return p.kindAt(p.partner(p.i+1)+1) == lexer.Colon
	}
	return false
}

// outOfBraces says whether the text has left the braces that are being read:
// at the end of the file, or at a declaration in column 0 of a file whose
// braces do not balance.
func (p *parser) outOfBraces() bool {
	if p.k == lexer.EOF {
		return true
	}
	return startsDecl[p.k] && p.column0(p.i) && p.findCulprit() >= 0
}

// unclosed reports a `{` that is never closed: the one that indentation gives
// away, once for the file. open is the token of the one being read. When all
// braces balance, recovery has passed its partner: nothing is said.
func (p *parser) unclosed(open int) {
	if p.findCulprit() < 0 || p.blamed {
		return
	}
	p.blamed = true
	at := p.toks[p.culprit]
	d := diag.Unclosed.At(at.Span(), "this `{` is never closed")
	if p.culprit != open {
		o := p.toks[open]
		d.Label(o.Span(), "so this one stays open to the end")
	}
	if p.mute {
		return
	}
	p.diags.Add(d.In(p.file).Hint("add its `}`"))
}

// failUnclosed reports a bracket that the end of the file leaves open.
func (p *parser) failUnclosed(open int) {
	o := p.toks[open]
	if p.findCulprit() >= 0 && o.Kind != lexer.LBrace {
		p.unclosed(p.culprit)
	} else if !p.blamed && !p.mute {
		p.blamed = true
		p.diags.Add(diag.Unclosed.At(o.Span(), "this `%s` is never closed", p.src[o.Start:o.End]).In(p.file))
	}
	panic(bailout{})
}

// unopened reports a closing bracket at module level.
func (p *parser) unopened() {
	p.report(diag.Unopened.At(p.span(), "no %s is open here", map[lexer.Kind]string{lexer.RBrace: "`{`"}[p.k]).
		Hint("remove it, or look for a `}` too many above"))
	p.next()
}

// findCulprit finds the `{` to blame when braces do not balance, -1 when they
// do: the innermost one open at the first `}` that is indented less than the
// line of the `{` it would close; else the last one left open.
func (p *parser) findCulprit() int {
	if p.culprit != -2 {
		return p.culprit
	}
	p.culprit = -1
	suspect := -1
	var stack []int
	for i, t := range p.toks {
		switch t.Kind {
		case lexer.LBrace:
			stack = append(stack, i)
		case lexer.RBrace:
			n := len(stack) - 1
			if n < 0 {
				continue
			}
			if suspect < 0 && p.startsLine(i) && p.indent(i) < p.indent(stack[n]) {
				suspect = stack[n]
			}
			stack = stack[:n]
		}
	}
	if len(stack) > 0 {
		if p.culprit = suspect; suspect < 0 {
			p.culprit = stack[len(stack)-1]
		}
	}
	return p.culprit
}

// indent is the width of the white space that token i's line starts with.
func (p *parser) indent(i int) int {
	start := int(p.toks[i].Start)
	for start > 0 && p.src[start-1] != '\n' {
		start--
	}
	n := 0
	for start+n < len(p.src) && (p.src[start+n] == ' ' || p.src[start+n] == '\t') {
		n++
	}
	return n
}
