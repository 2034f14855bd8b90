package vm

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/ir"
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
	partySchema          // of a host: JSON Schema text that goes with the prompt, or nil
)

func newParty(k value.Kind, t *value.Type, index int, memory value.Slot) value.Slot {
	return value.New(k, 0, t, value.Int(int64(index)), value.Nil, memory, value.Bool(true), value.Nil, value.Bool(false), value.Nil)
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
	ownNatives["Host.__with_schema"] = func(a *Args) (value.Slot, error) {
		return a.with(func(f []value.Slot) { f[partySchema] = value.String(a.String(1)) })
	}
	performs["agent.call"] = &performing{request: agentCall, value: agentReply}
	// agent.step(what, by, tool, id, text, failed, attempt, of)
	performs["agent.step"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			return &effect.Step{What: a.String(0), By: a.String(1), Tool: a.String(2), ID: a.String(3), Text: a.String(4),
				Failed: a.Bool(5), Attempt: a.Int(6), Of: a.Int(7)}, nil
		},
		value: nothing,
	}
	performs["agent.stream.open"] = &performing{request: streamOpen, value: streamOpened}
	performs["agent.stream.next"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) { return &effect.StreamNext{ID: a.Int(0)}, nil },
		value:   streamPiece,
	}
	performs["agent.stream.close"] = &performing{
		request: func(t *task, a *Args) (effect.Request, error) {
			t.m.closed(t, a.Int(0))
			return &effect.StreamClose{ID: a.Int(0)}, nil
		},
		value: nothing,
	}
}

// bind makes the natives that read declarations of this program.
func (m *VM) bind(name string) Native {
	switch name {
	case "agent.parts":
		return m.agentParts
	case "agent.request":
		return m.agentRequest
	case "agent.knowledge":
		return m.knowledge
	case "agent.streamed":
		return func(a *Args) (value.Slot, error) {
			return m.functionValue(m.program.Agents[a.party(0)[partyIndex].AsInt()].Streamed), nil
		}
	case "host.parts":
		return m.hostParts
	case "tool.marks":
		return m.toolMarks
	case "tool.server":
		return m.toolServer
	}
	if n := m.taskNatives(name); n != nil {
		return n
	}
	if n := m.undeclaredNatives(name); n != nil {
		return n
	}
	if n := m.cacheNatives(name); n != nil {
		return n
	}
	if n := m.keptCacheNatives(name); n != nil {
		return n
	}
	return m.bindMock(name)
}

// What an agent has when it says nothing.
const (
	maxToolRounds  = 10
	maxToolCalls   = 64
	schemaAttempts = 3
)

// agentParts gives name, memory, whether it is added to, context as JSON text,
// tools, max_tool_rounds, schema_attempts, model, connection, decorator
// on_tool_error and max_tool_calls.
func (m *VM) agentParts(a *Args) (value.Slot, error) {
	f := a.party(0)
	d := &m.program.Agents[f[partyIndex].AsInt()]
	context := value.Nil
	if !f[partyContext].IsNil() {
		context = value.String(string(value.AppendJSON(nil, f[partyContext])))
	}
	rounds, calls, attempts := int64(maxToolRounds), int64(maxToolCalls), int64(schemaAttempts)
	if d.MaxToolCalls > 0 {
		calls = d.MaxToolCalls
	}
	if d.MaxToolRounds > 0 {
		rounds = d.MaxToolRounds
	}
	if d.SchemaAttempts > 0 {
		attempts = d.SchemaAttempts
	}
	return value.Tuple(value.String(d.Name), f[partyMemory], f[partyAuto], context, m.toolsOf(a.Slot(0)), value.Int(rounds), value.Int(attempts),
		value.String(d.Model), value.String(d.Connection), m.functionValue(d.Decorator), m.functionValue(d.OnToolError), value.Int(calls)), nil
}

// functionValue is a function of the program as a value, nil for none.
func (m *VM) functionValue(n *int) value.Slot {
	if n == nil {
		return value.Nil
	}
	return m.closureOf(*n)
}

