package parser

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/lexer"
)

// misfit is a syntax error that people make because they are used to another language, with a hint
// that shows Concerto's syntax. Errors that a single word causes are in the tables of package
// foreign. The rows here depend on the surrounding tokens.
type misfit struct {
	k    lexer.Kind
	when func(p *parser) bool
	hint func(p *parser) string
	// fix returns the fixes that apply the hint. It is nil for a misfit without fixes.
	fix func(p *parser) []diag.Fix
	// word reports that the error is in the word before the current token.
	word bool
}

func constantHint(hint string) func(*parser) string { return func(*parser) string { return hint } }

// misfits lists the errors in the order in which findMisfit tries them.
var misfits = []misfit{
	{lexer.FatArrow, func(p *parser) bool { return p.after(lexer.Ident) || p.after(lexer.RParen) },
		constantHint("write a closure as `|x| …`"), func(p *parser) []diag.Fix {
			if !p.after(lexer.Ident) {
				return nil
			}
			at := source.Span{Start: p.toks[p.i-1].Start, End: p.tok().End}
			return []diag.Fix{diag.Change(at, "|"+p.prevText()+"|", "|"+p.prevText()+"|", false)}
		}, false},
	{lexer.PathSep, func(p *parser) bool {
		return p.peek(1) == lexer.Less && p.after(lexer.Ident, lexer.Dot) && p.prevText() == "collect"
	},
		constantHint("remove it: `map`, `filter` and similar methods already return an Array"), (*parser).removeCollectFix, false},
	{lexer.PathSep, func(p *parser) bool { return p.peek(1) == lexer.Less },
		constantHint("write type arguments directly after the name: `f<T>(…)`"), func(p *parser) []diag.Fix {
			return []diag.Fix{diag.UnsafeFix(diag.Remove(p.span()), "Remove the `::`")}
		}, false},
	{lexer.Bar, func(p *parser) bool { return p.after(lexer.Ident) && p.prevText() == "move" },
		constantHint("remove `move`: a closure captures variables without it"), (*parser).removeWordFix, true},
	{lexer.Ident, func(p *parser) bool { return p.after(lexer.Ident) && p.prevText() == "go" },
		func(p *parser) string { return foreign.Start.Hint("go") }, (*parser).removeWordFix, true},
	{lexer.Ident, func(p *parser) bool { return p.after(lexer.Ident) && p.prevText() == "new" },
		(*parser).newHint, (*parser).newFix, true},
	{lexer.Ident, func(p *parser) bool { return p.after(lexer.Ident) && p.prevText() == "not" },
		func(p *parser) string { return foreign.Start.Hint("not") }, func(p *parser) []diag.Fix {
			return []diag.Fix{diag.Change(source.Span{Start: p.toks[p.i-1].Start, End: p.here()}, "!", "!", false)}
		}, true},
	{lexer.String, func(p *parser) bool { return p.after(lexer.Less) && strings.HasPrefix(p.text(), "'") },
		constantHint("Concerto has no lifetimes and no references: remove `<'a>` and `&`, values are copied"), nil, false},
	{lexer.Assign, func(p *parser) bool {
		return p.after(lexer.Ident) && (p.prev(2) == lexer.LBrace || p.prev(2) == lexer.Comma) && p.peek(1) != lexer.Assign && p.inEnumBraces()
	},
		constantHint("a variant has no numeric value: write only its name, and compute values in a function with `match`"), func(p *parser) []diag.Fix {
			end := p.toks[p.i+1].End
			return []diag.Fix{diag.UnsafeFix(diag.Remove(source.Span{Start: p.toks[p.i-1].End, End: end}), "Remove the value")}
		}, false},
	{lexer.LBrace, func(p *parser) bool { return p.kindAt(max(p.i-2, 0)) == lexer.For },
		constantHint("write `while … { … }` for a loop with a condition, or `loop { … }` for an endless loop"), func(p *parser) []diag.Fix {
			return []diag.Fix{diag.Change(p.toks[p.i-2].Span(), "while", "while", false)}
		}, false},
	{lexer.Colon, func(p *parser) bool { return p.after(lexer.Ident, lexer.For) && p.peek(1) == lexer.Assign },
		constantHint("`for` iterates over a collection: `for i in 0..n { … }`"), nil, false},
	{lexer.LParen, func(p *parser) bool { return p.after(lexer.Ident, lexer.Struct) },
		constantHint("fields need names: `struct P { x: Int, y: Int }`"), (*parser).nameFieldsFix, false},
	{lexer.LParen, func(p *parser) bool { return p.after(lexer.Pub) },
		constantHint("write only `pub`; it makes the declaration visible in the whole program"), func(p *parser) []diag.Fix {
			end := p.toks[p.closingOrEnd(p.i)].End
			return []diag.Fix{diag.UnsafeFix(diag.Remove(source.Span{Start: p.here(), End: end}), "Remove `%s`", p.src[p.here():end])}
		}, false},
	{lexer.LParen, func(p *parser) bool {
		return p.after(lexer.Ident) && p.prev(2) == lexer.Colon && functionTypes[p.prevText()]
	},
		constantHint("write a function type as `fn(Int) -> String`"), func(p *parser) []diag.Fix {
			return []diag.Fix{diag.Change(p.toks[p.i-1].Span(), "fn", "fn", false)}
		}, false},
	{lexer.Ident, func(p *parser) bool { return p.after(lexer.Ident) && p.prevText() == "dyn" },
		func(p *parser) string { return "the name of a trait is a type: write `" + p.text() + "`" }, func(p *parser) []diag.Fix {
			return []diag.Fix{diag.UnsafeFix(diag.Remove(source.Span{Start: p.toks[p.i-1].Span().Start, End: p.here()}), "Remove `dyn`")}
		}, false},
	{lexer.Ident, func(p *parser) bool {
		return (p.text() == "implements" || p.text() == "extends") && (p.after(lexer.Ident, lexer.Less) || p.after(lexer.Ident, lexer.Comma))
	}, func(p *parser) string {
		return "write a bound after the parameter: `" + p.prevText() + ": " + p.textAt(min(p.i+1, len(p.toks)-1)) + "`"
	}, func(p *parser) []diag.Fix {
		return []diag.Fix{diag.Change(source.Span{Start: p.prevEnd(), End: p.tok().End}, ":", ":", true)}
	}, false},
	{lexer.Ident, func(p *parser) bool { return p.text() == "not" && p.peek(1) == lexer.In },
		constantHint("write `!xs.contains(x)`, or `!m.has(key)` for a map"), nil, false},
	{lexer.Assign, func(p *parser) bool { return p.after(lexer.Ident, lexer.Agent) },
		func(p *parser) string {
			return "declare an agent with its connection and its fields: `agent " + p.prevText() + " uses NAME { system_prompt: \"…\" }`"
		}, nil, false},
	{lexer.Assign, func(p *parser) bool { return p.after(lexer.Ident, lexer.Host) },
		func(p *parser) string {
			return "declare a host with its fields: `host " + p.prevText() + " { connector: NAME }`"
		}, nil, false},
	{lexer.Bar, func(p *parser) bool { return p.isBitOr() },
		constantHint("Concerto has no bitwise operators: write `a.bit_or(b)`; `||` is a logical or"), nil, false},
	{lexer.Ident, func(p *parser) bool {
		return p.text() == "is" && p.peek(1) == lexer.Ident && p.textAt(p.i+1) == "not"
	}, constantHint("write `!=` to compare values, or `match` to check for a variant"), func(p *parser) []diag.Fix {
		return []diag.Fix{diag.Change(source.Span{Start: p.here(), End: p.toks[p.i+1].End}, "!=", "!=", false)}
	}, false},
	{lexer.For, func(p *parser) bool { return !p.newLine() },
		constantHint("create a new array with a method: `xs.map(|x| …)` or `xs.filter(|x| …)`"), nil, false},
	{lexer.In, func(p *parser) bool { return true },
		constantHint("`in` is only allowed in a `for`: write `xs.contains(x)`, or `m.has(key)` for a map"), (*parser).containsFix, false},
	{lexer.Not, func(p *parser) bool { return p.after(lexer.Ident) && p.adjoins() && !isOpening(p.peek(1)) },
		constantHint("write `x?` to return a None or an Err to the caller, or `x ?? default`"), nil, false},
	{lexer.Not, func(p *parser) bool { return p.after(lexer.Ident) && p.adjoins() }, (*parser).macroHint, func(p *parser) []diag.Fix {
		if p.prevText() == "vec" {
			return []diag.Fix{diag.UnsafeFix(diag.Remove(source.Span{Start: p.toks[p.i-1].Start, End: p.tok().End}), "Remove `vec!`")}
		}
		if p.prevText() == "anyhow" || p.prevText() == "bail" {
			return nil
		}
		return []diag.Fix{diag.UnsafeFix(diag.Remove(p.span()), "Remove the `!`")}
	}, false},
	{lexer.String, (*parser).hasStringPrefix, (*parser).prefixHint, (*parser).prefixFix, false},
	{lexer.StringHead, (*parser).hasStringPrefix, (*parser).prefixHint, nil, false},
	{lexer.String, func(p *parser) bool { return p.after(lexer.Use) },
		constantHint("every file is a module: `mod name;` loads name.conc, and `use name::x;` imports x from it"), nil, false},
	{lexer.String, func(p *parser) bool { return p.after(lexer.Emit) }, func(p *parser) string {
		return "call `emit` like a function: `emit(" + p.text() + ", value)`"
	}, nil, false},
	{lexer.String, func(p *parser) bool {
		return p.peek(1) == lexer.Colon && (p.after(lexer.LBrace) || p.after(lexer.Comma))
	},
		constantHint("write the field name without quotes: `name: …`"), nil, false},
	{lexer.LBracket, func(p *parser) bool { return p.after(lexer.Ident) }, (*parser).bracketHint, (*parser).arrayFix, false},
	{lexer.Arrow, func(p *parser) bool { return p.newLine() },
		constantHint("write the result type before the body: `-> Type {`"), nil, false},
	{lexer.Arrow, func(p *parser) bool { return p.after(lexer.RParen) },
		constantHint("write a function type as `fn(A) -> B`"), nil, false},
	{lexer.Arrow, func(p *parser) bool { return p.after(lexer.Ident) },
		constantHint("write `.` to read a field or call a method"), nil, false},
	{lexer.Colon, func(p *parser) bool { return p.after(lexer.String) && p.peek(1) == lexer.Bar }, func(p *parser) string {
		return "write a handler as `" + p.prevText() + " => |message| …`"
	}, func(p *parser) []diag.Fix {
		return []diag.Fix{diag.Change(source.Span{Start: p.prevEnd(), End: p.tok().End}, "=>", " =>", true)}
	}, false},
	{lexer.Colon, func(p *parser) bool { return p.after(lexer.Ident, lexer.LParen) || p.after(lexer.Ident, lexer.Comma) }, func(p *parser) string {
		return "write the parameters of a closure between bars: `|" + p.prevText() + ": T| …`"
	}, nil, false},
	{lexer.Bar, func(p *parser) bool { return p.after(lexer.String) }, func(p *parser) string {
		return "write `=>` after the message type: `" + p.prevText() + " => |message| …`"
	}, nil, false},
	{lexer.Dot, func(p *parser) bool { return p.after(lexer.Ident) && p.peek(1) == lexer.Ident }, func(p *parser) string {
		return "write `::` to access an item of a module or a type: `" + p.prevText() + "::" + p.textAt(p.i+1) + "`"
	}, nil, false},
	{lexer.Slash, func(p *parser) bool { return p.after(lexer.Ident, lexer.Mod) }, func(p *parser) string {
		return "write `mod " + p.prevText() + ";` here, and `mod " + p.textAt(min(p.i+1, len(p.toks)-1)) + ";` in its file, " + p.prevText() + "/mod.conc"
	}, nil, false},
	{lexer.Comma, func(p *parser) bool { return p.after(lexer.Ident, lexer.For) }, func(p *parser) string {
		return "put the pair in parentheses: `for (" + p.prevText() + ", " + p.textAt(min(p.i+1, len(p.toks)-1)) + ") in …`; `xs.enumerate()` returns indices and elements"
	}, (*parser).pairFix, false},
	{lexer.Ident, func(p *parser) bool {
		return p.after(lexer.Ident) && (p.prevText() == "except" || p.prevText() == "rescue")
	}, func(p *parser) string { return foreign.Start.Hint(p.prevText()) }, func(p *parser) []diag.Fix {
		if p.peek(1) != lexer.As || p.peek(2) != lexer.Ident {
			return nil
		}
		at, catch := source.Span{Start: p.toks[p.i-1].Start, End: p.toks[p.i+2].End}, "catch Error("+p.textAt(p.i+2)+")"
		return []diag.Fix{diag.Change(at, catch, catch, false)}
	}, true},
	{lexer.Comma, func(p *parser) bool { return p.after(lexer.Ident, lexer.LBrace) }, func(p *parser) string {
		return "an entry of a map has a key and a value: `" + p.prevText() + ": " + p.prevText() + "`"
	}, nil, false},
	{lexer.Comma, func(p *parser) bool {
		return p.after(lexer.Ident, lexer.Let) && p.peek(1) == lexer.Ident && errorNames[p.textAt(p.i+1)] && p.peek(2) == lexer.Assign
	}, (*parser).errorPairHint, (*parser).errorPairFix, false},
	{lexer.Comma, func(p *parser) bool { return p.after(lexer.Ident) && p.peek(1) == lexer.Ident }, func(p *parser) string {
		return "put the names in parentheses to destructure a tuple: `let (" + p.prevText() + ", " + p.textAt(p.i+1) + ") = …;`"
	}, (*parser).declareFix, false},
	{lexer.Ident, func(p *parser) bool { return p.after(lexer.String) && (p.text() == "or" || p.text() == "and") }, func(p *parser) string {
		return "the type of several alternative strings is `" + p.prevText() + " | \"…\"`; write `||` and `&&` in conditions"
	}, nil, false},
	{lexer.Star, func(p *parser) bool { return p.after(lexer.LParen) || p.after(lexer.Comma) },
		constantHint("a function has a fixed number of parameters: use an Array parameter"), nil, false},
	{lexer.Ident, func(p *parser) bool { return p.after(lexer.RBracket) && p.adjoins() },
		constantHint("write types as `Array<Int>` or `Map<String, Int>`"), nil, false},
	{lexer.Ident, func(p *parser) bool { return p.after(lexer.Async) },
		constantHint("write `async fn`"), nil, false},
}

