package stdlib

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// shortEffects contains further natives whose work does not grow with their arguments. They request
// an effect with their unchanged arguments, or read the declarations of the program.
var shortEffects = strings.Fields(`
	Agent.with_context Agent.with_memory Agent.without_tools Host.__with_schema Host.resume Host.with_workspace Host.with_gate Host.with_context Host.without_tools
	Task.cancel Task.is_done agent.files agent.step app.inputs app.audited app.caller app.session app.there agent.stream.close agent.stream.next cache.get cache.put cache.sweep cache.read
	clock clock.zone decorate.bound env env.all env.args env.task env.task_if_any fs.attach fs.copy fs.glob fs.info fs.list fs.make_dir fs.move fs.read fs.remove fs.walk
	fs.temp_dir fs.write host.stream.fail host.stream.leave host.stream.next host.stream.open host.stream.refusal host.stream.reply host.stream.session host.stream.steer host.begin_repair host.gate host.gate.all host.gate.begin host.gate.commands host.gate.end host.gate.turn host.gate.turns host.gates host.plan_until host.stream.continue host.stream.plan_wait host.stream.proved host.stream.reopen host.steer host.tasks host.unready
	host.stream.until mcp.changed mcp.next memory.clear memory.len mock.app mock.by mock.closure mock.env mock.file mock.function mock.given
	mock.prompts mock.replies mock.time mock.tool mock.tools random random.secret random.seed sleep test.emits test.output
	test.requests tool.all tool.call_id tool.leave tool.mock tool.server
	work.open work.list work.diff work.commit work.remove merge.find merge.list merge.finish merge.open merge.next merge.reply`)

