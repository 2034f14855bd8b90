package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testllm"
)

// backgroundModel configures the scripted model of an agent that works in the background.
type backgroundModel struct {
	agent    string
	main     string       // text that only requests of the main conversation contain
	job      string       // text that only requests of the subagent contain
	touch    testllm.Call // call of the tool that runs commands: it creates made.txt
	helps    testllm.Call // call of the tool that starts a subagent in the background
	serves   testllm.Call // call that starts a command that does not end
	notifies bool         // the agent begins a turn when a subagent has ended
}

var backgroundModels = []backgroundModel{
	{agent: "claude", main: `"name":"AskUserQuestion"`, job: `"text":"` + subJob, touch: claudeTouch,
		helps:  toolCall("toolu_4", "Agent", `{"description":"helper","prompt":"`+subJob+`","subagent_type":"general-purpose","run_in_background":true}`),
		serves: toolCall("toolu_5", "Bash", `{"command":"sleep 1000","description":"a server","run_in_background":true}`), notifies: true},
	{agent: "codex", main: `"multi_agent_v1"`, job: `"text":"` + subJob, touch: toolCall("call_1", "exec_command", `{"cmd":"touch made.txt"}`),
		helps:  testllm.Call{ID: "call_4", Namespace: "multi_agent_v1", Name: "spawn_agent", Args: []byte(`{"message":"` + subJob + `"}`)},
		serves: toolCall("call_5", "exec_command", `{"cmd":"sleep 1000","yield_time_ms":300}`)},
}

func (m *backgroundModel) reply(text string) testllm.Reply {
	return testllm.Reply{When: m.main, Text: text, TokensIn: 10, TokensOut: 5}
}

func (m *backgroundModel) call(c testllm.Call) testllm.Reply {
	return testllm.Reply{When: m.main, ToolCalls: []testllm.Call{c}, TokensIn: 10, TokensOut: 5}
}

// helperReplies returns the replies of a subagent that creates a file.
func (m *backgroundModel) helperReplies() []testllm.Reply {
	return []testllm.Reply{{When: m.job, ToolCalls: []testllm.Call{m.touch}, TokensIn: 100, TokensOut: 50}, {When: m.job, Text: "The helper is done.", TokensIn: 100, TokensOut: 50}}
}

// backgroundScenario is one way in which an agent works in the background.
type backgroundScenario struct {
	name    string
	replies func(m *backgroundModel) []testllm.Reply
	play    func(t *testing.T, w *world, m *backgroundModel)
}

// reviews returns the replies of a model whose subagent works in the background.
func reviews(m *backgroundModel) []testllm.Reply {
	return append([]testllm.Reply{m.call(m.helps), m.reply("I have started it."), m.reply("The helper has made a file.")}, append(m.helperReplies(), testllm.Reply{Repeat: true, Text: "title"})...)
}

// requireReview requires the result of a model of reviews.
func requireReview(t *testing.T, r *runResult, m *backgroundModel) {
	t.Helper()
	if m.notifies {
		r.requireLines(t, 1, "result The helper has made a file.", "")
	} else {
		r.requireLines(t, 1, "result I have started it.", "")
	}
}

