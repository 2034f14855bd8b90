package parser

import "github.com/concerto-lang/concerto/lexer"

// argScan is the result of the last failed search for type arguments. greater is the index of the
// last `>` that the search found, and until is the index at which it stopped. A search that starts
// between the two would fail as well and is skipped. Therefore the time for `a < b, c < d, …` is
// linear.
type argScan struct{ greater, until int }

// typeArgsAhead reports whether the current `<` starts type arguments. The token after the matching
// `>` must be a `(`, a `::`, or a `{` that cannot start a body.
func (p *parser) typeArgsAhead() bool {
	end := p.matchingGreater()
	if end < 0 {
		return false
	}
	switch p.kindAt(end + 1) {
	case lexer.LParen, lexer.PathSep:
		return true
	case lexer.LBrace:
		return !p.setting.inHead
	}
	return false
}

// closedTypeArgs reports whether the current `<`, which follows `as T`, starts type arguments. It
// must have a matching `>` with only types between the two. `x as Int < 3` is a comparison.
func (p *parser) closedTypeArgs() bool { return p.matchingGreater() >= 0 }

// matchingGreater returns the index of the `>` that closes the current `<`. It returns -1 if a
// token between the two cannot be part of a type.
func (p *parser) matchingGreater() int {
	if p.i > p.noArgs.greater && p.i < p.noArgs.until {
		return -1
	}
	angles, round, greater := 0, 0, p.i
	for i := p.i; ; i++ {
		switch p.kindAt(i) {
		case lexer.Less:
			angles++
		case lexer.Greater:
			greater = i
			angles--
			if angles == 0 {
				if round != 0 {
					return -1
				}
				return i
			}
		case lexer.LParen:
			round++
		case lexer.RParen:
			if round--; round < 0 {
				p.noArgs = argScan{greater, i}
				return -1
			}
		case lexer.Ident, lexer.SelfType, lexer.PathSep, lexer.Comma, lexer.Question, lexer.Coalesce,
			lexer.Fn, lexer.Arrow, lexer.String, lexer.Bar:
		default:
			p.noArgs = argScan{greater, i}
			return -1
		}
	}
}