// foreignHint returns the hint for the current token, which the grammar does not allow here. It
// returns "" unless the current token or the previous token comes from another language.
func (p *parser) foreignHint() string {
	if (p.k == lexer.Ident || p.k == lexer.Mod) && !p.after(lexer.Async) && !p.after(lexer.String) && p.findMisfit() == nil {
		if hint := foreign.Between.Hint(p.text()); hint != "" {
			return hint
		}
	}
	if m := p.findMisfit(); m != nil {
		return m.hint(p)
	}
	if p.i == 0 || p.newLine() || p.k == lexer.Dot {
		return ""
	}
	switch p.prev(1) {
	case lexer.Ident:
		if hint := foreign.Start.Hint(p.prevText()); hint != "" {
			return hint
		}
		if near := p.misspelledWord(); near != "" {
			return "did you mean `" + near + "`?"
		}
	case lexer.RParen: // for example `switch (x) {`
		if word := p.wordBefore(); p.k == lexer.LBrace && word != "" {
			return foreign.Start.Hint(word)
		}
	case lexer.Question:
		if startsExpr[p.k] {
			return "write a conditional expression as `if a { b } else { c }`"
		}
	}
	return ""
}

// choiceFix returns the fix that converts `c ? a : b` to an `if`. The current token is the start of
// a.
func (p *parser) choiceFix() []diag.Fix {
	start := p.i - 2
	for start > 0 && !p.startsLine(start) {
		if k := p.kindAt(start - 1); k == lexer.Assign || k == lexer.Return || k == lexer.LBrace || k == lexer.FatArrow {
			break
		} else if k == lexer.LParen || k == lexer.Comma || k == lexer.Colon {
			return nil
		}
		start--
	}
	colon := -1
	for i := p.i; i < len(p.toks)-1 && !p.startsLine(i); i++ {
		switch k := p.kindAt(i); {
		case isOpening(k):
			i = p.closingOrEnd(i)
		case k == lexer.Question:
			return nil
		case k == lexer.Colon && colon < 0:
			colon = i
		case k == lexer.Semi && colon > p.i && i > colon+1:
			return []diag.Fix{{Title: "Write it as an `if`", Edits: []diag.Edit{
				diag.Insert(p.toks[start].Start, "if "), diag.Replace(source.Span{Start: p.toks[p.i-2].End, End: p.here()}, " { "),
				diag.Replace(source.Span{Start: p.toks[colon-1].End, End: p.toks[colon+1].Start}, " } else { "), diag.Insert(p.toks[i-1].End, " }")}}}
		}
	}
	return nil
}

