package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var mcpNatives = native.Table{
	{"mcp.open", mcpOpen},
	{"mcp.next", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.MCPNext{ID: a.Int(0)}, mcpEvent) }},
	{"mcp.reply", func(a *vm.Args) (value.Slot, error) {
		answer := value.AppendJSONWithin(nil, value.Flat(a.Slot(1)), a.TextBound())
		return a.Ask(&effect.MCPReply{ID: a.Int(0), Answer: answer}, vm.Nothing)
	}},
	{"mcp.read", mcpRead},
}

// mcpOpen is (server, method, about, args).
func mcpOpen(a *vm.Args) (value.Slot, error) {
	r := &effect.MCPOpen{Server: a.String(0), Tool: a.String(2), Declared: declaredBy(a, a.String(0))}
	if method := a.String(1); method != effect.MCPCallTool {
		r.Method = method
	}
	if args := value.Flat(a.Slot(3)).Map(); args != nil && (r.Method == "" || args.Len() > 0) {
		r.Args = value.AppendJSONWithin(nil, args.Slot(), a.TextBound())
	}
	return a.Ask(r, func(r effect.Result) (value.Slot, error) { return value.Int(r.(*effect.MCPOpened).ID), nil })
}

// declaredBy lists what the program declares of an MCP server.
func declaredBy(a *vm.Args, server string) []effect.MCPTool {
	var out []effect.MCPTool
	for _, x := range a.Tools(value.Nil) {
		if x.Info().Server != server {
			continue
		}
		for i := range x.Functions() {
			f := &x.Functions()[i]
			info := f.Info()
			out = append(out, effect.MCPTool{Name: info.Name, Signature: info.Signature, Parameters: f.Parameters(), Undeclared: !info.Described})
		}
	}
	return out
}

// mcpEvent gives (kind, data, text).
func mcpEvent(r effect.Result) (value.Slot, error) {
	e := r.(*effect.MCPEvent)
	data := value.Nil
	if len(e.Data) > 0 {
		v, err := value.Parse(e.Data)
		if err != nil {
			return value.Nil, err
		}
		data = v
	}
	return value.Tuple(value.String(e.Kind), data, value.String(e.Text)), nil
}

// mcpRead reads a tool's result as a value of the wanted type. A String is the
// text itself. Otherwise the structured value is read, or its member `result`,
// in which servers wrap a value that is no object; without a structured value
// the JSON in the text is.
func mcpRead(a *vm.Args) (value.Slot, error) {
	text, t := a.String(2), a.Type(4)
	data := asWritten(a, text, value.Flat(a.Slot(3)))
	switch t.Kind {
	case value.TypeNil:
		return value.Nil, nil
	case value.TypeString:
		return value.String(text), nil
	case value.TypeAny:
		return anyResult(a, text, data), nil
	}
	wrong := ""
	if !data.IsNil() {
		v, errs := schema.ConvertIn(a.Pace(), data, t)
		if len(errs) == 0 {
			return v, nil
		}
		wrong = schema.Join(errs)
		if m := data.Map(); m != nil && m.Len() == 1 {
			if inner, ok := m.GetString("result"); ok {
				if v, errs = schema.ConvertIn(a.Pace(), inner, t); len(errs) == 0 {
					return v, nil
				}
			}
		}
	} else {
		v, _, problem := readText(a, text, t)
		if problem == "" {
			return v, nil
		}
		wrong = problem
		if _, err := value.ParseIn([]byte(text), a.Room, a.Pace()); err != nil {
			wrong = "it is the text " + excerpt(text) + "; `-> String` takes that"
		}
	}
	return value.Nil, value.Errorf("ToolError", "mcp server '%s', tool %s: the result is no %s: %s", a.String(0), a.String(1), t, wrong).
		With("tool", value.String(a.String(0)+"."+a.String(1)))
}

// asWritten gives data with its members in the order of the text, when both
// hold the same value: data has lost the order on its way here.
func asWritten(a *vm.Args, text string, data value.Slot) value.Slot {
	if !data.IsNil() {
		if v, err := value.ParseIn([]byte(text), a.Room, a.Pace()); err == nil && value.EqualIn(a.Pace(), v, data) {
			return v
		}
	}
	return data
}

// anyResult reads a result without a declared type. A lone member `result` that
// says the same as the text is unwrapped: servers wrap a value that is no
// object in it.
func anyResult(a *vm.Args, text string, data value.Slot) value.Slot {
	v, err := value.ParseIn([]byte(text), a.Room, a.Pace())
	if err != nil {
		v = value.String(text)
	}
	if data.IsNil() {
		return v
	}
	if m := data.Map(); m != nil && m.Len() == 1 {
		inner, ok := m.GetString("result")
		switch {
		case ok && value.EqualIn(a.Pace(), inner, v):
			return v
		case ok && value.Equal(inner, value.String(text)):
			return value.String(text)
		}
	}
	return native.Lend(data)
}

// excerpt is the beginning of a text, quoted.
func excerpt(text string) string {
	const most = 80
	head := text[:utf8cut.Before(text, 4*most)]
	if r := []rune(head); len(r) > most || len(head) < len(text) {
		text = string(r[:min(len(r), most)]) + "…"
	}
	return string(value.AppendString(nil, text))
}
