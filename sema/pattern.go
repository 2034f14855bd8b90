package sema

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema/edits"
)

// patternNames is the state of checking the names of one pattern, which must be distinct. The
// pattern's variables are those of the scope from index start on. depth is the number of enclosing
// patterns.
type patternNames struct{ depth, start int }

// pattern checks a pattern that is matched against values of type t, and binds its names.
func (b *body) pattern(p ast.Pattern, t types.Type, mut bool) {
	t = types.Resolve(t)
	b.info.types[p.ID()] = t
	if b.names.depth == 0 {
		b.names.start = len(b.scope.locals)
	}
	b.names.depth++
	defer func() { b.names.depth-- }()
	switch p := p.(type) {
	case *ast.NamePat:
		b.namePattern(p, t, mut)
	case *ast.BindPat:
		b.pattern(p.Pattern, t, mut)
		b.bindName(p.Id, p.Name, t, mut)
	case *ast.LitPat:
		b.literalPattern(p.Value, t)
	case *ast.RangePat:
		b.rangePattern(p, t)
	case *ast.OrPat:
		b.orPattern(p, t, mut)
	case *ast.TuplePat:
		b.tuplePattern(p, t, mut)
	case *ast.ArrayPat:
		b.arrayPattern(p, t, mut)
	case *ast.StructPat:
		b.structPattern(p, t, mut)
	case *ast.VariantPat:
		b.variantPattern(p, t, mut)
	case *ast.PathPat:
		b.pathPattern(p, t)
	case *ast.BadPat, *ast.WildPat: // these declare nothing
	}
}

func (b *body) bindName(id ast.ID, name *ast.Ident, t types.Type, mut bool) {
	for _, l := range b.scope.locals[b.names.start:] {
		if l.Name == name.Name {
			b.report(diag.DuplicateName.At(name.Sp, "duplicate variable `%s` in a pattern", name.Name).Label(l.At, "first here").
				Hint("rename one of them"))
		}
	}
	l := &Local{Name: name.Name, Type: t, Mut: mut, At: name.Sp}
	b.info.objects[id] = l
	b.bind(l)
}

// namePattern checks a name in a pattern. The name is a binding, unless it refers to a constant or
// to None. Other names with an upper-case letter at the start are errors, because a misspelled
// variant would otherwise match every value.
func (b *body) namePattern(p *ast.NamePat, t types.Type, mut bool) {
	name := p.Name.Name
	if name == "None" {
		b.noneInPattern(p, t)
		return
	}
	if en := b.c.findDeclared(b.m, name); en != nil {
		if v, ok := en.obj.(*VariantRef); ok {
			b.importedVariant(p, v, t)
			return
		}
		if k, ok := en.obj.(*Const); ok {
			b.c.constantByName(b.m, k)
			b.info.objects[p.Id] = k
			b.patternValue(p, k.Type, t)
			return
		}
	}
	if r, _ := utf8.DecodeRuneInString(name); unicode.IsUpper(r) {
		d := diag.UpperCasePattern.At(p.Sp, "`%s` is not a constant or a variant", name)
		if n, ok := t.(*types.Named); ok && n.Decl.Variant(name) != nil {
			d.Repair(diag.SafeFix(diag.Insert(p.Sp.Start, n.Decl.Name+"::"), "Change to `%s::%s`", n.Decl.Name, name), "write `%s::%s`", n.Decl.Name, name)
		} else if !b.suggestFields(d, name, p, t) {
			d.Hint("variables start with a lower-case letter; write variants as `Enum::%s`", name)
		}
		b.report(d)
		return
	}
	b.bindName(p.Id, p.Name, t, mut)
}

