package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// Scenario is a situation in which an agent is tried. A program uses the agent, whose model sends
// the replies, the same in each run; the first verdict whose checks hold is the result.
type Scenario struct {
	Name     string
	What     string                                             // description of a yes, in the manual
	Replies  func(a *Agent) []modelserver.Reply                 // nil: the agent does not offer what the scenario needs
	Programs []func(p *play) string                             // main.conc of each run; "" for no further run
	Config   func(p *play) string                               // further keys of [hosts.coder]
	Asks     bool                                               // the agent is started with an MCP server that asks the user
	Measure  func(ctx context.Context, p *play) (string, error) // returns the result itself, without a program
	Verdicts []verdict
}

// verdict is a possible result of a scenario: yes, no or "not offered", with a detail after a
// colon.
type verdict struct {
	result string
	checks []check
}

// check returns what differs from the expectation, or "".
type check func(p *play) string

// Scenarios returns the scenarios of host conform.
func Scenarios() []Scenario {
	return slices.Concat(session(), approvals(), questions(), control(), background(), results(), protocol())
}

func session() []Scenario {
	return []Scenario{
		{Name: "start", What: "the agent starts and reports its version", Measure: measureStart},
		{Name: "prompt", What: "the agent works on a prompt", Replies: texts("One."), Programs: decides(`"no"`),
			Verdicts: yes(prints(1, "result ", "One."), starts(1))},
		{Name: "conversation", What: "exchanges share a conversation", Replies: texts("One.", "Two."), Programs: exchanges(2),
			Verdicts: yes(prints(1, "result ", "One."), prints(1, "result ", "Two."), starts(1), sent("One."))},
		{Name: "fresh", What: "each exchange has a conversation of its own", Replies: texts("One.", "Two."), Programs: exchanges(2), Config: keys("session = \"fresh\"\n"),
			Verdicts: yes(prints(1, "result ", "Two."), notSent("One."))},
		{Name: "resume", What: "another run resumes the conversation", Replies: texts("One."),
			Programs: append(decides(`"no"`), func(p *play) string {
				if p.valueOf("session ") == "" {
					return ""
				}
				return program(`Coder.resume("`+p.valueOf("session ")+`").execute("and now?")`, `"no"`) + "fn main() { exchange(); }\n"
			}),
			Verdicts: append(yes(prints(1, "result ", "One."), sent("One."), usesOwn),
				verdict{"no: it finds no earlier session", []check{prints(1, "failed ", "No previous sessions found")}})},
		{Name: "usage", What: "the result has the tokens that the model server counted", Replies: texts("One."), Programs: decides(`"no"`),
			Verdicts: append(yes(prints(1, "usage 10 5", "")), verdict{"not offered", []check{prints(1, "usage -1 -1", "")}})},
		{Name: "models", What: "the agent uses the model that the key `model` names", Config: func(p *play) string { p.agent.model = p.agent.other; return "" },
			Replies: func(a *Agent) []modelserver.Reply {
				if a.other == "" {
					return nil
				}
				return texts("One.")(a)
			}, Programs: decides(`"no"`),
			Verdicts: yes(prints(1, "result ", "One."), usesModel)},
	}
}

// usesOwn requires that the exchange does not count what an earlier run has used.
func usesOwn(p *play) string {
	if len(p.lines("usage -1 -1", "")) > 0 { // the agent reports nothing
		return ""
	}
	return prints(1, "usage 10 5", "")(p)
}

