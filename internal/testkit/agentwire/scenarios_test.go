package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

// scenario is one column of the table of agents and scenarios.
type scenario struct {
	name    string
	what    string // description of the scenario in the manual
	replies func(m *scriptedModel) []modelserver.Reply
	play    func(t *testing.T, w *world)
}

// handlers returns handlers that answer and print each request of an agent.
func handlers(decision string) string {
	return `{
        "approval" => |a: HostApproval| { println("approval", a.kind ?? "", a.description); ` + decision + ` },
        "question" => |q: HostQuestion| { println("question", q.question, q.options ?? []); "tabs" },
        "progress" => |p: HostProgress| { println("progress", p.stage ?? "", p.message); },
        "log" => |l: HostLog| { println("log", l.level, l.message); },
    }`
}

// program returns a program that begins one exchange with a statement and prints its result.
func program(begin, decision string) string {
	return `host Coder { connector: coder }
fn exchange() {
    match listen ` + begin + " " + handlers(decision) + ` {
        Ok(r) => { println("session", r.session); println("result", r.text); },
        Err(e) => println("failed", e.message),
    }
}
`
}

// decidingProgram returns a program whose exchange decides each approval with decision.
func decidingProgram(decision string) string {
	return program(`Coder.execute("please work")`, decision) + "fn main() { exchange(); }\n"
}

const (
	allowTouch = "[hosts.coder.permissions.commands]\nallow = [\"touch *\"]\n"
	denyTouch  = "[hosts.coder.permissions.commands]\ndeny = [\"touch *\"]\n"
)

// sandbox returns the keys of a sandbox in which the agent reaches only its directory, its own
// files and the model.
func (w *world) sandbox() string {
	config, write := "", []string{"."}
	switch w.agent.transport {
	case "codex":
		config = "codex_sandbox = \"danger-full-access\"\n"
	case "acp":
		write = append(write, w.at.home)
	}
	text, err := json.Marshal(write)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s[hosts.coder.sandbox]\nnet = [%q]\nwrite = %s\n", config, strings.TrimPrefix(w.at.url, "http://"), text)
}

// touchReplies returns a model that creates a file the given number of times and then finishes.
func touchReplies(times int) func(m *scriptedModel) []modelserver.Reply {
	return func(m *scriptedModel) []modelserver.Reply {
		var all []modelserver.Reply
		for range times {
			all = append(all, modelserver.Reply{When: m.main, ToolCalls: []modelserver.Call{m.touch}, TokensIn: 10, TokensOut: 5})
		}
		return append(all, m.textReplies("All done.")...)
	}
}

