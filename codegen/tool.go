package codegen

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// tool returns the description of a tool and its functions for models and hosts.
func (g *generator) tool(t *sema.Tool) ir.Tool {
	out := ir.Tool{Name: t.Name, Server: t.Server, Public: t.Decl.Pub && t.Server == "", Description: t.Description, State: g.toolState(t), Init: g.toolInit(t)}
	if t.Rest {
		list, call := g.adapter(t.List), g.adapter(t.CallRest)
		out.List, out.Call = &list, &call
	}
	for i, fn := range t.Methods {
		if _, called := g.numbers.functions[fn]; fn.Undeclared && !called {
			continue // only the library's tests call the function
		}
		m := ir.ToolMethod{Name: fn.Decl.Name.Name, Description: t.Described[i], Function: g.numbers.functions[fn], Result: g.typeIndex(fn.Result)}
		if fn.Remote() {
			m.Described, m.Signature = !fn.Undeclared, signatureText(fn)
		}
		for _, d := range fn.Decl.Decorators {
			m.Described = m.Described || d.Name.Name == "describe"
			m.Sequential = m.Sequential || d.Name.Name == "sequential"
			m.Approve = m.Approve || d.Name.Name == "approve"
		}
		if m.Description == "" && g.manifest.Called {
			m.Description = fn.Decl.Doc
		}
		m.Params, m.Context = g.toolParams(fn.Params[1:], fn.Info, fn.Name), hasContext(fn.Params[1:])
		out.Methods = append(out.Methods, m)
	}
	return out
}

// callableFunctions adds the public functions of the main file that external callers can call as
// tools.
func (g *generator) callableFunctions() {
	if !g.manifest.Called || len(g.p.Files) == 0 {
		return
	}
	for _, fn := range g.p.Functions {
		if fn.Info != g.p.Files[0] || !fn.Decl.Pub || fn.Tool != nil || fn.Recv != nil || strings.Contains(fn.Name, ".") || len(fn.Generics) > 0 || fn.Async {
			continue
		}
		g.out.Called = append(g.out.Called, ir.ToolMethod{Name: fn.Name, Description: fn.Decl.Doc, Function: g.adapter(fn), Result: g.typeIndex(fn.Result),
			Params: g.toolParams(fn.Params, fn.Info, fn.Name), Context: hasContext(fn.Params)})
	}
}

// hasContext reports whether the last parameter is the context of an external call.
func hasContext(params []*sema.Param) bool {
	if len(params) == 0 {
		return false
	}
	named, ok := types.Resolve(params[len(params)-1].Type).(*types.Named)
	return ok && named.Decl.Library && named.Decl.Name == "ToolContext"
}

// toolParams returns the descriptions of parameters for external callers.
func (g *generator) toolParams(params []*sema.Param, info *sema.Info, owner string) []ir.ToolParam {
	var all []ir.ToolParam
	for _, p := range params {
		out := ir.ToolParam{Name: p.Name, Description: p.Doc, Type: g.typeIndex(p.Type), Default: -1}
		if p.Default != nil {
			out.Default = g.defaultFunction(p, info, owner)
		}
		all = append(all, out)
	}
	return all
}

// toolState returns the index of the type of a tool's fields.
func (g *generator) toolState(t *sema.Tool) int {
	info := ir.TypeInfo{Kind: "tool", Name: t.Name}
	for _, f := range t.State {
		info.Fields = append(info.Fields, ir.FieldInfo{Name: f.Name, Type: g.typeIndex(f.Type)})
	}
	g.out.Types = append(g.out.Types, info)
	return len(g.out.Types) - 1
}

// toolInit returns the index of the function that computes the initial values of a tool's fields.
func (g *generator) toolInit(t *sema.Tool) int {
	n := g.reserve()
	g.enqueue(func() {
		g.build(n, func(spilled bool) *builder {
			f := g.newFn(t.Info, t.Name+" state", t.Decl.Span().Start, signature{result: ir.Full, abi: ir.FullABI})
			f.startSpill(spilled)
			f.leave = leave{kind: leaveFunction, result: types.Any}
			base := f.top
			for _, field := range t.State {
				r := f.alloc()
				f.ownInto(t.StateValue(field), r)
			}
			d := f.alloc()
			f.emit(ir.OpNewTuple, d, base, len(t.State), 0)
			f.emit(ir.OpReturn, d, 0, 0, 0)
			return f.finishFunction()
		})
	})
	return n
}

// methods lists the methods that the program may call on a value of type Any. A method with
// defaults is listed once for each possible number of arguments; the largest number comes first. A
// method of a generic type is listed for each combination of type arguments in use, always with the
// same function.
func (g *generator) methods() {
	g.out.Methods = g.out.Methods[:0]
	for _, d := range g.p.Dynamic {
		on := []int{g.typeIndex(d.Type)}
		if named, ok := types.Resolve(d.Type).(*types.Named); ok {
			on = g.types.forms[named.Decl]
		}
		add := func(fn int) {
			for _, t := range on {
				g.out.Methods = append(g.out.Methods, ir.Method{Name: d.Name, Type: t, Function: fn})
			}
		}
		p := part{fn: d.Fn, params: len(d.Fn.Params), mutself: g.dynamic.mutating[d.Name], checked: g.reliesOnArguments(d.Fn)}
		if p.checked || p.mutself && !d.Fn.MutSelf {
			add(g.partAdapter(p))
		} else {
			add(g.adapter(d.Fn))
		}
		for p.params--; p.params > 0 && d.Fn.Params[p.params].Default != nil; p.params-- {
			add(g.partAdapter(p))
		}
	}
}

// reliesOnArguments reports whether a method relies on the types of its arguments. A caller that
// calls the method on an Any does not know these types. Native functions check their arguments
// themselves.
func (g *generator) reliesOnArguments(fn *sema.Function) bool {
	if fn.Native != "" || fn.Effect != "" {
		return false
	}
	for i, p := range fn.Params {
		if (i > 0 || fn.Recv == nil) && reliesOnTypes(types.Resolve(p.Type)) {
			return true
		}
	}
	return false
}

// runtimeError returns the built-in error type that faults have.
func (g *generator) runtimeError() *types.Named {
	if g.types.fault == nil {
		g.types.fault = g.p.ErrorType("RuntimeError")
	}
	if g.types.fault == nil { // the program is compiled without the library
		g.types.fault = &types.Named{Decl: &types.Decl{Name: "RuntimeError", Kind: types.ErrorStruct, Library: true,
			Fields: []*types.Field{{Name: "message", Type: types.String}}}}
	}
	return g.types.fault
}
