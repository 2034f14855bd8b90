package parser

import (
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// The parser reports a construct of another language once if its meaning is certain, and parses it
// with this meaning. Therefore the construct causes no further errors.

// hintLength is the maximum length in bytes of source text in a hint.
const hintLength = 60

// textOf returns the source text of a span for a hint. It returns instead if the text is too long
// or has several lines.
func (p *parser) textOf(s source.Span, instead string) string {
	if t := p.src[s.Start:s.End]; len(t) <= hintLength && !strings.ContainsAny(t, "\n`") {
		return t
	}
	return instead
}

// arrayOf returns an array type with the element type elem. The type was written with brackets and
// extends from start to the previous token. arrayOf reports d with a fix that writes the array
// type.
func (p *parser) arrayOf(elem ast.Type, start source.Pos, d *diag.Diagnostic) ast.Type {
	at := p.from(start)
	text := "Array<" + p.concertoType(elem) + ">"
	p.report(d.Repair(diag.SafeFix(diag.Replace(at, text), "Change to `%s`", text), "write an array type as `%s`", text))
	name := p.newIdent()
	name.Sp, name.Name = at, "Array"
	return &ast.NamedType{IDBase: p.baseAt(at), Segments: []*ast.Ident{name}, Args: []ast.Type{elem}}
}

// concertoType returns the text of a type. If the type has another language's name, the text
// contains Concerto's name.
func (p *parser) concertoType(t ast.Type) string {
	text := p.src[t.Span().Start:t.Span().End]
	if w := foreign.Type.Find(text); len(w.Ours) == 1 {
		return w.Ours[0]
	}
	return text
}

// bracketType reads `[T]`, `[T; n]` and `[]T`.
func (p *parser) bracketType() ast.Type {
	start := p.here()
	d := diag.NoType.At(p.span(), "expected a type, found `[`")
	p.next()
	if p.eat(lexer.RBracket) {
		return p.arrayOf(p.plainType(), start, d)
	}
	elem := p.typ()
	if p.k == lexer.Semi && p.peek(1) == lexer.Int && p.peek(2) == lexer.RBracket {
		p.seek(p.i + 2)
	}
	if !p.eat(lexer.RBracket) {
		p.fail(d.Hint("write an array type as `Array<%s>`", p.concertoType(elem)))
	}
	return p.arrayOf(elem, start, d)
}

// bracketTypeAhead reports whether the current `[` starts a type in the syntax of another language.
func (p *parser) bracketTypeAhead() bool {
	switch p.peek(1) {
	case lexer.RBracket:
		return startsType[p.peek(2)]
	case lexer.Ident, lexer.LParen, lexer.LBracket:
		end := p.closingOrEnd(p.i)
		return end < len(p.toks)-1 && end-p.i < 40
	}
	return false
}

// startsType contains the tokens that start a type.
var startsType = [lexer.NumKinds]bool{
	lexer.Ident: true, lexer.SelfType: true, lexer.String: true, lexer.LParen: true, lexer.Fn: true, lexer.LBracket: true,
}

// foreignResult reads the result type of a function that is not written after a `->`: `fn f(): T`,
// `fn f() => T` or `fn f() T {`.
func (p *parser) foreignResult() ast.Type {
	if p.newLine() || !p.after(lexer.RParen) {
		return nil
	}
	switch at := p.span(); {
	case (p.k == lexer.Colon || p.k == lexer.FatArrow) && p.isTypeAt(p.i+1):
		d := diag.Unexpected.At(at, "expected `->`, found %s", p.foundText())
		p.next()
		t := p.typ()
		arrow := "->"
		if p.src[at.Start-1] == ')' {
			arrow = " ->"
		}
		if at.End == t.Span().Start {
			arrow += " "
		}
		p.report(d.Repair(diag.SafeFix(diag.Replace(at, arrow), "Change to `->`"), "write `->` before the result type: `-> %s`", p.textOf(t.Span(), "T")))
		return t
	case p.k == lexer.FatArrow && p.peek(1) == lexer.LBrace:
		p.report(diag.Unexpected.At(at, "expected `{`, found `=>`").
			Repair(diag.SafeFix(diag.Remove(source.Span{Start: at.Start, End: p.toks[p.i+1].Start}), "Remove the `=>`"), "remove the `=>`: the body of a function follows its head directly"))
		p.next()
	case p.k == lexer.Ident && p.isTypeAt(p.i) && (p.peek(1) == lexer.LBrace || p.peek(1) == lexer.Less),
		p.k == lexer.LParen && p.kindAt(p.closingOrEnd(p.i)+1) == lexer.LBrace && p.isTypeAt(p.i+1):
		d := diag.Unexpected.At(at, "expected `->` or `{`, found %s", p.foundText())
		t := p.typ()
		p.report(d.Repair(diag.SafeFix(diag.Insert(at.Start, "-> "), "Insert `->`"), "write `->` before the result type: `-> %s`", p.textOf(t.Span(), "T")))
		return t
	}
	return nil
}

// isTypeAt reports whether token i looks like the start of a type.
func (p *parser) isTypeAt(i int) bool {
	switch p.kindAt(i) {
	case lexer.Ident:
		name := p.textAt(i)
		return name[0] >= 'A' && name[0] <= 'Z' || len(foreign.Type.Find(name).Ours) > 0
	case lexer.SelfType, lexer.LParen, lexer.LBracket, lexer.Fn:
		return true
	}
	return false
}

// arrowAhead returns the index of the arrow if a closure in the syntax of another language starts
// at the current token, such as `x => …`, `(x, y) => …` or `x -> …`. Otherwise it returns -1.
func (p *parser) arrowAhead() int {
	switch p.prev(1) {
	case lexer.LParen, lexer.Comma, lexer.Assign, lexer.Return, lexer.Colon:
	default:
		return -1
	}
	arrow := p.i + 1
	if p.k == lexer.LParen {
		for k := p.kindAt(arrow); k == lexer.Ident || k == lexer.Comma || k == lexer.Colon || k == lexer.Less || k == lexer.Greater; k = p.kindAt(arrow) {
			arrow++
		}
		if p.kindAt(arrow) != lexer.RParen {
			return -1
		}
		arrow++
	}
	if p.kindAt(arrow) != lexer.FatArrow && p.kindAt(arrow) != lexer.Arrow || p.setting.inHead || p.startsLine(arrow) {
		return -1
	}
	return arrow
}

// arrowClosure reads a closure in the syntax of another language whose arrow is at token arrow.
func (p *parser) arrowClosure(arrow int) ast.Expr {
	start := p.here()
	params := strings.TrimSuffix(strings.TrimPrefix(p.src[start:p.toks[arrow-1].End], "("), ")")
	head := "|" + strings.TrimSpace(params) + "|"
	d := diag.Unexpected.At(p.toks[arrow].Span(), "unexpected %s in a closure", p.foundTextAt(arrow))
	n := &ast.Closure{}
	paren := p.eat(lexer.LParen)
	for p.i < arrow && p.k != lexer.RParen {
		if n.Params = append(n.Params, p.closureParam()); !p.eat(lexer.Comma) {
			break
		}
	}
	if paren && p.k != lexer.RParen || !paren && p.i != arrow {
		p.fail(d.Hint("write a closure as `%s …`", head))
	}
	p.seek(arrow + 1)
	p.deeper()
	n.Body = p.bodyExpr()
	p.setting.shallower()
	n.IDBase = p.base(start)
	written := head + " " + p.textOf(n.Body.Span(), "…")
	at := source.Span{Start: start, End: p.toks[arrow].End}
	p.report(d.Repair(diag.SafeFix(diag.Replace(at, head), "Change to `%s`", head), "write a closure as `%s`", written))
	return n
}

// errorTypes contains names of error types in other languages.
var errorTypes = map[string]bool{
	"Error": true, "Exception": true, "ValueError": true, "TypeError": true, "RuntimeError": true, "RuntimeException": true,
	"KeyError": true, "IndexError": true, "IllegalArgumentException": true, "IllegalStateException": true,
}

// makesError reports whether token i starts the creation of an error in the syntax of other
// languages: `Error("…")`.
func (p *parser) makesError(i int) bool {
	return p.kindAt(i) == lexer.Ident && errorTypes[p.textAt(i)] && p.kindAt(i+1) == lexer.LParen
}

// argumentsAt returns the source text of the arguments in the parentheses that open at token i.
func (p *parser) argumentsAt(i int) string {
	end := p.closingOrEnd(i)
	return p.textOf(source.Span{Start: p.toks[i].End, End: p.toks[end].Start}, "…")
}

// newHint returns the hint for `new P(…)`. The current token is P.
func (p *parser) newHint() string {
	switch {
	case p.makesError(p.i):
		return "create an error with `Error::new(" + p.argumentsAt(p.i+1) + ")`"
	case p.peek(1) == lexer.LParen:
		return "Concerto has no `new`: create a struct value with `" + p.text() + " { field: value }`, or call a function of its `impl`, `" + p.text() + "::new(" + p.argumentsAt(p.i+1) + ")`"
	}
	return foreign.Start.Hint("new")
}

func (p *parser) newFix() []diag.Fix {
	if p.makesError(p.i) {
		at := source.Span{Start: p.toks[p.i-1].Start, End: p.tok().End}
		return []diag.Fix{diag.Change(at, "Error::new", "Error::new", true)}
	}
	return p.removeWordFix()
}

// errorNames contains common names of the second result in languages whose functions return a value
// and an error.
var errorNames = map[string]bool{"err": true, "error": true, "e": true, "ok": true, "_": true}

// errorPairHint returns the hint for `let n, err = f();`. The current token is the comma.
func (p *parser) errorPairHint() string {
	value, _ := p.valueAfter(p.i + 2)
	return "a function returns one value: `let " + p.prevText() + " = " + value + "?;` takes the value out of a Result and returns the error to the caller; `match " + value + " { Ok(" + p.prevText() + ") => …, Err(e) => … }` handles it"
}

// errorPairFix returns the fix that removes the error's name and adds a `?` after the value. It
// returns nil unless the name is `_`, or an `if` on the next line returns when the error is set.
func (p *parser) errorPairFix() []diag.Fix {
	_, end := p.valueAfter(p.i + 2)
	if end >= len(p.toks)-1 {
		return nil
	}
	name := p.textAt(p.i + 1)
	fix := diag.Fix{Title: "Take the value out with `?`", Edits: []diag.Edit{
		diag.Remove(source.Span{Start: p.here(), End: p.toks[p.i+1].End}), diag.Insert(p.toks[end].Start, "?")}}
	if p.kindAt(end+1) == lexer.If && p.textAt(end+2) == name && p.kindAt(end+5) == lexer.LBrace {
		last := p.closingOrEnd(end + 5)
		if p.kindAt(end+6) != lexer.Return || p.kindAt(last) != lexer.RBrace {
			return nil
		}
		fix.Edits = append(fix.Edits, diag.Remove(wholeLines(p.src, source.Span{Start: p.toks[end+1].Start, End: p.toks[last].End})))
	} else if name != "_" {
		return nil
	}
	return []diag.Fix{fix}
}

// valueAfter returns the text after the `=` at token i, and the index of the `;` after this text.
func (p *parser) valueAfter(i int) (string, int) {
	end := i + 1
	for end < len(p.toks)-1 && p.kindAt(end) != lexer.Semi && !p.startsLine(end) {
		end++
	}
	if p.kindAt(end) != lexer.Semi {
		return "…", len(p.toks)
	}
	return p.textOf(source.Span{Start: p.toks[i+1].Start, End: p.toks[end-1].End}, "…"), end
}

// methodInStruct reads a function between the fields of a struct, and reports the first one in each
// struct. The fix moves the function, and the functions after it, to an `impl`.
func (p *parser) methodInStruct(n *ast.StructDecl, h head) {
	first := p.mixed != n
	p.mixed = n
	at := p.i + 1
	m := p.fnDecl(h)
	p.recordLostText(n, at, at+1)
	p.flaws = append(p.flaws, ast.Flaw{Node: m, Span: source.Span{Start: m.Name.Sp.End, End: m.Name.Sp.End}})
	if first {
		signature := p.textOf(m.Signature, "fn "+m.Name.Name+"(self)")
		p.report(diag.Unexpected.At(m.Name.Sp, "a struct can contain only fields, not methods").WithFixes(p.moveToImplFix(n, h.start)...).
			Hint("declare the method in an `impl`: `impl %s { %s { … } }`", n.Name.Name, signature))
	}
	p.reports.lastAt = p.prevEnd() // suppresses an error about a missing comma after the function
}

// moveToImplFix returns the fix that moves functions from the struct n to an impl. The first
// function starts at start and has been read; the other functions follow it.
func (p *parser) moveToImplFix(n *ast.StructDecl, start source.Pos) []diag.Fix {
	end := p.prevEnd()
	close := p.i
	for depth := 0; close < len(p.toks)-1; close++ { // search the struct's `}`
		if k := p.kindAt(close); isOpening(k) {
			depth++
		} else if isClosing(k) {
			if depth == 0 {
				break
			}
			if depth--; depth == 0 && k == lexer.RBrace {
				end = p.toks[close].End
			}
		} else if depth == 0 && k.IsWord() && p.kindAt(close+1) == lexer.Colon && k != lexer.Self {
			return nil // fields follow the function
		}
	}
	if p.kindAt(close) != lexer.RBrace || len(n.Generics) > 0 {
		return nil
	}
	body := p.src[start:end]
	text := "\n\nimpl " + n.Name.Name + " {\n    " + body + "\n}"
	at := source.Span{Start: start, End: end}
	return []diag.Fix{{Title: "Move it to `impl " + n.Name.Name + "`", Safe: true, Edits: []diag.Edit{
		diag.Remove(wholeLines(p.src, at)), diag.Insert(p.toks[close].End, text),
	}}}
}

// renameReserved returns the fix that appends `_` to a reserved word that the program uses as a
// name. Token i declares the name. The fix also renames the uses of the name.
func (p *parser) renameReserved(i int) diag.Fix {
	word := p.textAt(i)
	fix := diag.Fix{Title: "Rename to `" + word + "_`", Edits: []diag.Edit{diag.Insert(p.toks[i].End, "_")}}
	for j, depth := i+1, 0; j < len(p.toks)-1 && depth >= 0; j++ {
		switch k := p.kindAt(j); {
		case k == p.kindAt(i) && p.usedAsName(j):
			fix.Edits = append(fix.Edits, diag.Insert(p.toks[j].End, "_"))
		case k == lexer.LBrace || k == lexer.StringHead:
			depth++
		case k == lexer.RBrace || k == lexer.StringTail:
			depth--
		}
		if startsDecl[p.kindAt(j)] && p.atColumn0(j) {
			break
		}
	}
	return fix
}

// usedAsName reports whether a variable's name could be in the position of the reserved word at
// token j.
func (p *parser) usedAsName(j int) bool {
	if p.kindAt(j-1) == lexer.Dot || p.kindAt(j-1) == lexer.PathSep {
		return false
	}
	switch p.kindAt(j + 1) {
	case lexer.Ident, lexer.Colon:
		return false
	case lexer.String, lexer.LBrace:
		return j > 0 && (p.kindAt(j-1) == lexer.In || p.kindAt(j-1) == lexer.Match || p.kindAt(j-1) == lexer.If)
	}
	return true
}

// mayFollowName reports whether the token after the current reserved word can follow a name in a
// declaration.
func (p *parser) mayFollowName() bool {
	switch p.peek(1) {
	case lexer.Colon, lexer.Assign, lexer.Comma, lexer.RParen, lexer.In, lexer.LParen, lexer.Semi, lexer.Arrow, lexer.Bar:
		return !p.after(lexer.At)
	}
	return false
}

// reservedName reads the current reserved word as a name. The error has been reported.
func (p *parser) reservedName() *ast.Ident {
	if p.reserved == nil {
		p.reserved = map[lexer.Kind]bool{}
	}
	p.reserved[p.k] = true
	id := p.ident()
	p.flaws = append(p.flaws, ast.Flaw{Span: source.Span{Start: id.Sp.End, End: id.Sp.End}, Names: []*ast.Ident{id}})
	return id
}

// isReservedUse reports whether the current reserved word is used as a name, and the program has
// declared a name with this word.
func (p *parser) isReservedUse() bool {
	return p.reserved != nil && p.reserved[p.k] && p.usedAsName(p.i)
}

// isDottedPath reports whether the `.` at the current token accesses an enum variant, as in other
// languages.
func (p *parser) isDottedPath() bool {
	return p.k == lexer.Ident && p.peek(1) == lexer.Dot && p.peek(2) == lexer.Ident && p.text()[0] >= 'A' && p.text()[0] <= 'Z'
}

// arraySuffixes reads the `[]` suffixes after the type t. Each suffix makes an array type of the
// type before it.
func (p *parser) arraySuffixes(t ast.Type, start source.Pos) ast.Type {
	at, text := p.span(), p.concertoType(t)
	for p.k == lexer.LBracket && p.peek(1) == lexer.RBracket {
		name := p.newIdent()
		name.Sp, name.Name = source.Span{Start: start, End: start}, "Array"
		p.seek(p.i + 2)
		at.End, text = p.prevEnd(), "Array<"+text+">"
		t = &ast.NamedType{IDBase: p.base(start), Segments: []*ast.Ident{name}, Args: []ast.Type{t}}
	}
	p.report(diag.NoType.At(at, "unexpected `[]` after a type").
		Repair(diag.SafeFix(diag.Replace(p.from(start), text), "Change to `%s`", text), "write an array type as `%s`", text))
	return t
}

// toolFix returns the fix that converts `@tool fn name(…) { … }` to a tool that contains the
// function. The word `tool` is token i.
func (p *parser) toolFix(i int) []diag.Fix {
	if p.kindAt(i+1) != lexer.Fn || p.kindAt(i+2) != lexer.Ident || p.kindAt(i+3) != lexer.LParen {
		return nil
	}
	end := p.closingOrEnd(i + 3)
	for end < len(p.toks)-1 && p.kindAt(end) != lexer.LBrace {
		end++
	}
	if end = p.closingOrEnd(min(end, len(p.toks)-1)); end <= i || p.kindAt(end) != lexer.RBrace {
		return nil
	}
	name, words := p.textAt(i+2), strings.ReplaceAll(p.textAt(i+2), "_", " ")
	tool := ""
	for word := range strings.FieldsSeq(words) {
		tool += strings.ToUpper(word[:1]) + word[1:]
	}
	self := "self"
	if p.kindAt(i+4) != lexer.RParen {
		self += ", "
	}
	text := "tool " + tool + " {\n    description: \"" + words + "\",\n\n    @describe(\"" + words + "\")\n    "
	fix := diag.Fix{Title: "Move it into a tool", Edits: []diag.Edit{
		diag.Replace(source.Span{Start: p.toks[i-1].Start, End: p.toks[i+1].Start}, text),
		diag.Insert(p.toks[i+3].End, self), diag.Insert(p.toks[end].End, "\n}")}}
	for j := 0; j+2 < len(p.toks); j++ {
		if p.kindAt(j) == lexer.Ident && p.textAt(j) == "tools" && p.kindAt(j+1) == lexer.Colon && p.kindAt(j+2) == lexer.LBracket {
			for j += 3; j < len(p.toks)-1 && p.kindAt(j) != lexer.RBracket; j++ {
				if p.kindAt(j) == lexer.Ident && p.textAt(j) == name {
					fix.Edits = append(fix.Edits, diag.Replace(p.toks[j].Span(), tool))
				}
			}
		}
	}
	return []diag.Fix{fix}
}

// handlersAhead reports whether the current `{` contains the handlers of a `listen`.
func (p *parser) handlersAhead() bool {
	if p.k != lexer.LBrace {
		return false
	}
	i := p.i + 1
	if p.kindAt(i) == lexer.Ident && p.textAt(i) == "on" && p.kindAt(i+1) == lexer.String {
		return true
	}
	return (p.kindAt(i) == lexer.String || p.kindAt(i) == lexer.Ident) && p.kindAt(i+1) == lexer.FatArrow
}

// listenMethod reads the handlers after `Coder.listen(…)`. The expression has the meaning of
// `listen Coder.execute(…)`.
func (p *parser) listenMethod(call *ast.MethodCall) ast.Expr {
	name := call.Name.Sp
	host := p.textOf(call.Recv.Span(), "HOST")
	args := p.textOf(source.Span{Start: name.End, End: call.Sp.End}, "(…)")
	p.report(diag.Unexpected.At(name, "`listen` is not a method: write it before the call").
		Repair(diag.Fix{Title: "Change to `listen " + host + ".execute`", Safe: true, Edits: []diag.Edit{
			diag.Insert(call.Sp.Start, "listen "), diag.Replace(name, "execute")}},
			"write `listen %s.execute%s { … }`", host, args))
	call.Name = &ast.Ident{Base: call.Name.Base, Name: "execute"}
	n := &ast.ListenExpr{Call: call, Head: call.Sp}
	return p.listenRest(n, call.Sp.Start)
}

// handlerBlockAhead reports whether the text after a message type is a handler in the syntax of
// other languages: `(q) { … }`.
func (p *parser) handlerBlockAhead() bool {
	if p.k != lexer.LParen {
		return false
	}
	end := p.closingOrEnd(p.i)
	if p.kindAt(end) != lexer.RParen || p.kindAt(end+1) != lexer.LBrace {
		return false
	}
	return end == p.i+1 || p.peek(1) == lexer.Ident && (end == p.i+2 || p.peek(2) == lexer.Colon || p.peek(2) == lexer.Comma)
}

// handlerBlock reads a handler with parameters in parentheses and a block as its body.
func (p *parser) handlerBlock() ast.Expr {
	start, open, end := p.here(), p.i, p.closingOrEnd(p.i)
	d := diag.Unexpected.At(source.Span{Start: start, End: p.toks[end].End}, "expected `=>`, found `(`")
	params := p.textOf(source.Span{Start: p.toks[open].End, End: p.toks[end].Start}, "message")
	n := &ast.Closure{}
	for p.next(); p.i < end; {
		if n.Params = append(n.Params, p.closureParam()); !p.eat(lexer.Comma) {
			break
		}
	}
	if p.i != end {
		p.fail(d.Hint("write a handler as `%s => |message| …`", p.textAt(open-1)))
	}
	p.next()
	if params == "" {
		params = "_message"
		n.Params = append(n.Params, &ast.Param{Pattern: &ast.WildPat{IDBase: p.baseAt(d.Span)}})
		n.Params[0].Sp = d.Span
	}
	p.deeper()
	n.Body = p.bodyExpr()
	p.setting.shallower()
	n.IDBase = p.base(start)
	written := "=> |" + params + "|"
	if p.src[start-1] != ' ' {
		written = " " + written
	}
	p.report(d.Repair(diag.SafeFix(diag.Replace(d.Span, written), "Change to `%s`", strings.TrimSpace(written)), "write a handler as `%s => |%s| …`", p.textAt(open-1), params))
	return n
}

// firstValues maps the name of a type to the initial value that the fix for a tool's field inserts.
var firstValues = map[string]string{
	"Int": "0", "Float": "0.0", "String": `""`, "Bool": "false", "Array": "[]", "Map": "{}",
}

// isValueMissing reports whether the current field of a tool, `name: T`, has no initial value.
func (p *parser) isValueMissing() bool {
	depth := 0
	for i := p.i + 2; i < len(p.toks)-1; i++ {
		k := p.kindAt(i)
		if depth == 0 && i > p.i+2 && (k == lexer.Comma || k == lexer.RBrace || k != lexer.Assign && p.startsLine(i)) {
			next := p.kindAt(i + 1)
			return k != lexer.Comma || next.IsWord() || next == lexer.At || next == lexer.RBrace
		}
		switch k {
		case lexer.Less:
			depth++
		case lexer.Greater:
			depth--
		case lexer.Ident, lexer.Question, lexer.PathSep:
		case lexer.Comma:
			if depth == 0 {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// fieldWithoutValue reads a tool's field `name: T` that has no initial value. Its fix inserts a
// value and, if necessary, a `,`.
func (p *parser) fieldWithoutValue() *ast.FieldDecl {
	f := &ast.FieldDecl{Name: p.word()}
	p.next()
	f.Type = p.typ()
	at := f.Type.Span()
	typ := p.textOf(at, "T")
	d := diag.Unexpected.At(source.Span{Start: f.Name.Sp.Start, End: at.End}, "field `%s` has no initial value", f.Name.Name)
	first := ""
	if t, ok := f.Type.(*ast.NamedType); ok && len(t.Segments) == 1 {
		first = firstValues[t.Segments[0].Name]
	} else if _, ok := f.Type.(*ast.OptionType); ok {
		first = "None"
	}
	if first == "" {
		d.Hint("a field of a tool needs an initial value: `%s: %s = …`", f.Name.Name, typ)
	} else {
		end := ""
		if p.k != lexer.Comma && p.k != lexer.RBrace {
			end = ","
		}
		d.Repair(diag.UnsafeFix(diag.Insert(at.End, " = "+first+end), "Insert `= %s`", first),
			"a field of a tool needs an initial value: `%s: %s = %s`", f.Name.Name, typ, first)
	}
	p.report(d)
	f.Default = p.badExpr(p.baseAt(source.Span{Start: at.End, End: at.End}))
	return f
}

// namedPayloadInParens reads the payload of a variant whose named fields are in parentheses instead
// of braces, such as `Circle(radius: Float)`.
func (p *parser) namedPayloadInParens() payload {
	open := p.i
	end := p.closingOrEnd(open)
	p.next()
	fields := p.payloadFields(lexer.RParen)
	closed := p.closeBracket(lexer.RParen, open, "`,` or `)`")
	if p.kindAt(end) != lexer.RParen {
		return payload{fields: elementsBefore(p, fields, closed), named: true}
	}
	inside := strings.TrimSpace(p.src[p.toks[open].End:p.toks[end].Start])
	if len(inside) > hintLength || strings.Contains(inside, "\n") {
		inside = "…"
	}
	opening := source.Span{Start: p.toks[open].Start, End: p.toks[open+1].Start}
	text, brace := " { ", " }"
	if p.startsLine(open + 1) {
		opening.End, text = p.toks[open].End, " {"
	}
	if p.startsLine(end) {
		brace = "}"
	}
	p.report(diag.Unexpected.At(p.toks[open].Span(), "expected `{`, found `(`").
		Repair(diag.Fix{Title: "Put the fields in braces", Safe: true, Edits: []diag.Edit{
			diag.Replace(opening, text), diag.Replace(p.toks[end].Span(), brace)}},
			"write named fields in braces: `%s { %s }`", p.textAt(open-1), inside))
	return payload{fields: elementsBefore(p, fields, closed), named: true}
}

// prefixFix returns the fix that converts `f"…{x}"` to an interpolated string. The current token is
// the string.
func (p *parser) prefixFix() []diag.Fix {
	prefix, text := p.toks[p.i-1], p.text()
	if p.prevText() != "f" || !strings.HasPrefix(text, `"`) || strings.Contains(text, "{{") || strings.Contains(text, "}}") {
		return nil
	}
	fix := diag.Fix{Title: "Write `${…}`", Edits: []diag.Edit{diag.Remove(prefix.Span())}}
	for i := 0; i < len(text); i++ {
		if text[i] != '{' {
			continue
		}
		end := strings.IndexByte(text[i:], '}')
		if end < 0 || strings.ContainsAny(text[i:i+end], `:!=\'`) { // the braces contain a format, which Concerto does not support
			return nil
		}
		fix.Edits = append(fix.Edits, diag.Insert(p.here()+source.Pos(i), "$"))
	}
	if len(fix.Edits) == 1 {
		fix.Title = "Remove the `f`"
	}
	return []diag.Fix{fix}
}

// containsFix returns the fix that converts `x in xs` to a method call. The current token is `in`.
// containsFix returns nil if an operand is too long.
func (p *parser) containsFix() []diag.Fix {
	x := p.i - 1
	if k := p.prev(1); x == 0 || k != lexer.Ident && k != lexer.Int && k != lexer.String {
		return nil
	}
	switch p.kindAt(x - 1) {
	case lexer.If, lexer.While, lexer.LParen, lexer.AndAnd, lexer.OrOr, lexer.Assign, lexer.Return, lexer.Comma:
	default:
		return nil
	}
	last := p.i + 1
	for p.kindAt(last+1) == lexer.Dot && p.kindAt(last+2) == lexer.Ident {
		last += 2
	}
	if k := p.peek(1); k != lexer.Ident && k != lexer.Self {
		return nil
	}
	switch p.kindAt(last + 1) {
	case lexer.LBrace, lexer.RParen, lexer.AndAnd, lexer.OrOr, lexer.Semi, lexer.Comma:
	default:
		return nil
	}
	method := ".contains("
	if last == p.i+1 && p.isMapName(p.textAt(last)) {
		method = ".has("
	}
	at := source.Span{Start: p.toks[x].Start, End: p.toks[last].End}
	text := p.src[p.toks[p.i+1].Start:at.End] + method + p.textAt(x) + ")"
	return []diag.Fix{diag.UnsafeFix(diag.Replace(at, text), "Change to `%s`", text)}
}

// isMapName reports whether a map with the given variable name is declared before the current
// token.
func (p *parser) isMapName(name string) bool {
	for i := p.i - 1; i > 0; i-- {
		if p.kindAt(i) != lexer.Ident || p.textAt(i) != name {
			continue
		}
		if p.kindAt(i+1) == lexer.Assign && (p.kindAt(i-1) == lexer.Let || p.kindAt(i-1) == lexer.Mut) {
			return p.kindAt(i+2) == lexer.LBrace
		}
		if p.kindAt(i+1) == lexer.Colon {
			return p.textAt(i+2) == "Map" || p.textAt(i+2) == "HashMap"
		}
	}
	return false
}

// matchWords returns the keywords of other languages for `match`.
var matchWords = sync.OnceValue(func() []string { return foreign.Start.Names("match") })

// blockWordHint returns the hint for a word of another language before a block, such as `do {`,
// which would otherwise be a struct literal. It returns "" for any other path.
func (p *parser) blockWordHint(path *ast.PathExpr) string {
	if name := path.Segments[0].Name; len(path.Segments) == 1 && len(path.TypeArgs) == 0 && name[0] >= 'a' && name[0] <= 'z' {
		return foreign.Start.Hint(name)
	}
	return ""
}

// raceFix returns the fix that puts the tasks of `race { a(), b() }` in parentheses. The current
// token is the `{`.
func (p *parser) raceFix() []diag.Fix {
	end := p.closingOrEnd(p.i)
	if p.prevText() != "race" || p.kindAt(end) != lexer.RBrace {
		return nil
	}
	open := source.Span{Start: p.here(), End: p.toks[p.i+1].Start}
	return []diag.Fix{{Title: "Put the tasks in parentheses", Edits: []diag.Edit{
		diag.Replace(open, "("), diag.Replace(source.Span{Start: p.toks[end-1].End, End: p.toks[end].End}, ")")}}}
}

// structBase reads the base of a struct literal after `..`. It reports a base that is not the last
// element, or that is written with three dots, and reports whether fields follow.
func (p *parser) structBase(n *ast.StructLit, open int) bool {
	at := p.span()
	p.next()
	dots := p.k == lexer.Dot && p.adjoins()
	if dots {
		p.next()
	}
	n.Rest = p.expr()
	base := p.src[n.Rest.Span().Start:n.Rest.Span().End]
	at.End = n.Rest.Span().End
	comma := p.eat(lexer.Comma)
	end := p.closingOrEnd(open)
	first := comma && p.k != lexer.RBrace
	if !first && !dots || p.kindAt(end) != lexer.RBrace {
		return first
	}
	fix := diag.Fix{Title: "Write `.." + base + "` last"}
	if !first {
		fix.Edits = []diag.Edit{diag.Replace(at, ".."+base)}
	} else {
		last := end - 1
		if p.kindAt(last) == lexer.Comma {
			last--
		}
		fix.Edits = []diag.Edit{diag.Remove(source.Span{Start: at.Start, End: p.here()}),
			diag.Replace(source.Span{Start: p.toks[last].End, End: p.toks[end-1].End}, ", .."+base)}
	}
	p.report(diag.Unexpected.At(at, "the base of a struct literal is `..base` at its end").WithFixes(fix).
		Hint("write `..%s` after the fields: `%s { x: 1, ..%[1]s }`", p.textOf(n.Rest.Span(), "base"), p.textOf(n.Path.Sp, "P")))
	return first
}

// colonSlice reports the `:` of a slice in the syntax of other languages, such as `xs[1:]`. The
// current token is the `:`.
func (p *parser) colonSlice() {
	p.report(diag.Unexpected.At(p.span(), "unexpected `:` in an index").
		Repair(diag.Change(p.span(), "..", "..", true), "write a slice as `xs[1..]`, `xs[..n]` or `xs[a..b]`"))
}

// valuesOfReturn reports several values after a `return`, and reads them as a tuple. The current
// token is the comma after the value x. It returns x unless a `;` ends the list.
func (p *parser) valuesOfReturn(x ast.Expr) ast.Expr {
	end := p.i
	for k := p.kindAt(end); k != lexer.Semi; k = p.kindAt(end) {
		if k == lexer.FatArrow || k == lexer.EOF || isClosing(k) || p.startsLine(end) {
			return x
		}
		if isOpening(k) {
			end = p.closingOrEnd(end)
		}
		end++
	}
	n := &ast.TupleLit{Elems: []ast.Expr{x}}
	comma := p.span()
	for p.eat(lexer.Comma) {
		n.Elems = append(n.Elems, p.expr())
	}
	n.IDBase = p.base(x.Span().Start)
	p.report(diag.Unexpected.At(comma, "`return` takes one value").Repair(
		diag.Fix{Title: "Put the values in parentheses", Safe: true, Edits: []diag.Edit{diag.Insert(n.Sp.Start, "("), diag.Insert(n.Sp.End, ")")}},
		"put several values into a tuple: `return (%s)`", p.textOf(n.Sp, "a, b")))
	return n
}

// switchAhead reports whether the current token starts `switch x {` with arms like those of a
// `match`.
func (p *parser) switchAhead() bool {
	if p.k != lexer.Ident || !startsExpr[p.peek(1)] || p.peek(1) == lexer.LBrace || !slices.Contains(matchWords(), p.text()) {
		return false
	}
	for i := p.i + 1; i < len(p.toks)-1 && !p.startsLine(i); i++ {
		switch k := p.kindAt(i); {
		case k == lexer.LParen || k == lexer.LBracket:
			i = p.closingOrEnd(i)
		case k == lexer.LBrace:
			for j := i + 1; j < len(p.toks)-1 && (j == i+1 || !p.startsLine(j)); j++ {
				if k := p.kindAt(j); k == lexer.FatArrow {
					return true
				} else if k == lexer.Semi || k == lexer.LBrace || k == lexer.RBrace {
					return false
				}
			}
			return false
		case k == lexer.Semi || k == lexer.Comma || k == lexer.FatArrow:
			return false
		}
	}
	return false
}

// switchExpr reads a `match` whose first word is the keyword of another language.
func (p *parser) switchExpr() ast.Expr {
	p.report(diag.Unexpected.At(p.span(), "unexpected `%s`", p.text()).
		Repair(diag.Change(p.span(), "match", "match", true), "write `match x { pattern => value, … }`"))
	return p.matchExpr()
}
