package stdlib

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Natives that set options of agents and hosts, and natives that return the properties which their
// loops need.
var partyNatives = native.Table{
	{"Agent.with_context", partyWithContext},
	{"Agent.with_memory", withMemory},
	{"Agent.with_tools", withTools},
	{"Agent.without_tools", withoutTools},
	{"Agent.with_files", withFiles},
	{"Host.with_context", partyWithContext},
	{"Host.with_tools", withTools},
	{"Host.without_tools", withoutTools},
	{"Host.resume", hostResume},
	{"Host.with_workspace", func(a *vm.Args) (value.Slot, error) {
		return copyParty(a, func(p value.Party) { p[value.PartyWorkspace] = native.Member(a.Slot(1), "name") })
	}},
	{"Host.with_gate", withGate},
	{"Host.__with_schema", func(a *vm.Args) (value.Slot, error) {
		return copyParty(a, func(p value.Party) { p[value.PartySchema] = value.String(a.String(1)) })
	}},
	{"agent.traits", agentTraits},
	{"agent.offering", agentOffering},
	{"agent.files", func(a *vm.Args) (value.Slot, error) {
		if files := a.Party(0)[value.PartyFiles]; !files.IsNil() {
			return native.MarkShared(files), nil
		}
		return value.NewArray().Slot(), nil
	}},
	{"host.traits", hostTraits},
	{"host.told_of", func(a *vm.Args) (value.Slot, error) {
		if a.Host(0).ReceivesTools {
			return a.ToolsOf(a.Slot(0)), nil
		}
		return value.NewArray().Slot(), nil
	}},
	{"host.tasks", func(a *vm.Args) (value.Slot, error) { return a.HostTasks(a.Bool(1), a.Float(2)) }},
	{"host.begin_repair", func(a *vm.Args) (value.Slot, error) { return value.Bool(a.BeginRepair(a.String(0))), nil }},
	{"host.gates", func(a *vm.Args) (value.Slot, error) {
		if all := a.Party(0)[value.PartyGates]; !all.IsNil() {
			return native.MarkShared(all), nil
		}
		return value.NewArray().Slot(), nil
	}},
	{"host.gate.commands", func(a *vm.Args) (value.Slot, error) { return vm.GateCommands(a), nil }},
	{"host.gate.all", func(a *vm.Args) (value.Slot, error) { return vm.GatesOf(a).BeginAll(), nil }},
	{"host.gate.begin", func(a *vm.Args) (value.Slot, error) { return vm.GatesOf(a).Begin(), nil }},
	{"host.gate", func(a *vm.Args) (value.Slot, error) {
		return vm.GatesOf(a).Ask(vm.Texts(a, 1), a.Float(2), a.String(3))
	}},
	{"host.gate.end", func(a *vm.Args) (value.Slot, error) {
		return value.Nil, vm.GatesOf(a).End(a.String(1), a.String(2), a.String(3), a.Int(4))
	}},
	{"host.gate.turn", func(a *vm.Args) (value.Slot, error) {
		return value.Bool(vm.GatesOf(a).BeginTurn(a.Int(1), a.Int(2))), nil
	}},
	{"host.gate.turns", func(a *vm.Args) (value.Slot, error) { return value.Int(vm.GatesOf(a).Turns(a.Int(1))), nil }},
	{"host.steer", func(a *vm.Args) (value.Slot, error) { return a.SteerHost(a.String(1), a.Bool(2)) }},
	{"host.unready", func(a *vm.Args) (value.Slot, error) {
		return copyParty(a, func(p value.Party) { p[value.PartyUnready] = native.MarkShared(a.Slot(1)) })
	}},
}

// copyParty copies the party in argument 0 and calls set with the copy.
func copyParty(a *vm.Args, set func(p value.Party)) (value.Slot, error) {
	fields := a.Party(0)
	s := a.Slot(0)
	c := value.New(s.Kind(), 0, s.Type(), fields...)
	for _, f := range fields {
		value.Share(f)
	}
	set(c.Party())
	return c, nil
}

func partyWithContext(a *vm.Args) (value.Slot, error) {
	value.Share(a.Slot(1))
	return copyParty(a, func(p value.Party) { p[value.PartyContext] = value.Flatten(a.Slot(1)) })
}

// hostResume sets the session that the host resumes to argument 1.
func hostResume(a *vm.Args) (value.Slot, error) {
	if name := a.Host(0).Name; a.String(1) == "" {
		return value.Nil, value.Errorf("HostError", "host '%s' cannot resume a session: its name is empty", name).
			With("host", value.String(name)).With("code", value.String("resume"))
	}
	return copyParty(a, func(p value.Party) { p[value.PartySession] = native.MarkShared(a.Slot(1)) })
}

