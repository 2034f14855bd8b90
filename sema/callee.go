package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// unknown marks a path whose name was reported as unknown.
var unknown = new(struct{ _ int })

// ErrorNew is `T::new` of a built-in error type, the function that makes one of
// its message.
type ErrorNew struct{ Type *types.Named }

func (*ErrorNew) object() {}

// callee finds what a called path names; assoc is the type whose associated
// function it is. Nil means a local or another value.
func (b *body) callee(path *ast.PathExpr, args []*ast.Arg, hint types.Type) (Object, types.Type) {
	if len(path.Segments) == 1 {
		name := path.Segments[0].Name
		if b.local(name) != nil {
			return nil, nil
		}
		if v := builtinVariant(name); v != nil {
			return v, nil
		}
		if e := b.c.lookupValue(b.m, name); e != nil {
			switch o := e.obj.(type) {
			case *Function:
				return o, nil
			case *VariantRef:
				return o, nil
			}
			if e.refused {
				b.info.details[path.Id] = unknown
			}
			return nil, nil
		}
		b.unknownValue(path, use{called: true, args: args, hint: hint})
		return nil, nil
	}
	return b.associated(path)
}

// associated finds what a path of several segments names: `Type::name` (a
// variant, an associated function, T::new of an error) or something of a
// module. The type is the owner of an associated function.
func (b *body) associated(path *ast.PathExpr) (Object, types.Type) {
	segs := path.Segments
	if t := b.builtinOwner(segs); t != nil {
		return b.ofType(path, t, segs[0], segs[1])
	}
	if p := b.ts.param(segs[0].Name); p != nil && len(segs) == 2 {
		b.info.details[path.Id] = unknown
		b.report(diag.UnknownPath.At(segs[0].Sp, "`%s` stands for a type that only the caller knows, so nothing says whose `%s` is meant", p.Name, segs[1].Name).
			Hint("take the function as a parameter, or call a method on a value of the type"))
		return nil, nil
	}
	e, i := b.c.prefix(b.m, segs, len(segs))
	if e == nil || e.refused {
		b.info.details[path.Id] = unknown
		return nil, nil
	}
	switch rest := segs[i:]; {
	case len(rest) == 0 && e.obj != nil:
		return e.obj, nil
	case len(rest) == 1:
		if t := b.entityOwner(e); t != nil {
			return b.ofType(path, t, segs[i-1], rest[0])
		}
	}
	b.info.details[path.Id] = unknown
	b.noValueAt(path, e, i)
	return nil, nil
}

// noValueAt reports a path that leads to no value.
func (b *body) noValueAt(path *ast.PathExpr, e *entity, i int) {
	last := path.Segments[i-1]
	switch {
	case i < len(path.Segments) && e.obj != nil:
		b.report(diag.UnknownPath.At(path.Segments[i].Sp, "`%s` is a value: only types and modules are followed by `::`", last.Name).
			Hint("write `%s.%s(…)` to call one of its methods", last.Name, path.Segments[i].Name))
	case i < len(path.Segments):
		d := diag.UnknownPath.At(path.Segments[i].Sp, "`%s` holds nothing of that name", last.Name)
		if t := b.c.declared(b.m, path.Segments[i].Name); t != nil && t.trait != nil {
			d.Hint("write `%s::%s`: a function of a trait is the type's own, and the trait is not named", last.Name, path.Segments[len(path.Segments)-1].Name)
		} else {
			d.Hint("only types and modules are followed by `::`")
		}
		b.report(d)
	case e.module != nil:
		b.report(diag.NotAValue.At(path.Sp, "`%s` is a module, not a value", last.Name).Hint("name something in it"))
	default:
		b.report(diag.NotAValue.At(path.Sp, "`%s` is a type, not a value", last.Name).Hint("make a value of it"))
	}
}

// builtinOwner is the type before `::` when no declaration names it: Self, a
// type parameter, Array and its like.
func (b *body) builtinOwner(segs []*ast.Ident) types.Type {
	if len(segs) != 2 {
		return nil
	}
	name := segs[0].Name
	if name == "Self" {
		return b.ts.selfType()
	}
	if b.c.declared(b.m, name) != nil {
		return nil
	}
	k, ok := constructors[name]
	if !ok {
		return nil
	}
	args := make([]types.Type, k.max)
	for i := range args {
		args[i] = types.Any
	}
	return construct(name, args)
}

// ofType finds `owner::name` of a type.
func (b *body) ofType(path *ast.PathExpr, t types.Type, owner, name *ast.Ident) (Object, types.Type) {
	if n, ok := t.(*types.Named); ok {
		if v := n.Decl.Variant(name.Name); v != nil {
			return &VariantRef{Type: generic(n.Decl), Name: v.Name, Index: v.Index, Variant: v}, t
		}
		if n.Decl.Kind == types.ErrorStruct && name.Name == "new" {
			return &ErrorNew{n}, nil
		}
	}
	if fn := b.c.method(t, name.Name); fn != nil {
		b.visible(fn, name)
		return fn, t
	}
	b.info.details[path.Id] = unknown
	if t != types.Bad {
		b.noAssociated(t, owner, name)
	}
	return nil, nil
}