// foreignWordToken returns the index of the word that a hint of foreignHint describes. It returns
// -1 if this word is not before the current token.
func (p *parser) foreignWordToken(hint string) int {
	if m := p.findMisfit(); m != nil && m.hint(p) == hint {
		if m.word {
			return p.i - 1
		}
		return -1
	}
	switch p.prev(1) {
	case lexer.Ident:
		if foreign.Start.Hint(p.prevText()) == hint || hint == "did you mean `"+p.misspelledWord()+"`?" {
			return p.i - 1
		}
	case lexer.RParen:
		if word := p.wordBefore(); p.k != lexer.LBrace || word == "" || foreign.Start.Hint(word) != hint {
			return -1
		}
		for i := p.i - 2; i > 0; i-- {
			if p.kindAt(i) == lexer.LParen && p.closingOrEnd(i) == p.i-1 {
				return i - 1
			}
		}
	}
	return -1
}

// findMisfit returns the first row of misfits that applies to the current token, or nil.
func (p *parser) findMisfit() *misfit {
	for i := range misfits {
		if m := &misfits[i]; m.k == p.k && m.when(p) {
			return m
		}
	}
	return nil
}

// inEnumBraces reports whether the innermost open braces at the current token are those of an enum.
func (p *parser) inEnumBraces() bool {
	for i := p.i - 1; i > 1; i-- {
		if k := p.kindAt(i); k == lexer.RBrace || k == lexer.Semi {
			return false
		} else if k == lexer.LBrace {
			return p.kindAt(i-1) == lexer.Ident && p.kindAt(i-2) == lexer.Enum
		}
	}
	return false
}

