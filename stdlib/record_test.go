package stdlib

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
)

// declaredStruct returns the type of a struct in a library file. The type contains the names of the
// fields. If a field is an Array of another such struct, it also contains the type of the field.
func declaredStruct(t *testing.T, file, name string) *value.Type {
	t.Helper()
	f := tree(t, file)
	for _, d := range f.Decls {
		s, ok := d.(*ast.StructDecl)
		if !ok || s.Name.Name != name {
			continue
		}
		out := &value.Type{Kind: value.TypeStruct, Name: name}
		for _, fd := range s.Fields {
			typ := value.AnyType
			if elem, ok := strings.CutPrefix(f.Source.Slice(fd.Type.Span()), "Array<__"); ok {
				elem = "__" + strings.TrimSuffix(elem, ">")
				typ = &value.Type{Kind: value.TypeArray, Args: []*value.Type{declaredStruct(t, preludeFile(elem).name, elem)}}
			}
			out.Fields = append(out.Fields, value.Field{Name: fd.Name.Name, Type: typ})
		}
		out.Seal()
		return out
	}
	t.Fatalf("%s has no struct %s", file, name)
	return nil
}

// TestRecords compares the structs that natives create and read with their declarations in the
// library's files, field by field.
func TestRecords(t *testing.T) {
	m := declaring(t)
	made := func(name, file, typ string, window ...value.Slot) value.Slot {
		t.Helper()
		v, err := m.Invoke(natives[name], nil, name, append(window, value.NewTypeDesc(declaredStruct(t, file, typ))))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return v
	}
	show := func(s value.Slot, want string) {
		t.Helper()
		if got := string(value.AppendJSON(nil, s)); got != want {
			t.Errorf("fields of the struct:\ngot  %s\nwant %s", got, want)
		}
	}
	agent, host := parties()
	show(made("agent.traits", "agent.conc", "__Traits", agent),
		`{"name":"A","memory":null,"auto":true,"ledgers":1,"context":null,"tools":["<tool T>"],"offer":[],"max_tool_rounds":10,"max_tool_calls":64,`+
			`"schema_attempts":3,"model":"","connection":"","decorator":null,"streamed":null,"on_tool_error":null}`)
	traits := made("host.traits", "host.conc", "__HostTraits", host)
	show(traits, `{"name":"H","tools":["<tool T>"],"question_default":null,"approval_default":null,"decorator":null}`)
	show(made("tool.function", "tool_calls.conc", "__Function", traits.Fields()[1], value.String("f")),
		`{"name":"f","shown":"f","owner":"","sequential":false,"approve":false,"description":"","call":null,"server":"","own":""}`)
	reply := &effect.AgentReply{Text: "hi", ToolCalls: []effect.ToolCall{{ID: "1", Name: "T_f", Args: "{}"}}, TokensIn: 1, TokensOut: 2,
		Model: "m", Provider: "p", LatencyMS: 3, StopReason: "end", RequestID: "r"}
	show(agentReply(reply, declaredStruct(t, "agent.conc", "__Reply")),
		`{"text":"hi","calls":[{"id":"1","name":"T_f","args":"{}"}],"tokens_in":1,"tokens_out":2,"model":"m","connection":"p","latency_ms":3,"stop_reason":"end","request_id":"r","tokens_cached":0,"tokens_cache_write":0,"tokens_reasoning":0,"cost":0,"items":null}`)
	message := declaredStruct(t, "agent.conc", "__Said")
	for _, name := range []string{"role", "content", "files", "calls", "answers", "failed"} {
		native.IndexOf(message, name)
	}
	for _, name := range []string{"name", "type", "size", "sha256", "data"} {
		native.IndexOf(native.ElementOf(message, "files"), name)
	}
	for _, name := range []string{"id", "name", "args"} {
		native.IndexOf(native.ElementOf(message, "calls"), name)
	}
}

// TestRecordFaults checks that natives raise a fault if the struct type has other fields.
func TestRecordFaults(t *testing.T) {
	typ := &value.Type{Kind: value.TypeStruct, Name: "R", Fields: []value.Field{{Name: "a"}, {Name: "b"}}}
	typ.Seal()
	for want, f := range map[string]func(){
		"R has 2 fields, 1 are known":          func() { native.Record(typ, native.Field{"a", value.Nil}) },
		"R has no field c":                     func() { native.Record(typ, native.Field{"a", value.Nil}, native.Field{"c", value.Nil}) },
		"expected a struct with a, got String": func() { native.Member(value.String("x"), "a") },
	} {
		func() {
			defer func() {
				if fault, ok := recover().(*value.Fault); !ok || fault.Message != want {
					t.Errorf("fault = %v, want %s", fault, want)
				}
			}()
			f()
		}()
	}
}