// hostParts gives name, tools, question_default, approval_default and decorator.
func (m *VM) hostParts(a *Args) (value.Slot, error) {
	d := &m.program.Hosts[a.party(0)[partyIndex].AsInt()]
	question, approval := value.Nil, value.Nil
	if d.QuestionDefault != nil {
		v, err := value.Parse(*d.QuestionDefault)
		if err != nil {
			return value.Nil, fmt.Errorf("question_default of host %s: %w", d.Name, err)
		}
		question = v
	}
	if d.ApprovalDefault != nil {
		approval = value.String(*d.ApprovalDefault)
	}
	return value.Tuple(value.String(d.Name), m.toolsOf(a.Slot(0)), question, approval, m.functionValue(d.Decorator)), nil
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
// schema_name). A message is a tuple of role, content, tool calls, the id of
// the call it answers, and whether that failed; a tool call one of id, name and
// arguments as JSON text.
func agentCall(t *task, a *Args) (effect.Request, error) {
	return t.modelCall(a), nil
}

// modelCall makes a request of an agent, its messages, and the schema that the
// reply is to have, if any.
func (t *task) modelCall(a *Args) *effect.AgentCall {
	if a.Slot(0).Kind() != value.KindAgent {
		a.wrong(0, "an Agent")
	}
	r := t.m.requestOf(&t.m.program.Agents[a.party(0)[partyIndex].AsInt()], a.Slot(0))
	if !a.Slot(2).IsNil() {
		r.Schema, r.SchemaName = json.RawMessage(a.String(2)), a.String(3)
	}
	for _, m := range tuples(a.Slot(1), 5) {
		c := effect.ChatMessage{Role: value.Text(m[0]), Content: value.Text(m[1]), ToolCallID: value.Text(m[3]), IsError: m[4].Bits&1 != 0}
		for _, call := range tuples(m[2], 3) {
			c.ToolCalls = append(c.ToolCalls, effect.ToolCall{ID: value.Text(call[0]), Name: value.Text(call[1]), Args: value.Text(call[2])})
		}
		r.Messages = append(r.Messages, c)
	}
	return r
}

// agentRequest is all that an agent's requests have besides their messages, as a
// text: what its connection is, its fields, its tools.
func (m *VM) agentRequest(a *Args) (value.Slot, error) {
	d := &m.program.Agents[a.party(0)[partyIndex].AsInt()]
	r := m.requestOf(d, a.Slot(0))
	for _, c := range m.program.Connections {
		if c.Name == d.Connection {
			r.Connection = string(c.Config)
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return value.Nil, fmt.Errorf("the request of agent %s: %w", d.Name, err)
	}
	return value.String(string(text)), nil
}

// requestOf makes an agent's request, without messages.
func (m *VM) requestOf(d *ir.Agent, agent value.Slot) *effect.AgentCall {
	r := &effect.AgentCall{Agent: d.Name, Connection: d.Connection, Model: d.Model, System: d.System, Temperature: d.Temperature,
		TopP: d.TopP, MaxTokens: d.MaxTokens, Stop: d.Stop, Timeout: d.Timeout}
	if d.Retry != nil {
		retry := effect.Retry(*d.Retry)
		r.Retry = &retry
	}
	for _, x := range m.offered(m.toolsOf(agent)) {
		for i := range x.methods {
			if m := &x.methods[i]; m.info.Described {
				r.Tools = append(r.Tools, effect.ToolSpec{Name: x.info.Name + "_" + m.info.Name,
					Description: m.info.Description, Parameters: m.parameters()})
			}
		}
		for _, f := range x.rest {
			r.Tools = append(r.Tools, effect.ToolSpec{Name: x.info.Name + "_" + f.name, Description: f.description, Parameters: f.parameters})
		}
	}
	return r
}

// tuples gives the tuples of n in an Array; anything else faults.
func tuples(s value.Slot, n int) [][]value.Slot {
	a := s.Array()
	if a == nil {
		panic(value.Faultf("expected an Array of tuples, got %s", describe(s)))
	}
	all := make([][]value.Slot, a.Len)
	for i := range all {
		if all[i] = a.At(i).Fields(); len(all[i]) != n {
			panic(value.Faultf("expected a tuple of %d, got %s", n, describe(a.At(i))))
		}
	}
	return all
}

// agentReply gives a reply as a tuple: text, tool calls, tokens in and out,
// model, connection, milliseconds, reason why it stopped, the provider's name
// for the request.
func agentReply(r effect.Result) (value.Slot, error) {
	reply := r.(*effect.AgentReply)
	calls := value.NewArray()
	for _, c := range reply.ToolCalls {
		calls.Push(value.Tuple(value.String(c.ID), value.String(c.Name), value.String(c.Args)))
	}
	request := value.Nil
	if reply.RequestID != "" {
		request = value.String(reply.RequestID)
	}
	return value.Tuple(value.String(reply.Text), calls.Slot(), value.Int(reply.TokensIn), value.Int(reply.TokensOut),
		value.String(reply.Model), value.String(reply.Provider), value.Int(reply.LatencyMS), value.String(reply.StopReason), request), nil
}