// visible checks that a method or associated function may be used here.
func (b *body) visible(fn *Function, name *ast.Ident) {
	if fn.pub || fn.assoc == nil || fn.Info.Library || b.m.within(fn.mod) {
		return
	}
	b.report(diag.Private.At(name.Sp, "`%s` is private to module `%s`", fn.Name, fn.mod.shown()).
		LabelIn(fn.mod.info.File.Source, fn.Decl.Name.Sp, "declared here without `pub`").
		Repair(edits.MakePublic(fn.mod.info.File.Source, fn.Decl.Head(), fn.Name), "declare it `pub`, or use what the module offers"))
}

func (b *body) noAssociated(t types.Type, owner, name *ast.Ident) {
	if n, ok := t.(*types.Named); ok && n.Decl.Kind == types.Enum {
		b.unknownVariant(n.Decl, name)
		return
	}
	if _, ok := types.Resolve(t).(*types.HashMap); ok && name.Name == "new" {
		b.report(diag.UnknownMethod.At(name.Sp, "a HashMap is a store, which is declared").
			Hint("declare it outside of functions: `hashmap name: HashMap<String, Int> = HashMap::new();`, or use a Map"))
		return
	}
	if name.Name == "new" {
		switch types.Resolve(t).(type) {
		case *types.Array:
			b.report(diag.UnknownMethod.At(name.Sp, "`Array` has no function `new`").By(b.insteadOfNew(t, owner, name, foreign.Word{})...).
				Hint("an empty array is written `[]`"))
			return
		case *types.Map:
			b.report(diag.UnknownMethod.At(name.Sp, "`Map` has no function `new`").By(b.insteadOfNew(t, owner, name, foreign.Word{})...).
				Hint("an empty map is written `{}`, with its type: `let m: Map<String, Int> = {};`"))
			return
		}
		if n, ok := types.Resolve(t).(*types.Named); ok && !n.Decl.Library && n.Decl.Kind != types.Enum {
			b.report(diag.UnknownMethod.At(name.Sp, "`%s` has no function `new`", owner.Name).
				Hint("a value is made with its type's name alone: `%s`", edits.StructExample(n.Decl)))
			return
		}
	}
	if d, ok := t.(*types.Declared); ok && name.Name == "new" {
		at := source.Span{Start: owner.Sp.End, End: name.Sp.End}
		if strings.HasPrefix(b.info.File.Source.String()[at.End:], "()") {
			at.End += 2
		}
		b.report(diag.UnknownMethod.At(name.Sp, "`%s` has no function `new`", owner.Name).
			Repair(diag.Offer(diag.Remove(at), "Write `%s`", owner.Name), "`%s` is a value already: use it by its name", d.Name))
		return
	}
	if d, ok := t.(*types.Declared); ok {
		tool := toolOf(t)
		if d.Kind == nil && name.Name == "run" || tool != nil && (tool.Rest || tool.method(name.Name) != nil) {
			b.calledOnValue(d, name)
			return
		}
	}
	of := owner.Name
	if of == "Self" {
		of = types.Full(t).String()
	}
	d := unknownName(diag.UnknownMethod, name, "`"+of+"` has no function `%s`", b.c.methodNames(t))
	w := foreign.Function.Find(of + "::" + name.Name)
	switch {
	case w.Hint != "":
		d.Fixes = nil
		d.By(b.insteadOfNew(t, owner, name, w)...)
		d.Hints = []string{w.Hint}
	case len(d.Hints) == 0 && declaredIn(t) == nil:
		d.Hint("it has %s", listed(b.c.methodNames(t)))
	default:
		d.Hint("declare it in `impl %s { … }`", of)
	}
	b.report(d)
}

// insteadOfNew replaces a function of other languages that makes a value: by a function of ours, or by the value.
func (b *body) insteadOfNew(t types.Type, owner, name *ast.Ident, w foreign.Word) []diag.Fix {
	f := b.info.File.Source
	at := source.Span{Start: owner.Sp.Start, End: name.Sp.End}
	switch {
	case len(w.Ours) == 1:
		return []diag.Fix{diag.Change(at, w.Ours[0], w.Ours[0], false)}
	case name.Name == "from" && types.IsString(t):
		return []diag.Fix{diag.Offer(diag.Remove(at), "Remove `%s`", f.Slice(at))}
	case name.Name == "new" && strings.HasPrefix(f.String()[at.End:], "()"):
		at.End += source.Pos(len("()"))
		if empty := edits.Placeholder(t); empty != edits.NotWritten {
			return []diag.Fix{diag.Change(at, empty, empty, false)}
		}
	}
	return nil
}

func (b *body) entityOwner(e *entity) types.Type {
	switch {
	case e.builtin != nil:
		return e.builtin
	case e.typ != nil:
		return generic(e.typ)
	case e.alias != nil:
		return b.c.aliasType(e.mod, e.alias)
	case e.obj != nil:
		return declaredType(e.obj)
	}
	return nil
}
