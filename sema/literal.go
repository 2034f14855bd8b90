package sema

import (
	"math"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// intLit checks an integer literal, and reports one that does not fit into 64 bits. negated reports
// that a minus precedes the literal, so that the greatest allowed number is larger by one.
func (b *body) intLit(e *ast.IntLit, negated bool) types.Type {
	if e.Overflow || e.Value > math.MaxInt64 && !(negated && e.Value == 1<<63) {
		b.report(diag.IntRange.At(e.Sp, "this number does not fit into a 64-bit Int").
			Repair(diag.UnsafeFix(diag.Insert(e.Sp.End, ".0"), "Write it as a Float"), "the largest Int is 9223372036854775807; write a Float such as 1e19 for larger numbers"))
	}
	return types.Int
}

// stringType returns the type of a string literal. It is the expected union if the union contains
// the string, and String otherwise.
func stringType(s string, hint types.Type) types.Type {
	if hint == nil {
		return types.String
	}
	t := types.Resolve(hint)
	if o, ok := t.(*types.Option); ok {
		t = types.Resolve(o.Elem)
	}
	if u, ok := t.(*types.Union); ok && u.Has(s) {
		return u
	}
	return types.String
}

func (b *body) interpolation(e *ast.InterpLit) types.Type {
	for _, x := range e.Exprs {
		var hint types.Type // a literal that becomes text may contain values of any types
		switch x.(type) {
		case *ast.ArrayLit, *ast.MapLit:
			hint = types.Any
		default: // the others need no hint
		}
		t := b.expr(x, hint)
		if r := types.Resolve(t); r != types.Never && r != types.Bad {
			b.info.conv[x.ID()] = types.Any
		}
		b.warnShown(x, "text")
	}
	return types.String
}

// part is one of several expressions whose types are joined.
type part struct {
	x ast.Expr
	t types.Type
}

// join returns the join of the types of parts, and records the conversion of each part. what is the
// word for a part in messages.
func (b *body) join(parts []part, what string) types.Type {
	if len(parts) == 0 {
		return types.Never
	}
	joined := parts[0].t
	for _, p := range parts[1:] {
		t, ok := types.Join(joined, p.t)
		if !ok {
			d := diag.NoJoin.At(p.x.Span(), "this has type `%s`, but the %s before it have type `%s`", types.Full(p.t), what, types.Full(joined)).
				Label(parts[0].x.Span(), "the first has type `%s`", types.Full(parts[0].t))
			if a := b.unifyAdvice(p.x, p.t, parts[0].x, parts[0].t); a.Is() {
				d.Advise(a)
			} else {
				d.Hint("make the types agree, or annotate a common type, such as `let xs: Array<%s> = …`", b.c.conforms.commonTrait(joined, p.t))
			}
			b.report(d)
			return types.Bad
		}
		joined = t
	}
	for _, p := range parts {
		b.coerce(p.x, p.t, joined, reason{})
	}
	return joined
}

func (b *body) arrayLit(e *ast.ArrayLit, hint types.Type) types.Type {
	want := elemHint(hint)
	if want != nil {
		for _, x := range e.Elems {
			b.checkAs(x, want, reason{})
		}
		return &types.Array{Elem: want}
	}
	if len(e.Elems) == 0 {
		return &types.Array{Elem: b.freshVar(e.Sp, "the element type of this array",
			"annotate it: `let xs: Array<Int> = [];`")}
	}
	return &types.Array{Elem: anyDeclared(b.join(b.parts(e.Elems), "elements"))}
}

// anyDeclared returns the type of a variable whose initial value has type t. If t is the type of
// one agent, host or tool, the variable may later contain another one, so its type is more general.
func anyDeclared(t types.Type) types.Type {
	if d, ok := types.Resolve(t).(*types.Declared); ok && d.Kind != nil {
		return d.Kind
	}
	return t
}

// elemHint returns the element type of the array type that hint expects, or nil.
func elemHint(hint types.Type) types.Type {
	switch h := hinted(hint).(type) {
	case *types.Array:
		if _, unknown := types.Resolve(h.Elem).(*types.Var); !unknown {
			return h.Elem
		}
	case *types.Basic:
		if h == types.Any || h == types.Bad {
			return h
		}
	}
	return nil
}

// hinted returns the expected type without its Option, because a value converts to an Option.
func hinted(hint types.Type) types.Type {
	if hint == nil {
		return nil
	}
	t := types.Resolve(hint)
	if o, ok := t.(*types.Option); ok {
		return types.Resolve(o.Elem)
	}
	return t
}

func (b *body) parts(xs []ast.Expr) []part {
	parts := make([]part, len(xs))
	for i, x := range xs {
		parts[i] = part{x, b.expr(x, nil)}
	}
	return parts
}

func (b *body) mapLit(e *ast.MapLit, hint types.Type) types.Type {
	b.c.reportDuplicateKeys(b.m, e)
	switch h := hinted(hint).(type) {
	case *types.Map:
		if !types.HasVar(h) {
			for _, en := range e.Entries {
				b.checkAs(en.Key, h.Key, reason{})
				b.checkAs(en.Value, h.Value, reason{})
			}
			return h
		}
	case *types.Basic:
		if h == types.Any {
			for _, en := range e.Entries {
				b.mapKey(en.Key)
				b.checkAs(en.Value, types.Any, reason{})
			}
			return &types.Map{Key: b.keysOf(e), Value: types.Any}
		}
	}
	if len(e.Entries) == 0 {
		const help = "annotate it: `let m: Map<String, Int> = {};`"
		return &types.Map{Key: b.freshVar(e.Sp, "the key type of this map", help),
			Value: b.c.newVar()} // an inference variable, so that only one error is reported
	}
	var keys, values []part
	for _, en := range e.Entries {
		keys = append(keys, part{en.Key, b.mapKey(en.Key)})
		values = append(values, part{en.Value, b.expr(en.Value, nil)})
	}
	return &types.Map{Key: b.join(keys, "keys"), Value: anyDeclared(b.join(values, "values"))}
}

// reportDuplicateKeys reports literal keys that occur twice in a map. The map would contain only
// the last entry.
func (c *checker) reportDuplicateKeys(m *module, e *ast.MapLit) {
	if len(e.Entries) < 2 {
		return
	}
	seen := map[any]ast.Expr{}
	for _, en := range e.Entries {
		var key any
		switch k := en.Key.(type) {
		case *ast.StringLit:
			key = k.Value
		case *ast.IntLit:
			key = k.Value
		case *ast.BoolLit:
			key = k.Value
		default:
			continue
		}
		if first := seen[key]; first != nil {
			c.report(m, diag.DuplicateField.At(en.Key.Span(), "duplicate key `%v`", key).
				Label(first.Span(), "first here").
				Repair(edits.RemoveRow(m.info.File.Source, en.Sp, "Remove the second `%v`", key), "remove one: a map contains each key once"))
			continue
		}
		seen[key] = en.Key
	}
}

func (b *body) mapKey(x ast.Expr) types.Type {
	t := b.expr(x, nil)
	if !types.IsHashable(t) {
		b.report(diag.MapKey.At(x.Span(), "`%s` cannot be the key of a map", types.Full(t)).Hint("a key must be a String, Int or Bool"))
		return types.Bad
	}
	return t
}

// keysOf checks a map literal whose values are Any, and returns the type of its keys.
func (b *body) keysOf(e *ast.MapLit) types.Type {
	var parts []part
	for _, en := range e.Entries {
		parts = append(parts, part{en.Key, b.info.types[en.Key.ID()]})
	}
	if len(parts) == 0 {
		return types.String
	}
	return b.join(parts, "keys")
}

func (b *body) tupleLit(e *ast.TupleLit, hint types.Type) types.Type {
	h, _ := hinted(hint).(*types.Tuple)
	t := &types.Tuple{}
	for i, x := range e.Elems {
		if h != nil && len(h.Elems) == len(e.Elems) && !types.HasVar(h.Elems[i]) {
			t.Elems = append(t.Elems, b.checkAs(x, h.Elems[i], reason{}))
			continue
		}
		if hint != nil && types.IsAny(hint) {
			t.Elems = append(t.Elems, b.checkAs(x, types.Any, reason{}))
			continue
		}
		t.Elems = append(t.Elems, b.expr(x, nil))
	}
	return t
}

// structLit checks `P { x: 1, ..base }`, also for a variant with named fields.
func (b *body) structLit(e *ast.StructLit, hint types.Type) types.Type {
	ref := b.structPath(e.Path, e)
	if ref == nil {
		for _, f := range e.Fields {
			b.expr(f.Value, nil)
		}
		return types.Bad
	}
	lit := &StructLit{Variant: ref.variant}
	in := newInstance(ref.named.Decl.Params)
	if h, ok := hinted(hint).(*types.Named); ok && h.Decl == ref.named.Decl && len(e.Path.TypeArgs) == 0 {
		in.addHint(ref.named.Args, h.Args)
	}
	if len(e.Path.TypeArgs) > 0 {
		in.setAll(b.c.resolveAll(b.ts, e.Path.TypeArgs))
	}
	b.structRest(e, ref, in)
	b.structFields(e, ref, lit, in)
	b.checkBounds(in, e.Path.Sp)
	t := in.apply(b, ref.named, e.Sp).(*types.Named)
	lit.Type = t
	b.info.details[e.Id] = lit
	return t
}

// structRef is the type to which a struct literal or a struct pattern refers.
type structRef struct {
	named   *types.Named // type whose arguments are the parameters of its declaration
	variant *VariantRef
	fields  []*types.Field
	what    string
}

// structPath resolves the path of a literal or a pattern to a struct, a schema or a variant with
// named fields. lit is nil for a pattern.
func (b *body) structPath(p *ast.PathExpr, lit *ast.StructLit) *structRef {
	if n := len(p.Segments); n >= 2 {
		if e := b.enumEntity(p.Segments[:n-1]); e != nil {
			return b.variantStruct(p, e, lit)
		}
	}
	e := b.structEntity(p)
	if e == nil {
		return nil
	}
	if e.typ == nil || e.typ.Kind == types.Enum {
		b.report(diag.NotAStruct.At(p.Sp, "`%s` is not a struct or schema", e.name).Hint("only structs and schemas have named fields"))
		return nil
	}
	return &structRef{named: generic(e.typ), fields: e.typ.Fields, what: e.typ.Kind.String() + " `" + e.name + "`"}
}

func (b *body) structEntity(p *ast.PathExpr) *entity {
	if len(p.Segments) > 1 {
		if e, _ := b.c.prefix(b.m, p.Segments, len(p.Segments)); e != nil && !e.refused {
			return b.throughAlias(e)
		}
		return nil
	}
	name := p.Segments[0].Name
	if e := b.c.findDeclared(b.m, name); e != nil && e.refused {
		return nil
	}
	if name == "Self" && b.ts.selfType() != nil {
		if n, ok := b.ts.selfType().(*types.Named); ok {
			return &entity{name: "Self", typ: n.Decl}
		}
	}
	if e := b.typeEntity(name); e != nil {
		return b.throughAlias(e)
	}
	d := diag.UnknownType.At(p.Segments[0].Sp, "unknown type `%s`", name)
	if !suggestOf(d, p.Segments[0], b.c.typeNames(b.ts)) {
		d.Hint("declare it with struct or schema")
	}
	b.report(d)
	return nil
}

// throughAlias returns the struct to which an alias refers.
func (b *body) throughAlias(e *entity) *entity {
	if e.alias != nil {
		if n, ok := b.c.aliasType(e.mod, e.alias).(*types.Named); ok {
			return &entity{name: e.name, typ: n.Decl, at: e.at}
		}
	}
	return e
}

// enumEntity returns the enum to which a path refers. If the path refers to something else, it
// returns nil and reports no error.
func (b *body) enumEntity(segs []*ast.Ident) *entity {
	if segs[0].Name == "Self" && len(segs) == 1 {
		if n, ok := b.ts.selfType().(*types.Named); ok && n.Decl.Kind == types.Enum {
			return &entity{name: "Self", typ: n.Decl}
		}
		return nil
	}
	e := b.c.quietPrefix(b.m, segs)
	if e == nil {
		return nil
	}
	e = b.throughAlias(e)
	if e.typ == nil || e.typ.Kind != types.Enum {
		return nil
	}
	return e
}

func (b *body) typeEntity(name string) *entity {
	if e := b.c.lookup(b.m, name); e != nil && (e.typ != nil || e.alias != nil) {
		return e
	}
	return nil
}

func (b *body) variantStruct(p *ast.PathExpr, e *entity, lit *ast.StructLit) *structRef {
	last := p.Segments[len(p.Segments)-1]
	v := e.typ.Variant(last.Name)
	if v == nil {
		b.reportUnknownVariant(e.typ, last)
		return nil
	}
	if !v.Named {
		b.report(diag.NotAStruct.At(p.Sp, "variant `%s` has no named fields", v.Name).
			WithFixes(b.positionalFix(lit, v)...).Hint("write `%s`", edits.VariantExample(e.typ, v)))
		return nil
	}
	n := generic(e.typ)
	ref := &VariantRef{Type: n, Name: v.Name, Index: v.Index, Variant: v}
	return &structRef{named: n, variant: ref, fields: v.Fields, what: "variant `" + e.name + "::" + v.Name + "`"}
}

func (b *body) reportUnknownVariant(d *types.Decl, name *ast.Ident) {
	var names []string
	for _, v := range d.Variants {
		names = append(names, v.Name)
	}
	b.report(unknownName(diag.UnknownVariant, name, "enum `"+d.Name+"` has no variant `%s`", names).
		Hint("its variants are %s", quotedNames(names)))
}

// warnPlainBraces warns about a string that contains the name of a variable in braces without `$`.
// It ignores a string that consists only of `{name}`, because the string may be an argument of
// `replace`. It also ignores strings that contain such an argument.
func (b *body) warnPlainBraces(e *ast.StringLit) {
	if b.info.Library || b.info.File == nil {
		return
	}
	f := b.info.File.Source
	text := f.Slice(e.Sp)
	if !strings.HasPrefix(text, `"""`) && len(text) > 2 && (text[0] == '"' || text[0] == '\'') && b.warnPlainDollar(e, text) {
		return
	}
	if !strings.HasPrefix(text, `"`) || strings.HasPrefix(text, `"""`) {
		return
	}
	for at := 0; ; {
		open := strings.IndexByte(text[at:], '{')
		if open < 0 {
			return
		}
		at += open + 1
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			return
		}
		name := text[at : at+end]
		l := b.visibleLocal(name)
		if l == nil || text[:at-1] == `"` && text[at+end:] == `}"` || text[at-2] == '\\' || strings.Contains(f.String(), `"{`+name+`}"`) {
			continue
		}
		l.used = true // the string was probably meant to contain the variable's value
		start := e.Sp.Start + source.Pos(at) - 1
		if start > e.Sp.Start && f.Text[start-1] == '#' { // for example `#{name}` in Ruby
			b.report(diag.PlainBraces.At(source.Span{Start: start - 1, End: start + source.Pos(end) + 2}, "`#{%s}` is plain text here, not the value of `%s`", name, name).
				Repair(diag.UnsafeFix(diag.Replace(source.Span{Start: start - 1, End: start}, "$"), "Change `#` to `$`"), "write `${%s}` to insert the value", name))
			return
		}
		b.report(diag.PlainBraces.At(source.Span{Start: start, End: start + source.Pos(end) + 2}, "`{%s}` is plain text here, not the value of `%s`", name, name).
			Repair(diag.UnsafeFix(diag.Insert(start, "$"), "Insert `$`"), "write `${%s}` to insert the value", name))
		return
	}
}

