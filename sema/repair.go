package sema

import (
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/sema/edits"
)

// What to write instead of a value of the wrong type.

// repair is what to do about e, of type got, where want is wanted.
func (b *body) repair(e ast.Expr, got, want types.Type, why reason) diag.Advice {
	if clash(got, want) {
		return diag.Say("two types have this name: rename the one of the program")
	}
	fits := func(t types.Type) bool { ok, _ := types.Conversion(t, want); return ok }
	if want == types.Bool && !isLiteral(e) {
		return b.truth(e, got)
	}
	a := first(
		func() diag.Advice { return b.literalRepair(e, want) },
		func() diag.Advice { return b.replyRepair(e, got, want) },
		func() diag.Advice { return b.takeOut(e, got, fits) },
		func() diag.Advice { return b.textRepair(e, got, want) },
		func() diag.Advice { return b.conversion(e, got, want) },
		func() diag.Advice { return b.wrapped(e, wrapper(got, want)) },
	)
	if a.Is() {
		return a
	}
	if _, ok := want.(*types.Param); ok {
		return diag.Say("whoever calls chooses `" + want.String() + "`: give a value that has this type, or declare the type that is meant")
	}
	hint := edits.Sample(want)
	if why.text == functionResult && got != types.Nil {
		hint += ", or declare the result as `" + got.String() + "`"
	}
	return diag.Say(hint)
}

// functionResult is the reason for what a function must give.
const functionResult = "the function's result type"

// literalRepair is for literals that are nearly what is wanted.
func (b *body) literalRepair(e ast.Expr, want types.Type) diag.Advice {
	switch x := unparen(e).(type) {
	case *ast.StringLit:
		if t := numberType(x.Value); t != nil && (want == t || want == types.Float) {
			return instead(e, "write the number without quotes", x.Value)
		}
		if s := foreign.Seconds(x.Value); s != "" && want == types.Float && strings.Contains(b.configField, "timeout") {
			return instead(e, "a time is a number of seconds", s)
		}
		if n := strings.TrimRight(x.Value, "smhd "); (want == types.Int || want == types.Float) && numberType(n) != nil {
			return instead(e, "write the number alone", n)
		}
		if want == types.Bool && (x.Value == "true" || x.Value == "false") {
			return instead(e, "write it without quotes", x.Value)
		}
	case *ast.IntLit, *ast.FloatLit, *ast.BoolLit:
		if want == types.String {
			return instead(e, "write it in quotes", `"`+b.text(e)+`"`)
		}
	case *ast.NilLit:
		return diag.Say("only an Option may be nil: declare the type as `" + want.String() + "?`, or give a value")
	case *ast.PathExpr:
		if b.text(e) == "None" && held(want) == nil {
			return diag.Say("only an Option may be None: declare the type as `" + want.String() + "?`, or give a value")
		}
	case *ast.MapLit:
		if n, ok := want.(*types.Named); ok && n.Decl.Kind != types.Enum && !n.Decl.Library {
			return diag.Say("name the type before the braces: `" + n.Decl.Name + " { … }`").
				By(diag.Offer(diag.Insert(x.Sp.Start, n.Decl.Name+" "), "Write `%s` before the braces", n.Decl.Name))
		}
	}
	return diag.Advice{}
}

// instead is advice to write a text in the place of an expression.
func instead(e ast.Expr, hint, text string) diag.Advice {
	return diag.Say(hint + ": `" + text + "`").By(diag.Offer(diag.Replace(e.Span(), text), "Write `%s`", text))
}

// replyRepair is for an agent's reply where a value of a type is wanted that it
// should give.
func (b *body) replyRepair(e ast.Expr, got, want types.Type) diag.Advice {
	n, ok := want.(*types.Named)
	if !ok || n.Decl.Library || n.Decl.Kind == types.Enum || !b.hasText(heldOr(got)) {
		return diag.Advice{}
	}
	return diag.Say("a model is asked for it by `execute_with_schema<" + n.String() + ">(…)`")
}

// numberType is Int or Float when a text is such a number, else nil.
func numberType(s string) types.Type {
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return types.Int
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil && strings.Trim(s, "0123456789.-") == "" {
		return types.Float
	}
	return nil
}

// textRepair is for places where a String is wanted: of a record that holds a
// text, that text; anything else made into text.
func (b *body) textRepair(e ast.Expr, got, want types.Type) diag.Advice {
	if want != types.String || got == types.Nil {
		return diag.Advice{}
	}
	if b.hasText(got) {
		return diag.Say("its text is meant: `" + b.operand(e) + ".text`").By(edits.Append(e, ".text"))
	}
	inner := held(got)
	switch got.(type) {
	case *types.Task:
		if inner = held(inner); inner != nil && b.hasText(inner) {
			return diag.Say(b.quoted(e) + " is a task, whose value comes later: write `" + b.operand(e) + ".await?.text`").By(edits.Append(e, ".await?.text"))
		}
	case *types.Result:
		if b.hasText(inner) {
			return diag.Say(b.quoted(e) + " may be an Err: write `" + b.operand(e) + "?.text`").By(edits.Append(e, "?.text"))
		}
	}
	if inner != nil {
		return b.takeOut(e, got, func(types.Type) bool { return true })
	}
	return diag.Say("turn it into text: `" + b.operand(e) + ".to_string()`, or `\"${…}\"` with what stands around it").By(edits.Append(e, ".to_string()"))
}

