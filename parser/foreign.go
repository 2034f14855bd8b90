package parser

import (
	"github.com/concerto-lang/concerto/internal/foreign"
	"github.com/concerto-lang/concerto/lexer"
)

// foreignHint is the hint for the current token, which the grammar does not
// allow, if it or the one before comes from another language; else "".
func (p *parser) foreignHint() string {
	if p.k == lexer.Ident {
		if hint := foreign.Between.Hint(p.text()); hint != "" {
			return hint
		}
	}
	if p.k == lexer.FatArrow && p.i > 0 && (p.toks[p.i-1].Kind == lexer.Ident || p.toks[p.i-1].Kind == lexer.RParen) {
		return "a closure is written `|x| …`"
	}
	if p.k == lexer.PathSep && p.peek(1) == lexer.Less {
		return "type arguments follow the name directly: `f<T>(…)`"
	}
	if p.i == 0 || p.newLine() || p.k == lexer.Dot {
		return ""
	}
	switch p.toks[p.i-1].Kind {
	case lexer.Ident:
		return foreign.Start.Hint(p.textAt(p.i - 1))
	case lexer.Question:
		if startsExpr[p.k] {
			return "a choice is written `if a { b } else { c }`"
		}
	}
	return ""
}
