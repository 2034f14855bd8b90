package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema/edits"
)

// mockServer checks a mock of an MCP server: each field is a function with its
// answer, a value of the function's result, or a closure that makes one from the
// arguments.
func (b *body) mockServer(s *ast.MockStmt, d *Mock) {
	seen := map[string]*ast.ConfigField{}
	for _, f := range s.Fields {
		name := f.Name.Name
		var result types.Type = types.Any
		fn := d.Server.method(name)
		if fn == nil {
			if m := b.c.method(d.Server.Type, name); m != nil && m.Info.Library && m.pub {
				fn = m
			}
		}
		switch {
		case seen[name] != nil:
			b.report(diag.DuplicateField.At(f.Name.Sp, "`%s` is given twice", name).Label(seen[name].Name.Sp, "first here").
				Repair(edits.RemoveRow(b.info.File.Source, f.Sp, "Remove the second `%s`", name), "remove one"))
		case fn != nil:
			result = fn.Result
		case !d.Server.Rest:
			b.unknownMocked(d.Server, f.Name)
		}
		seen[name] = f
		b.checkAs(f.Value, mockedAnswer(f.Value, result), reason{b.m, f.Name.Sp, "the answer of `" + d.Server.Name + "." + name + "`"})
	}
	if len(s.Fields) == 0 {
		b.report(diag.MockAnswers.At(s.Sp, "this mock of `%s` has no answers", s.Name.Name).Hint("give it one of a function: `name: value`"))
	}
	b.info.mocks[s] = d
}

// mockedAnswer is the type that an answer must have, given the function's result.
func mockedAnswer(x ast.Expr, result types.Type) types.Type {
	if _, closure := unparen(x).(*ast.Closure); closure {
		return &types.Func{Params: []types.Type{&types.Map{Key: types.String, Value: types.Any}}, Result: result}
	}
	return result
}

func (b *body) unknownMocked(t *Tool, name *ast.Ident) {
	names := b.c.methodNames(t.Type)
	d := diag.UnknownConfig.At(name.Sp, "`%s` has no function `%s`", t.Name, name.Name)
	if !suggestName(d, name, names) {
		d.Hint("declare it in `mcp %s`", t.Name)
	}
	b.report(d)
}