func approvals() []Scenario {
	denied := []check{prints(1, "approval execute ", "touch made.txt"), file("made.txt", false)} // a command that was not allowed
	return []Scenario{
		{Name: "once", What: "a command is allowed", Replies: touches(1), Programs: decides(`"yes"`),
			Verdicts: yes(prints(1, "approval execute ", "touch made.txt"), prints(1, "result ", "All done."), file("made.txt", true))},
		{Name: "longest", What: "a command is allowed for the longest time that the agent offers", Replies: touches(2),
			// The second run tries the shorter scope if the command needed two approvals.
			Programs: append(decides(`"always"`), func(p *play) string {
				if len(p.lines("approval ", "")) == 1 {
					return ""
				}
				return decides(`{ println("tries session"); "session" }`)[0](p)
			}),
			// An answer of always is lowered to the longest scope that the agent offers.
			Verdicts: []verdict{longest("always", 1, 0), longest("session", 1, 0), longest("session", 1, 1), longest("once", 2, 2)}},
		{Name: "deny", What: "a command is denied", Replies: touches(1), Programs: decides(`"not today"`),
			Verdicts: []verdict{
				{"yes", append(denied, prints(1, "result ", "All done."))},
				{"yes: it ends the turn", append(denied, prints(0, "result ", "All done."), prints(1, "result ", ""))}}},
		{Name: "deny_reason", What: "the model receives the reason of a denial", Replies: touches(1), Programs: decides(`"not today"`),
			Verdicts: []verdict{{"yes", append(denied, sent("not today"))}, {"no", append(denied, notSent("not today"))}}},
		{Name: "deny_stop", What: "a denial ends the turn", Replies: touches(1), Programs: decides(`{ decision: "deny", stop: true }`),
			Verdicts: yes(append(denied, prints(0, "result ", "All done."), prints(1, "ended", ""))...)},
		{Name: "edit", What: "a command is allowed with a changed input", Replies: touches(1),
			Programs: decides(`{ decision: "allow", input: { command: "touch other.txt", description: "another" } }`),
			Verdicts: append(yes(prints(1, "approval execute ", "touch made.txt"), file("made.txt", false), file("other.txt", true)),
				verdict{"no: denied", append(denied, file("other.txt", false))})},
		{Name: "rule_allow", What: "a rule of `[permissions]` allows a command", Replies: touches(1), Programs: decides(`"no"`),
			Config:   keys("[hosts.coder.permissions.commands]\nallow = [\"touch *\"]\n"),
			Verdicts: yes(prints(1, "[host:decided] ", `"decision":"allow"`), prints(0, "approval ", ""), prints(1, "result ", "All done."), file("made.txt", true))},
		{Name: "rule_deny", What: "a rule denies a command", Replies: touches(1), Programs: decides(`"yes"`),
			Config:   keys("[hosts.coder.permissions.commands]\ndeny = [\"touch *\"]\n"),
			Verdicts: yes(prints(1, "[host:decided] ", `"decision":"deny"`), prints(0, "approval ", ""), file("made.txt", false))},
		{Name: "write_file", What: "a rule allows a new file", Replies: calls(func(a *Agent) modelserver.Call { return a.writes }), Programs: decides(`"no"`),
			Config: keys("[hosts.coder.permissions]\nread = [\".\"]\nwrite = [\".\"]\n"),
			Verdicts: append(yes(prints(0, "approval ", ""), prints(1, "result ", "All done."), file("new.txt", true)),
				verdict{"no: it fails if the file does not exist", []check{prints(0, "approval ", ""), prints(1, "result ", "All done."), file("new.txt", false)}})},
		{Name: "mcp_tool", What: "a call of a tool of the agent's own MCP server is an approval, and an answer holds for the session", Asks: true, Programs: decides(`"session"`),
			Replies: func(a *Agent) []modelserver.Reply {
				all := asks("form")(a)
				if all == nil {
					return nil
				}
				return append([]modelserver.Reply{all[0]}, all...)
			},
			Verdicts: append(yes(prints(1, "approval other ", "form"), prints(1, "result ", "All done.")),
				verdict{"yes: each call needs one", []check{prints(2, "approval other ", "form"), prints(1, "result ", "All done.")}},
				verdict{"no: it requests none", []check{prints(0, "approval other ", ""), prints(1, "result ", "All done.")}})},
		{Name: "network", What: "the agent requests an approval with the address before it reads a page", Replies: calls(func(a *Agent) modelserver.Call { return a.fetches }), Programs: decides(`"no"`),
			Verdicts: append(yes(prints(1, "approval fetch ", "/page"), visited(false)),
				verdict{"no: it names no address", []check{prints(1, "approval fetch ", ""), visited(false)}})},
	}
}