// isBitOr reports whether the current `|` is between two operands that may be Ints.
func (p *parser) isBitOr() bool {
	switch next := p.peek(1); {
	case next != lexer.Int && next != lexer.Ident && next != lexer.LParen:
		return false
	case p.after(lexer.Ident):
		return p.prevText()[0] >= 'a' && p.prevText()[0] <= 'z'
	}
	return p.after(lexer.Int) || p.after(lexer.RParen)
}

// functionTypes contains the names of function types in other languages.
var functionTypes = map[string]bool{"Fn": true, "FnMut": true, "FnOnce": true, "Function": true, "Callable": true, "func": true, "Func": true}

// nameFieldsFix returns the fix that adds names to the fields of a struct whose fields are only
// types.
func (p *parser) nameFieldsFix() []diag.Fix {
	end := p.closingOrEnd(p.i)
	if end >= len(p.toks)-1 || end == p.i+1 || end-p.i > 2*26 {
		return nil
	}
	fix := diag.Fix{Title: "Name the fields", Edits: []diag.Edit{diag.Replace(p.span(), " { ")}}
	name, depth := 'a', 0
	for i := p.i + 1; i < end; i++ {
		switch p.kindAt(i) {
		case lexer.Less, lexer.LParen:
			depth++
		case lexer.Greater, lexer.RParen:
			depth--
		}
		if before := p.kindAt(i - 1); i == p.i+1 || before == lexer.Comma && depth == 0 {
			fix.Edits = append(fix.Edits, diag.Insert(p.toks[i].Start, string(name)+": "))
			name++
		}
	}
	closing := p.toks[end].Span()
	if p.kindAt(end+1) == lexer.Semi {
		closing.End = p.toks[end+1].End
	}
	fix.Edits = append(fix.Edits, diag.Replace(closing, " }"))
	return []diag.Fix{fix}
}

