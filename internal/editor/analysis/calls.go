package analysis

import (
	"context"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// Function is the caller or the callee of a call.
type Function struct {
	Name     string
	Kind     SymbolKind
	File     *source.File
	Span     source.Span // span of the whole declaration
	NameSpan source.Span
}

// Calls lists the calls between two functions.
type Calls struct {
	Function Function      // the caller for Incoming, the callee for Outgoing
	At       []source.Span // ranges of the calls in the caller's file
}

// FunctionAt returns the function whose name is at a position, or nil.
func (s *Snapshot) FunctionAt(ctx context.Context, path string, pos source.Pos) *Function {
	f := s.checkFile(ctx, path)
	if f == nil {
		return nil
	}
	for _, r := range f.refsAt(pos) {
		if fn, ok := f.res.toFunction(r.Def); ok {
			return &fn
		}
	}
	return nil
}

// toFunction converts a declaration to a Function. It returns false if the declaration is no
// function.
func (r *result) toFunction(d *sema.Def) (Function, bool) {
	n, ok := d.Node.(*ast.FnDecl)
	if !ok {
		return Function{}, false
	}
	l, ok := r.locate(d)
	if !ok {
		return Function{}, false
	}
	kind := FunctionSymbol
	if d.Kind == sema.DefMethod {
		kind = MethodSymbol
	}
	fn := Function{Name: d.Name, Kind: kind, File: l.File, NameSpan: l.Span, Span: l.Span}
	if !d.Info.Library {
		fn.Span = n.Span()
	}
	return fn, true
}

// Incoming returns the calls of the function whose name is at a position, by caller.
func (s *Snapshot) Incoming(ctx context.Context, path string, pos source.Pos) []Calls {
	out := []Calls{}
	if s.FunctionAt(ctx, path, pos) == nil {
		return out
	}
	for _, l := range s.References(ctx, path, pos, false) {
		tree := s.tree(pathOfName(l.File.Name))
		if tree == nil {
			continue
		}
		nodes := nodesAt(tree, l.Span.Start)
		for i := len(nodes) - 1; i >= 0; i-- {
			n, ok := nodes[i].(*ast.FnDecl)
			if !ok || n.Name == nil {
				continue
			}
			kind := FunctionSymbol
			if _, isModule := parentOf(nodes, i).(*ast.ModDecl); !isModule && i > 0 {
				kind = MethodSymbol
			}
			out = addCall(out, Function{n.Name.Name, kind, tree.Source, n.Sp, n.Name.Sp}, l.Span)
			break
		}
	}
	return out
}

func parentOf(nodes []ast.Node, i int) ast.Node {
	if i == 0 {
		return nil
	}
	return nodes[i-1]
}

// Outgoing returns the calls in the function whose name is at a position, by callee.
func (s *Snapshot) Outgoing(ctx context.Context, path string, pos source.Pos) []Calls {
	out := []Calls{}
	fn := s.FunctionAt(ctx, path, pos)
	if fn == nil {
		return out
	}
	f := s.checkFile(ctx, pathOfName(fn.File.Name))
	if f == nil {
		return out
	}
	for _, r := range f.refs() {
		if r.Decl || !fn.Span.Contains(r.At) {
			continue
		}
		if to, ok := f.res.toFunction(r.Def); ok {
			out = addCall(out, to, r.At)
		}
	}
	return out
}

func addCall(all []Calls, fn Function, at source.Span) []Calls {
	for i := range all {
		if all[i].Function.File == fn.File && all[i].Function.NameSpan == fn.NameSpan {
			all[i].At = append(all[i].At, at)
			return all
		}
	}
	return append(all, Calls{fn, []source.Span{at}})
}
