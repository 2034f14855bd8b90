package parser

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/lexer"
)

// If a file has more `{` than `}`, or fewer, the parser usually notices that far away from the
// error. It uses the indentation to find the error: a `{` has no `}` if its line is indented more
// than the first `}` that would close it, and a `}` is superfluous if it is not below the start of
// the line of its `{`. This code is not used for files whose braces balance.

// balance describes how the brackets of a file match.
type balance struct {
	matches []int32 // the matching bracket of each bracket token; nil until needed
	excess  int     // number of `}` minus number of `{`
	culprit int     // token of the unclosed `{`; -1 none, -2 not searched
	blamed  []int   // the `{` that have been reported
	closed  bool    // the last braces that were read end at their `}`
}

// braces is a pair of braces that is being read as a list or a block.
type braces struct {
	open int // token of the `{`; of the token before a missing one
	errs int // number of diagnostics at the start
}

// openBraces consumes a `{`. It reports a missing one with missing and, in a file with a
// superfluous `}`, continues as if it were there. In other files ok is then false. If braces open
// later on the line, it uses these.
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

// braceOnLine returns the next `{` of the line if it ends the line and no statement starts before
// it, else -1.
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

// hasElement reports whether the braces contain another element. At their end it consumes the `}`.
// If the `}` is missing, it reports that and consumes nothing.
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

// leftBraces reports whether braces without `}` end before the current token: at the end of the
// file, and in a file with unbalanced braces also at a line that is not indented more than that of
// the unclosed `{`, or at a declaration in column 0.
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

// isSuperfluousBrace reports whether the `}` here is the superfluous one: it is neither on the line
// of its `{` nor, as the first token of its line, below the start of that line.
func (p *parser) isSuperfluousBrace(b braces) bool {
	open := max(b.open, 0)
	sameLine := true
	for i := open + 1; i <= p.i && sameLine; i++ {
		sameLine = !p.startsLine(i)
	}
	return !sameLine && !(p.newLine() && p.indent(p.i) == p.indent(open))
}

// reportUnclosedBrace reports the unclosed `{`, which the indentation determines, once for the
// file. It reports nothing if an error inside these braces has reported it.
func (p *parser) reportUnclosedBrace(b braces) {
	at := p.findCulprit()
	if at < 0 {
		return
	}
	if at > p.i { // a later one: these braces are closed by another
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

// failUnclosedBrace is reportUnclosedBracket, and aborts the construct.
func (p *parser) failUnclosedBrace(open int) {
	p.reportUnclosedBracket(open)
	panic(bailout{})
}

// reportUnclosedBracket reports a bracket in an expression that is open at the end of the file.
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

// maxCulprits is the maximum number of reported braces in a file. It limits the time, because the
// search for each one reads the whole file.
const maxCulprits = 20

// markReported records that the `{` at token at has been reported. At the end of the file no
// further errors are reported.
func (p *parser) markReported(at int) {
	p.balance.blamed = append(p.balance.blamed, at)
	p.balance.culprit = -2
	p.balance.excess++
	if p.k == lexer.EOF || len(p.balance.blamed) == maxCulprits {
		p.balance.excess = max(p.balance.excess, 0)
	}
}

// reportUnopened reports a superfluous closing brace and consumes it, with the closing brackets and
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

// balanceOf counts the braces.
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

// findCulprit returns the unclosed `{`: the innermost one that is open at the first `}` with less
// indentation than the line of the `{` it would close, else the last open one. It returns -1 if
// there is none.
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
