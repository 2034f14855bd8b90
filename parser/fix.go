package parser

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/lexer"
)

// This file creates the fixes of syntax errors that the tokens determine.

// wordAdvice returns a hint about the current token, which is a word of another language. If
// exactly one word of Concerto replaces the word, the advice contains a fix that does so.
func (p *parser) wordAdvice(hint string, w foreign.Word) diag.Advice {
	a := diag.HintAdvice(hint)
	if len(w.Ours) == 1 {
		return a.WithFix(diag.Change(p.span(), w.Ours[0], w.Ours[0], false))
	}
	return a
}

// foreignFix returns the fixes for a hint that foreignHint has returned. It returns nil unless
// Concerto's syntax can directly replace the text that the hint describes.
func (p *parser) foreignFix(hint string) []diag.Fix {
	if m := p.findMisfit(); m != nil && m.hint(p) == hint {
		if m.fix == nil {
			return nil
		}
		return m.fix(p)
	}
	if p.after(lexer.Ident) && foreign.Start.Hint(p.prevText()) == "" && !p.newLine() {
		if near := p.misspelledWord(); near != "" && hint == "did you mean `"+near+"`?" {
			return []diag.Fix{diag.Change(p.toks[p.i-1].Span(), near, near, suggest.Certain(p.prevText(), near, statementWords))}
		}
	}
	if p.i > 1 && p.prev(1) == lexer.Question && startsExpr[p.k] {
		return p.choiceFix()
	}
	at, w := p.span(), foreign.Between.Find(p.text())
	if p.k != lexer.Ident || w.HintText() != hint {
		if p.i == 0 || p.prev(1) != lexer.Ident {
			return nil
		}
		if at, w = p.toks[p.i-1].Span(), foreign.Start.Find(p.prevText()); w.HintText() != hint {
			return nil
		}
	}
	switch {
	case hint == "did you mean `else if`?":
		return []diag.Fix{diag.Change(at, "else if", "else if", false)}
	case len(w.Ours) == 1 && inPlace[w.Ours[0]]:
		return []diag.Fix{diag.Change(at, w.Ours[0], w.Ours[0], false)}
	}
	return nil
}

// inPlace contains the words of Concerto that can directly replace a word of another language.
var inPlace = map[string]bool{
	"let": true, "fn": true, "throw": true, "struct": true, "use": true, "for": true,
	"&&": true, "||": true, "==": true, "/": true, "%": true, "in": true,
}

// paramTypeAdvice returns the advice for a parameter without a type. It takes the type from the
// parameter's default if the default is simple.
func (p *parser) paramTypeAdvice(name *ast.Ident) diag.Advice {
	typed := name.Name + ": " + p.likelyType()
	a := diag.HintAdvice("add a type: `" + typed + "`")
	if p.k == lexer.Assign && (p.likelyType() != "String" || p.peek(1) == lexer.String) {
		return a.WithFix(diag.UnsafeFix(diag.Replace(name.Sp, typed), "Write `%s`", typed))
	}
	return a
}

// moveForwardFix returns the fix that moves the positional argument a before the named arguments.
func (p *parser) moveForwardFix(before []*ast.Arg, a *ast.Arg) diag.Fix {
	i := slices.IndexFunc(before, func(x *ast.Arg) bool { return x.Name != nil })
	return diag.Fix{Title: "Move it before the named arguments", Edits: []diag.Edit{
		diag.Insert(before[i].Sp.Start, p.src[a.Sp.Start:a.Sp.End]+", "),
		diag.Remove(source.Span{Start: before[len(before)-1].Sp.End, End: a.Sp.End}),
	}}
}

// payloadAdvice returns the advice for an emit that has no value or several values.
func payloadAdvice(args []*ast.Arg) diag.Advice {
	a := diag.HintAdvice("put several values into an array: `emit(channel, [a, b])`")
	if len(args) < 3 {
		return a
	}
	return a.WithFix(diag.Fix{Title: "Put the values into an array", Edits: []diag.Edit{
		diag.Insert(args[1].Sp.Start, "["), diag.Insert(args[len(args)-1].Sp.End, "]"),
	}})
}