// visibleLocal returns the local variable with the given name that can be read here, or nil. Unlike
// local, it does not capture the variable.
func (b *body) visibleLocal(name string) *Local {
	for s := b.scope; s != nil && name != ""; s = s.parent {
		if l := s.find(name); l != nil {
			return l
		}
		if s.declares[name] {
			return nil
		}
	}
	return nil
}

func generic(d *types.Decl) *types.Named {
	n := &types.Named{Decl: d}
	for _, p := range d.Params {
		n.Args = append(n.Args, p)
	}
	return n
}

func (b *body) structRest(e *ast.StructLit, ref *structRef, in *instance) {
	if e.Rest == nil {
		return
	}
	t := b.expr(e.Rest, nil)
	if n, ok := types.Resolve(t).(*types.Named); ok && n.Decl == ref.named.Decl && ref.variant == nil {
		in.fix(ref.named, n, supertypeOnly)
		return
	}
	if types.Resolve(t) != types.Bad {
		b.report(diag.Mismatch.At(e.Rest.Span(), "expected `%s` after `..`, found `%s`", ref.named.Decl.Name, types.Full(t)).
			Hint("the value after `..` must have the same type"))
	}
}

func (b *body) structFields(e *ast.StructLit, ref *structRef, lit *StructLit, in *instance) {
	lit.Fields = make([]FieldSource, len(ref.fields))
	unknown := false
	for i := range lit.Fields {
		lit.Fields[i] = FieldSource{Index: -1, Rest: e.Rest != nil}
	}
	for i, f := range e.Fields {
		decl := findField(ref.fields, f.Name.Name)
		if decl == nil {
			b.reportUnknownField(f.Name, ref, f.Short, func(n string) bool {
				return slices.ContainsFunc(e.Fields, func(f *ast.FieldInit) bool { return f.Name.Name == n })
			})
			b.expr(f.Value, nil)
			unknown = true
			continue
		}
		if lit.Fields[decl.Index].Index >= 0 {
			b.report(diag.DuplicateField.At(f.Name.Sp, "duplicate field `%s`", f.Name.Name).
				Repair(edits.RemoveRow(b.info.File.Source, f.Sp, "Remove the second `%s`", f.Name.Name), "remove one"))
		}
		lit.Fields[decl.Index] = FieldSource{Index: i}
		b.checkVisibleField(ref.named.Decl, decl, f.Name)
		in.argument(b, f.Value, decl.Type, reason{})
	}
	in.finishArguments(b)
	var missing, rows []string
	for i, s := range lit.Fields {
		if s.Index >= 0 || s.Rest {
			continue
		}
		f := ref.fields[i]
		if !f.Default {
			missing = append(missing, f.Name)
			rows = append(rows, f.Name+": "+edits.Placeholder(f.Type))
			continue
		}
		lit.Fields[i].Default, lit.Fields[i].Info = b.c.fieldDefault(ref.named.Decl, ref.variant, f)
	}
	if len(missing) > 0 && !unknown {
		b.report(diag.MissingField.At(e.Path.Sp, "%s: %s missing: %s", ref.what, count(len(missing), "field"), quotedNames(missing)).
			Advise(b.addFields(e, missing, rows)))
	}
}

func findField(fs []*types.Field, name string) *types.Field {
	for _, f := range fs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// reportUnknownField reports a field that a struct does not have. short reports that the literal
// contains only the name, which is also the name of a variable; the fix then retains the variable.
// isSet reports whether the literal contains another field.
func (b *body) reportUnknownField(name *ast.Ident, ref *structRef, short bool, isSet func(string) bool) {
	if ref.named != nil && b.c.isFlawed(ref.named.Decl) {
		return
	}
	var names []string
	for _, f := range ref.fields {
		names = append(names, f.Name)
	}
	d := diag.UnknownField.At(name.Sp, "%s has no field `%s`", ref.what, name.Name)
	text := "%s"
	if short {
		text += ": " + name.Name
	}
	suggestAs(d, name.Sp, name.Name, names, text, "did you mean `%s`?")
	markUsedUnsafe(d, isSet)
	switch {
	case len(names) == 0:
		d.Hint("it has no fields")
	case len(d.Hints) == 0:
		d.Hint("its fields are %s", quotedNames(names))
	}
	b.report(d)
}