// hasText says whether a type is a record of the library whose text is a String: a
// Response, a HostResult.
func (b *body) hasText(t types.Type) bool {
	n, ok := types.Resolve(t).(*types.Named)
	if !ok || !n.Decl.Library {
		return false
	}
	f := n.Decl.Field("text")
	return f != nil && types.IsString(f.Type)
}

func (b *body) conversion(e ast.Expr, got, want types.Type) diag.Advice {
	if a := b.convertPlain(e, got, want); a.Is() && !isLiteral(e) {
		return a
	}
	if a := b.eachConverted(e, got, want); a.Is() {
		return a
	}
	if a, ok := want.(*types.Array); ok && a.Elem != types.Any {
		if ok, _ := types.Conversion(got, a.Elem); ok {
			return diag.Say("put it into brackets: `[" + b.text(e) + "]`").By(edits.Surround(e, "[", "]", "Put it into brackets"))
		}
	}
	if u, ok := want.(*types.Union); ok && got == types.String {
		return diag.Say("a String may be anything; check it with `as` or `match`: it must be one of " + u.String())
	}
	return diag.Advice{}
}

// eachConverted is for a container of other elements than are wanted.
func (b *body) eachConverted(e ast.Expr, got, want types.Type) diag.Advice {
	if !sameForm(got, want) {
		return diag.Advice{}
	}
	method, from, to := "map", types.Type(nil), types.Type(nil)
	switch w := want.(type) {
	case *types.Array:
		from, to = got.(*types.Array).Elem, w.Elem
	case *types.Option:
		from, to = got.(*types.Option).Elem, w.Elem
	case *types.Result:
		from, to = got.(*types.Result).Ok, w.Ok
		if ok, _ := types.Conversion(from, to); ok {
			return diag.Say("its error is `" + types.Full(got.(*types.Result).Err).String() + "`: convert it by `" + b.operand(e) + ".map_err(|e| …)`")
		}
	case *types.Map:
		method, from, to = "map_values", got.(*types.Map).Value, w.Value
	default:
		return diag.Advice{}
	}
	from, to = types.Full(from), types.Full(to)
	each := "…"
	switch {
	case to == types.String:
		each = "x.to_string()"
	case types.IsNumeric(from) && types.IsNumeric(to):
		each = "x as " + to.String()
	}
	call := "." + method + "(|x| " + each + ")"
	a := diag.Say("convert what it holds: `" + b.operand(e) + call + "`")
	if each != "…" {
		return a.By(edits.Append(e, call))
	}
	return a
}

func isLiteral(e ast.Expr) bool {
	switch unparen(e).(type) {
	case *ast.StringLit, *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.NilLit:
		return true
	}
	return false
}

// convertPlain is how a value of one plain type becomes one of another.
func (b *body) convertPlain(e ast.Expr, got, want types.Type) diag.Advice {
	switch {
	case got == types.Float && want == types.Int:
		return diag.Say("`as Int` cuts off the fraction").By(edits.Append(e, " as Int"))
	case got == types.String && want == types.Int:
		return diag.Say("`.parse_int()?` reads a number").By(edits.Append(e, ".parse_int()?"))
	case got == types.String && want == types.Float:
		return diag.Say("`.parse_float()?` reads a number").By(edits.Append(e, ".parse_float()?"))
	}
	return diag.Advice{}
}

// wrapper is the constructor of a Result that is wanted around a value: "Ok" or "Err"; "" for none. What an
// Option holds converts to it.
func wrapper(got, want types.Type) string {
	if w, ok := want.(*types.Result); ok {
		if ok, _ := types.Conversion(got, w.Ok); ok {
			return "Ok"
		}
		if ok, _ := types.Conversion(got, w.Err); ok {
			return "Err"
		}
	}
	return ""
}

// wrapped is for a value or a pattern that a constructor is wanted around.
func (b *body) wrapped(e ast.Node, constructor string) diag.Advice {
	if constructor == "" {
		return diag.Advice{}
	}
	return diag.Say("wrap it: `" + constructor + "(" + b.text(e) + ")`").By(edits.Wrap(e, constructor))
}