// storeAdvice returns the advice for a store that has no type, and possibly no value. The current
// token is the store's keyword.
func (p *parser) storeAdvice(word, name string) diag.Advice {
	typ, constructor := "HashMap<String, Any>", "HashMap::new()"
	switch p.k {
	case lexer.Ledger:
		typ, constructor = "Ledger", "Ledger::new()"
	case lexer.Memory:
		typ, constructor = "Memory", "Memory::new()"
	case lexer.Ident:
		typ, constructor = "Queue<Any>", "Queue::new()"
	}
	missing := ": " + typ
	if p.peek(2) == lexer.Semi {
		missing += " = " + constructor
	}
	return diag.HintAdvice("write `" + word + " " + name + ": " + typ + " = " + constructor + ";`").
		WithFix(diag.Fix{Title: "Insert `" + missing + "`", Safe: p.k == lexer.Ledger || p.k == lexer.Memory, Edits: []diag.Edit{diag.Insert(p.toks[p.i+1].End, missing)}})
}

// removeRestFix returns the fix that removes the current `..`. A name that follows the `..` then
// binds one element.
func (p *parser) removeRestFix() diag.Fix {
	at := p.span()
	switch {
	case p.peek(1) == lexer.Ident:
	case p.peek(1) == lexer.Comma:
		at.End = p.toks[min(p.i+2, len(p.toks)-1)].Start
	case p.after(lexer.Comma):
		at.Start = p.toks[p.i-1].Start
	}
	return diag.UnsafeFix(diag.Remove(at), "Remove the `..`")
}

