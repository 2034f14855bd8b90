package sema

import (
	"math"
	"slices"
	"strconv"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// field checks `x.name`.
func (b *body) field(e *ast.FieldExpr) types.Type {
	if t, ok := b.reportDotted(e.X, e.Name, e.Sp); ok {
		return t
	}
	t := types.Loose(b.expr(e.X, nil))
	if e.Name.Missing() {
		return types.Bad
	}
	set := func(k SelectKind, f *types.Field) { b.info.details[e.Id] = &Selection{Kind: k, Field: f} }
	switch x := t.(type) {
	case *types.Named:
		f := x.Decl.Field(e.Name.Name)
		if x.Decl.Members && !b.info.Library && (f == nil || !f.Pub) {
			set(SelectAny, nil)
			return types.Any
		}
		if f != nil && x.Decl.Kind != types.Enum {
			set(SelectField, f)
			b.checkVisibleField(x.Decl, f, e.Name)
			return types.Substitute(f.Type, types.Bindings(x.Decl.Params, x.Args))
		}
		if x.Decl.Kind == types.ErrorStruct {
			if ft := errorField(e.Name.Name); ft != nil {
				set(SelectError, nil)
				return ft
			}
		}
	case *types.Map:
		if types.IsString(x.Key) {
			set(SelectMap, nil)
			b.warnMethodAsKey(e, x)
			b.messageField(e, x.Message)
			return types.NewOption(x.Value)
		}
	case *types.Declared:
		if tool, ok := x.Origin.(*Tool); ok {
			if f := findField(tool.State, e.Name.Name); f != nil {
				set(SelectTool, f)
				return f.Type
			}
		}
	case *types.Basic:
		switch x {
		case types.Any:
			set(SelectAny, nil)
			b.messageField(e, b.knownType(e.X))
			return types.Any
		case types.Error:
			if ft := errorField(e.Name.Name); ft != nil {
				set(SelectError, nil)
				return ft
			}
		case types.Bad:
			return types.Bad
		}
	case *types.Var:
		b.isTypeKnown(e.X, x)
		return types.Bad
	}
	b.reportNoField(e, t)
	return types.Bad
}

// warnMethodAsKey warns about the access `m.key` to a map if key is also the name of a method that
// the program probably means to call.
func (b *body) warnMethodAsKey(e *ast.FieldExpr, t *types.Map) {
	name := e.Name.Name
	fn := b.c.method(t, name)
	if fn == nil || b.info.Library || len(fn.Params) != 1 {
		return // a program rarely means a method with parameters
	}
	d := diag.MethodAsKey.At(e.Name.Sp, "`.%s` reads the key %q of the map; it does not call the method", name, name)
	key := diag.UnsafeFix(diag.Replace(source.Span{Start: e.X.Span().End, End: e.Name.Sp.End}, "["+strconv.Quote(name)+"]"), "Read the key with `[%q]`", name)
	d.WithFixes(diag.UnsafeFix(diag.Insert(e.Name.Sp.End, "()"), "Call the method"))
	b.report(d.WithFixes(key).Hint("write `%s.%s()` to call the method, or `[%q]` to read the key", b.operandText(e.X), name, name))
}

// checkVisibleField reports the use of a private field. A field without pub is private to the
// module that declares its struct.
func (b *body) checkVisibleField(d *types.Decl, f *types.Field, at *ast.Ident) {
	if f.Pub || d.Kind != types.Struct || d.Library && b.info.Library || b.m.isWithin(originOf(d).mod) {
		return
	}
	if d.Library {
		b.report(diag.Private.At(at.Sp, "field `%s` of `%s` is internal to the standard library", f.Name, d.Name).Hint("use the methods of the type"))
		return
	}
	b.report(diag.Private.At(at.Sp, "field `%s` of `%s` is private to module `%s`", f.Name, d.Name, originOf(d).mod.displayName()).
		Hint("declare the field with `pub`, or use a method"))
}

// errorField returns the type of a field that every error has, or nil for another name.
func errorField(name string) types.Type {
	switch name {
	case "message", "kind":
		return types.String
	case "source":
		return types.Any
	}
	return nil
}

func (b *body) reportNoField(e *ast.FieldExpr, t types.Type) {
	ft := types.Full(t)
	var names []string
	if n, ok := t.(*types.Named); ok && n.Decl.Kind != types.Enum {
		for _, f := range n.Decl.Fields {
			names = append(names, f.Name)
		}
	}
	if d, ok := t.(*types.Declared); ok {
		if tool, isTool := d.Origin.(*Tool); isTool {
			for _, f := range tool.State {
				names = append(names, f.Name)
			}
		}
	}
	if t == types.Error || len(names) > 0 && t.(interface{ String() string }) != nil && isErrorStruct(t) {
		names = append(names, "message", "kind", "source")
	}
	if n, ok := t.(*types.Named); ok && b.c.isFlawed(n.Decl) {
		return
	}
	d := unknownName(diag.UnknownField, e.Name, "`"+ft.String()+"` has no field `%s`", names)
	b.linkMissingResult(d, e.X, t)
	switch {
	case b.c.method(t, e.Name.Name) != nil:
		if fn := b.c.method(t, e.Name.Name); len(fn.Params) == 1 {
			d.WithFixes(diag.UnsafeFix(diag.Insert(e.Name.Sp.End, "()"), "Call the method"))
		}
		d.Hint("it is a method: write `.%s(…)`", e.Name.Name)
	case len(d.Hints) > 0:
	default:
		d.WithFixes(b.fieldFix(e, t)...).Hint("%s", b.fieldHint(e, t, names))
	}
	b.report(d)
}

func isErrorStruct(t types.Type) bool {
	n, ok := t.(*types.Named)
	return ok && n.Decl.Kind == types.ErrorStruct
}

// fieldFix returns the fix that applies the hint of fieldHint.
func (b *body) fieldFix(e *ast.FieldExpr, t types.Type) []diag.Fix {
	at, out := e.X.Span().End, ""
	switch types.Resolve(t).(type) {
	case *types.Option, *types.Result:
		out = "?"
	case *types.Task:
		if out = ".await"; b.fieldOf(heldType(t), e.Name.Name) == nil && !hasMembers(heldType(t)) {
			out = ".await?"
		}
	default:
		if n, ok := types.Resolve(t).(*types.Named); ok && n.Decl.Library && n.Decl.Kind != types.Enum {
			if near := textField(e.Name.Name, fieldNames(n.Decl)); near != "" {
				return []diag.Fix{diag.Change(e.Name.Sp, near, near, false)}
			}
		}
		if types.IsString(t) && textFields[e.Name.Name] {
			return []diag.Fix{diag.UnsafeFix(diag.Remove(source.Span{Start: at, End: e.Name.Sp.End}), "Remove `.%s`", e.Name.Name)}
		}
		method, _ := b.foreignMember(t, e.Name.Name)
		if fn := b.c.method(t, method); method != "" && fn != nil && len(fn.Params) == 1 {
			return []diag.Fix{diag.Change(e.Name.Sp, method+"()", method+"()", false)}
		}
		return nil
	}
	if b.innerFieldHint(e, t) == "" || edits.IsLoose(e.X) {
		return nil
	}
	return []diag.Fix{diag.UnsafeFix(diag.Insert(at, out), "Add `%s`", out)}
}

// textField returns the name of the field that contains the text of a record, if name is a common
// name for such a field. Otherwise it returns "".
func textField(name string, fields []string) string {
	if !textFields[name] {
		return ""
	}
	for _, f := range []string{"text", "question", "description", "message", "content"} {
		if slices.Contains(fields, f) {
			return f
		}
	}
	return ""
}

// textFields contains common names for the text of a reply.
var textFields = map[string]bool{"text": true, "content": true, "value": true, "message": true, "data": true, "body": true}

// innerFieldHint returns the hint for a field that e.X does not have, but the value inside e.X has.
func (b *body) innerFieldHint(e *ast.FieldExpr, t types.Type) string {
	has := func(t types.Type) bool { return t != nil && (b.fieldOf(t, e.Name.Name) != nil || hasMembers(t)) }
	inner, x, rest := heldType(t), b.operandText(e.X), "."+e.Name.Name
	switch types.Resolve(t).(type) {
	case *types.Option:
		if has(inner) {
			return "it may be None: write `" + x + "?" + rest + "`, or use `??` or `match` first"
		}
	case *types.Result:
		if has(inner) {
			return "it may be an Err: write `" + x + "?" + rest + "`"
		}
	case *types.Task:
		if has(inner) {
			return "`await` it first: `" + x + ".await" + rest + "`"
		}
		if has(heldType(inner)) {
			return "`await` it first: `" + x + ".await?" + rest + "`"
		}
	}
	return ""
}

func (b *body) fieldHint(e *ast.FieldExpr, t types.Type, names []string) string {
	name := e.Name.Name
	if hint := b.innerFieldHint(e, t); hint != "" {
		return hint
	}
	if method, hint := b.foreignMember(t, name); method != "" {
		return "write `." + method + "()`"
	} else if hint != "" {
		return hint
	}
	if near := textField(name, names); near != "" {
		return "did you mean `" + near + "`?"
	}
	if len(names) > 0 {
		return "its fields are " + quotedNames(names)
	}
	if types.IsString(t) && textFields[name] {
		return "remove `." + name + "`: " + b.quotedText(e.X) + " is already the text"
	}
	return b.noFieldsHint(e, t)
}

// noFieldsHint returns the hint for the access to a field of a value that has no fields.
func (b *body) noFieldsHint(e *ast.FieldExpr, t types.Type) string {
	switch x := t.(type) {
	case *types.Result:
		hint := "take the value out first: `" + b.operandText(e.X) + "?`"
		if n, ok := heldType(t).(*types.Named); ok && n.Decl.Kind != types.Enum && len(n.Decl.Fields) > 0 {
			return hint + " has the fields " + quotedNames(fieldNames(n.Decl))
		}
		return hint
	case *types.HashMap:
		return "read an entry with `" + b.operandText(e.X) + ".get(\"" + e.Name.Name + "\")`"
	case *types.Queue:
		return "read an item with `" + b.operandText(e.X) + ".get(\"" + e.Name.Name + "\")`"
	case *types.Named:
		if x.Decl.Kind == types.Enum {
			return "read the values of a variant with `match`"
		}
	}
	if isDeclared(t) {
		return "its settings are in its declaration; `.with_…(…)` changes some of them for one call"
	}
	return "it has methods, but no fields"
}

func fieldNames(d *types.Decl) (names []string) {
	for _, f := range d.Fields {
		names = append(names, f.Name)
	}
	return names
}

// isDeclared reports whether t is the type of an agent or a host.
func isDeclared(t types.Type) bool {
	if d, ok := t.(*types.Declared); ok && d.Kind != nil {
		t = d.Kind
	}
	return t == types.Agent || t == types.Host
}

func hasMembers(t types.Type) bool {
	switch x := types.Resolve(t).(type) {
	case *types.Map:
		return true
	case *types.Basic:
		return x == types.Any
	}
	return false
}

func (b *body) tupleIndex(e *ast.TupleIndex) types.Type {
	switch t := types.Loose(b.expr(e.X, nil)).(type) {
	case *types.Tuple:
		if e.Index < len(t.Elems) {
			return t.Elems[e.Index]
		}
		b.reportNoElement(t, e.Index, e.At)
	case *types.Basic:
		if t == types.Any {
			return types.Any
		}
		if t != types.Bad {
			b.report(diag.UnknownField.At(e.At, "`%s` is not a tuple", t).Hint("only tuples have numbered elements"))
		}
	case *types.Var:
		b.isTypeKnown(e.X, t)
	default:
		b.report(diag.UnknownField.At(e.At, "`%s` is not a tuple", types.Full(t)).Hint("write `[%d]` to read an element of an array", e.Index))
	}
	return types.Bad
}

func (b *body) reportNoElement(t *types.Tuple, i int, at source.Span) {
	b.report(diag.UnknownField.At(at, "`%s` has no element %d", types.Full(t), i).Hint("the last element is `.%d`", len(t.Elems)-1))
}

// tupleElement is the detail of `t[n]` if t is a tuple. The expression then means `t.n`.
type tupleElement int

// TupleElement returns the index of the element that `t[n]` reads from a tuple. ok is false if t is
// no tuple.
func (i *Info) TupleElement(e *ast.IndexExpr) (n int, ok bool) {
	d, ok := i.details[e.Id].(tupleElement)
	return int(d), ok
}

// elementAt checks `t[n]`, where t is a tuple. The elements have different types, so n must be a
// literal.
func (b *body) elementAt(e *ast.IndexExpr, t *types.Tuple) types.Type {
	errors := b.errors
	b.checkAs(e.Index, types.Int, reason{})
	x, negative := unparen(e.Index), false
	if u, ok := x.(*ast.Unary); ok && u.Op == ast.OpNeg {
		x, negative = unparen(u.X), true
	}
	lit, ok := x.(*ast.IntLit)
	switch {
	case b.errors > errors:
	case !ok:
		b.report(diag.NotIndexable.At(e.Index.Span(), "the index of a tuple `%s` must be an integer literal", types.Full(t)).
			Hint("write `.0` or `[1]`, or destructure the tuple: `let (a, b) = …;`"))
	case negative && lit.Value > 0:
		b.report(diag.UnknownField.At(e.Index.Span(), "a tuple index starts at 0").Hint("the last element is `.%d`", len(t.Elems)-1))
	case lit.Value >= uint64(len(t.Elems)):
		b.reportNoElement(t, int(min(lit.Value, math.MaxInt)), e.Index.Span())
	default:
		b.info.details[e.Id] = tupleElement(lit.Value)
		return t.Elems[lit.Value]
	}
	return types.Bad
}

// index checks `x[i]` and a slice.
func (b *body) index(e *ast.IndexExpr) types.Type {
	recv := types.Loose(b.expr(e.X, nil))
	if !b.isTypeKnown(e.X, recv) {
		recv = types.Bad
	}
	if r, ok := e.Index.(*ast.RangeExpr); ok && !isMap(recv) {
		return b.slice(e, r, recv)
	}
	switch t := recv.(type) {
	case *types.Tuple:
		return b.elementAt(e, t)
	case *types.Array:
		b.indexInt(e.Index)
		b.warnNegativeIndex(e)
		return t.Elem
	case *types.Map:
		b.checkAs(e.Index, t.Key, reason{})
		return t.Value
	case *types.Union:
		b.indexInt(e.Index)
		return types.String
	case *types.Basic:
		switch t {
		case types.String:
			b.indexInt(e.Index)
			b.warnNegativeIndex(e)
			return types.String
		case types.Any:
			b.checkAs(e.Index, types.Any, reason{})
			return types.Any
		case types.Bad:
			b.expr(e.Index, nil)
			return types.Bad
		}
	}
	b.expr(e.Index, nil)
	d := diag.NotIndexable.At(e.X.Span(), "`%s` cannot be indexed", types.Full(recv))
	switch recv.(type) {
	case *types.HashMap:
		d.Hint("read it with `%s.get(%s)`, and write it with `.set(key, value)`", b.sourceText(e.X), b.sourceText(e.Index))
	case *types.Named:
		if lit, ok := e.Index.(*ast.StringLit); ok && b.fieldOf(recv, lit.Value) != nil {
			d.Hint("read a field with `.`: `%s.%s`", b.operandText(e.X), lit.Value)
		} else {
			d.Hint("read its fields with `.`; only arrays, maps and strings can be indexed")
		}
	default:
		d.Hint("only arrays, maps and strings can be indexed")
	}
	b.report(d)
	return types.Bad
}

func isMap(t types.Type) bool { _, ok := t.(*types.Map); return ok }

func (b *body) indexInt(x ast.Expr) { b.checkAs(x, types.Int, reason{}) }

// warnNegativeIndex warns about an index that is a negative literal.
func (b *body) warnNegativeIndex(e *ast.IndexExpr) {
	minus, ok := unparen(e.Index).(*ast.Unary)
	if !ok {
		return
	}
	lit, ok := minus.X.(*ast.IntLit)
	if !ok || lit.Value == 0 {
		return
	}
	x, at := b.operandText(e.X), b.sourceText(e.Index)
	d := diag.NegativeIndex.At(e.Index.Span(), "index `%s` does not exist, because indices start at 0", at)
	if _, plain := unparen(e.X).(*ast.PathExpr); plain {
		fromEnd := x + ".len() - " + b.sourceText(lit)
		d.Repair(diag.UnsafeFix(diag.Replace(e.Index.Span(), fromEnd), "Count from the end"), "count from the end: `%s[%s]`", x, fromEnd)
	} else {
		d.Hint("`.last()` returns the last element as an Option; use `.len() - n` for others")
	}
	b.report(d)
}

func (b *body) slice(e *ast.IndexExpr, r *ast.RangeExpr, recv types.Type) types.Type {
	if r.Lo != nil {
		b.indexInt(r.Lo)
	}
	if r.Hi != nil {
		b.indexInt(r.Hi)
	}
	b.info.types[r.Id] = types.Range
	switch recv.(type) {
	case *types.Array:
		return recv
	case *types.Union:
		return types.String
	}
	switch recv {
	case types.String, types.Any, types.Bad:
		return recv
	}
	b.report(diag.NotIndexable.At(e.X.Span(), "`%s` cannot be sliced", types.Full(recv)).Hint("only arrays and strings can be sliced"))
	return types.Bad
}
