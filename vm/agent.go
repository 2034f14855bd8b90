package vm

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/store"
	"github.com/concerto-lang/concerto/value"
)

// The slots of an agent or a host. Builders copy the block; the declaration's
// own is never written.
const (
	partyIndex    = iota // Int: which declaration
	partyContext         // what with_context gave; nil when absent
	partyMemory          // a memory, or nil
	partyAuto            // Bool: the memory is read and written by calls
	partyTools           // Array of added tools, or nil
	partyToolsOff        // Bool: declared tools are not offered
	partySlots
)

func newParty(k value.Kind, t *value.Type, index int, memory value.Slot) value.Slot {
	return value.New(k, 0, t, value.Int(int64(index)), value.Nil, memory, value.Bool(true), value.Nil, value.Bool(false))
}

// party gives the agent or host in argument i.
func (a *Args) party(i int) []value.Slot {
	s := a.Slot(i)
	if k := s.Kind(); k != value.KindAgent && k != value.KindHost {
		a.wrong(i, "an Agent or a Host")
	}
	return s.Fields()
}

// with copies the party in argument 0 and lets set change the copy.
func (a *Args) with(set func(fields []value.Slot)) (value.Slot, error) {
	fields := a.party(0)
	s := a.Slot(0)
	c := value.New(s.Kind(), 0, s.Type(), fields...)
	for _, f := range fields {
		value.Share(f)
	}
	set(c.Fields())
	return c, nil
}

// ownNatives are the natives that need what only the VM knows. Those of agents
// and hosts are one.
var ownNatives = map[string]Native{}

func init() {
	for _, p := range []string{"Agent", "Host"} {
		ownNatives[p+".with_context"] = func(a *Args) (value.Slot, error) {
			value.Share(a.Slot(1))
			return a.with(func(f []value.Slot) { f[partyContext] = value.Flat(a.Slot(1)) })
		}
		ownNatives[p+".with_memory"] = func(a *Args) (value.Slot, error) {
			return a.with(func(f []value.Slot) {
				f[partyMemory], f[partyAuto] = a.Slot(1), value.Bool(a.Len() < 3 || a.Bool(2))
			})
		}
		ownNatives[p+".with_tools"] = withTools
		ownNatives[p+".without_tools"] = func(a *Args) (value.Slot, error) {
			return a.with(func(f []value.Slot) { f[partyTools], f[partyToolsOff] = value.Nil, value.Bool(true) })
		}
	}
	accessor := func(name string, n int) {
		get := func(a *Args) (value.Slot, error) {
			v := a.party(0)[n]
			value.Share(v)
			return v, nil
		}
		ownNatives["agent."+name], ownNatives["host."+name] = get, get
	}
	accessor("context", partyContext)
	accessor("memory", partyMemory)
	accessor("memory_auto", partyAuto)
	ownNatives["agent.name"] = func(a *Args) (value.Slot, error) {
		a.party(0)
		return value.String(a.Slot(0).Type().Name), nil
	}
	ownNatives["host.name"] = ownNatives["agent.name"]
	performs["agent.call"] = &performing{request: agentCall, value: agentReply}
}

// bind makes the natives that read declarations of this program.
func (m *VM) bind(name string) Native {
	agent := func(get func(*ir.Agent) value.Slot) Native {
		return func(a *Args) (value.Slot, error) {
			return get(&m.program.Agents[a.party(0)[partyIndex].AsInt()]), nil
		}
	}
	host := func(get func(*ir.Host) value.Slot) Native {
		return func(a *Args) (value.Slot, error) {
			return get(&m.program.Hosts[a.party(0)[partyIndex].AsInt()]), nil
		}
	}
	switch name {
	case "agent.tools", "host.tools":
		return func(a *Args) (value.Slot, error) { return m.toolsOf(a.Slot(0)), nil }
	case "agent.system":
		return agent(func(x *ir.Agent) value.Slot { return text(x.System) })
	case "agent.model":
		return agent(func(x *ir.Agent) value.Slot { return value.String(x.Model) })
	case "agent.connection":
		return agent(func(x *ir.Agent) value.Slot { return value.String(x.Connection) })
	case "agent.max_tool_rounds":
		return agent(func(x *ir.Agent) value.Slot { return number(x.MaxToolRounds) })
	case "agent.schema_attempts":
		return agent(func(x *ir.Agent) value.Slot { return number(x.SchemaAttempts) })
	case "host.question_default":
		return host(func(x *ir.Host) value.Slot {
			if x.QuestionDefault == nil {
				return value.Nil
			}
			v, err := value.Parse(*x.QuestionDefault)
			if err != nil {
				return value.Nil
			}
			return v
		})
	case "host.approval_default":
		return host(func(x *ir.Host) value.Slot {
			if x.ApprovalDefault == nil {
				return value.Nil
			}
			return value.String(*x.ApprovalDefault)
		})
	}
	return nil
}

// text is a String, or nil when empty; number an Int, or nil when 0.
func text(s string) value.Slot {
	if s == "" {
		return value.Nil
	}
	return value.String(s)
}

func number(n int64) value.Slot {
	if n == 0 {
		return value.Nil
	}
	return value.Int(n)
}