var backgroundScenarios = []backgroundScenario{
	{"the exchange waits for a subagent that asks", reviews, func(t *testing.T, w *world, m *backgroundModel) {
		r := w.run(t, decidingProgram(`"yes"`), "")
		r.requireLines(t, 1, "approval execute ", "touch made.txt")
		r.requireLines(t, 1, "progress task agent ", "has started")
		r.requireLines(t, 1, "progress task agent ", "completed")
		r.requireLines(t, 1, "progress wait waits for agent ", "")
		r.requireLines(t, 1, "who ", "agent")
		requireReview(t, r, m)
		w.requireFile(t, "made.txt", true)
	}},
	{"a rule allows what the subagent asks", reviews, func(t *testing.T, w *world, m *backgroundModel) {
		r := w.run(t, decidingProgram(`"no"`), allowTouch)
		r.requireLines(t, 0, "approval ", "")
		r.requireLines(t, 1, "[host:decided] ", `"decision":"allow"`)
		requireReview(t, r, m)
		w.requireFile(t, "made.txt", true)
	}},
	{"a rule denies what the subagent asks", reviews, func(t *testing.T, w *world, m *backgroundModel) {
		r := w.run(t, decidingProgram(`"yes"`), denyTouch)
		r.requireLines(t, 0, "approval ", "")
		r.requireLines(t, 1, "[host:decided] ", `"decision":"deny"`)
		requireReview(t, r, m)
		w.requireFile(t, "made.txt", false)
	}},
	{"two prompts have their own results", func(m *backgroundModel) []testllm.Reply {
		all := reviews(m)
		if !m.notifies {
			all = append(all[:2:2], all[3:]...)
		}
		return append([]testllm.Reply{}, append(all[:len(all)-1:len(all)-1], m.reply("The second answer."), testllm.Reply{Repeat: true, Text: "title"})...)
	}, func(t *testing.T, w *world, m *backgroundModel) {
		r := w.run(t, program(`Coder.execute("please work")`, `"yes"`)+"fn main() { exchange(); exchange(); }\n", "")
		requireReview(t, r, m)
		r.requireLines(t, 1, "result The second answer.", "")
		r.requireStarts(t, 1)
	}},
	{"a command that does not end is stopped", func(m *backgroundModel) []testllm.Reply {
		return []testllm.Reply{m.call(m.serves), m.reply("It runs."), m.reply("It was stopped."), {Repeat: true, Text: "title"}}
	}, func(t *testing.T, w *world, m *backgroundModel) {
		r := w.run(t, decidingProgram(`"yes"`), "background_timeout = 1\n")
		r.requireLines(t, 1, "result It runs.", "")
		r.requireLines(t, 1, "progress wait waits for command ", "")
		w.requireNoProcesses(t)
	}},
	{"a subagent that does not end fails the exchange", func(m *backgroundModel) []testllm.Reply {
		return []testllm.Reply{m.call(m.helps), m.reply("I have started it."), m.reply("It was stopped."), {When: m.job, Hang: true}, {Repeat: true, Text: "title"}}
	}, func(t *testing.T, w *world, m *backgroundModel) {
		r := w.run(t, decidingProgram(`"yes"`), "background_timeout = 1\n")
		r.requireLines(t, 1, "failed host 'Coder' did not finish its background work within 1 second: stopped agent ", "")
		r.requireLines(t, 1, "code background", "")
		r.requireLines(t, 1, "last turn", "I have started it.")
	}},
	{"background work is forbidden", func(m *backgroundModel) []testllm.Reply {
		return []testllm.Reply{m.call(m.serves), m.reply("It runs."), m.reply("It was stopped."), {Repeat: true, Text: "title"}}
	}, func(t *testing.T, w *world, m *backgroundModel) {
		if m.agent == "claude" {
			t.Skip("Claude Code runs the command in the foreground")
		}
		r := w.run(t, decidingProgram(`"yes"`), "background = \"forbid\"\n")
		r.requireLines(t, 1, "failed host 'Coder' started background work, which was stopped: command ", "")
	}},
	{"the exchange is cancelled while it waits", func(m *backgroundModel) []testllm.Reply {
		return []testllm.Reply{m.call(m.helps), m.reply("I have started it."), m.reply("It was stopped."), {When: m.job, Hang: true}, m.reply("The second answer."), {Repeat: true, Text: "title"}}
	}, func(t *testing.T, w *world, m *backgroundModel) {
		r := w.run(t, `host Coder { connector: coder }
fn first() -> Result<String, Error> {
    let r = listen Coder.execute("please work") {
        "approval" => |a| "yes",
        "question" => |q| "tabs",
        "progress" => |p: HostProgress| { if p.stage == "wait" { throw ParseError { message: "enough" }; } },
    };
    Ok(r?.text ?? "")
}
fn main() {
    println("first", try { first().unwrap_or("failed") } catch ParseError(e) { e.message });
    println("tasks", Coder.tasks().len());
    match Coder.execute("and now?") { Ok(text) => println("result", text), Err(e) => println("failed", e.message) }
}
`, "")
		r.requireLines(t, 1, "first failed", "")
		r.requireLines(t, 1, "result ", "")
		r.requireStarts(t, 1)
		w.requireNoProcesses(t)
	}},
	{"detached work continues", func(m *backgroundModel) []testllm.Reply {
		return reviews(m)
	}, func(t *testing.T, w *world, m *backgroundModel) {
		r := w.run(t, program(`Coder.execute("please work")`, `"yes"`)+`fn main() {
    exchange();
    match Coder.settle(60.0) {
        Ok(all) => { for x in all { println("ended", x.kind, x.state); } },
        Err(e) => println("failed", e.message),
    }
}
`, "background = \"detach\"\n"+allowTouch)
		r.requireLines(t, 1, "result I have started it.", "")
		r.requireLines(t, 1, "ended agent completed", "")
		w.requireFile(t, "made.txt", true)
	}},
	{"the run ends while work is alive", func(m *backgroundModel) []testllm.Reply {
		return []testllm.Reply{m.call(m.serves), m.reply("It runs."), m.reply("x"), {Repeat: true, Text: "title"}}
	}, func(t *testing.T, w *world, m *backgroundModel) {
		r := w.run(t, decidingProgram(`"yes"`), "background = \"detach\"\n")
		r.requireLines(t, 1, "result It runs.", "")
		if !strings.Contains(r.err, "1 background task was stopped when the run ended: command ") {
			t.Errorf("no warning names the task:\n%s", r.err)
		}
		w.requireNoProcesses(t)
	}},
}

// TestBackground plays each scenario with each real agent that works in the background; only the
// model is scripted.
func TestBackground(t *testing.T) {
	if testing.Short() {
		t.Skip("agents take minutes")
	}
	bin, err := filepath.Abs("../../../bin/npm/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	concerto := os.Getenv("CONCERTO_UNDER_TEST")
	for i := range backgroundModels {
		m := &backgroundModels[i]
		t.Run(m.agent, func(t *testing.T) {
			a := agentNamed(m.agent)
			if !a.isInstalled(bin) {
				t.Skipf("%s %s is not installed: `make agents` does it", a.pkg, a.version)
			}
			if concerto == "" {
				if concerto, err = command(t.TempDir()); err != nil {
					t.Fatal(err)
				}
			}
			for j := range backgroundScenarios {
				s := &backgroundScenarios[j]
				t.Run(s.name, func(t *testing.T) {
					s.play(t, newWorld(t, a, concerto, bin, s.replies(m)), m)
				})
			}
		})
	}
}

func agentNamed(name string) *agent {
	for i := range agents {
		if agents[i].name == name {
			return &agents[i]
		}
	}
	panic("no agent " + name)
}