var scenarios = []scenario{
	{"allowed", "a command is allowed", touchReplies(1), func(t *testing.T, w *world) {
		r := w.run(t, decidingProgram(`"yes"`), "")
		r.requireLines(t, 1, "approval execute ", "touch made.txt")
		r.requireLines(t, 1, "result ", "All done.")
		w.requireFile(t, "made.txt", true)
	}},
	{"allowed for longer", "a command is allowed for the longest time that the agent offers", touchReplies(2), func(t *testing.T, w *world) {
		r := w.run(t, decidingProgram(`"`+w.agent.longest+`"`), "")
		times := 1
		if w.agent.longest == "once" {
			times = 2
		}
		r.requireLines(t, times, "approval execute ", "touch made.txt")
		r.requireLines(t, 1, "result ", "All done.")
		w.requireFile(t, "made.txt", true)
	}},
	{"denied", "a command is denied", touchReplies(1), func(t *testing.T, w *world) {
		r := w.run(t, decidingProgram(`"not today"`), "")
		r.requireLines(t, 1, "approval execute ", "touch made.txt")
		w.requireFile(t, "made.txt", false)
		r.requireLines(t, 1, "result ", "")
		if !w.agent.stops {
			r.requireLines(t, 1, "result All done.", "")
		}
		if w.agent.reasons {
			w.requireInRequest(t, "not today")
		}
	}},
	{"sandbox", "the agent works in a sandbox that allows its directory and the model", touchReplies(1), func(t *testing.T, w *world) {
		if w.agent.open != "" {
			t.Skip(w.agent.open)
		}
		r := w.run(t, decidingProgram(`"yes"`), w.sandbox())
		r.requireLines(t, 1, "approval execute ", "touch made.txt")
		r.requireLines(t, 1, "result ", "All done.")
		w.requireFile(t, "made.txt", true)
	}},
	{"edited", "a command is allowed with a changed input", touchReplies(1), func(t *testing.T, w *world) {
		r := w.run(t, decidingProgram(`{ decision: "allow", input: { command: "touch other.txt", description: "another" } }`), "")
		r.requireLines(t, 1, "approval execute ", "touch made.txt")
		w.requireFile(t, "made.txt", false)
		w.requireFile(t, "other.txt", w.agent.edits)
	}},
	{"rule allows", "a rule of `[permissions]` allows a command", touchReplies(1), func(t *testing.T, w *world) {
		r := w.run(t, decidingProgram(`"no"`), allowTouch)
		r.requireLines(t, 1, "[host:decided] ", `"decision":"allow"`)
		r.requireLines(t, 0, "approval ", "")
		r.requireLines(t, 1, "result ", "All done.")
		w.requireFile(t, "made.txt", true)
	}},
	{"rule denies", "a rule denies a command", touchReplies(1), func(t *testing.T, w *world) {
		r := w.run(t, decidingProgram(`"yes"`), denyTouch)
		r.requireLines(t, 1, "[host:decided] ", `"decision":"deny"`)
		r.requireLines(t, 0, "approval ", "")
		w.requireFile(t, "made.txt", false)
	}},
	{"rule allows files", "a rule allows a new file", func(m *scriptedModel) []modelserver.Reply {
		return append([]modelserver.Reply{{When: m.main, ToolCalls: []modelserver.Call{m.writes}, TokensIn: 10, TokensOut: 5}}, m.textReplies("All done.")...)
	}, func(t *testing.T, w *world) {
		r := w.run(t, decidingProgram(`"no"`), "[hosts.coder.permissions]\nread = [\".\"]\nwrite = [\".\"]\n")
		r.requireLines(t, 0, "approval ", "")
		r.requireLines(t, 1, "result ", "All done.")
		w.requireFile(t, "new.txt", !w.agent.timid)
	}},
	{"question", "the agent asks a question", (*scriptedModel).questionReplies, func(t *testing.T, w *world) {
		r := w.run(t, decidingProgram(`"no"`), "")
		if w.agent.asks.Args == nil {
			w.requireNotInRequest(t, `"name":"`+w.agent.asks.Name+`"`)
			t.Skip("over ACP the agent does not offer its model the tool " + w.agent.asks.Name)
		}
		r.requireLines(t, 1, "question Tabs or spaces?", "Spaces")
		r.requireLines(t, 1, "result ", "All done.")
		w.requireInRequest(t, "Tabs")
	}},
	{"tool", "the agent calls a tool of the program without an approval", (*scriptedModel).callReplies, func(t *testing.T, w *world) {
		r := w.run(t, `tool Calc {
    description: "Calculates.",
    @describe("Adds two numbers.")
    fn add(self, a: Int, b: Int) -> Int { println("adding", a, b); a + b }
}
`+strings.Replace(decidingProgram(`"no"`), "coder }", "coder, tools: [Calc] }", 1), "")
		r.requireLines(t, 1, "adding 1 2", "")
		r.requireLines(t, 0, "approval ", "")
		r.requireLines(t, 1, "result ", "It is three.")
	}},
	{"subagent", "a subagent requests an approval, and the result is the agent's own", func(m *scriptedModel) []modelserver.Reply {
		return append([]modelserver.Reply{{When: m.main, ToolCalls: []modelserver.Call{m.helps}}, {When: subJob, ToolCalls: []modelserver.Call{m.touch}}, {When: subJob, Text: "The helper is done."}},
			m.textReplies("All done.")...)
	}, func(t *testing.T, w *world) {
		if w.agent.helps.Args == nil {
			t.Skip("the agent's subagents were not tried")
		}
		r := w.run(t, decidingProgram(`"yes"`), "")
		r.requireLines(t, 1, "approval execute ", "touch made.txt")
		r.requireLines(t, 1, "result All done.", "")
		w.requireFile(t, "made.txt", true)
	}},
	{"cancel", "an exchange is cancelled, and the process continues", func(m *scriptedModel) []modelserver.Reply {
		return append([]modelserver.Reply{{When: m.main, Hang: true}}, m.textReplies("All done.")...)
	}, func(t *testing.T, w *world) {
		r := w.run(t, program(`Coder.execute("please work")`, `"no"`)+`
fn asked() -> String { let _ = std::http::get("`+w.arrived.URL+`"); "the model was asked" }
fn main() {
    println("first", race ({ exchange(); "over" }, asked()));
    exchange();
}
`, "")
		r.requireLines(t, 1, "first ", "the model was asked")
		r.requireLines(t, 1, "result ", "All done.")
		r.requireStarts(t, 1)
	}},
	{"keep", "exchanges share a conversation", func(m *scriptedModel) []modelserver.Reply { return m.textReplies("One.", "Two.") }, func(t *testing.T, w *world) {
		r := w.run(t, program(`Coder.execute("please work")`, `"no"`)+"fn main() { exchange(); exchange(); }\n", "")
		r.requireLines(t, 1, "result ", "One.")
		r.requireLines(t, 1, "result ", "Two.")
		r.requireStarts(t, 1)
		w.requireInRequest(t, "One.")
	}},
	{"fresh", "each exchange has a conversation of its own", func(m *scriptedModel) []modelserver.Reply { return m.textReplies("One.", "Two.") }, func(t *testing.T, w *world) {
		r := w.run(t, program(`Coder.execute("please work")`, `"no"`)+"fn main() { exchange(); exchange(); }\n", "session = \"fresh\"\n")
		r.requireLines(t, 1, "result ", "Two.")
		w.requireNotInRequest(t, "One.")
	}},
	{"resume", "another run resumes the conversation", func(m *scriptedModel) []modelserver.Reply { return m.textReplies("One.", "Two.") }, func(t *testing.T, w *world) {
		r := w.run(t, decidingProgram(`"no"`), "")
		r.requireLines(t, 1, "result ", "One.")
		session := r.restOfLine("session ")
		if session == "" {
			t.Fatal("the wire contains no session id")
		}
		if w.agent.forgets {
			r = w.run(t, program(`Coder.resume("`+session+`").execute("and now?")`, `"no"`)+"fn main() { exchange(); }\n", "")
			r.requireLines(t, 1, "failed ", "No previous sessions found")
			return
		}
		r = w.run(t, program(`Coder.resume("`+session+`").execute("and now?")`, `"no"`)+"fn main() { exchange(); }\n", "")
		r.requireLines(t, 1, "result ", "Two.")
		r.requireLines(t, 1, "session ", session)
		w.requireInRequest(t, "One.")
	}},
}

