package stdlib

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/vm"
)

// An agent's requests, and what happens between them.
var agentCallNatives = []native{
	{"agent.call", func(a *vm.Args) (value.Slot, error) { return a.Ask(modelCall(a), agentReply) }},
	{"agent.request", agentRequest},
	{"agent.step", agentStep},
	{"agent.streamed", func(a *vm.Args) (value.Slot, error) { return a.Function(a.Agent(0).Streamed), nil }},
	{"agent.stream.open", streamOpen},
	{"agent.stream.next", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.StreamNext{ID: a.Int(0)}, streamPiece) }},
	{"agent.stream.close", func(a *vm.Args) (value.Slot, error) {
		a.LetGo(a.Int(0))
		return a.Ask(&effect.StreamClose{ID: a.Int(0)}, vm.Nothing)
	}},
	{"agent.knowledge", agentKnowledge},
}

// agentStep is agent.step(what, by, tool, id, text, failed, attempt, of).
func agentStep(a *vm.Args) (value.Slot, error) {
	return a.Ask(&effect.Step{What: a.String(0), By: a.String(1), Tool: a.String(2), ID: a.String(3), Text: a.String(4),
		Failed: a.Bool(5), Attempt: a.Int(6), Of: a.Int(7)}, vm.Nothing)
}

// streamOpen opens a stream for (agent, messages, schema, schema_name).
func streamOpen(a *vm.Args) (value.Slot, error) {
	return a.AskToHold(&effect.StreamOpen{AgentCall: *modelCall(a)},
		func(r effect.Result) (value.Slot, error) { return value.Int(r.(*effect.StreamOpened).ID), nil },
		func(r effect.Result) (int64, effect.Request) {
			id := r.(*effect.StreamOpened).ID
			return id, &effect.StreamClose{ID: id}
		})
}

// streamPiece gives text, and at the end the whole reply.
func streamPiece(r effect.Result) (value.Slot, error) {
	p := r.(*effect.StreamPiece)
	if p.Reply == nil {
		return value.Tuple(value.String(p.Text), value.Nil), nil
	}
	reply, err := agentReply(p.Reply)
	return value.Tuple(value.String(p.Text), reply), err
}

// modelCall makes the request of (agent, messages, schema, schema_name): of an agent,
// its messages, and the schema that the reply is to have, if any. A message is a
// tuple of role, content, tool calls, the id of the call it answers, and whether
// that failed; a tool call one of id, name and arguments as JSON text.
func modelCall(a *vm.Args) *effect.AgentCall {
	r := requestOf(a, a.Agent(0))
	if !a.Slot(2).IsNil() {
		r.Schema, r.SchemaName = json.RawMessage(a.String(2)), a.String(3)
	}
	for _, m := range tuples(a, a.Slot(1), 5) {
		c := effect.ChatMessage{Role: value.Text(m[0]), Content: value.Text(m[1]), ToolCallID: value.Text(m[3]), IsError: m[4].Bits&1 != 0}
		for _, call := range tuples(a, m[2], 3) {
			c.ToolCalls = append(c.ToolCalls, effect.ToolCall{ID: value.Text(call[0]), Name: value.Text(call[1]), Args: value.Text(call[2])})
		}
		r.Messages = append(r.Messages, c)
	}
	return r
}

// agentRequest is all that an agent's requests have besides their messages, as a
// text: what its connection is, its fields, its tools.
func agentRequest(a *vm.Args) (value.Slot, error) {
	d := a.Agent(0)
	r := requestOf(a, d)
	for _, c := range a.Program().Connections {
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

// requestOf makes the request of the agent in argument 0, without messages.
func requestOf(a *vm.Args, d *ir.Agent) *effect.AgentCall {
	r := &effect.AgentCall{Agent: d.Name, Connection: d.Connection, Model: d.Model, System: d.System, Temperature: d.Temperature,
		TopP: d.TopP, MaxTokens: d.MaxTokens, Stop: d.Stop, Timeout: d.Timeout}
	if d.Retry != nil {
		retry := effect.Retry(*d.Retry)
		r.Retry = &retry
	}
	others := vm.Own[remotes](a)
	for _, x := range a.Tools(a.ToolsOf(a.Slot(0))) {
		for i := range x.Functions() {
			if f := &x.Functions()[i]; f.Info().Described {
				r.Tools = append(r.Tools, effect.ToolSpec{Name: f.Tool() + "_" + f.Info().Name,
					Description: f.Info().Description, Parameters: f.Parameters()})
			}
		}
		for _, f := range others.of(x).functions {
			r.Tools = append(r.Tools, effect.ToolSpec{Name: x.Info().Name + "_" + f.name, Description: f.description, Parameters: f.parameters})
		}
	}
	return r
}

// tuples gives the tuples of n in an Array; anything else faults.
func tuples(a *vm.Args, s value.Slot, n int) [][]value.Slot {
	x := s.Array()
	if x == nil {
		panic(value.Faultf("expected an Array of tuples, got %s", value.TypeName(s)))
	}
	a.Step(4 * x.Len)
	all := make([][]value.Slot, x.Len)
	for i := range all {
		if all[i] = x.At(i).Fields(); len(all[i]) != n {
			panic(value.Faultf("expected a tuple of %d, got %s", n, value.TypeName(x.At(i))))
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