// withTools adds argument 1, an Array of Tool, to the party's tools.
func withTools(a *Args) (value.Slot, error) {
	added := a.Array(1)
	return a.with(func(f []value.Slot) {
		all := value.NewArray()
		if old := f[partyTools].Array(); old != nil {
			all.Extend(old)
		}
		all.Extend(added)
		f[partyTools] = all.Slot()
	})
}

// toolsOf gives the tools that a party may call, as an Array: the declared
// ones unless they are off, then the added ones, each once.
func (m *VM) toolsOf(s value.Slot) value.Slot {
	f := s.Fields()
	index := f[partyIndex].AsInt()
	declared := []int(nil)
	if s.Kind() == value.KindAgent {
		declared = m.program.Agents[index].Tools
	} else {
		declared = m.program.Hosts[index].Tools
	}
	all := value.NewArray()
	add := func(t value.Slot) {
		for i := range all.Len {
			if all.At(i) == t {
				return
			}
		}
		all.Push(t)
	}
	if !f[partyToolsOff].AsBool() {
		for _, i := range declared {
			if i >= 0 && i < len(m.tools) {
				add(m.tools[i].self)
			}
		}
	}
	if added := f[partyTools].Array(); added != nil {
		for i := range added.Len {
			add(added.At(i))
		}
	}
	return all.Slot()
}

// agentCall makes the request of agent.call(agent, messages, schema,
// schema_name, offer_tools).
func agentCall(t *task, a *Args) (effect.Request, error) {
	if a.Slot(0).Kind() != value.KindAgent {
		a.wrong(0, "an Agent")
	}
	d := &t.m.program.Agents[a.party(0)[partyIndex].AsInt()]
	r := &effect.AgentCall{Agent: d.Name, Connection: d.Connection, Model: d.Model, System: d.System, Temperature: d.Temperature,
		TopP: d.TopP, MaxTokens: d.MaxTokens, Stop: d.Stop, Timeout: d.Timeout}
	if d.Retry != nil {
		retry := effect.Retry(*d.Retry)
		r.Retry = &retry
	}
	messages := a.Array(1)
	for i := range messages.Len {
		m, err := chatMessage(value.Flat(messages.At(i)))
		if err != nil {
			return nil, err
		}
		r.Messages = append(r.Messages, m)
	}
	if s := a.Slot(2).Str(); s != nil {
		r.Schema = json.RawMessage(s.S)
	}
	if s := a.Slot(3).Str(); s != nil {
		r.SchemaName = s.S
	}
	if a.Len() > 4 && a.Bool(4) {
		for _, x := range t.m.offered(t.m.toolsOf(a.Slot(0))) {
			for i := range x.methods {
				if m := &x.methods[i]; m.info.Described {
					r.Tools = append(r.Tools, effect.ToolSpec{Name: x.info.Name + "_" + m.info.Name,
						Description: m.info.Description, Parameters: m.parameters()})
				}
			}
		}
	}
	return r, nil
}

// chatMessage reads a message: a map, or a struct with the same fields.
func chatMessage(s value.Slot) (effect.ChatMessage, error) {
	field := func(of value.Slot, name string) value.Slot {
		v, _ := value.FieldByName(of, name)
		return value.Flat(v)
	}
	str := func(of value.Slot, name string) string {
		if v := field(of, name); !v.IsNil() {
			return value.Text(v)
		}
		return ""
	}
	m := effect.ChatMessage{Role: str(s, "role"), Content: str(s, "content"), ToolCallID: str(s, "tool_call_id")}
	if v := field(s, "is_error"); v.Kind() == value.KindBool {
		m.IsError = v.AsBool()
	}
	if calls := field(s, "tool_calls").Array(); calls != nil {
		for i := range calls.Len {
			c := value.Flat(calls.At(i))
			m.ToolCalls = append(m.ToolCalls, effect.ToolCall{ID: str(c, "id"), Name: str(c, "name"), Args: str(c, "args")})
		}
	}
	if m.Role == "" {
		return m, value.Faultf("a message needs a role and a content, got %s", describe(s))
	}
	return m, nil
}

// agentReply gives a reply as a map.
func agentReply(r effect.Result) (value.Slot, error) {
	reply := r.(*effect.AgentReply)
	calls := value.NewArray()
	for _, c := range reply.ToolCalls {
		m := value.NewMap(3)
		m.SetString("id", value.String(c.ID))
		m.SetString("name", value.String(c.Name))
		m.SetString("args", value.String(c.Args))
		calls.Push(m.Slot())
	}
	m := value.NewMap(8)
	m.SetString("text", value.String(reply.Text))
	m.SetString("tool_calls", calls.Slot())
	m.SetString("tokens_in", value.Int(reply.TokensIn))
	m.SetString("tokens_out", value.Int(reply.TokensOut))
	m.SetString("model", value.String(reply.Model))
	m.SetString("provider", value.String(reply.Provider))
	m.SetString("latency_ms", value.Int(reply.LatencyMS))
	m.SetString("stop_reason", value.String(reply.StopReason))
	return m.Slot(), nil
}

// messagesOf gives a memory's messages as maps with role and content.
func messagesOf(m *store.Memory) value.Slot {
	all := value.NewArray()
	for _, x := range m.Messages() {
		e := value.NewMap(2)
		e.SetString("role", value.String(x.Role))
		e.SetString("content", value.String(x.Content))
		all.Push(e.Slot())
	}
	return all.Slot()
}