// clash says whether two different types have one name, as a program's `struct
// String` and the library's String have.
func clash(a, b types.Type) bool {
	return a.String() == b.String() && (declaredIn(a) != nil || declaredIn(b) != nil)
}

// declaredIn is the first declaration of the program that a type names, or nil.
func declaredIn(t types.Type) *types.Decl {
	var found *types.Decl
	types.Walk(t, func(t types.Type) bool {
		if n, ok := t.(*types.Named); ok && !n.Decl.Library && found == nil {
			found = n.Decl
		}
		return found == nil
	})
	return found
}

// shownType is a type in a message beside another, with where it comes from when
// both have one name.
func (b *body) shownType(t, other types.Type) string {
	s := "`" + t.String() + "`"
	if !clash(t, other) {
		return s
	}
	d := declaredIn(t)
	if d == nil {
		return s + " (the library's)"
	}
	switch o := originOf(d); {
	case o.mod.home() == b.m.home():
		return s + " (declared here)"
	case o.mod.home() == b.c.entry:
		return s + " (declared in " + o.mod.info.File.Source.Name + ")"
	default:
		return s + " (of module `" + o.mod.shown() + "`)"
	}
}

// A Result, an Option or a Task often stands where what it holds is wanted.
// These say how to take it out.

// held is what a Result, an Option or a Task holds; nil of any other type.
func held(t types.Type) types.Type {
	switch x := types.Resolve(t).(type) {
	case *types.Result:
		return types.Resolve(x.Ok)
	case *types.Option:
		return types.Resolve(x.Elem)
	case *types.Task:
		return types.Resolve(x.Elem)
	}
	return nil
}

// heldOr is what t holds, or t itself.
func heldOr(t types.Type) types.Type {
	if h := held(t); h != nil {
		return h
	}
	return t
}

// takeOut says how to take out of e what its type t holds; fits says which types
// would do where e stands. It is empty when taking it out is no repair.
func (b *body) takeOut(e ast.Expr, t types.Type, fits func(types.Type) bool) diag.Advice {
	inner := held(t)
	if inner == nil || isVar(inner) {
		return diag.Advice{}
	}
	x := b.quoted(e)
	switch types.Resolve(t).(type) {
	case *types.Task:
		later := x + " is a task, whose value comes later: write `await " + b.text(e)
		if fits(inner) {
			return diag.Say(later + "`").By(edits.Await(e, ""))
		}
		switch inner.(type) {
		case *types.Result, *types.Option:
			if fits(held(inner)) {
				return diag.Say(later + "?`").By(edits.Await(e, "?"))
			}
		}
	case *types.Option:
		if fits(inner) {
			return putQuestion(e, x+" may be None")
		}
	case *types.Result:
		if fits(inner) {
			return putQuestion(e, x+" may be an Err")
		}
	}
	return diag.Advice{}
}

// putQuestion is for a value that may be none: a `?` behind it takes out what it holds.
func putQuestion(e ast.Expr, why string) diag.Advice {
	a := diag.Say(why + ": put `?` after it, or use `.unwrap_or(…)` or `match`")
	if edits.IsPostfix(e) {
		return a.By(diag.Offer(diag.Insert(e.Span().End, "?"), "Add `?`"))
	}
	return a
}

// agree says how to give two values one type where one is wrapped in a Result,
// an Option or a Task and the other is what that holds.
func (b *body) agree(x ast.Expr, t types.Type, y ast.Expr, u types.Type) diag.Advice {
	if x == nil || y == nil {
		return diag.Advice{}
	}
	joins := func(other types.Type) func(types.Type) bool {
		return func(t types.Type) bool { _, ok := types.Join(t, other); return ok }
	}
	return first(
		func() diag.Advice { return b.wrapLike(y, u, t) },
		func() diag.Advice { return b.wrapLike(x, t, u) },
		func() diag.Advice { return b.takeOut(x, t, joins(u)) },
		func() diag.Advice { return b.takeOut(y, u, joins(t)) },
	)
}

// first is the first advice that there is.
func first(all ...func() diag.Advice) diag.Advice {
	for _, advice := range all {
		if a := advice(); a.Is() {
			return a
		}
	}
	return diag.Advice{}
}

// wrapLike says how to wrap e, of type t, where another value is a Result.
func (b *body) wrapLike(e ast.Expr, t, other types.Type) diag.Advice {
	if around := wrapper(t, types.Resolve(other)); held(t) == nil && around != "Err" {
		return b.wrapped(e, around)
	}
	return diag.Advice{}
}

// shortText is how much of the source a hint repeats.
const shortText = 40

// text is the source of an expression or a pattern when it is short, else `…`.
func (b *body) text(e ast.Node) string {
	at := e.Span()
	if b.info.File == nil || b.info.File.Source == nil || at.End <= at.Start || int(at.End) > len(b.info.File.Source.Text) {
		return "…"
	}
	s := b.info.File.Source.Slice(at)
	if len(s) > shortText || strings.ContainsAny(s, "\n`") {
		return "…"
	}
	return s
}