// importedVariant checks a name in a pattern that refers to an imported unit variant.
func (b *body) importedVariant(p *ast.NamePat, v *VariantRef, t types.Type) {
	ref, fields := b.variantFor(v, p, t)
	if ref == nil {
		return
	}
	if len(fields) > 0 || v.Variant.Named {
		b.report(diag.PatternType.At(p.Sp, "variant `%s` has values", v.Name).
			Hint("write `%s`", edits.VariantExample(v.Type.(*types.Named).Decl, v.Variant)))
	}
	b.info.details[p.Id] = ref
}

// variantFor returns a variant as a variant of type t, with the types of its values. If t is not
// the variant's enum, it reports an error and returns nil.
func (b *body) variantFor(v *VariantRef, p ast.Pattern, t types.Type) (*VariantRef, []types.Type) {
	d := v.Type.(*types.Named).Decl
	n, ok := t.(*types.Named)
	if !ok || n.Decl != d {
		if !types.IsAny(t) && t != types.Error && t != types.Bad {
			b.patternMismatch(p, d.Name+"::"+v.Name, t, isDeclaredBy(d))
			return nil, nil
		}
		n = generic(d)
	}
	var fields []types.Type
	for _, f := range v.Variant.Fields {
		fields = append(fields, types.Substitute(f.Type, types.Bindings(d.Params, n.Args)))
	}
	return &VariantRef{Type: n, Name: v.Name, Index: v.Index, Variant: v.Variant}, fields
}

func (b *body) noneInPattern(p *ast.NamePat, t types.Type) {
	switch x := t.(type) {
	case *types.Option:
		b.info.details[p.Id] = &VariantRef{Type: x, Name: "None", Index: 1}
		return
	case *types.Basic:
		if x == types.Any || x == types.Bad {
			b.info.details[p.Id] = &VariantRef{Type: types.NewOption(types.Any), Name: "None", Index: 1}
			return
		}
	}
	b.patternMismatch(p, "None", t, isOf[*types.Option])
}

// patternMismatch reports a pattern that never matches values of type t. fits reports whether the
// pattern matches values of a type.
func (b *body) patternMismatch(p ast.Node, what string, t types.Type, fits func(types.Type) bool) {
	if t == types.Bad {
		return
	}
	b.report(diag.PatternType.At(p.Span(), "`%s` never matches `%s`", what, types.Full(t)).WithFixes(b.awaitSubject(t)...).Advise(b.patternAround(p, t, fits), b.patternHelp(t)))
}

// patternAround returns the advice to put the pattern in a constructor, if it matches the value
// inside the Option or Result t.
func (b *body) patternAround(p ast.Node, t types.Type, fits func(types.Type) bool) diag.Advice {
	switch x := t.(type) {
	case *types.Option:
		if fits(types.Resolve(x.Elem)) {
			return b.wrapAdvice(p, "Some")
		}
	case *types.Result:
		if fits(types.Resolve(x.Ok)) {
			return b.wrapAdvice(p, "Ok")
		}
		if fits(types.Resolve(x.Err)) {
			return b.wrapAdvice(p, "Err")
		}
	}
	return diag.Advice{}
}

// isOf reports whether the dynamic type of t is T.
func isOf[T types.Type](t types.Type) bool { _, ok := t.(T); return ok }

// isDeclaredBy returns a function that reports whether d declares a type.
func isDeclaredBy(d *types.Decl) func(types.Type) bool {
	return func(t types.Type) bool { n, ok := t.(*types.Named); return ok && n.Decl == d }
}

// mayEqual returns a function that reports whether values of a type can be equal to values of type
// v.
func mayEqual(v types.Type) func(types.Type) bool {
	return func(t types.Type) bool { _, ok := comparedType(v, t); return ok }
}

func (b *body) patternHelp(t types.Type) diag.Advice { return diag.HintAdvice(b.patternHint(t)) }

