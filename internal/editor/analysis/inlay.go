package analysis

import (
	"context"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// InlayKind is the kind of an inlay.
type InlayKind uint8

// The values of InlayKind.
const (
	TypeInlay      InlayKind = iota // type of a variable or of a closure's parameter or result
	ParameterInlay                  // name of an argument
	LeaveInlay                      // error type that a `?` returns
)

// Inlay is text that editors show at a position but that is not part of the document. Written is
// the text to insert into the document to make the inlay permanent, or "" if that is not possible.
type Inlay struct {
	At      source.Pos
	Text    string
	Kind    InlayKind
	Written string
}

// Inlays returns the inlays of a range of a document in the order of the text.
func (s *Snapshot) Inlays(ctx context.Context, path string, part source.Span) []Inlay {
	out := []Inlay{}
	f := s.checkFile(ctx, path)
	if f == nil || f.info == nil {
		return out
	}
	add := func(i Inlay) {
		if part.Start <= i.At && i.At <= part.End {
			out = append(out, i)
		}
	}
	ast.InspectFile(f.tree, func(n ast.Node) bool {
		if sp := n.Span(); sp.End < part.Start || sp.Start > part.End {
			return false
		}
		switch n := n.(type) {
		case *ast.LetStmt:
			if p, ok := n.Pattern.(*ast.NamePat); ok && n.Type == nil {
				f.addTypeInlay(p.Name, f.info.PatternType(p), add)
			}
		case *ast.Closure:
			f.addClosureInlays(n, add)
		case *ast.Call:
			f.addArgumentInlays(n.Args, f.info.Call(n), add)
		case *ast.MethodCall:
			f.addArgumentInlays(n.Args, f.info.Call(n), add)
		case *ast.Question:
			if r, ok := types.Resolve(f.info.TypeOf(n.X)).(*types.Result); ok && shownType(r.Err) {
				add(Inlay{At: n.Sp.End, Text: typeText(r.Err), Kind: LeaveInlay})
			}
		}
		return true
	})
	return out
}

// shownType reports whether a type is known and can be shown.
func shownType(t types.Type) bool {
	if t == nil {
		return false
	}
	switch types.Resolve(t).(type) {
	case *types.Var:
		return false
	}
	return types.Resolve(t) != types.Bad
}

func (f *checkedFile) addTypeInlay(name *ast.Ident, t types.Type, add func(Inlay)) {
	if name == nil || name.Missing() || !shownType(t) {
		return
	}
	text := ": " + typeText(t)
	i := Inlay{At: name.Sp.End, Text: text, Kind: TypeInlay, Written: text}
	if _, declared := types.Resolve(t).(*types.Declared); declared {
		i.Written = ""
	}
	add(i)
}

func (f *checkedFile) addClosureInlays(n *ast.Closure, add func(Inlay)) {
	d := f.info.Closure(n)
	if d == nil {
		return
	}
	for i, p := range n.Params {
		if p.Type == nil && p.Name != nil && i < len(d.Params) && d.Params[i] != nil {
			f.addTypeInlay(p.Name, d.Params[i].Type, add)
		}
	}
	if n.Result != nil || n.Body == nil || d.Type == nil || !shownType(d.Type.Result) || types.Resolve(d.Type.Result) == types.Nil {
		return
	}
	text := " -> " + typeText(d.Type.Result)
	written := ""
	at := n.Body.Span().Start
	for at > n.Sp.Start && (f.text.file.Text[at-1] == ' ' || f.text.file.Text[at-1] == '\n') {
		at--
	}
	if _, braced := n.Body.(*ast.BlockExpr); braced {
		written = text
	}
	add(Inlay{At: at, Text: text, Kind: TypeInlay, Written: written})
}

// addArgumentInlays adds the parameter names of the arguments that are literals.
func (f *checkedFile) addArgumentInlays(args []*ast.Arg, d *sema.Call, add func(Inlay)) {
	if d == nil || d.Fn == nil {
		return
	}
	for p, a := range d.Args {
		if a.Kind != sema.ArgWritten || a.Index >= len(args) || p >= len(d.Fn.Params) {
			continue
		}
		x := args[a.Index]
		if x.Name == nil && x.Value != nil && isLiteral(x.Value) && len(args) > 1 {
			text := d.Fn.Params[p].Name + ": "
			add(Inlay{At: x.Value.Span().Start, Text: text, Kind: ParameterInlay, Written: text})
		}
	}
}

func isLiteral(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.NilLit, *ast.StringLit:
		return true
	case *ast.Unary:
		return isLiteral(x.X)
	default: // the others are no literals
	}
	return false
}
