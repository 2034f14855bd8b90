package parser

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/lexer"
)

// If a file has more `{` than `}`, or fewer, the parser usually notices the imbalance far away from
// the error. This code uses the indentation to find the error. A `{` lacks its `}` if its line is
// indented more than the first `}` that would close it. A `}` is superfluous if it is not below the
// start of the line of its `{`. The code is not used for files whose braces balance.

// balance describes how the brackets of a file match.
type balance struct {
	matches []int32 // index of the matching bracket for each bracket token; nil until needed
	excess  int     // number of `}` minus number of `{`
	culprit int     // index of the unclosed `{`; -1 for none, -2 before the search
	blamed  []int   // indices of the `{` that have been reported
	closed  bool    // the last pair of braces that was read ends at its `}`
}

// braces is a pair of braces that the parser reads as a list or a block.
type braces struct {
	open int // index of the `{`, or of the token before a missing `{`
	errs int // number of diagnostics when the parser reads the `{`
}

// openBraces consumes a `{`. If the `{` is missing, openBraces reports the diagnostic that missing
// returns, and recovers in one of two ways. In a file with a superfluous `}` it continues as if the
// `{` were present. If a `{` ends the line, it skips to this `{`. Otherwise ok is false.
func (p *parser) openBraces(missing func() *diag.Diagnostic) (b braces, ok bool) {
	b = braces{p.i, p.reports.diags.Len()}
	if p.k == lexer.LBrace {
		p.next()
	} else {
		d := p.expected("`{`")
		if missing != nil {
			d = missing()
		}
		p.reportAndContinue(d)
		switch brace := p.braceOnLine(); {
		case p.balance.excess > 0:
			p.reports.going = false
			p.balance.excess--
			b.open--
		case brace >= 0:
			p.recordLostText(nil, p.i, brace)
			p.seek(brace + 1)
			b.open = brace
		case !p.isPartMissing() && !p.newLine():
			panic(bailout{})
		default:
			p.balance.closed = false
			return b, false
		}
	}
	p.deeper()
	return b, true
}

// braceOnLine returns the index of the next `{` on the line, or -1. The `{` must be the last token
// of the line, and no statement may start before it.
func (p *parser) braceOnLine() int {
	for i := p.i; i < len(p.toks) && !p.startsLine(i); i++ {
		switch k := p.toks[i].Kind; {
		case k == lexer.LBrace:
			if i+1 < len(p.toks) && p.startsLine(i+1) {
				return i
			}
			return -1
		case startsStmt[k], startsDecl[k], k == lexer.Semi, k == lexer.RBrace, k == lexer.EOF:
			return -1
		}
	}
	return -1
}

// hasElement reports whether the braces contain another element. At the end of the braces it
// consumes the `}`. If the `}` is missing, hasElement reports the error and consumes nothing.
func (p *parser) hasElement(b braces) bool {
	for {
		switch {
		case p.leftBraces(b):
			p.balance.closed = false
			p.reportUnclosedBrace(b)
		case p.k != lexer.RBrace:
			return true
		case p.balance.excess > 0 && p.isSuperfluousBrace(b):
			p.reportUnopened()
			continue
		default:
			p.balance.closed = true
			p.next()
		}
		p.setting.shallower()
		return false
	}
}

// leftBraces reports whether the current token is outside the braces b although b has no `}`. At
// the end of the file this is always the case. In a file with unbalanced braces it is also the case
// at a declaration in column 0, and at a line that is not indented more than the line of the
// unclosed `{`.
func (p *parser) leftBraces(b braces) bool {
	if p.k == lexer.EOF {
		return true
	}
	if p.balance.excess >= 0 || p.findCulprit() < 0 || !p.newLine() {
		return false
	}
	if startsDecl[p.k] && p.atColumn0(p.i) {
		return true
	}
	here, open := p.indent(p.i), p.indent(b.open)
	return b.open == p.balance.culprit && (here < open || here == open && p.k != lexer.RBrace)
}

