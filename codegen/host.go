package codegen

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// host combines the declaration of a host with its manifest section. The values in the declaration
// override those in the section.
func (g *generator) host(h *sema.Host) ir.Host {
	out := ir.Host{Name: h.Name, Connector: h.Connector, AppTools: appTools(h.Fields["app_tools"])}
	for _, m := range g.manifest.Hosts {
		if m.Section == h.Connector {
			out.Params, out.Config = m.Params, m.Config
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.Fields)) {
		if key == "tools" || key == "app_tools" {
			continue
		}
		with, err := ir.WithMember(out.Config, key, constJSON(h.Fields[key]))
		if err != nil {
			panic("codegen: the section of host " + h.Name + ": " + err.Error())
		}
		out.Config = with
	}
	out.Decorator = g.decoratorsOf(h.Info, h.Name, h.Decl.Name.Sp.Start, h.Decorations, h.OnUnknown)
	for _, t := range h.Tools {
		out.Tools = append(out.Tools, g.numbers.tools[t])
	}
	return out
}

// constJSON returns a constant as JSON.
func constJSON(v any) json.RawMessage {
	switch v := v.(type) {
	case []any:
		out := []byte{'['}
		for i, x := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, constJSON(x)...)
		}
		return append(out, ']')
	case *sema.ConstMap:
		out := []byte{'{'}
		for i, k := range v.Keys {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, plainJSON(k)...)
			out = append(out, ':')
			out = append(out, constJSON(v.Values[i])...)
		}
		return append(out, '}')
	case *sema.VariantRef:
		return plainJSON(v.Name)
	case *sema.Agent:
		return plainJSON("<agent " + v.Name + ">")
	case *sema.Host:
		return plainJSON("<host " + v.Name + ">")
	case *sema.Tool:
		return plainJSON("<tool " + v.Name + ">")
	case *sema.Store:
		return plainJSON("<" + v.Kind.String() + " " + v.Name + ">")
	case float64:
		return ir.FloatJSON(v)
	}
	return plainJSON(v)
}

// plainJSON returns the JSON of a scalar or nil.
func plainJSON(v any) json.RawMessage {
	if s, ok := v.(string); ok {
		return ir.StringJSON(s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic("codegen: a constant has no JSON: " + err.Error())
	}
	return b
}

// remoteFunction generates a function of an MCP server. The function calls the library with a map
// of its arguments by name, and with the type of its result.
func (g *generator) remoteFunction(n int, fn *sema.Function) {
	call, result := fn.Tool.Call, fn.Result
	if r, ok := types.Resolve(result).(*types.Result); ok {
		call, result = fn.Tool.Try, r.Ok
	}
	g.build(n, func(bool) *builder {
		// The function belongs to the library, so that an error has the position of the program's
		// call.
		f := g.newFn(call.Info, fn.Name, call.Decl.Span().Start, g.signatureOf(fn))
		f.out.OnUnknown = fn.OnUnknown
		w := f.alloc()
		f.stringValue(fn.Tool.Server, f.alloc())
		f.stringValue(fn.Decl.Name.Name, f.alloc())
		args := f.alloc()
		first := f.top
		for i, p := range fn.Params[1:] {
			f.stringValue(p.Name, f.alloc())
			r := f.alloc()
			f.emit(ir.OpMove, r, 2+i, 0, 0)
			f.emit(ir.OpShare, r, 0, 0, 0)
		}
		f.emit(ir.OpNewMap, args, first, len(fn.Params)-1, 0)
		f.free(first)
		f.emit(ir.OpLoadType, f.alloc(), 0, 0, int32(g.typeIndex(result)))
		f.emit(ir.OpReturn, f.boxed(f.invoke(call, w), -1).reg, 0, 0, 0)
		return f.finishFunction()
	})
}

// signatureText returns the declaration of a server's function as text.
func signatureText(fn *sema.Function) string {
	var params []string
	for _, p := range fn.Params[1:] {
		text := p.Name + ": " + p.Type.String()
		if fn.Undeclared {
			text = p.Name
		}
		params = append(params, text)
	}
	if fn.Undeclared {
		return fn.Decl.Name.Name + "(" + strings.Join(params, ", ") + ")"
	}
	s := "fn " + fn.Decl.Name.Name + "(" + strings.Join(params, ", ") + ")"
	if fn.Result != types.Nil {
		s += " -> " + fn.Result.String()
	}
	return s
}
