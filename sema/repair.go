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

// This file contains the advice for values of the wrong type.

// repair returns the advice for the expression e, which has the type got, where the type want is
// expected.
func (b *body) repair(e ast.Expr, got, want types.Type, why reason) diag.Advice {
	if haveSameName(got, want) {
		return diag.HintAdvice("the two types have the same name: rename the one in the program")
	}
	fits := func(t types.Type) bool { ok, _ := types.Conversion(t, want); return ok }
	if want == types.Bool && !isLiteral(e) {
		return b.boolAdvice(e, got)
	}
	a := firstAdvice(
		func() diag.Advice { return b.literalAdvice(e, want) },
		func() diag.Advice { return b.messageAdvice(e, want) },
		func() diag.Advice { return b.replyRepair(e, got, want) },
		func() diag.Advice { return b.takeOutAdvice(e, got, fits) },
		func() diag.Advice { return b.textAdvice(e, got, want) },
		func() diag.Advice { return b.conversionAdvice(e, got, want) },
		func() diag.Advice { return b.wrapAdvice(e, resultConstructor(got, want)) },
	)
	if a.Is() {
		return a
	}
	switch {
	case types.IsTrait(want):
		return diag.HintAdvice("add `impl " + want.String() + " for " + got.String() + " { … }`")
	case isParam(want):
		return diag.HintAdvice("the caller chooses `" + want.String() + "`: return a value of this type, or use a concrete type")
	}
	if got == types.Nil {
		switch x := unparen(e).(type) {
		case *ast.WhileExpr, *ast.ForExpr:
			word, _, _ := strings.Cut(b.info.File.Source.Slice(x.Span()), " ")
			return diag.HintAdvice("a `" + word + "` has no value: write the result after it, or collect values in a `let mut` variable")
		default: // the others have a value
		}
	}
	hint := edits.Sample(want)
	if why.text == functionResult && got != types.Nil {
		hint += ", or change the result type to `" + got.String() + "`"
	}
	return diag.HintAdvice(hint)
}

// functionResult is the text of the reason for the expected type of a function's value.
const functionResult = "the function's result type"

// literalAdvice returns the advice for a literal that is similar to the expected value.
func (b *body) literalAdvice(e ast.Expr, want types.Type) diag.Advice {
	switch x := unparen(e).(type) {
	case *ast.StringLit:
		if t := numberType(x.Value); t != nil && (want == t || want == types.Float) {
			return replaceAdvice(e, "remove the quotes", x.Value)
		}
		if s := foreign.Seconds(x.Value); s != "" && want == types.Float && strings.Contains(b.configField, "timeout") {
			return replaceAdvice(e, "write the time as a number of seconds", s)
		}
		if n := strings.TrimRight(x.Value, "smhd "); (want == types.Int || want == types.Float) && numberType(n) != nil {
			return replaceAdvice(e, "write only the number", n)
		}
		if want == types.Bool && (x.Value == "true" || x.Value == "false") {
			return replaceAdvice(e, "remove the quotes", x.Value)
		}
	case *ast.IntLit, *ast.FloatLit, *ast.BoolLit:
		if want == types.String {
			return replaceAdvice(e, "put it in quotes", `"`+b.sourceText(e)+`"`)
		}
	case *ast.NilLit:
		return diag.HintAdvice("only an Option can be nil: declare the type as `" + want.String() + "?`, or use a value")
	case *ast.PathExpr:
		if b.sourceText(e) == "None" && heldType(want) == nil {
			return diag.HintAdvice("only an Option can be None: declare the type as `" + want.String() + "?`, or use a value")
		}
	case *ast.MapLit:
		if n, ok := want.(*types.Named); ok && n.Decl.Kind != types.Enum && !n.Decl.Library {
			return diag.HintAdvice("write the type before the braces: `" + n.Decl.Name + " { … }`").
				WithFix(diag.UnsafeFix(diag.Insert(x.Sp.Start, n.Decl.Name+" "), "Write `%s` before the braces", n.Decl.Name))
		}
	default: // the others are no literals
	}
	return diag.Advice{}
}

// replaceAdvice returns the advice to replace an expression with text.
func replaceAdvice(e ast.Expr, hint, text string) diag.Advice {
	return diag.HintAdvice(hint + ": `" + text + "`").WithFix(diag.UnsafeFix(diag.Replace(e.Span(), text), "Write `%s`", text))
}

// replyRepair returns the advice for the reply of an agent where a value is expected that the agent
// could return itself.
func (b *body) replyRepair(e ast.Expr, got, want types.Type) diag.Advice {
	n, ok := want.(*types.Named)
	if !ok || n.Decl.Library || n.Decl.Kind == types.Enum || !b.hasText(heldTypeOr(got)) {
		return diag.Advice{}
	}
	return diag.HintAdvice("request this type with `execute_with_schema<" + n.String() + ">(…)`")
}