// isSuperfluousBrace reports whether the current `}` is superfluous. The `}` of the braces b is
// either on the line of its `{`, or it is the first token of a line with the same indentation as
// the line of the `{`.
func (p *parser) isSuperfluousBrace(b braces) bool {
	open := max(b.open, 0)
	sameLine := true
	for i := open + 1; i <= p.i && sameLine; i++ {
		sameLine = !p.startsLine(i)
	}
	return !sameLine && !(p.newLine() && p.indent(p.i) == p.indent(open))
}

// reportUnclosedBrace reports the unclosed `{`, which it finds by the indentation. It reports each
// `{` once, and nothing if an error within the braces has already been reported.
func (p *parser) reportUnclosedBrace(b braces) {
	at := p.findCulprit()
	if at < 0 {
		return
	}
	if at > p.i { // the unclosed brace is further down, so another brace closes the braces b
		at = b.open
	}
	p.markReported(at)
	if at == b.open && b.errs != p.reports.diags.Len() || p.reports.mute {
		return
	}
	d := diag.Unclosed.At(p.toks[at].Span(), "unclosed `{`")
	if at != b.open {
		d.Label(p.toks[b.open].Span(), "therefore this `{` has no matching `}`")
	}
	p.reports.lastAt = d.Span.Start
	p.markLost()
	p.reports.diags.Add(d.In(p.file).Repair(p.closeBlockFix(at), "add the missing `}`"))
}

// failUnclosedBrace calls reportUnclosedBracket and aborts the construct.
func (p *parser) failUnclosedBrace(open int) {
	p.reportUnclosedBracket(open)
	panic(bailout{})
}

// reportUnclosedBracket reports a bracket in an expression that is still open at the end of the
// file.
func (p *parser) reportUnclosedBracket(open int) {
	o := p.toks[open]
	if at := p.findCulprit(); at >= 0 && at != open {
		p.reportUnclosedBrace(braces{open, p.reports.diags.Len()})
	} else {
		p.markReported(open)
		p.report(p.closeLine(diag.Unclosed.At(o.Span(), "unclosed `%s`", p.src[o.Start:o.End]), open))
	}
	p.markLost()
}

// maxCulprits is the maximum number of unclosed braces that are reported in a file. It limits the
// time, because each search reads the whole file.
const maxCulprits = 20

// markReported records that the `{` at token at has been reported. At the end of the file, the
// parser reports no further unclosed braces.
func (p *parser) markReported(at int) {
	p.balance.blamed = append(p.balance.blamed, at)
	p.balance.culprit = -2
	p.balance.excess++
	if p.k == lexer.EOF || len(p.balance.blamed) == maxCulprits {
		p.balance.excess = max(p.balance.excess, 0)
	}
}

// reportUnopened reports a superfluous `}`. It consumes the `}` and the closing brackets and
// separators after it.
func (p *parser) reportUnopened() {
	p.report(diag.Unopened.At(p.span(), "unmatched `}`").
		Repair(diag.UnsafeFix(diag.Remove(p.span()), "Remove the `}`"), "remove it"))
	p.markLost()
	p.balance.excess--
	for p.next(); !p.newLine() && (p.k == lexer.Semi || p.k == lexer.Comma || p.k == lexer.RParen || p.k == lexer.RBracket); {
		p.next()
	}
}

// balanceOf counts the braces of a file.
func balanceOf(toks []lexer.Token) balance {
	b := balance{culprit: -2}
	for _, t := range toks {
		switch t.Kind {
		case lexer.LBrace:
			b.excess--
		case lexer.RBrace:
			b.excess++
		}
	}
	return b
}

// findCulprit returns the index of the unclosed `{`, or -1 if there is none. It searches the first
// `}` that is indented less than the line of the `{` it would close, and returns the innermost `{`
// that is open there. If there is no such `}`, it returns the last `{` that is still open.
func (p *parser) findCulprit() int {
	if p.balance.excess >= 0 {
		return -1
	}
	if p.balance.culprit != -2 {
		return p.balance.culprit
	}
	p.balance.culprit = -1
	suspect := -1
	var stack []int
	for i, t := range p.toks {
		switch t.Kind {
		case lexer.LBrace:
			if !slices.Contains(p.balance.blamed, i) {
				stack = append(stack, i)
			}
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
		if p.balance.culprit = suspect; suspect < 0 {
			p.balance.culprit = stack[len(stack)-1]
		}
	}
	return p.balance.culprit
}