func questions() []Scenario {
	return []Scenario{
		{Name: "question", What: "the agent asks a question", Programs: decides(`"no"`),
			Replies: func(a *Agent) []modelserver.Reply {
				if a.asks.Name == "" {
					return nil
				}
				return questionReplies(a)
			},
			Verdicts: append(yes(prints(1, "question user Tabs or spaces?", "Spaces"), prints(1, "result ", "All done."), sent("Tabs")),
				verdict{"not offered", []check{prints(1, "result ", "All done."), func(p *play) string { return notSent(`"name":"` + p.agent.asks.Name + `"`)(p) }}})},
		{Name: "form", What: "an MCP server of the agent asks with a form", Replies: asks("form"), Asks: true, Programs: decides(`"yes"`),
			Verdicts: append(yes(prints(1, "question conform Which colour?", ""), answered("accept"), prints(1, "result ", "All done.")),
				verdict{"not offered", []check{answered("unsupported")}})},
		{Name: "url", What: "an MCP server of the agent asks to visit a page", Replies: asks("url"), Asks: true, Programs: decides(`"yes"`),
			Verdicts: append(yes(prints(1, "question conform Please log in", ""), answered("accept"), prints(1, "result ", "All done.")),
				verdict{"not offered", []check{answered("unsupported")}})},
		{Name: "tool", What: "the agent calls a tool of the program without an approval", Replies: callReplies,
			Programs: []func(*play) string{toolProgram},
			Verdicts: yes(prints(1, "adding 1 2", ""), prints(0, "approval ", ""), prints(1, "result ", "It is three."))},
	}
}

func control() []Scenario {
	return []Scenario{
		{Name: "subagent", What: "a subagent requests an approval, and the result is the agent's own", Programs: decides(`"yes"`),
			Replies: func(a *Agent) []modelserver.Reply {
				if a.helps.Name == "" {
					return nil
				}
				return append([]modelserver.Reply{{When: a.main, ToolCalls: []modelserver.Call{a.helps}}, {When: subJob, ToolCalls: []modelserver.Call{a.touch}}, {When: subJob, Text: "The helper is done."}},
					textReplies(a, "All done.")...)
			},
			Verdicts: yes(prints(1, "approval execute ", "touch made.txt"), prints(1, "result All done.", ""), file("made.txt", true))},

		{Name: "steer", What: "a message reaches the agent while it works", Programs: []func(*play) string{steerProgram},
			Replies:  func(a *Agent) []modelserver.Reply { return unlessUnknown(a, a.touch, "All done.", "A test too.") },
			Verdicts: []verdict{{"yes", []check{prints(1, "steered steered", ""), sent(steering)}}, {"yes: as the next prompt", []check{prints(1, "steered queued", ""), sent(steering)}}}},
		{Name: "interrupt", What: "a turn is interrupted, and the exchange continues with another prompt",
			Replies: func(a *Agent) []modelserver.Reply { return unlessUnknown(a, a.touch, "All done.") },
			Programs: []func(*play) string{func(*play) string {
				return program(`Coder.execute("please work")`, `{ println("interrupted", Coder.interrupt("`+steering+`").is_ok()); "no" }`) + "fn main() { exchange(); }\n"
			}},
			Verdicts: yes(prints(1, "interrupted true", ""), file("made.txt", false), sent(steering), prints(1, "result ", "All done."), starts(1))},
		{Name: "cancel", What: "an exchange is cancelled, and the process continues",
			Replies: func(a *Agent) []modelserver.Reply {
				return append([]modelserver.Reply{{When: a.main, Hang: true}}, textReplies(a, "All done.")...)
			},
			Programs: []func(*play) string{func(p *play) string {
				return program(`Coder.execute("please work")`, `"no"`) + `
fn asked() -> String { let _ = std::http::get("` + p.at.url + `/arrived"); "the model was asked" }
fn main() {
    println("first", race ({ exchange(); "over" }, asked()));
    exchange();
}
`
			}},
			Verdicts: yes(prints(1, "first ", "the model was asked"), prints(1, "result ", "All done."), starts(1))},
		{Name: "sandbox", What: "the agent works in a sandbox that allows its directory and the model", Replies: touches(1), Programs: decides(`"yes"`), Config: sandboxKeys,
			Verdicts: append(yes(prints(1, "approval execute ", "touch made.txt"), prints(1, "result ", "All done."), file("made.txt", true)),
				verdict{"no: " + ownServer, []check{prints(0, "result ", ""), prints(1, "failed ", "")}})},
	}
}