// numberType returns Int or Float if s is a number of this type, else nil.
func numberType(s string) types.Type {
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return types.Int
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil && strings.Trim(s, "0123456789.-") == "" {
		return types.Float
	}
	return nil
}

// textAdvice returns the advice for a value where a String is expected. It suggests the text field
// of a record that has one, and a conversion to text for other values.
func (b *body) textAdvice(e ast.Expr, got, want types.Type) diag.Advice {
	if want != types.String || got == types.Nil {
		return diag.Advice{}
	}
	if b.hasText(got) {
		return diag.HintAdvice("use its text: `" + b.operandText(e) + ".text`").WithFix(edits.Append(e, ".text"))
	}
	inner := heldType(got)
	switch got.(type) {
	case *types.Task:
		if inner = heldType(inner); inner != nil && b.hasText(inner) {
			return diag.HintAdvice(b.quotedText(e) + " is a task: write `" + b.operandText(e) + ".await?.text`").WithFix(edits.Append(e, ".await?.text"))
		}
	case *types.Result:
		if b.hasText(inner) {
			return diag.HintAdvice(b.quotedText(e) + " may be an Err: write `" + b.operandText(e) + "?.text`").WithFix(edits.Append(e, "?.text"))
		}
	}
	if inner != nil {
		return b.takeOutAdvice(e, got, func(types.Type) bool { return true })
	}
	return diag.HintAdvice("convert it to text: `" + b.operandText(e) + ".to_string()`, or insert it into a string with `\"${…}\"`").WithFix(edits.Append(e, ".to_string()"))
}

// hasText reports whether t is a record of the library with a String field `text`, such as Response
// or HostResult.
func (b *body) hasText(t types.Type) bool {
	n, ok := types.Resolve(t).(*types.Named)
	if !ok || !n.Decl.Library {
		return false
	}
	f := n.Decl.Field("text")
	return f != nil && types.IsString(f.Type)
}

func (b *body) conversionAdvice(e ast.Expr, got, want types.Type) diag.Advice {
	if a := b.convertPlain(e, got, want); a.Is() && !isLiteral(e) {
		return a
	}
	if a := b.convertElementsAdvice(e, got, want); a.Is() {
		return a
	}
	if a, ok := want.(*types.Array); ok && a.Elem != types.Any {
		if ok, _ := types.Conversion(got, a.Elem); ok {
			return diag.HintAdvice("put it in brackets: `[" + b.sourceText(e) + "]`").WithFix(edits.Surround(e, "[", "]", "Put it in brackets"))
		}
	}
	if u, ok := want.(*types.Union); ok && got == types.String {
		return diag.HintAdvice("check the String with `as` or `match`, because it must be one of " + u.String())
	}
	return diag.Advice{}
}

// convertElementsAdvice returns the advice for a container whose elements have the wrong type.
func (b *body) convertElementsAdvice(e ast.Expr, got, want types.Type) diag.Advice {
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
			return diag.HintAdvice("the error type is `" + types.Full(got.(*types.Result).Err).String() + "`: convert it with `" + b.operandText(e) + ".map_err(|e| …)`")
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
	a := diag.HintAdvice("convert the values: `" + b.operandText(e) + call + "`")
	if each != "…" {
		return a.WithFix(edits.Append(e, call))
	}
	return a
}

func isLiteral(e ast.Expr) bool {
	switch unparen(e).(type) {
	case *ast.StringLit, *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.NilLit:
		return true
	default: // the others are no literals
	}
	return false
}

// convertPlain returns the advice to convert a value between two basic types.
func (b *body) convertPlain(e ast.Expr, got, want types.Type) diag.Advice {
	switch {
	case got == types.Float && want == types.Int:
		return diag.HintAdvice("write `as Int` to remove the fraction").WithFix(edits.Append(e, " as Int"))
	case got == types.String && want == types.Int:
		return diag.HintAdvice("write `.parse_int()?` to read a number").WithFix(edits.Append(e, ".parse_int()?"))
	case got == types.String && want == types.Float:
		return diag.HintAdvice("write `.parse_float()?` to read a number").WithFix(edits.Append(e, ".parse_float()?"))
	}
	return diag.Advice{}
}

