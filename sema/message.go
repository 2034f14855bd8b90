package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// The parameter of a handler without a type is an Any, and the result of a listen a map, because a
// host may send more than the schema of the message contains. The checker knows the schema from the
// message's type nevertheless: it reports misspelled members, and values that do not fit where the
// program uses them.

// messageSchema returns the schema of the messages of a type, or nil. A schema of the program with
// the same name replaces that of the library.
func (b *body) messageSchema(typ string) types.Type {
	name := hostmsg.Lookup(typ).Schema
	if name == "" || b.c.cfg.Library == nil {
		return nil
	}
	if e := b.c.lookup(b.m, name); e != nil && e.typ != nil && len(e.typ.Params) == 0 && e.typ.Kind != types.Enum {
		return &types.Named{Decl: e.typ}
	}
	return nil
}

// knownType returns the type that the value of e, an Any, has if the host follows the protocol. It
// returns nil if e is no message and no member of one.
func (b *body) knownType(e ast.Expr) types.Type {
	switch x := unparen(e).(type) {
	case *ast.PathExpr:
		if l, ok := b.info.objects[x.Id].(*Local); ok {
			return l.known
		}
	case *ast.FieldExpr:
		return b.known[x.Id]
	}
	return nil
}

// messageField checks the access of a member of a message with a schema, or of a value in one.
func (b *body) messageField(e *ast.FieldExpr, schema types.Type) {
	n, ok := types.Resolve(schema).(*types.Named)
	if !ok || n.Decl.Kind == types.Enum || b.info.Library {
		return
	}
	var names []string
	for _, f := range n.Decl.Fields {
		if f.Name == e.Name.Name {
			if b.known == nil {
				b.known = map[ast.ID]types.Type{}
			}
			b.known[e.Id] = types.Loose(withoutOption(f.Type))
			return
		}
		names = append(names, f.Name)
	}
	d := diag.UnknownMember.At(e.Name.Sp, "`%s` has no field `%s`", n.Decl.Name, e.Name.Name)
	if e.Name.Name != partialOutput && suggestName(d, e.Name, names) {
		b.report(d)
	}
}

// messageAdvice returns the advice for the id of a HostMessage where the message is expected, as in
// `s.respond(m.id, …)`.
func (b *body) messageAdvice(e ast.Expr, want types.Type) diag.Advice {
	n, ok := types.Resolve(want).(*types.Named)
	x, isField := unparen(e).(*ast.FieldExpr)
	if !ok || !isField || !n.Decl.Members || x.Name.Name != "id" || !types.Identical(b.info.types[x.X.ID()], want) {
		return diag.Advice{}
	}
	text := b.sourceText(x.X)
	return replaceAdvice(e, "pass the message itself", text)
}

// partialOutput is a member that Concerto adds to results.
const partialOutput = "partial_output"

func withoutOption(t types.Type) types.Type {
	if o, ok := types.Resolve(t).(*types.Option); ok {
		return o.Elem
	}
	return t
}

// contradict reports whether no value of the known type of an Any can be used as a value of type
// want. Types whose JSON has the same form do not contradict each other.
func contradict(known, want types.Type) bool {
	x, y := jsonForm(known), jsonForm(withoutOption(want))
	return x != "" && y != "" && x != y
}

// jsonForm returns the form of the JSON of a type's values, or "" if it is not fixed.
func jsonForm(t types.Type) string {
	if t == nil {
		return ""
	}
	switch t := types.Resolve(t).(type) {
	case *types.Union:
		return "string"
	case *types.Array, *types.Tuple:
		return "array"
	case *types.Map:
		return "object"
	case *types.Named:
		if t.Decl.Kind == types.Schema || t.Decl.Kind == types.Struct {
			return "object"
		}
	case *types.Basic:
		switch t {
		case types.String:
			return "string"
		case types.Int, types.Float:
			return "number"
		case types.Bool:
			return "boolean"
		}
	}
	return ""
}