// statementWords are the words that start a statement.
var statementWords = func() (words []string) {
	for k := range lexer.NumKinds {
		if startsStmt[k] && k.IsKeyword() {
			words = append(words, k.Info().Text)
		}
	}
	return words
}()

// misspelledWord returns the statement keyword that the previous name probably misspells, or "".
func (p *parser) misspelledWord() string {
	i := p.i - 1
	if i > 0 && !p.startsLine(i) {
		switch p.kindAt(i - 1) {
		case lexer.LBrace, lexer.RBrace, lexer.Semi:
		default:
			return ""
		}
	}
	near := suggest.Nearest(p.prevText(), statementWords)
	if suggest.EditDistance(p.prevText(), near) > 1 && !suggest.Certain(p.prevText(), near, statementWords) {
		return ""
	}
	return near
}

// wordBefore returns the word before a pair of parentheses, if the pair ends before the current
// token, else "".
func (p *parser) wordBefore() string {
	for i := p.i - 2; i > 0; i-- {
		if p.kindAt(i) == lexer.LParen && p.closingOrEnd(i) == p.i-1 {
			if p.kindAt(i-1) == lexer.Ident {
				return p.textAt(i - 1)
			}
			return ""
		}
	}
	return ""
}

// macroHint returns the hint for `name!(…)`.
func (p *parser) macroHint() string {
	name := p.prevText()
	switch name {
	case "vec":
		return "Concerto has no macros: write an array as `[…]`"
	case "format":
		return "Concerto has no macros: insert values into text with `\"${x}\"`"
	case "anyhow", "bail":
		return "Concerto has no macros: create an error with `Error::new(\"…\")`"
	case "println", "print":
		return "Concerto has no macros: write `" + name + "(\"${x}\")`"
	}
	return "Concerto has no macros: remove the `!`"
}