func (b *body) patternHint(t types.Type) string {
	switch x := t.(type) {
	case *types.Option:
		return "the patterns of an Option are `Some(…)` and `None`"
	case *types.Result:
		return "the patterns of a Result are `Ok(…)` and `Err(…)`"
	case *types.Task:
		if b.subject != nil {
			return "`await` the task first: `match await " + b.sourceText(b.subject) + " { … }`"
		}
		return "`await` the task first"
	case *types.Named:
		if x.Decl.Kind == types.Enum {
			var names []string
			for _, v := range x.Decl.Variants {
				names = append(names, edits.VariantExample(x.Decl, v))
			}
			return "its patterns are " + quotedNames(names)
		}
	}
	return "the patterns of `" + types.Full(t).String() + "` are values, names and `_`"
}

// patternValue checks that a constant or literal of type v can be equal to values of type t.
func (b *body) patternValue(p ast.Pattern, v, t types.Type) {
	if t == types.Bad || v == types.Bad || t == types.Error || types.IsAny(t) {
		return
	}
	if _, ok := comparedType(types.Resolve(v), t); !ok {
		b.patternMismatch(p, types.Full(v).String(), t, mayEqual(types.Resolve(v)))
	}
}

func (b *body) literalPattern(x ast.Expr, t types.Type) {
	v := types.Resolve(b.expr(x, t))
	if u, ok := t.(*types.Union); ok {
		if s, isString := x.(*ast.StringLit); isString && !u.Has(s.Value) {
			b.report(diag.NotInUnion.At(x.Span(), "%q is not in the union `%s`", s.Value, u).WithFixes(unionFixes(x.Span(), u)...).Hint("use one of the listed strings"))
			return
		}
	}
	if t == types.Bad || types.IsAny(t) || t == types.Error {
		return
	}
	if v == types.Float && t == types.Int {
		b.report(diag.PatternType.At(x.Span(), "`Float` never matches `Int`").Hint("write an integer"))
		return
	}
	if _, ok := comparedType(v, t); !ok {
		b.patternMismatch(x, types.Full(v).String(), t, mayEqual(v))
	}
}

func (b *body) rangePattern(p *ast.RangePat, t types.Type) {
	ranges := func(t types.Type) bool {
		return types.IsNumeric(t) || types.IsAny(t) || t == types.Bad || types.IsString(t)
	}
	fits := ranges(t)
	if !fits {
		b.patternMismatch(p, "a range", t, ranges) // its ends would report the same
	}
	for _, x := range []ast.Expr{p.Lo, p.Hi} {
		switch {
		case x == nil:
		case fits:
			b.literalPattern(x, t)
		default:
			b.expr(x, nil)
		}
	}
}

// orPattern checks that all alternatives of a pattern bind the same names.
func (b *body) orPattern(p *ast.OrPat, t types.Type, mut bool) {
	start := len(b.scope.locals)
	var first []*Local
	for i, alt := range p.Alts {
		b.pattern(alt, t, mut)
		bound := append([]*Local(nil), b.scope.locals[start:]...)
		b.scope.cut(start)
		if i == 0 {
			first = bound
			continue
		}
		b.sameNames(alt, first, bound)
	}
	b.scope.locals = append(b.scope.locals, first...)
}

// sameNames makes a later alternative use the variables of the first one.
func (b *body) sameNames(alt ast.Pattern, first, bound []*Local) {
	for _, l := range bound {
		same := findLocal(first, l.Name)
		if same == nil {
			b.report(diag.OrPatternNames.At(l.At, "`%s` is not declared in the other alternative", l.Name).Hint("declare the same names in each"))
			continue
		}
		if t, ok := types.Join(same.Type, l.Type); !ok || !types.Identical(t, same.Type) {
			b.report(diag.OrPatternNames.At(l.At, "`%s` has type `%s` here, but `%s` in the other alternative", l.Name, types.Full(l.Type), types.Full(same.Type)).
				Hint("use separate arms"))
		}
		b.replaceObject(alt, l, same)
	}
	for _, l := range first {
		if findLocal(bound, l.Name) == nil {
			b.report(diag.OrPatternNames.At(alt.Span(), "`%s` is not declared in this alternative", l.Name).Hint("declare the same names in each"))
		}
	}
}