// operand is text with parentheses where a `.` or `?` behind it would bind to a
// part alone.
func (b *body) operand(e ast.Expr) string {
	s := b.text(e)
	if edits.IsLoose(e) && s != "…" {
		return "(" + s + ")"
	}
	return s
}

// quoted is an expression as the subject of a sentence.
func (b *body) quoted(e ast.Expr) string {
	if s := b.text(e); s != "…" {
		return "`" + s + "`"
	}
	return "it"
}

// interpolated is text and values joined in one string, as a repair of `+`.
func (b *body) interpolated(xs ...ast.Expr) string {
	var s strings.Builder
	for _, x := range xs {
		switch lit := unparen(x).(type) {
		case *ast.StringLit:
			s.WriteString(strings.Trim(b.text(x), "\"'"))
		case *ast.IntLit, *ast.FloatLit, *ast.BoolLit:
			s.WriteString(b.text(lit))
		default:
			s.WriteString("${" + b.text(x) + "}")
		}
	}
	return "`\"" + s.String() + "\"`"
}

func (b *body) badOperands(e *ast.Binary, x, y types.Type) {
	d := diag.Operand.At(e.OpSpan, "`%s` does not take `%s` and `%s`", e.Op, types.Full(x), types.Full(y)).
		Label(e.X.Span(), "this is `%s`", types.Full(x)).Label(e.Y.Span(), "this is `%s`", types.Full(y))
	text := e.Op == ast.OpAdd && (types.IsString(x) || types.IsString(y))
	fits := func(other types.Type) func(types.Type) bool {
		return func(t types.Type) bool { return text || operated(e.Op, t, heldOr(other)) != nil }
	}
	forX, forY := b.takeOut(e.X, x, fits(y)), b.takeOut(e.Y, y, fits(x))
	switch {
	case forX.Is() || forY.Is():
		d.Advise(forX, forY)
	case e.Op == ast.OpRem && types.IsString(x):
		d.Hint("put values into text by `\"${x}\"`")
	case e.Op == ast.OpMul && types.IsString(x):
		d.Hint("text is repeated by `%s.repeat(%s)`", b.operand(e.X), b.text(e.Y))
	case text:
		d.By(b.joined(e)...).Hint("join text by interpolation: %s", b.interpolated(e.X, e.Y))
	case e.Op.IsOrdering() && types.Resolve(x) == types.Bool && isOrdering(e.X):
		d.Hint("compare twice: `a < b && b < c`")
	case e.Op.IsOrdering():
		d.Hint("both sides must be numbers or both Strings")
	default:
		d.Hint("both sides must be numbers%s", map[bool]string{true: ", both Strings or both arrays"}[e.Op == ast.OpAdd])
	}
	b.report(b.wantsResult(b.wantsResult(d, e.X, x), e.Y, y))
}

// shown warns where a Result, an Option or a Task is made into text or leaves
// the program as it is. That is hardly meant: the next model would read
// `{"ok":…}`. It looks once the types are fixed.
func (b *body) shown(e ast.Expr, where string) {
	if b.info.Library {
		return
	}
	b.late = append(b.late, func() {
		t := types.Resolve(b.info.types[e.ID()])
		if b.failed() {
			return // what is shown follows from the mistake
		}
		what := ""
		switch t.(type) {
		case *types.Result:
			what = "a Result: %s is `{\"ok\": …}` or `{\"err\": …}`"
		case *types.Option:
			if held(t) == types.Any {
				return // any member of data is one, and nil is one of its values
			}
			what = "an Option: %s is nil where it has no value"
		case *types.Task:
			what = "a Task, not its value: %s is `<task …>`"
		default:
			return
		}
		b.report(diag.ShownWrapped.At(e.Span(), "%s is "+what, b.quoted(e), where).Advise(b.showInstead(e, t)))
	})
}

// showInstead is how what e holds is shown.
func (b *body) showInstead(e ast.Expr, t types.Type) diag.Advice {
	x, text := b.operand(e), ""
	if _, isResult := t.(*types.Result); isResult && b.hasText(held(t)) {
		text = ".text"
	}
	switch t.(type) {
	case *types.Result:
		a := diag.Say("take out what it holds: `" + x + "?" + text + "`, or use `.unwrap_or(…)` or `match`")
		return a.By(edits.Append(e, "?"+text))
	case *types.Option:
		return diag.Say("say what stands there without a value: `" + x + " ?? …`, or use `?` or `match`")
	}
	if held(held(t)) != nil {
		return diag.Say("`await` it: `await " + b.text(e) + "?`").By(edits.Await(e, "?"))
	}
	return diag.Say("`await` it: `await " + b.text(e) + "`").By(edits.Await(e, ""))
}