// hasStringPrefix reports whether one or two letters are directly before a string, such as f"…" and
// b"…" in other languages.
func (p *parser) hasStringPrefix() bool {
	return p.after(lexer.Ident) && p.adjoins() && len(p.prevText()) <= 2
}

func (p *parser) prefixHint() string {
	return "remove the `" + p.prevText() + "`: every string in double quotes can contain values, `\"${x}\"`"
}

// bracketHint returns the hint for `[` after the name of a type or function.
func (p *parser) bracketHint() string {
	if p.peek(1) == lexer.RBracket {
		return "write an array type as `" + p.arrayType() + "`"
	}
	return "write type parameters and type arguments in `<…>`: `" + p.prevText() + "<…>`"
}

// arrayType returns the text of the array type whose element type is the previous name.
func (p *parser) arrayType() string {
	elem := p.prevText()
	if w := foreign.Type.Find(elem); len(w.Ours) == 1 {
		elem = w.Ours[0]
	}
	return "Array<" + elem + ">"
}

// arrayFix returns the fix that replaces `T[]` with an Array type.
func (p *parser) arrayFix() []diag.Fix {
	if p.peek(1) != lexer.RBracket {
		return nil
	}
	typ := p.arrayType()
	return []diag.Fix{diag.Change(source.Span{Start: p.toks[p.i-1].Start, End: p.toks[p.i+1].End}, typ, typ, false)}
}
