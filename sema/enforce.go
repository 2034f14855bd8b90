package sema

import (
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/schema"
)

// warnUnenforced warns about a call of an agent with a schema that its model cannot enforce, if the
// schema is therefore only a part of the prompt.
func (b *body) warnUnenforced(e ast.Expr, fn *Function, recv *receiver, t types.Type) {
	if recv == nil || !fn.Info.Library || b.c.cfg.Manifest == nil {
		return
	}
	declared, _ := types.Resolve(recv.t).(*types.Declared)
	if declared == nil {
		return
	}
	a, _ := declared.Origin.(*Agent)
	if a == nil {
		return
	}
	uses := a.ModelUses(b.c.cfg.Manifest.Connections)
	if len(uses) == 0 {
		return
	}
	endpoint := b.c.cfg.Manifest.Connections[a.Connection].Endpoint
	row := endpoint.Model(uses[0].Model)
	if row == nil || endpoint.Provider != "anthropic" && endpoint.Provider != "bedrock" {
		return // other providers receive any schema
	}
	forms := row.Schema
	if len(toolsOf(a.Fields["tools"])) > 0 {
		forms = row.SchemaTools
	}
	if len(forms) < 2 || forms[0] != models.Native || forms[1] != models.Prompt {
		return
	}
	if why, step := unenforced(t); why != "" {
		at := e.Span()
		if call, ok := e.(*ast.MethodCall); ok && len(call.TypeArgs) > 0 {
			at = call.TypeArgs[0].Span()
		}
		b.report(diag.Unenforced.At(at, "%s cannot enforce %s, because it %s: the schema is sent in the prompt, and replies are checked", uses[0].Model, t, why).
			Hint("%s, or write `@allow(W0743)`", step))
	}
}

// unenforced returns why Claude cannot enforce the schema of a type, as schema.Claude describes it,
// and the step that helps; "" if it can.
func unenforced(t types.Type) (why, step string) {
	s := &schemaParts{}
	s.count(t, nil)
	switch {
	case s.isRecursive:
		return "refers to itself", "use a list whose elements have the number of their parent"
	case s.hasAny:
		return "contains Any", "use a schema instead of `Any`"
	case s.hasTuple:
		return "contains a tuple", "use a schema with names instead of the tuple"
	case s.optional > schema.Claude.MaxOptional:
		return fmt.Sprintf("has %d optional fields, and at most %d are enforced", s.optional, schema.Claude.MaxOptional), "make some fields required"
	case s.unions > schema.Claude.MaxUnions:
		return fmt.Sprintf("has %d options and enums, and at most %d are enforced", s.unions, schema.Claude.MaxUnions), "use fewer options"
	}
	return "", ""
}

// schemaParts counts what the schema of a type contains.
type schemaParts struct {
	isRecursive, hasAny, hasTuple bool
	optional, unions              int
}

// count adds a type, which is inside of the named types.
func (s *schemaParts) count(t types.Type, inside []*types.Decl) {
	t = types.Resolve(t)
	switch x := t.(type) {
	case *types.Option:
		s.unions++
	case *types.Tuple:
		s.hasTuple = true
	case *types.Named:
		s.countNamed(x, inside)
		return
	}
	s.hasAny = s.hasAny || types.IsAny(t)
	for _, p := range types.Parts(t) {
		s.count(p, inside)
	}
}

func (s *schemaParts) countNamed(n *types.Named, inside []*types.Decl) {
	if slices.Contains(inside, n.Decl) {
		s.isRecursive = true
		return
	}
	inside = append(inside, n.Decl)
	bindings := types.Bindings(n.Decl.Params, n.Args)
	hasPayload := false
	for _, fields := range namedFields(n.Decl) {
		hasPayload = hasPayload || n.Decl.Kind == types.Enum && len(fields) > 0
		if len(fields) > 1 && fields[0].Name == "0" {
			s.hasTuple = true
		}
		for _, f := range fields {
			ft := types.Resolve(types.Substitute(f.Type, bindings))
			if o, ok := ft.(*types.Option); ok {
				s.optional++
				ft = o.Elem
			} else if f.Default {
				s.optional++
			}
			s.count(ft, inside)
		}
	}
	if hasPayload {
		s.unions++
	}
}