func findLocal(ls []*Local, name string) *Local {
	for _, l := range ls {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// replaceObject replaces the variable old with l in all bindings of p.
func (b *body) replaceObject(p ast.Pattern, old, l *Local) {
	for id := range b.info.objects {
		if b.info.objects[id] == Object(old) {
			b.info.objects[id] = l
		}
	}
}

func (b *body) tuplePattern(p *ast.TuplePat, t types.Type, mut bool) {
	tuple, ok := t.(*types.Tuple)
	if !ok && !types.IsAny(t) && t != types.Bad {
		b.patternMismatch(p, "a tuple", t, func(t types.Type) bool { x, is := t.(*types.Tuple); return is && len(x.Elems) == len(p.Elems) })
		t = types.Bad
	}
	if ok && len(tuple.Elems) != len(p.Elems) {
		b.report(diag.PatternType.At(p.Sp, "a pattern of %s never matches `%s`", count(len(p.Elems), "element"), types.Full(t)).
			Hint("%s", map[bool]string{true: "add `_` for the other values", false: "remove the additional patterns"}[len(p.Elems) < len(tuple.Elems)]))
		ok = false
	}
	for i, q := range p.Elems {
		b.pattern(q, partType(ok, t, func() types.Type { return tuple.Elems[i] }), mut)
	}
}

// partType returns the type of a part of t. If hasType is set, the function part returns it. It is
// Any if t is Any, and otherwise the error type.
func partType(hasType bool, t types.Type, part func() types.Type) types.Type {
	switch {
	case hasType:
		return part()
	case types.IsAny(t) || t == types.Error:
		return types.Any
	}
	return types.Bad
}

func (b *body) arrayPattern(p *ast.ArrayPat, t types.Type, mut bool) {
	a, ok := t.(*types.Array)
	if !ok && !types.IsAny(t) && t != types.Bad {
		b.patternMismatch(p, "an array", t, isOf[*types.Array])
		t = types.Bad
	}
	for i, q := range p.Elems {
		if i == p.Rest {
			b.restPattern(p, t, mut)
		}
		b.pattern(q, partType(ok, t, func() types.Type { return a.Elem }), mut)
	}
	if p.Rest == len(p.Elems) {
		b.restPattern(p, t, mut)
	}
}

func (b *body) restPattern(p *ast.ArrayPat, t types.Type, mut bool) {
	if p.RestName != nil {
		t = types.Loose(t)
		b.info.types[p.RestName.Id] = t
		b.bindName(p.RestName.Id, p.RestName.Name, t, mut)
	}
}

func (b *body) structPattern(p *ast.StructPat, t types.Type, mut bool) {
	ref := b.structPath(p.Path, nil)
	if ref == nil {
		for _, f := range p.Fields {
			b.pattern(f.Pattern, types.Bad, mut)
		}
		return
	}
	n, ok := t.(*types.Named)
	matches := ok && n.Decl == ref.named.Decl
	if !matches && !types.IsAny(t) && t != types.Error && t != types.Bad {
		b.patternMismatch(p, ref.named.Decl.Name, t, isDeclaredBy(ref.named.Decl))
	}
	if !matches {
		n = ref.named
	}
	subst := types.Bindings(n.Decl.Params, n.Args)
	b.info.types[p.Path.Id] = n
	b.info.details[p.Id] = &VariantRef{Type: n, Name: n.Decl.Name, Index: -1}
	if ref.variant != nil {
		b.info.details[p.Id] = &VariantRef{Type: n, Name: ref.variant.Name, Index: ref.variant.Index, Variant: ref.variant.Variant}
	}
	seen := map[string]bool{}
	for _, f := range p.Fields {
		ft := types.Type(types.Bad)
		if decl := findField(ref.fields, f.Name.Name); decl != nil {
			ft = types.Substitute(decl.Type, subst)
			b.checkVisibleField(n.Decl, decl, f.Name)
		} else if et := errorField(f.Name.Name); et != nil && n.Decl.Kind == types.ErrorStruct {
			ft = et
		} else {
			b.reportUnknownField(f.Name, ref, f.Short, func(n string) bool {
				return slices.ContainsFunc(p.Fields, func(f *ast.FieldPat) bool { return f.Name.Name == n })
			})
		}
		seen[f.Name.Name] = true
		b.pattern(f.Pattern, ft, mut)
	}
	b.reportOmittedFields(p, ref, seen)
}

// reportOmittedFields reports a struct pattern without `..` that omits fields.
func (b *body) reportOmittedFields(p *ast.StructPat, ref *structRef, seen map[string]bool) {
	if p.Rest {
		return
	}
	var missing []string
	for _, f := range ref.fields {
		if !seen[f.Name] {
			missing = append(missing, f.Name)
		}
	}
	if len(missing) > 0 {
		b.report(diag.MissingField.At(p.Sp, "the pattern does not mention %s", quotedNames(missing)).Hint("add them, or end the pattern with `..`"))
	}
}

func (b *body) variantPattern(p *ast.VariantPat, t types.Type, mut bool) {
	ref, fields := b.patternVariant(p.Path, p, t)
	if ref == nil {
		for _, q := range p.Elems {
			b.pattern(q, types.Bad, mut)
		}
		return
	}
	b.info.details[p.Id] = ref
	if n := len(p.Elems); n > len(fields) || n < len(fields) && p.Rest < 0 {
		b.report(diag.PatternType.At(p.Sp, "`%s` has %s, but the pattern has %d", ref.Name, count(len(fields), "part"), n).
			Hint("add `_` for one value, or `..` for all other values"))
	}
	for i, q := range p.Parts(len(fields)) {
		if q == ast.Pattern(ast.Skipped) {
			continue
		}
		ft := types.Type(types.Bad)
		if i < len(fields) {
			ft = fields[i]
		}
		b.pattern(q, ft, mut)
	}
}

// patternVariant returns the variant to which the path in a pattern refers, and the types of its
// values for a subject of type t.
func (b *body) patternVariant(path *ast.PathExpr, p ast.Pattern, t types.Type) (*VariantRef, []types.Type) {
	if len(path.Segments) == 1 {
		if e := b.c.findDeclared(b.m, path.Segments[0].Name); e != nil {
			if v, ok := e.obj.(*VariantRef); ok {
				return b.variantFor(v, p, t)
			}
		}
		return b.builtinPattern(path.Segments[0].Name, path, p, t)
	}
	last := path.Segments[len(path.Segments)-1]
	owner := path.Segments[:len(path.Segments)-1]
	e := b.enumEntity(owner)
	if e == nil {
		if whole, i := b.c.prefix(b.m, owner, len(owner)); whole != nil && !whole.refused && i == len(owner) {
			b.report(diag.UnknownType.At(owner[len(owner)-1].Sp, "`%s` is not an enum", whole.name).Hint("only enums have variants"))
		}
		return nil, nil
	}
	v := e.typ.Variant(last.Name)
	if v == nil {
		b.reportUnknownVariant(e.typ, last)
		return nil, nil
	}
	return b.variantFor(&VariantRef{Type: generic(e.typ), Name: v.Name, Index: v.Index, Variant: v}, p, t)
}

// suggestFields adds the hint that the pattern p, for values of type t, is the name of a struct,
// whose pattern has fields. It returns false if name refers to no struct.
func (b *body) suggestFields(d *diag.Diagnostic, name string, p ast.Pattern, t types.Type) bool {
	e := b.c.lookup(b.m, name)
	if e == nil || e.typ == nil || e.typ.Kind == types.Enum || len(e.typ.Fields) == 0 {
		return false
	}
	shown := e.typ.Fields[0].Name
	if e.typ.Field("message") != nil {
		shown = "message"
	}
	if len(e.typ.Fields) > 1 {
		shown += ", .."
	}
	fields := name + " { " + shown + " }"
	text, at := b.info.File.Source.Text, p.Span()
	inErr := bytes.HasSuffix(text[:at.Start], []byte("Err(")) && bytes.HasPrefix(text[at.End:], []byte(")"))
	if inErr {
		fields = "Err(" + fields + ")"
	}
	whole, _ := p.(*ast.VariantPat)
	switch n, isSame := t.(*types.Named); {
	case whole != nil && len(whole.Elems) == 1 && isSame && n.Decl == e.typ:
		x := b.info.File.Source.Slice(whole.Elems[0].Span())
		all := x
		if inErr {
			all = "Err(" + x + ")"
		}
		d.Repair(diag.UnsafeFix(diag.Replace(at, x), "Change to `%s`", x), "write `%s` for the whole value, or `%s` for its fields", all, fields)
	case whole == nil || len(whole.Elems) == 0 || is[*ast.WildPat](whole.Elems[0]):
		d.Repair(diag.UnsafeFix(diag.Replace(at, name+" { .. }"), "Change to `%s { .. }`", name), "`%s` is a struct: write `%s`", name, fields)
	default:
		d.Hint("`%s` is a struct: write `%s`", name, fields)
	}
	return true
}

// builtinPattern checks a pattern with Some, Ok or Err.
func (b *body) builtinPattern(name string, path *ast.PathExpr, p ast.Pattern, t types.Type) (*VariantRef, []types.Type) {
	ref := builtinVariant(name)
	if ref == nil {
		if n, ok := t.(*types.Named); ok && n.Decl.Variant(name) != nil {
			b.report(diag.UpperCasePattern.At(path.Sp, "`%s` is not a variant", name).Hint("write `%s::%s`", n.Decl.Name, name))
			return nil, nil
		}
		d := diag.UpperCasePattern.At(path.Sp, "`%s` is not a variant", name)
		if !b.suggestFields(d, name, p, t) && !suggestName(d, path.Segments[0], []string{"Some", "Ok", "Err"}) {
			d.Hint("write variants as `Enum::%s(…)`", name)
		}
		b.report(d)
		return nil, nil
	}
	switch x := t.(type) {
	case *types.Option:
		if name == "Some" {
			return &VariantRef{Type: x, Name: name}, []types.Type{x.Elem}
		}
	case *types.Result:
		if name == "Ok" {
			return &VariantRef{Type: x, Name: name}, []types.Type{x.Ok}
		}
		if name == "Err" {
			return &VariantRef{Type: x, Name: name, Index: 1}, []types.Type{x.Err}
		}
	}
	if types.IsAny(t) {
		if name == "Some" {
			return &VariantRef{Type: types.NewOption(types.Any), Name: name}, []types.Type{types.Any}
		}
		return &VariantRef{Type: &types.Result{Ok: types.Any, Err: types.Any}, Name: name, Index: ref.Index}, []types.Type{types.Any}
	}
	fits := isOf[*types.Result]
	if name == "Some" {
		fits = isOf[*types.Option]
	}
	b.patternMismatch(p, name+"(…)", t, fits)
	return nil, nil
}

// pathPattern checks the pattern `A::B`, which is a unit variant or a const.
func (b *body) pathPattern(p *ast.PathPat, t types.Type) {
	ref, fields := b.patternVariant(p.Path, p, t)
	if ref == nil {
		return
	}
	if len(fields) > 0 || ref.Variant != nil && ref.Variant.Named {
		b.report(diag.PatternType.At(p.Sp, "variant `%s` has values", ref.Name).
			Hint("write `%s`", edits.VariantExample(ref.Type.(*types.Named).Decl, ref.Variant)))
	}
	b.info.details[p.Id] = ref
}