func results() []Scenario {
	return []Scenario{
		{Name: "schema", What: "a result fits a schema, in the same conversation as results without one", Replies: func(a *Agent) []modelserver.Reply {
			return append([]modelserver.Reply{a.textReply("One."), a.typedReply(`{"passed":41}`)}, textReplies(a, "Two.")...)
		}, Programs: typed("exchange(); report(); exchange();"),
			Verdicts: yes(prints(0, "[host:repair] ", ""), prints(1, "value 41", ""), prints(1, "result ", "Two."), sent("One."), sent("41"))},
		{Name: "schema_misfit", What: "a result that does not fit is requested again in the same exchange", Replies: func(a *Agent) []modelserver.Reply {
			all := []modelserver.Reply{a.textReply("forty")}
			if a.answers.Name != "" { // the agent itself asks once
				all = append(all, a.textReply("forty"))
			}
			return append(append(all, a.typedReply(`{"passed":41}`)), textReplies(a, "Done.")...)
		}, Programs: typed("report();"),
			Verdicts: yes(prints(1, "[host:repair] ", `"turn":1`), prints(1, "value 41", ""), sent("The answer does not fit the schema"))},
		{Name: "gate", What: "a gate that has not passed is the prompt of a further turn in the same exchange", Replies: func(a *Agent) []modelserver.Reply {
			return append([]modelserver.Reply{a.textReply("One.")}, touches(1)(a)...)
		}, Config: keys(`gate = [["test", "-e", "made.txt"]]` + "\n"), Programs: []func(*play) string{func(*play) string {
			return program(`Coder.with_gate().execute("please work")`, `"yes"`) + "fn main() { exchange(); }\n"
		}},
			Verdicts: yes(prints(1, "[host:gate] ", `"turn":1,"passed":false`), prints(1, "[host:gate] ", `"turn":2,"passed":true`), file("made.txt", true),
				prints(1, "result ", "All done."), sent("One."), sent("test -e made.txt exited with status 1"))},
	}
}

// typed returns a program whose function report requests a result that fits a schema.
func typed(main string) []func(*play) string {
	text := "schema Report { passed: Int }\n" + program(`Coder.execute("please work")`, `"no"`) + `
fn report() {
    match Coder.execute_with_schema<Report>("how many tests pass?") {
        Ok(r) => println("value", r.passed),
        Err(e) => println("failed", e.message, e.code ?? ""),
    }
}
fn main() { ` + main + " }\n"
	return []func(*play) string{func(*play) string { return text }}
}

// typedReply returns the reply of a model that answers with a value: by the call of the agent's
// tool for that, or as text.
func (a *Agent) typedReply(value string) modelserver.Reply {
	r := a.textReply(value)
	if a.answers.Name != "" {
		call := a.answers
		call.Args = json.RawMessage(value)
		r.Text, r.ToolCalls = "", []modelserver.Call{call}
	}
	return r
}

// textReply returns the reply of a model that sends a text once.
func (a *Agent) textReply(text string) modelserver.Reply {
	return modelserver.Reply{When: a.main, Text: text, TokensIn: 10, TokensOut: 5}
}

func protocol() []Scenario {
	return []Scenario{
		{Name: "confirmed", What: "the agent confirms that it has received a decision", Replies: touches(1), Programs: decides(`"yes"`),
			Verdicts: []verdict{{"yes", []check{file("made.txt", true), confirms(1)}}, {"not offered", []check{file("made.txt", true), confirms(0)}}}},
		{Name: "coverage", What: "Concerto knows each message that the agent may send", Measure: measureCoverage},
	}
}

// ownServer is the reason why OpenCode does not work in a sandbox.
const ownServer = "it reaches its own server on the loopback interface by the proxy"

// steering is the message that steers an agent.
const steering = "add a test as well"

// program returns a program that begins one exchange with a statement, and prints the result and
// each message. decision is the answer to approvals.
func program(begin, decision string) string {
	return `host Coder { connector: coder }
fn exchange() {
    match listen ` + begin + ` {
        "approval" => |a: HostApproval| { println("approval", a.kind ?? "", a.description); println("offers", a.options ?? []); if a.agent.is_some() { println("who", a.agent?.id, a.agent?.name ?? ""); } ` + decision + ` },
        "question" => |q: HostQuestion| { println("question", q.server ?? "user", q.question, q.options ?? []); if q.url.is_some() { "done" } else if (q.options ?? []).contains("accept") { "accept" } else { "tabs" } },
        "progress" => |p: HostProgress| { println("progress", p.stage ?? "", p.message); },
        "log" => |l: HostLog| { println("log", l.level ?? "", l.message); },
    } {
        Ok(r) => {
            println("session", r.session);
            match r.usage { Some(u) => println("usage", u.tokens_in, u.tokens_out), None => println("usage -1 -1") };
            println("result", r.text);
            println("ended");
        },
        Err(HostError { message, code, result, .. }) => {
            println("failed", message);
            if result.is_some() { println("code", code ?? "", result.text); }
            println("ended");
        },
        Err(e) => { println("failed", e.message); println("ended"); },
    }
}
`
}

