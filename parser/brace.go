package parser

import (
	"github.com/concerto-lang/concerto/lexer"
)

// The tokens of an interpolated string count as brackets, because the code between them nests.

func isOpening(k lexer.Kind) bool {
	return k == lexer.LParen || k == lexer.LBracket || k == lexer.LBrace || k == lexer.StringHead
}

func isClosing(k lexer.Kind) bool {
	return k == lexer.RParen || k == lexer.RBracket || k == lexer.RBrace || k == lexer.StringTail
}

// closes reports whether closing closes opening.
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

// closingOrEnd returns the index of the token that closes the bracket at token open, or the index
// of the last token, EOF. The first call finds the closing tokens of all brackets in one pass.
func (p *parser) closingOrEnd(open int) int {
	if p.balance.matches == nil {
		p.matchBrackets()
	}
	return int(p.balance.matches[open])
}

func (p *parser) matchBrackets() {
	end := int32(len(p.toks) - 1)
	p.balance.matches = make([]int32, len(p.toks))
	var stack []int
	for i, t := range p.toks {
		if isOpening(t.Kind) {
			p.balance.matches[i] = end
			stack = append(stack, i)
			continue
		}
		if !isClosing(t.Kind) {
			continue
		}
		// A closing bracket also closes the unclosed brackets of other kinds inside it, except a
		// `{`.
		for n := len(stack) - 1; n >= 0; n-- {
			open := p.toks[stack[n]].Kind
			if closes(open, t.Kind) {
				p.balance.matches[stack[n]] = int32(i)
				stack = stack[:n]
				break
			}
			if open == lexer.LBrace {
				break
			}
		}
	}
}

// mapAhead reports whether the current `{` starts a map: a key and a `:` follow. The caller decides
// whether `{}` is a map.
func (p *parser) mapAhead() bool {
	switch k := p.peek(1); {
	case k == lexer.String, k == lexer.Int, k.IsWord():
		return p.peek(2) == lexer.Colon
	case k == lexer.LBracket, k == lexer.StringHead:
		return p.kindAt(p.closingOrEnd(p.i+1)+1) == lexer.Colon
	}
	return false
}