// escapeHolesFix returns the fix that escapes each `${` in the current string.
func (p *parser) escapeHolesFix() diag.Fix {
	fix := diag.Fix{Title: "Write `\\${`"}
	end := p.closingOrEnd(p.i)
	for i := p.i; i < end; i++ {
		if k := p.toks[i].Kind; k == lexer.StringHead || k == lexer.StringMid {
			fix.Edits = append(fix.Edits, diag.Insert(p.toks[i].End-2, `\`))
		}
	}
	return fix
}

// removeDecoratorFix returns the fix that removes the decorator d. The decorator ends at or before
// the current token.
func (p *parser) removeDecoratorFix(d *ast.Decorator) diag.Fix {
	end := d.Sp.End + source.Pos(blanks(p.src[d.Sp.End:]))
	return diag.UnsafeFix(diag.Remove(source.Span{Start: d.Sp.Start, End: end}), "Remove `%s`", p.src[d.Sp.Start:d.Sp.End])
}

// closeBlockFix returns the fix that closes the `{` at token open. It inserts the `}` where the
// block ends according to the indentation.
func (p *parser) closeBlockFix(open int) diag.Fix {
	i := open + 1
	for i < len(p.toks)-1 && !(p.startsLine(i) && p.indent(i) <= p.indent(open)) {
		i++
	}
	at, text := p.toks[i-1].End, " }"
	for j := open + 1; j <= i && text == " }"; j++ {
		if p.startsLine(j) {
			text = "\n" + p.src[p.lineBegin(open):][:p.indent(open)] + "}"
		}
	}
	if n := strings.IndexByte(p.src[at:]+"\n", '\n'); text != " }" {
		at += source.Pos(n)
	}
	return diag.UnsafeFix(diag.Insert(at, text), "Insert `}`")
}

// lineBegin returns the offset of the start of token i's line.
func (p *parser) lineBegin(i int) int {
	return strings.LastIndexByte(p.src[:p.toks[i].Start], '\n') + 1
}

// closeLine adds a fix to d that closes the unclosed bracket at token open at the end of the
// bracket's line.
func (p *parser) closeLine(d *diag.Diagnostic, open int) *diag.Diagnostic {
	closing := map[lexer.Kind]string{lexer.LParen: ")", lexer.LBracket: "]", lexer.LBrace: "}"}[p.toks[open].Kind]
	if closing == "" {
		return d
	}
	i := open + 1
	for i < len(p.toks)-1 && !p.startsLine(i) && p.toks[i].Kind != lexer.Semi {
		i++
	}
	d.Fixes = append(d.Fixes, diag.UnsafeFix(diag.Insert(p.toks[i-1].End, closing), "Insert `%s`", closing))
	return d
}

// moveOutAdvice returns the advice for a declaration in a block. The declaration starts at the
// current token. The fix moves it to the end of the file.
func (p *parser) moveOutAdvice(start source.Pos) diag.Advice {
	a := diag.HintAdvice("move the declaration to module level")
	open := p.i
	for open < len(p.toks)-1 && p.toks[open].Kind != lexer.LBrace && p.toks[open].Kind != lexer.Semi {
		open++
	}
	last := open
	if p.toks[open].Kind == lexer.LBrace {
		last = p.closingOrEnd(open)
	}
	outer := p.i
	for outer > 0 && !(p.atColumn0(outer) && startsDecl[p.toks[outer].Kind]) {
		outer--
	}
	if last >= len(p.toks)-1 || p.toks[outer].Kind == lexer.Mod {
		return a
	}
	at := source.Span{Start: start, End: p.toks[last].End}
	removed, end := wholeLines(p.src, at), p.toks[len(p.toks)-2].End
	if removed.End > end { // the block has no `}` after the declaration
		return a
	}
	indent := "\n" + p.src[p.lineBegin(p.i):][:p.indent(p.i)]
	text := strings.ReplaceAll(p.src[at.Start:at.End], indent, "\n")
	return a.WithFix(diag.Fix{Title: "Move it to module level", Edits: []diag.Edit{
		diag.Remove(removed), diag.Insert(end, "\n\n"+text),
	}})
}

// pathBefore returns the index of the first token of the path that ends before token i.
func (p *parser) pathBefore(i int) int {
	for i--; i >= 2 && p.toks[i-1].Kind == lexer.PathSep && p.toks[i-2].Kind == lexer.Ident; i -= 2 {
	}
	return i
}

// parenthesesFix returns the fix that puts struct literals in parentheses: the literal whose `{` is
// the current token, and the literals after it in the same head.
func (p *parser) parenthesesFix() diag.Fix {
	fix := diag.Fix{Title: "Put it in parentheses", Safe: true}
	for i := p.i; p.kindAt(i) == lexer.LBrace; {
		end := p.closingOrEnd(i)
		fix.Edits = append(fix.Edits, diag.Insert(p.toks[p.pathBefore(i)].Start, "("), diag.Insert(p.toks[end].End, ")"))
		for i = end + 1; i < len(p.toks) && p.toks[i].Kind != lexer.LBrace && p.toks[i].Kind != lexer.Semi; {
			i++
		}
		if p.kindAt(i-1) != lexer.Ident || p.kindAt(i+1) != lexer.Ident || p.kindAt(i+2) != lexer.Colon {
			break
		}
	}
	return fix
}

// rowSpan returns the span of a row that starts at start and ends before the current token. The
// span includes the row's comma, and the whole line if nothing else is on the line.
func (p *parser) rowSpan(start source.Pos) source.Span {
	s := p.from(start)
	if p.k == lexer.Comma {
		s.End = p.tok().End
		return wholeLines(p.src, s)
	}
	before := strings.TrimRight(p.src[:s.Start], " \t\r\n")
	if strings.HasSuffix(before, ",") {
		return source.Span{Start: source.Pos(len(before) - 1), End: s.End}
	}
	return s
}

// wholeLines extends a span. If nothing else is on the span's lines, the result includes the white
// space before the span and the line end after it. Otherwise it includes the white space after the
// span.
func wholeLines(src string, s source.Span) source.Span {
	before := strings.TrimRight(src[:s.Start], " \t")
	after := src[s.End:]
	n := blanks(after)
	if rest := after[n:]; before != "" && !strings.HasSuffix(before, "\n") || rest != "" && rest[0] != '\n' && !strings.HasPrefix(rest, "\r\n") {
		return source.Span{Start: s.Start, End: s.End + source.Pos(n)}
	}
	end := len(src)
	if i := strings.IndexByte(after, '\n'); i >= 0 {
		end = int(s.End) + i + 1
	}
	return source.Span{Start: source.Pos(len(before)), End: source.Pos(end)}
}

// blanks returns the number of spaces and tabs at the start of a text.
func blanks(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

// declarationAdvice returns the advice for the current word, which starts a declaration in other
// languages. It uses the text after the word. It returns no advice if this text does not say more
// than the word.
func (p *parser) declarationAdvice(word string) diag.Advice {
	line := p.src[p.here():]
	line = strings.TrimRight(line[:strings.IndexByte(line+"\n", '\n')], " \t\r;")
	words := strings.Fields(line)
	switch word {
	case "interface", "protocol", "abstract":
		if p.peek(1) == lexer.Ident && p.peek(2) == lexer.LBrace && p.kindAt(p.i+3) == lexer.Ident && (p.kindAt(p.i+4) == lexer.Colon || p.kindAt(p.i+4) == lexer.Question) {
			return diag.HintAdvice("use `struct` for data with fields; a `trait` contains methods").WithFix(diag.Change(p.span(), "struct", "struct", false))
		}
	case "import", "from":
		const files = "every file is a module: `mod name;` loads name.conc, and `use name::x;` imports x from it"
		if len(words) == 4 && word == "from" && words[2] == "import" {
			path := strings.ReplaceAll(words[1], ".", "::") + "::" + words[3]
			if words[3] == "*" || strings.ContainsAny(words[1]+words[3], "\"'{}(),") {
				return diag.HintAdvice(files)
			}
			at := source.Span{Start: p.here(), End: p.here() + source.Pos(len(line))}
			end := ""
			if !strings.HasPrefix(p.src[at.End:], ";") {
				end = ";"
			}
			return diag.HintAdvice("write `use " + path + ";`").WithFix(diag.UnsafeFix(diag.Replace(at, "use "+path+end), "Write `use %s;`", path))
		}
		if p.peek(1) != lexer.Ident || strings.Contains(line, " from ") {
			return diag.HintAdvice(files)
		}
	}
	return diag.Advice{}
}

// stepFix returns the fix for `x++`. The current token is the second `+`.
func (p *parser) stepFix(op string) []diag.Fix {
	if !p.after(p.k) || p.prev(2) != lexer.Ident {
		return nil
	}
	at := source.Span{Start: p.toks[p.i-2].End, End: p.tok().End}
	return []diag.Fix{diag.UnsafeFix(diag.Replace(at, " "+op+" 1"), "Write `%s %s 1`", p.textAt(p.i-2), op)}
}

// declareFix returns the fix for `x := value` and `a, b = value`. The current token is the `:` or
// `,`.
func (p *parser) declareFix() []diag.Fix {
	first := p.toks[p.i-1]
	switch {
	case p.k == lexer.Colon && p.peek(1) == lexer.Assign && p.startsLine(p.i-1):
		assign := source.Span{Start: first.End, End: p.toks[p.i+1].End}
		return []diag.Fix{{Title: "Declare it with `let`", Edits: []diag.Edit{diag.Insert(first.Start, "let "), diag.Replace(assign, " =")}}}
	case p.k == lexer.Comma && p.peek(2) == lexer.Assign && p.prev(2) == lexer.Let:
		return []diag.Fix{{Title: "Put the names in parentheses", Edits: []diag.Edit{diag.Insert(first.Start, "("), diag.Insert(p.toks[p.i+1].End, ")")}}}
	}
	return nil
}

// removeWordFix returns the fix that removes the previous word.
func (p *parser) removeWordFix() []diag.Fix {
	word := p.toks[p.i-1]
	return []diag.Fix{diag.UnsafeFix(diag.Remove(source.Span{Start: word.Start, End: p.here()}), "Remove `%s`", p.prevText())}
}

// pairFix returns the fix for `for i, x in xs` and `for i, x := range xs`. The current token is the
// `,`.
func (p *parser) pairFix() []diag.Fix {
	fix := diag.Fix{Title: "Put the pair in parentheses", Edits: []diag.Edit{diag.Insert(p.toks[p.i-1].Start, "("), diag.Insert(p.toks[p.i+1].End, ")")}}
	switch {
	case p.peek(1) != lexer.Ident:
		return nil
	case p.peek(2) == lexer.In:
	case p.peek(2) == lexer.Colon && p.peek(3) == lexer.Assign && p.textAt(p.i+4) == "range":
		fix.Edits = append(fix.Edits[:1], diag.Replace(source.Span{Start: p.toks[p.i+1].End, End: p.toks[p.i+4].End}, ") in"))
		if p.peek(5) == lexer.Ident && p.peek(6) == lexer.LBrace {
			fix.Edits = append(fix.Edits, diag.Insert(p.toks[p.i+5].End, ".enumerate()"))
		}
	default:
		return nil
	}
	return []diag.Fix{fix}
}

// removeCollectFix returns the fix that removes `.collect::<T>()`. The current token is the `::`.
func (p *parser) removeCollectFix() []diag.Fix {
	for i := p.i + 1; i < len(p.toks)-1 && !p.startsLine(i); i++ {
		if p.kindAt(i) == lexer.LParen && p.kindAt(i-1) == lexer.Greater && p.closingOrEnd(i) == i+1 {
			at := source.Span{Start: p.toks[p.i-2].Start, End: p.toks[i+1].End}
			return []diag.Fix{diag.UnsafeFix(diag.Remove(at), "Remove `%s`", p.src[at.Start:at.End])}
		}
	}
	return nil
}
