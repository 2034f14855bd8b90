package parser

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/lexer"
)

// unexpectedInForm makes the diagnostic for the current token where a form
// wanted one of firsts. fields says that the form names fields.
func (p *parser) unexpectedInForm(firsts []string, fields bool) *diag.Diagnostic {
	if fields && p.k.IsWord() && (len(firsts) == 0 || firsts[0] == "<word>") {
		p.next() // a word that would be one with `:` behind it
		return p.colonExpected()
	}
	if len(firsts) == 0 && p.k.IsKeyword() {
		return p.noName(p.i)
	}
	if len(firsts) == 0 {
		return p.expected("a name")
	}
	words := make([]string, 0, len(firsts))
	for _, f := range firsts {
		w := wordFor(f)
		if w == "a name" && p.k.IsKeyword() {
			return p.noName(p.i)
		}
		if len(words) == 0 || words[len(words)-1] != w {
			words = append(words, w)
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
		return p.expected(first).Hint("a function stage declares its result: `-> Type`")
	case "`=`":
		switch {
		case p.k == lexer.Struct || p.k == lexer.Enum || p.k == lexer.Trait || p.k == lexer.Schema:
			return p.expected(first).Hint("write `%s %s { … }`", p.text(), p.prevText())
		case p.k.IsWord() || p.k.Info().Class == lexer.Literal:
			return p.expected(first).Hint("write `=` before %s", p.found())
		case p.k == lexer.Semi:
			value := "…"
			if i := p.lineStart(); p.toks[i].Kind == lexer.HashMap {
				value = "HashMap::new()"
			}
			return p.expected(first).Hint("a value is missing: `= %s;`", value)
		}
	}
	return p.expected(words[0])
}

// lineStart is the first token of the current line.
func (p *parser) lineStart() int {
	i := p.i
	for i > 0 && !p.startsLine(i) {
		i--
	}
	return i
}

// colonExpected makes the diagnostic for the current token where a name's `:`
// should stand.
func (p *parser) colonExpected() *diag.Diagnostic {
	d := p.expected("`:`")
	switch {
	case p.k == lexer.Assign:
		d.Hint("a value stands after `:` here, as in `%s: …`", p.prevText())
	case p.k == lexer.LParen:
		d.Hint("a method starts with `fn`")
	case p.k.IsWord():
		return p.typeFirst(d)
	}
	return d
}

// wordFor is an element of a grammar's EBNF in plain words.
func wordFor(element string) string {
	switch element {
	case "<name>", "<word>":
		return "a name"
	case "<string>":
		return "a string"
	case "TypeExpr":
		return "a type"
	case "Expression":
		return "an expression"
	case "ParamList":
		return "a parameter"
	case "Arguments":
		return "an argument"
	}
	if strings.HasPrefix(element, "`") {
		return element
	}
	return "a name" // the other productions start with one
}

// orList is "a, b or c".
func orList(words []string) string {
	switch n := len(words); n {
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
}

// expectation reads what a form wanted from participle's message, which ends
// in the EBNF of the rest of the sequence: "unexpected token "x" (expected
// (":" TypeExpr)? ")")". It gives the elements that may come first: fixed
// texts in backquotes, <name> and the like, production names.
func expectation(message string) []string {
	const mark = " (expected "
	i := strings.LastIndex(message, mark)
	if i < 0 || !strings.HasSuffix(message, ")") {
		return nil
	}
	r := ebnfReader{text: message[i+len(mark) : len(message)-1]}
	firsts, _ := r.alternatives()
	return firsts
}

// ebnfReader reads participle's EBNF as far as first elements need it.
type ebnfReader struct {
	text string
	i    int
}

// alternatives reads a | b | c: the firsts of all, and whether any may be empty.
func (r *ebnfReader) alternatives() (firsts []string, empty bool) {
	for {
		f, e := r.sequence()
		firsts = append(firsts, f...)
		empty = empty || e
		if !r.accept('|') {
			return firsts, empty
		}
	}
}

// sequence reads a b c: the firsts up to the first element that is not
// optional.
func (r *ebnfReader) sequence() (firsts []string, empty bool) {
	empty = true
	for {
		r.skipSpace()
		if r.i == len(r.text) || r.text[r.i] == ')' || r.text[r.i] == '|' {
			return firsts, empty
		}
		f, optional := r.element()
		if empty {
			firsts = append(firsts, f...)
		}
		empty = empty && optional
	}
}

func (r *ebnfReader) element() (firsts []string, optional bool) {
	switch c := r.text[r.i]; c {
	case '(':
		r.i++
		firsts, optional = r.alternatives()
		r.accept(')')
	case '"':
		end := strings.IndexByte(r.text[r.i+1:], '"')
		if end < 0 {
			end = len(r.text) - r.i - 1
		}
		firsts = []string{"`" + r.text[r.i+1:r.i+1+end] + "`"}
		r.i = min(r.i+end+2, len(r.text))
	default:
		start := r.i
		for r.i < len(r.text) && !strings.ContainsRune(" ()|?*+!", rune(r.text[r.i])) {
			r.i++
		}
		r.i = max(r.i, start+1)
		firsts = []string{r.text[start:r.i]}
	}
	for r.i < len(r.text) && strings.IndexByte("?*+!", r.text[r.i]) >= 0 {
		optional = optional || r.text[r.i] == '?' || r.text[r.i] == '*'
		r.i++
	}
	return firsts, optional
}

func (r *ebnfReader) skipSpace() {
	for r.i < len(r.text) && r.text[r.i] == ' ' {
		r.i++
	}
}

func (r *ebnfReader) accept(c byte) bool {
	r.skipSpace()
	if r.i < len(r.text) && r.text[r.i] == c {
		r.i++
		return true
	}
	return false
}