// tableCell returns an agent's cell of the manual's table for a scenario.
func (a *agent) tableCell(scenario string) string {
	switch {
	case scenario == "denied" && a.stops:
		return "yes, and ends the turn"
	case scenario == "denied" && a.reasons:
		return "yes, with the reason"
	case scenario == "allowed for longer":
		return a.longest
	case scenario == "edited" && !a.edits:
		return "no, denied"
	case scenario == "rule allows files" && a.timid:
		return "it fails if the file does not exist"
	case scenario == "sandbox" && a.open != "":
		return "no: " + a.open
	case scenario == "question" && a.asks.Args == nil:
		return "not over ACP"
	case scenario == "resume" && a.forgets:
		return "no: it finds no earlier session"
	case scenario == "subagent" && a.helps.Args == nil:
		return "not tried"
	}
	return "yes"
}

// TestManualTableMatchesScenarios checks that the manual contains the table of scenarios and
// agents.
func TestManualTableMatchesScenarios(t *testing.T) {
	var b strings.Builder
	b.WriteString("| |")
	for _, a := range agents {
		b.WriteString(" " + a.title + " " + a.version + " |")
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", len(agents)+1) + "\n")
	for _, s := range scenarios {
		b.WriteString("| " + s.what + " |")
		for _, a := range agents {
			b.WriteString(" " + a.tableCell(s.name) + " |")
		}
		b.WriteString("\n")
	}
	manual, err := os.ReadFile("../../../spec/50-agents.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(manual), b.String()) {
		t.Errorf("spec/50-agents.md does not have this table:\n%s", b.String())
	}
}
