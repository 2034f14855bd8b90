package parser

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// unexpectedInForm returns the diagnostic for the current token in a form that expects one of
// words.
func (p *parser) unexpectedInForm(words []string) *diag.Diagnostic {
	if words[0] == "<word>" && p.k.IsWord() {
		p.next() // the word names a field if a `:` follows
		return p.colonExpected()
	}
	for i, w := range words {
		if w == "<word>" {
			words[i] = "a name"
		}
		if words[i] == "a name" && p.k.IsKeyword() {
			return p.missingName(p.i)
		}
	}
	if len(words) > 1 {
		return p.expected(orList(words))
	}
	switch first := words[0]; first {
	case "`)`", "`}`", "`>`": // of a list
		if prev := p.toks[p.i-1].Kind; !isOpening(prev) && prev != lexer.Comma && prev != lexer.Less {
			return p.expected("`,` or " + first)
		}
	case "`:`":
		return p.colonExpected()
	case "`->`":
		return p.expected(first).Hint("declare the result of a function stage: `-> Type`")
	case "`=`":
		switch {
		case p.isIncomplete():
		case p.k == lexer.Struct || p.k == lexer.Enum || p.k == lexer.Trait || p.k == lexer.Schema:
			head := p.text() + " " + p.prevText()
			return p.expected(first).Repair(diag.Change(source.Span{Start: p.toks[p.i-2].Start, End: p.tok().End}, head, head, false), "write `%s { … }`", head)
		case p.k.IsWord() || p.k.Info().Class == lexer.Literal:
			return p.expected(first).Hint("add `=` before %s", p.foundText())
		case p.k == lexer.Semi:
			value := "…"
			if i := p.lineStart(); p.toks[i].Kind == lexer.HashMap {
				value = "HashMap::new()"
			}
			return p.expected(first).Hint("add a value: `= %s;`", value)
		}
	}
	return p.expected(words[0])
}

// colonExpected returns the diagnostic for a token in the place of a required `:` after a name.
func (p *parser) colonExpected() *diag.Diagnostic {
	d := p.expected("`:`")
	switch {
	case p.k == lexer.Assign:
		d.Hints, d.Fixes = nil, nil
		at := source.Span{Start: p.prevEnd(), End: p.tok().End}
		value := "…"
		if next := p.toks[min(p.i+1, len(p.toks)-1)]; next.Kind.Info().Class == lexer.Literal || next.Kind == lexer.Ident {
			value = p.textOf(next.Span(), "…")
		}
		d.Repair(diag.SafeFix(diag.Replace(at, ":"), "Change to `:`"), "write `:` before the value: `%s: %s`", p.prevText(), value)
	case p.k == lexer.LParen:
		d.Hint("declare a method with `fn`")
	case p.k.IsWord():
		return p.missingColonHint(d)
	}
	return d
}

// orList joins words to a text like "a, b or c".
func orList(words []string) string {
	switch n := len(words); n {
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
}
