package parser

import (
	"github.com/concerto-lang/concerto/internal/foreign"
	"github.com/concerto-lang/concerto/lexer"
)

// misfit is a token that the grammar does not allow where it stands, but which
// people write there from habit, with the hint that says how it is written here.
// Words are found in the tables of package foreign; these rows look at the
// tokens around the one at hand.
type misfit struct {
	k    lexer.Kind
	when func(p *parser) bool
	hint func(p *parser) string
}

func says(hint string) func(*parser) string { return func(*parser) string { return hint } }

// misfits are looked through in order; the first that holds is told.
var misfits = []misfit{
	{lexer.FatArrow, func(p *parser) bool { return p.after(lexer.Ident) || p.after(lexer.RParen) },
		says("a closure is written `|x| …`")},
	{lexer.PathSep, func(p *parser) bool { return p.peek(1) == lexer.Less },
		says("type arguments follow the name directly: `f<T>(…)`")},
	{lexer.For, func(p *parser) bool { return !p.newLine() },
		says("a new array is made by a method: `xs.map(|x| …)`, `xs.filter(|x| …)`")},
	{lexer.In, func(p *parser) bool { return true },
		says("`in` stands in a `for` only: ask `xs.contains(x)`, of a map `m.has(key)`")},
	{lexer.Not, func(p *parser) bool { return p.after(lexer.Ident) && p.adjoins() }, (*parser).macroHint},
	{lexer.String, (*parser).prefixed, (*parser).prefixHint},
	{lexer.StringHead, (*parser).prefixed, (*parser).prefixHint},
	{lexer.String, func(p *parser) bool { return p.after(lexer.Use) },
		says("a file is a module: `mod name;` reads name.conc, and `use name::x;` names what it has")},
	{lexer.String, func(p *parser) bool { return p.after(lexer.Emit) }, func(p *parser) string {
		return "emit is written like a call: `emit(" + p.text() + ", value)`"
	}},
	{lexer.String, func(p *parser) bool {
		return p.peek(1) == lexer.Colon && (p.after(lexer.LBrace) || p.after(lexer.Comma))
	},
		says("a field's name has no quotes: `name: …`")},
	{lexer.LBracket, func(p *parser) bool { return p.after(lexer.Ident) }, (*parser).bracketHint},
	{lexer.Arrow, func(p *parser) bool { return p.newLine() },
		says("the result stands in the head, behind the name or the parameters: `-> Type {`")},
	{lexer.Arrow, func(p *parser) bool { return p.after(lexer.RParen) },
		says("a function's type is written `fn(A) -> B`")},
	{lexer.Arrow, func(p *parser) bool { return p.after(lexer.Ident) },
		says("a field is read, and a method called, by `.`")},
	{lexer.Colon, func(p *parser) bool { return p.after(lexer.String) && p.peek(1) == lexer.Bar }, func(p *parser) string {
		return "a handler is written `" + p.prevText() + " => |message| …`"
	}},
	{lexer.Colon, func(p *parser) bool { return p.after(lexer.Ident, lexer.LParen) || p.after(lexer.Ident, lexer.Comma) }, func(p *parser) string {
		return "a closure's parameters stand between bars: `|" + p.prevText() + ": T| …`"
	}},
	{lexer.Bar, func(p *parser) bool { return p.after(lexer.String) }, func(p *parser) string {
		return "an arrow stands between: `" + p.prevText() + " => |message| …`"
	}},
	{lexer.Dot, func(p *parser) bool { return p.after(lexer.Ident) && p.peek(1) == lexer.Ident }, func(p *parser) string {
		return "what a module or a type has is named by `::`: `" + p.prevText() + "::" + p.textAt(p.i+1) + "`"
	}},
	{lexer.Slash, func(p *parser) bool { return p.after(lexer.Ident, lexer.Mod) }, func(p *parser) string {
		return "write `mod " + p.prevText() + ";`, and `mod " + p.textAt(min(p.i+1, len(p.toks)-1)) + ";` in its file, " + p.prevText() + "/mod.conc"
	}},
	{lexer.Comma, func(p *parser) bool { return p.after(lexer.Ident, lexer.For) }, func(p *parser) string {
		return "pairs are taken apart in parentheses: `for (" + p.prevText() + ", " + p.textAt(min(p.i+1, len(p.toks)-1)) + ") in …`; `xs.enumerate()` numbers elements"
	}},
	{lexer.Comma, func(p *parser) bool { return p.after(lexer.Ident, lexer.LBrace) }, func(p *parser) string {
		return "a map's entry names key and value: `" + p.prevText() + ": " + p.prevText() + "`"
	}},
	{lexer.Comma, func(p *parser) bool { return p.after(lexer.Ident) && p.peek(1) == lexer.Ident }, func(p *parser) string {
		return "several names take a tuple apart: `let (" + p.prevText() + ", " + p.textAt(p.i+1) + ") = …;`"
	}},
	{lexer.Ident, func(p *parser) bool { return p.after(lexer.String) && (p.text() == "or" || p.text() == "and") }, func(p *parser) string {
		return "one of several texts is the type `" + p.prevText() + " | \"…\"`; in conditions write `||` and `&&`"
	}},
	{lexer.Star, func(p *parser) bool { return p.after(lexer.LParen) || p.after(lexer.Comma) },
		says("a function takes a fixed number of parameters: take an Array")},
	{lexer.Ident, func(p *parser) bool { return p.after(lexer.RBracket) && p.adjoins() },
		says("types are written `Array<Int>`, `Map<String, Int>`")},
	{lexer.Ident, func(p *parser) bool { return p.after(lexer.Async) },
		says("write `async fn`")},
}

// foreignHint is the hint for the current token, which the grammar does not
// allow, if it or the one before comes from another language; else "".
func (p *parser) foreignHint() string {
	if p.k == lexer.Ident && !p.after(lexer.Async) && !p.after(lexer.String) {
		if hint := foreign.Between.Hint(p.text()); hint != "" {
			return hint
		}
	}
	for i := range misfits {
		if m := &misfits[i]; m.k == p.k && m.when(p) {
			return m.hint(p)
		}
	}
	if p.i == 0 || p.newLine() || p.k == lexer.Dot {
		return ""
	}
	switch p.prev(1) {
	case lexer.Ident:
		return foreign.Start.Hint(p.prevText())
	case lexer.Question:
		if startsExpr[p.k] {
			return "a choice is written `if a { b } else { c }`"
		}
	}
	return ""
}

// macroHint is for `name!(…)`.
func (p *parser) macroHint() string {
	name := p.prevText()
	switch name {
	case "vec":
		return "there are no macros: an array is written `[…]`"
	case "format":
		return "there are no macros: put values into text by `\"${x}\"`"
	case "println", "print":
		return "there are no macros: write `" + name + "(\"${x}\")`"
	}
	return "there are no macros: leave out the `!`"
}

// prefixed says whether a string stands right behind a letter or two, as f"…"
// and b"…" do in other languages.
func (p *parser) prefixed() bool {
	return p.after(lexer.Ident) && p.adjoins() && len(p.prevText()) <= 2
}

func (p *parser) prefixHint() string {
	return "leave out the `" + p.prevText() + "`: any string in double quotes takes values, `\"${x}\"`"
}

// bracketHint is for `[` behind a type's or function's name.
func (p *parser) bracketHint() string {
	if p.peek(1) == lexer.RBracket {
		return "an array's type is written `Array<" + p.prevText() + ">`"
	}
	return "type parameters and arguments stand in `<…>`: `" + p.prevText() + "<…>`"
}