// declaring returns a run of a program that has a declaration of each kind.
func declaring(t *testing.T) *vm.VM {
	p := &ir.Program{Version: ir.Version,
		Types:  []ir.TypeInfo{{Kind: "tool", Name: "T"}},
		Stores: []ir.Store{{Kind: "ledger", Name: "L"}},
		Agents: []ir.Agent{{Name: "A", Memory: -1, Tools: []int{0}, Knowledge: []int{0}}},
		Hosts:  []ir.Host{{Name: "H", Tools: []int{0}, Config: []byte(`{"transport":"codex"}`)}},
		Tools:  []ir.Tool{{Name: "T", State: 0, Init: -1}},
	}
	m, err := vm.New(vm.Config{Program: p, Natives: Native})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// parties returns the agent and the host that the program of declaring declares.
func parties() (agent, host value.Slot) {
	return value.NewParty(value.KindAgent, &value.Type{Kind: value.TypeAgent, Name: "A"}, 0, value.Nil),
		value.NewParty(value.KindHost, &value.Type{Kind: value.TypeHost, Name: "H"}, 0, value.Nil)
}

// longEffects returns calls, with large arguments, of natives that request an effect or access the
// run.
func longEffects(t *testing.T, m *vm.VM) []longCall {
	var calls []longCall
	add := func(name string, window ...value.Slot) {
		calls = append(calls, longCall{name, func() []value.Slot { return append([]value.Slot(nil), window...) }, m})
	}
	s, n, f := value.String, value.Int, value.Bool(false)
	call := func(name string, window ...value.Slot) value.Slot {
		v, err := m.Invoke(natives[name], nil, name, window)
		if err != nil {
			t.Fatal(name, err)
		}
		return v
	}
	desc := func(file, name string) value.Slot { return value.NewTypeDesc(declaredStruct(t, file, name)) }
	traits, hostTraits := desc("agent.conc", "__Traits"), desc("host.conc", "__HostTraits")
	message, reply := declaredStruct(t, "agent.conc", "__Said"), desc("agent.conc", "__Reply")
	agent, host := parties()
	tool := native.Member(call("agent.traits", agent, traits), "tools").Array().At(0)

	words, pairs, messages, tools := value.NewArray(), value.NewArray(), value.NewArray(), value.NewArray()
	entries, listed, offer := value.NewMap(0), value.NewArray(), value.NewArray()
	appTool := declaredStruct(t, "app_calls.conc", "__AppTool")
	memory := memstore.NewMemory(longInts, 0)
	for range longInts / 4 {
		words.Push(s("word"))
		entries.SetString(string(rune('a'+entries.Len())), s("v"))
		pairs.Push(value.Tuple(s("user"), s("hello")))
		messages.Push(native.Record(message, native.Field{"role", s("user")}, native.Field{"content", s("hello")}, native.Field{"files", value.NewArray().Slot()}, native.Field{"calls", value.NewArray().Slot()},
			native.Field{"answers", s("")}, native.Field{"failed", f}, native.Field{"items", value.Nil}))
		tools.Push(tool)
		offer.Push(native.Record(appTool, native.Field{"name", s("x")}, native.Field{"tool", s("x")}, native.Field{"version", n(1)}, native.Field{"description", s("d")},
			native.Field{"category", s("")}, native.Field{"parameters", s("{}")}, native.Field{"sequential", f}, native.Field{"approve", f}))
		function := value.NewMap(1)
		function.SetString("name", s("f"))
		listed.Push(function.Slot())
		memory.Append("user", "hello")
	}
	all := words.Slot()
	of := func(kind string, x value.Slot) value.Slot { // of returns an agent or a host that has many tools
		return call(kind+".with_tools", x, tools.Slot())
	}
	for _, name := range []string{"agent.call", "agent.stream.open"} {
		add(name, agent, messages.Slot(), value.Nil, s(""), offer.Slot(), reply)
		add(name, of("Agent", agent), value.NewArray().Slot(), value.Nil, s(""), value.NewArray().Slot(), reply)
	}
	asked := entries.Slot()
	ask := native.Record(declaredStruct(t, "app_calls.conc", "__AppAsk"), native.Field{"id", s("r_1-1")}, native.Field{"called", s("x")}, native.Field{"version", n(1)},
		native.Field{"args", asked}, native.Field{"by", s("A")}, native.Field{"route", s("agent")}, native.Field{"own", s("T_x")}, native.Field{"owner", s("program")}, native.Field{"description", s("d")}, native.Field{"missing", f})
	add("tool.list", agent, tools.Slot(), value.NewTypeDesc(appTool))
	add("run.continue_as_new", asked)
	add("tool.prepare", ask)
	add("tool.ask", s("tool:approval"), asked)
	add("tool.decide", s("r_1-1"), asked, f, s(""), s(""), asked, s(""), f, desc("app_calls.conc", "__Verdict"))
	add("tool.call", ask, n(0), desc("app_calls.conc", "__AppResult"))
	add("audit.call", ask)
	add("audit.done", n(1), s("ok"), s(""), asked)
	add("agent.request", of("Agent", agent))
	add("eval.question", agent, s("rubric"), s(strings.Repeat("word ", longText)))
	add("agent.traits", of("Agent", agent), traits)
	add("agent.traits", call("Agent.with_context", agent, all), traits)
	add("host.traits", of("Host", host), hostTraits)
	add("host.told_of", of("Host", host))
	add("Agent.with_tools", agent, tools.Slot())
	add("Host.with_tools", host, tools.Slot())
	add("Agent.with_files", agent, all)
	add("tool.function", tools.Slot(), s("f"), desc("tool_calls.conc", "__Function"))
	add("tool.there", tools.Slot(), s("f"))
	add("tool.unlisted", tools.Slot())
	add("tool.changing", tools.Slot())
	add("agent.offering", of("Agent", agent))
	add("tool.listed", tool, listed.Slot())
	add("agent.knowledge", agent, n(0), s(strings.Repeat("word ", longText)))
	handle := value.NewHandle("Memory", "m", memory)
	add("memory.append", handle, pairs.Slot())
	add("memory.list", handle, n(-1))
	add("cache.key", s("f"), all)
	array := &value.Type{Kind: value.TypeArray, Args: []*value.Type{{Kind: value.TypeString}}}
	add("cache.write", s("file"), s("name"), s("key"), all, n(0), value.NewTypeDesc(array))
	add("command", s("c"), all, n(1))
	add("work.run", s("w"), all, n(1))
	add("merge.submit", s("q"), s("w"), s(""), s(""), all, n(0))
	add("http", s("GET"), s("url"), entries.Slot(), value.Nil, n(1))
	add("print", all, f)
	add("log", s("info"), s("m"), entries.Slot())
	add("mcp.open", s("server"), s("tools/call"), s("f"), entries.Slot())
	add("mcp.reply", n(1), all)
	add("mock.answer", s("c"), all)
	add("mock.args", all)
	add("mock.http", s("url"), all)
	add("mock.command", s("c"), all)
	add("mock.next", agent, s("p"), all)
	add("mock.script", agent, entries.Slot())

	stored := memstore.NewHashMap("h")
	stored.Place = &memstore.Place{File: "f", Kind: "hashmap", Name: "h", Key: array.Args[0], Value: array}
	one := value.NewMap(1)
	one.SetString("k", all)
	add("HashMap.__put", stored.Value(), s("k"), all)
	add("HashMap.__put_many", stored.Value(), one.Slot())
	add("HashMap.get_many", stored.Value(), all)
	return calls
}