// resultConstructor returns "Ok" or "Err" if this constructor converts a value of type got to the
// expected Result, else "". An Option needs no constructor, because its element type converts to
// it.
func resultConstructor(got, want types.Type) string {
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

// wrapAdvice returns the advice to make a value or a pattern the argument of a constructor.
func (b *body) wrapAdvice(e ast.Node, constructor string) diag.Advice {
	if constructor == "" {
		return diag.Advice{}
	}
	return diag.HintAdvice("wrap it: `" + constructor + "(" + b.sourceText(e) + ")`").WithFix(edits.Wrap(e, constructor))
}

// haveSameName reports whether two different types have the same name. For example, a program may
// declare `struct String`.
func haveSameName(a, b types.Type) bool {
	return a.String() == b.String() && (declaredIn(a) != nil || declaredIn(b) != nil)
}

// declaredIn returns the first type within t that the program declares, or nil.
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

// shownType returns the name of type t for a message that also contains the type other. If both
// have the same name, the result includes where t is declared.
func (b *body) shownType(t, other types.Type) string {
	s := "`" + t.String() + "`"
	if !haveSameName(t, other) {
		return s
	}
	d := declaredIn(t)
	if d == nil {
		return s + " (of the standard library)"
	}
	switch o := originOf(d); {
	case o.mod.home() == b.m.home():
		return s + " (declared here)"
	case o.mod.home() == b.c.entry:
		return s + " (declared in " + o.mod.info.File.Source.Name + ")"
	default:
		return s + " (of module `" + o.mod.displayName() + "`)"
	}
}

// The following functions return advice for a Result, an Option or a Task that is used instead of
// the value inside.

// heldType returns the type of the value inside a Result, an Option or a Task. It returns nil for
// other types.
func heldType(t types.Type) types.Type {
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

// heldTypeOr returns the type of the value inside t. It returns t if t is no Result, Option or
// Task.
func heldTypeOr(t types.Type) types.Type {
	if h := heldType(t); h != nil {
		return h
	}
	return t
}

// takeOutAdvice returns the advice to use the value inside e, which has the type t. fits reports
// whether a type is valid for the result. The advice is empty if no such value has a valid type.
func (b *body) takeOutAdvice(e ast.Expr, t types.Type, fits func(types.Type) bool) diag.Advice {
	inner := heldType(t)
	if inner == nil || isVar(inner) {
		return diag.Advice{}
	}
	x := b.quotedText(e)
	switch types.Resolve(t).(type) {
	case *types.Task:
		later := x + " is a task: write `await " + b.sourceText(e)
		if fits(inner) {
			return diag.HintAdvice(later + "`").WithFix(edits.Await(e, ""))
		}
		switch inner.(type) {
		case *types.Result, *types.Option:
			if fits(heldType(inner)) {
				return diag.HintAdvice(later + "?`").WithFix(edits.Await(e, "?"))
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

// putQuestion returns the advice to add a `?` to a value that may be missing.
func putQuestion(e ast.Expr, why string) diag.Advice {
	a := diag.HintAdvice(why + ": add `?` after it, or use `.unwrap_or(…)` or `match`")
	if edits.IsPostfix(e) {
		return a.WithFix(diag.UnsafeFix(diag.Insert(e.Span().End, "?"), "Add `?`"))
	}
	return a
}

// unifyAdvice returns the advice for two values of different types, if one type is a Result, an
// Option or a Task that holds the other.
func (b *body) unifyAdvice(x ast.Expr, t types.Type, y ast.Expr, u types.Type) diag.Advice {
	if x == nil || y == nil {
		return diag.Advice{}
	}
	joins := func(other types.Type) func(types.Type) bool {
		return func(t types.Type) bool { _, ok := types.Join(t, other); return ok }
	}
	return firstAdvice(
		func() diag.Advice { return b.wrapLike(y, u, t) },
		func() diag.Advice { return b.wrapLike(x, t, u) },
		func() diag.Advice { return b.takeOutAdvice(x, t, joins(u)) },
		func() diag.Advice { return b.takeOutAdvice(y, u, joins(t)) },
	)
}

// firstAdvice returns the first advice that is not empty.
func firstAdvice(all ...func() diag.Advice) diag.Advice {
	for _, advice := range all {
		if a := advice(); a.Is() {
			return a
		}
	}
	return diag.Advice{}
}

// wrapLike returns the advice to wrap e, which has type t, in a constructor if the other type is a
// Result.
func (b *body) wrapLike(e ast.Expr, t, other types.Type) diag.Advice {
	if around := resultConstructor(t, types.Resolve(other)); heldType(t) == nil && around != "Err" {
		return b.wrapAdvice(e, around)
	}
	return diag.Advice{}
}

// shortText is the maximum length in bytes of source text in a hint.
const shortText = 40

// sourceText returns the source text of an expression or a pattern, or `…` if it is long.
func (b *body) sourceText(e ast.Node) string {
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

// operandText returns the source text of e. It adds parentheses if a `.` or `?` after the text
// would otherwise apply to only a part of e.
func (b *body) operandText(e ast.Expr) string {
	s := b.sourceText(e)
	if edits.IsLoose(e) && s != "…" {
		return "(" + s + ")"
	}
	return s
}

// quotedText returns the source text of an expression as the subject of a message.
func (b *body) quotedText(e ast.Expr) string {
	if s := b.sourceText(e); s != "…" {
		return "`" + s + "`"
	}
	return "it"
}

// interpolationText returns a string with interpolation that joins the expressions.
func (b *body) interpolationText(xs ...ast.Expr) string {
	var s strings.Builder
	for _, x := range xs {
		switch lit := unparen(x).(type) {
		case *ast.StringLit:
			s.WriteString(strings.Trim(b.sourceText(x), "\"'"))
		case *ast.IntLit, *ast.FloatLit, *ast.BoolLit:
			s.WriteString(b.sourceText(lit))
		default:
			s.WriteString("${" + b.sourceText(x) + "}")
		}
	}
	return "`\"" + s.String() + "\"`"
}

func (b *body) reportBadOperands(e *ast.Binary, x, y types.Type) {
	d := diag.Operand.At(e.OpSpan, "`%s` cannot be applied to `%s` and `%s`", e.Op, types.Full(x), types.Full(y)).
		Label(e.X.Span(), "this has type `%s`", types.Full(x)).Label(e.Y.Span(), "this has type `%s`", types.Full(y))
	text := e.Op == ast.OpAdd && (types.IsString(x) || types.IsString(y))
	fits := func(other types.Type) func(types.Type) bool {
		return func(t types.Type) bool { return text || operatorType(e.Op, t, heldTypeOr(other)) != nil }
	}
	forX, forY := b.takeOutAdvice(e.X, x, fits(y)), b.takeOutAdvice(e.Y, y, fits(x))
	switch {
	case forX.Is() || forY.Is():
		d.Advise(forX, forY)
	case e.Op == ast.OpRem && types.IsString(x):
		d.Hint("insert values into text with `\"${x}\"`")
	case e.Op == ast.OpMul && types.IsString(x):
		d.Hint("repeat text with `%s.repeat(%s)`", b.operandText(e.X), b.sourceText(e.Y))
	case text:
		d.WithFixes(b.interpolationFix(e)...).Hint("use interpolation to join text: %s", b.interpolationText(e.X, e.Y))
	case e.Op.IsOrdering() && types.Resolve(x) == types.Bool && isOrdering(e.X):
		d.Hint("write two comparisons: `a < b && b < c`")
	case e.Op.IsOrdering() && isParam(x) && !types.IsTrait(x) && x == y:
		d.Hint("add a bound: `%s: %s`", x, types.OrderedBound)
	case e.Op.IsOrdering():
		d.Hint("both sides must be numbers or both Strings")
	default:
		d.Hint("both sides must be numbers%s", map[bool]string{true: ", both Strings or both arrays"}[e.Op == ast.OpAdd])
	}
	b.report(b.linkMissingResult(b.linkMissingResult(d, e.X, x), e.Y, y))
}

// warnShown warns about a Result, an Option or a Task that is converted to text or emitted. A
// program rarely intends this: the next model would read `{"ok":…}`. The check runs when all types
// are known.
func (b *body) warnShown(e ast.Expr, where string) {
	if b.info.Library {
		return
	}
	b.late = append(b.late, func() {
		t := types.Resolve(b.info.types[e.ID()])
		if b.hasErrors() {
			return // the type may be a consequence of another error
		}
		what := ""
		switch t.(type) {
		case *types.Result:
			what = "a Result: in %s it becomes `{\"ok\": …}` or `{\"err\": …}`"
		case *types.Option:
			if heldType(t) == types.Any {
				return // data may contain an Option, because nil is one of its values
			}
			what = "an Option: in %s it becomes nil if it is None"
		case *types.Task:
			what = "a Task, not its value: in %s it becomes `<task …>`"
		default:
			return
		}
		b.report(diag.ShownWrapped.At(e.Span(), "%s is "+what, b.quotedText(e), where).Advise(b.showInstead(e, t)))
	})
}

// showInstead returns the advice to use the value inside e instead of e.
func (b *body) showInstead(e ast.Expr, t types.Type) diag.Advice {
	x, text := b.operandText(e), ""
	if _, isResult := t.(*types.Result); isResult && b.hasText(heldType(t)) {
		text = ".text"
	}
	switch t.(type) {
	case *types.Result:
		a := diag.HintAdvice("take the value out: `" + x + "?" + text + "`, or use `.unwrap_or(…)` or `match`")
		return a.WithFix(edits.Append(e, "?"+text))
	case *types.Option:
		return diag.HintAdvice("add a default: `" + x + " ?? …`, or use `?` or `match`")
	}
	if heldType(heldType(t)) != nil {
		return diag.HintAdvice("`await` the task: `await " + b.sourceText(e) + "?`").WithFix(edits.Await(e, "?"))
	}
	return diag.HintAdvice("`await` the task: `await " + b.sourceText(e) + "`").WithFix(edits.Await(e, ""))
}