// steerProgram returns a program that steers the agent while an approval waits.
func steerProgram(*play) string {
	return program(`Coder.execute("please work")`, `{ println("steered", Coder.steer("`+steering+`").unwrap_or("failed")); "yes" }`) + "fn main() { exchange(); }\n"
}

// toolProgram returns a program with a tool that the agent may call.
func toolProgram(*play) string {
	return `tool Calc {
    description: "Calculates.",
    @describe("Adds two numbers.")
    fn add(self, a: Int, b: Int) -> Int { println("adding", a, b); a + b }
}
` + strings.Replace(program(`Coder.execute("please work")`, `"no"`), "coder }", "coder, tools: [Calc] }", 1) + "fn main() { exchange(); }\n"
}

// decides returns a program whose exchange decides each approval with decision.
func decides(decision string) []func(*play) string {
	text := program(`Coder.execute("please work")`, decision) + "fn main() { exchange(); }\n"
	return []func(*play) string{func(*play) string { return text }}
}

// exchanges returns a program with n exchanges.
func exchanges(n int) []func(*play) string {
	text := program(`Coder.execute("please work")`, `"no"`) + "fn main() {" + strings.Repeat(" exchange();", n) + " }\n"
	return []func(*play) string{func(*play) string { return text }}
}

func keys(text string) func(*play) string { return func(*play) string { return text } }

// sandboxKeys returns the keys of a sandbox in which the agent reaches only its directory, its own
// files and the model.
func sandboxKeys(p *play) string {
	config, write := "", []string{"."}
	switch p.agent.Transport {
	case "codex":
		config = "codex_sandbox = \"danger-full-access\"\n"
	case adapter.TransportACP:
		write = append(write, p.at.home)
	}
	return fmt.Sprintf("%s[hosts.coder.sandbox]\nnet = [%q]\nwrite = %s\n", config, strings.TrimPrefix(p.at.url, "http://"), encode(write))
}

// textReplies returns replies with the texts in order. A default reply answers requests outside of
// the conversation, such as the request for a title.
func textReplies(a *Agent, texts ...string) []modelserver.Reply {
	var all []modelserver.Reply
	for i, text := range texts { // an agent may send a request that it abandons, and the last one again
		all = append(all, modelserver.Reply{When: a.main, Text: text, TokensIn: 10, TokensOut: 5, Repeat: i == len(texts)-1})
	}
	return append(all, modelserver.Reply{Repeat: true, Text: "title"})
}

func texts(all ...string) func(*Agent) []modelserver.Reply {
	return func(a *Agent) []modelserver.Reply { return textReplies(a, all...) }
}

// unlessUnknown returns a model that makes a call and then sends the texts, or nil if the agent
// does not offer the call's tool.
func unlessUnknown(a *Agent, call modelserver.Call, texts ...string) []modelserver.Reply {
	if call.Name == "" {
		return nil
	}
	return append([]modelserver.Reply{{When: a.main, Text: "Let me look.", ToolCalls: []modelserver.Call{call}, TokensIn: 10, TokensOut: 5}}, textReplies(a, texts...)...)
}

// touches returns a model that creates a file the given number of times and then finishes.
func touches(times int) func(*Agent) []modelserver.Reply {
	return func(a *Agent) []modelserver.Reply {
		all := unlessUnknown(a, a.touch, "All done.")
		if all == nil {
			return nil
		}
		return append(slices.Repeat(all[:1], times), all[1:]...)
	}
}

// calls returns a model that makes a call and then finishes.
func calls(call func(*Agent) modelserver.Call) func(*Agent) []modelserver.Reply {
	return func(a *Agent) []modelserver.Reply { return unlessUnknown(a, call(a), "All done.") }
}

// asks returns a model that calls a tool of the MCP server conform.
func asks(tool string) func(*Agent) []modelserver.Reply {
	return func(a *Agent) []modelserver.Reply {
		if a.forms.Args == nil {
			return nil
		}
		call := a.forms
		call.Name += tool
		return append([]modelserver.Reply{{When: a.main, ToolCalls: []modelserver.Call{call}, TokensIn: 10, TokensOut: 5}}, textReplies(a, "All done.")...)
	}
}