// withGate adds a gate: the function in argument 1, or the manifest's commands if it is nil.
func withGate(a *vm.Args) (value.Slot, error) {
	d, check, most := a.Host(0), value.Flatten(a.Slot(1)), a.Int(2)
	switch {
	case most < 0:
		return value.Nil, value.Faultf("max_turns of with_gate is %d: it must not be negative", most)
	case d.Detaches:
		return value.Nil, value.Errorf("HostError", "host '%s' has background = \"detach\": it may still work when a gate runs", d.Name).
			With("host", value.String(d.Name)).With("code", value.String("gate"))
	case check.IsNil() && len(d.Gate) == 0:
		return value.Nil, value.Errorf("HostError", "no gate: set gate in [hosts.%s], or pass a function", d.Connector).
			With("host", value.String(d.Name)).With("code", value.String("gate"))
	}
	return copyParty(a, func(p value.Party) {
		all := value.NewArray()
		if old := p[value.PartyGates].Array(); old != nil {
			all.Extend(old)
		}
		all.Push(value.Tuple(native.MarkShared(check), value.Int(most)))
		p[value.PartyGates] = all.Slot()
	})
}

func withMemory(a *vm.Args) (value.Slot, error) {
	return copyParty(a, func(p value.Party) {
		p[value.PartyMemory], p[value.PartyAuto] = a.Slot(1), value.Bool(a.Len() < 3 || a.Bool(2))
	})
}

// withTools adds argument 1, an Array of Tool, to the party's tools.
func withTools(a *vm.Args) (value.Slot, error) { return withMore(a, value.PartyTools) }

// withFiles adds argument 1, an Array of paths, to the files of the agent's prompts.
func withFiles(a *vm.Args) (value.Slot, error) { return withMore(a, value.PartyFiles) }

// withMore adds the elements of argument 1 to the Array in a slot of the party.
func withMore(a *vm.Args, slot int) (value.Slot, error) {
	added := a.Array(1)
	return copyParty(a, func(p value.Party) {
		all := value.NewArray()
		if old := p[slot].Array(); old != nil {
			a.Step(old.Len >> 3)
			all.Extend(old)
		}
		a.Step(added.Len >> 3)
		all.Extend(added)
		p[slot] = all.Slot()
	})
}

func withoutTools(a *vm.Args) (value.Slot, error) {
	return copyParty(a, func(p value.Party) { p[value.PartyTools], p[value.PartyToolsOff] = value.Nil, value.Bool(true) })
}

// Default values for an agent.
const (
	maxToolRounds  = 10
	maxToolCalls   = 64
	schemaAttempts = 3
)

func orElse(n, other int64) value.Slot {
	if n > 0 {
		return value.Int(n)
	}
	return value.Int(other)
}

// agentTraits returns the properties of an agent as an __Traits, the type in argument 1.
func agentTraits(a *vm.Args) (value.Slot, error) {
	d, p := a.Agent(0), a.Party(0)
	context := value.Nil
	if c := p[value.PartyContext]; !c.IsNil() {
		context = value.StringOwning(value.AppendJSONWithin(nil, c, a.TextBound()))
	}
	return native.Record(a.Type(1),
		native.Field{"name", value.String(d.Name)},
		native.Field{"memory", p[value.PartyMemory]},
		native.Field{"auto", p[value.PartyAuto]},
		native.Field{"ledgers", value.Int(int64(len(d.Knowledge)))},
		native.Field{"context", context},
		native.Field{"tools", a.ToolsOf(a.Slot(0))},
		native.Field{"offer", value.NewArray().Slot()},
		native.Field{"max_tool_rounds", orElse(d.MaxToolRounds, maxToolRounds)},
		native.Field{"max_tool_calls", orElse(d.MaxToolCalls, maxToolCalls)},
		native.Field{"schema_attempts", orElse(d.SchemaAttempts, schemaAttempts)},
		native.Field{"model", value.String(d.Model)},
		native.Field{"connection", value.String(d.Connection)},
		native.Field{"decorator", a.Function(d.Decorator)},
		native.Field{"streamed", a.Function(d.Streamed)},
		native.Field{"on_tool_error", a.Function(d.OnToolError)}), nil
}

// hostTraits returns the properties of a host as an __HostTraits, the type in argument 1.
func hostTraits(a *vm.Args) (value.Slot, error) {
	d := a.Host(0)
	question, approval := value.Nil, value.Nil
	if v, isSet := d.Defaults["question_default"]; isSet {
		q, err := value.Parse(v)
		if err != nil {
			return value.Nil, fmt.Errorf("question_default of host %s: %w", d.Name, err)
		}
		question = q
	}
	if v, isSet := d.Defaults["approval_default"]; isSet {
		var text string
		if err := json.Unmarshal(v, &text); err != nil {
			return value.Nil, fmt.Errorf("approval_default of host %s: %w", d.Name, err)
		}
		approval = value.String(text)
	}
	return native.Record(a.Type(1),
		native.Field{"name", value.String(d.Name)},
		native.Field{"tools", a.ToolsOf(a.Slot(0))},
		native.Field{"question_default", question},
		native.Field{"approval_default", approval},
		native.Field{"decorator", a.Function(d.Decorator)}), nil
}
