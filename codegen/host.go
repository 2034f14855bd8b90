package codegen

import (
	"encoding/json"
	"maps"
	"slices"

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