// questionReplies returns the replies of a model that asks the user if the agent supports
// questions, and finishes.
func questionReplies(a *Agent) []modelserver.Reply {
	if a.asks.Args == nil {
		return textReplies(a, "All done.")
	}
	return append([]modelserver.Reply{{When: a.main, ToolCalls: []modelserver.Call{a.asks}, TokensIn: 10, TokensOut: 5}}, textReplies(a, "All done.")...)
}

// callReplies returns the replies of a model that calls the program's tool as soon as the request
// offers the tool.
func callReplies(a *Agent) []modelserver.Reply {
	if a.adds == "" {
		return nil
	}
	return append([]modelserver.Reply{{When: `"` + a.adds + `"`, ToolCalls: []modelserver.Call{toolCall("call_1", a.adds, `{"a":1,"b":2}`)}, TokensIn: 10, TokensOut: 5}},
		textReplies(a, "It is three.")...)
}

func yes(checks ...check) []verdict { return []verdict{{"yes", checks}} }

// longest is the verdict of an agent whose approvals offer a scope, so that its command runs twice
// after n approvals, of which the second run has made shorter ones.
func longest(scope string, n, shorter int) verdict {
	return verdict{"yes: " + scope, []check{prints(n, "approval execute ", "touch made.txt"), prints(n, "offers ", `"`+scope+`"`), prints(shorter, "tries session", ""), prints(1, "result ", "All done."), file("made.txt", true)}}
}

// prints requires that n lines of the last run begin with begin and contain held.
func prints(n int, begin, held string) check {
	return func(p *play) string {
		if found := len(p.lines(begin, held)); found != n {
			return fmt.Sprintf("the program printed %d lines %q, not %d", found, strings.TrimSpace(begin+held), n)
		}
		return ""
	}
}

// file requires that a file exists, or that it does not.
func file(name string, want bool) check {
	return func(p *play) string {
		switch exists := p.exists(name); {
		case exists == want:
			return ""
		case exists:
			return name + " exists"
		}
		return name + " does not exist"
	}
}

// starts requires that the last run started n processes of the agent.
func starts(n int) check {
	return func(p *play) string {
		if found := strings.Count(p.wire, `"line":"start"`); found != n {
			return fmt.Sprintf("the agent was started %d times, not %d", found, n)
		}
		return ""
	}
}

// sent requires that the last request to the model in the main conversation contains a text.
func sent(text string) check {
	return func(p *play) string {
		if !strings.Contains(p.lastRequest(), text) {
			return fmt.Sprintf("the last request to the model does not contain %q", text)
		}
		return ""
	}
}

func notSent(text string) check {
	return func(p *play) string {
		if strings.Contains(p.lastRequest(), text) {
			return fmt.Sprintf("the last request to the model contains %q", text)
		}
		return ""
	}
}

// usesModel requires that the request names the other model of the agent.
func usesModel(p *play) string {
	want := p.agent.sent
	if want == "" {
		want = p.agent.other
	}
	for _, q := range p.model.Requests() {
		if strings.Contains(q.Text, p.agent.main) && (q.Body["model"] == want || strings.Contains(q.Path, "/"+want+":")) {
			return ""
		}
	}
	return "no request names the model " + want
}

// visited requires that the agent read the page of the model server, or that it did not.
func visited(want bool) check {
	return func(p *play) string {
		if got := p.pages.Load() > 0; got != want {
			return fmt.Sprintf("the page was read: %v", got)
		}
		return ""
	}
}

// answered requires the answer that the MCP server conform received.
func answered(want string) check {
	return func(p *play) string {
		if got := p.answer(); got != want {
			return fmt.Sprintf("the MCP server received the answer %q, not %q", got, want)
		}
		return ""
	}
}

// confirms requires n confirmed decisions, and none that the agent did not receive.
func confirms(n int) check {
	return func(p *play) string {
		found := 0
		for line := range strings.Lines(p.wire) {
			isAgent := strings.Contains(line, `"dir":"<"`)
			if isAgent && (strings.Contains(line, `control_response`) && !strings.Contains(line, `\"request_id\":\"i1\"`) || strings.Contains(line, `serverRequest/resolved`)) {
				found++
			}
		}
		if found != n || strings.Contains(p.out, "[host:undelivered]") {
			return fmt.Sprintf("the agent confirmed %d decisions, not %d", found, n)
		}
		return ""
	}
}
