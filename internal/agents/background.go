package agents

import (
	"bytes"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

// backgroundModel configures the scripted model of an agent that works in the background. An agent
// without one does not offer it.
type backgroundModel struct {
	main     string           // text that only requests of the main conversation contain, and none of a subagent
	job      string           // text that only requests of the subagent contain
	helps    modelserver.Call // call of the tool that starts a subagent in the background
	serves   modelserver.Call // call that starts a command that does not end
	flows    modelserver.Call // call of the tool that starts a workflow whose agent has the subagent's prompt; without arguments, there is none
	notifies bool             // the agent begins a turn when a subagent has ended
}

// background returns the scenarios of agents that work on when a turn has ended.
func background() []Scenario {
	const second = "The second answer."
	reviewed := func(p *play) string { // the result is that of the last turn
		if p.agent.background.notifies {
			return prints(1, "result The helper has made a file.", "")(p)
		}
		return prints(1, "result I have started it.", "")(p)
	}
	finished := []check{prints(1, "progress task agent ", "has started"), prints(1, "progress task agent ", "completed"), reviewed}
	commands := "[hosts.coder.permissions.commands]\n"
	settles := []func(*play) string{func(*play) string {
		return program(`Coder.execute("please work")`, `"yes"`) + `fn main() {
    exchange();
    for x in Coder.settle(60.0).unwrap_or([]) { println("task", x.kind, x.state); }
}
`
	}}
	return []Scenario{
		{Name: "background", What: "an exchange waits for a subagent in the background, and returns the last turn's text", Replies: inBackground(reviews), Programs: decides(`"no"`), Config: keys(commands + "allow = [\"touch *\"]\n"),
			Verdicts: yes(append(finished, prints(0, "approval ", ""), prints(1, "[host:decided] ", `"decision":"allow"`), file("made.txt", true))...)},
		{Name: "background_approval", What: "such a subagent requests an approval after the agent's turn, and names itself", Replies: inBackground(reviews), Programs: decides(`"yes"`),
			Verdicts: yes(append(finished, prints(1, "approval execute ", "touch made.txt"), prints(1, "who ", ""), prints(1, "progress wait ", "waits for agent "), file("made.txt", true))...)},
		{Name: "background_denied", What: "a rule denies what such a subagent requests", Replies: inBackground(reviews), Programs: decides(`"yes"`), Config: keys(commands + "deny = [\"touch *\"]\n"),
			Verdicts: yes(append(finished, prints(0, "approval ", ""), prints(1, "[host:decided] ", `"decision":"deny"`), file("made.txt", false))...)},
		{Name: "workflow", What: "an exchange waits for a workflow that writes a file", Programs: decides(`"yes"`),
			Replies: inBackground(func(a *Agent) []modelserver.Reply {
				if a.background.flows.Args == nil {
					return nil
				}
				return append([]modelserver.Reply{a.call(a.background.flows), a.replyText("I have started it."), a.replyText("The workflow is done.")}, helperReplies(a, subJob)...)
			}),
			Verdicts: yes(prints(1, "progress task workflow ", "has started"), prints(1, "progress task workflow ", "completed"), prints(1, "approval execute ", "touch made.txt"), file("made.txt", true))},
		{Name: "prompt_meanwhile", What: "after background work, the next prompt has its own result", Programs: []func(*play) string{func(*play) string {
			return program(`Coder.execute("please work")`, `"yes"`) + "fn main() { exchange(); exchange(); }\n"
		}},
			Replies: inBackground(func(a *Agent) []modelserver.Reply {
				all := []modelserver.Reply{a.call(a.background.helps), a.replyText("I have started it.")}
				if a.background.notifies {
					all = append(all, a.replyText("The helper has made a file."))
				}
				return append(append(all, a.replyText(second)), helperReplies(a, a.background.job)...)
			}),
			Verdicts: yes(reviewed, prints(1, "result "+second, ""), starts(1))},
		{Name: "background_command", What: "a command that does not end is stopped after `background_timeout`", Programs: decides(`"yes"`), Config: keys("background_timeout = 1\n"), Replies: inBackground(serves),
			Verdicts: yes(prints(1, "progress wait waits for command ", ""), prints(1, "result It runs.", ""))},
		{Name: "stop_task", What: "a subagent that does not end is stopped, and the exchange fails with the last turn's result", Programs: decides(`"yes"`), Config: keys("background_timeout = 1\n"), Replies: inBackground(hangs),
			Verdicts: yes(prints(1, "failed host 'Coder' did not finish its background work within 1 second: stopped agent ", ""), prints(1, "code background I have started it.", ""))},
		{Name: "cancel_background", What: "an exchange that waits is cancelled, and the process continues", Programs: []func(*play) string{func(*play) string { return cancelProgram }}, Replies: inBackground(hangs),
			Verdicts: yes(prints(1, "first failed", ""), prints(1, "result ", ""), starts(1))},
		{Name: "background_forbidden", What: "`background = \"forbid\"`: a command runs in the foreground, or is stopped", Programs: decides(`"yes"`), Config: keys("background = \"forbid\"\n"),
			Replies: inBackground(func(a *Agent) []modelserver.Reply {
				call := a.background.serves
				call.Args = bytes.Replace(call.Args, []byte("1000"), []byte("2"), 1)
				return []modelserver.Reply{a.call(call), a.replyText("It runs."), a.replyText("It was stopped.")}
			}),
			Verdicts: []verdict{{"yes", []check{prints(1, "failed host 'Coder' started background work, which was stopped: command ", "")}}, {"yes: in the foreground", []check{prints(0, "progress wait ", ""), prints(1, "result It runs.", "")}}}},
		{Name: "lost_task", What: "`background = \"detach\"`: a subagent works on after the exchange, and is awaited", Config: keys("background = \"detach\"\n" + commands + "allow = [\"touch *\"]\n"), Replies: inBackground(reviews),
			Programs: settles,
			Verdicts: yes(prints(1, "result I have started it.", ""), prints(1, "task agent completed", ""), file("made.txt", true))},
		{Name: "detached_approval", What: "`background = \"detach\"`: the application decides what a subagent requests after the exchange", Config: keys("background = \"detach\"\napproval_default = \"once\"\n"), Replies: inBackground(reviews),
			Programs: settles,
			Verdicts: yes(prints(1, "result I have started it.", ""), prints(1, "task agent completed", ""), file("made.txt", true))},
	}
}

// cancelProgram is a program whose first exchange fails while it waits.
const cancelProgram = `host Coder { connector: coder }
fn first() -> Result<String, Error> {
    let r = listen Coder.execute("please work") {
        "approval" => |a| "yes",
        "question" => |q| "tabs",
        "progress" => |p: HostProgress| { if p.stage == "wait" { throw ParseError { message: "enough" }; } },
    };
    Ok(r?.text ?? "")
}
fn main() {
    println("first", first().unwrap_or("failed"));
    match Coder.execute("and now?") { Ok(text) => println("result", text), Err(e) => println("failed", e.message) }
}
`

// inBackground returns the replies of an agent that works in the background.
func inBackground(replies func(a *Agent) []modelserver.Reply) func(a *Agent) []modelserver.Reply {
	return func(a *Agent) []modelserver.Reply {
		if a.background.helps.Name == "" {
			return nil
		}
		all := replies(a)
		if all == nil {
			return nil
		}
		return append(all, modelserver.Reply{Repeat: true, Text: "title"})
	}
}

func (a *Agent) replyText(text string) modelserver.Reply {
	return modelserver.Reply{When: a.background.main, Text: text, TokensIn: 10, TokensOut: 5}
}

func (a *Agent) call(c modelserver.Call) modelserver.Reply {
	return modelserver.Reply{When: a.background.main, ToolCalls: []modelserver.Call{c}, TokensIn: 10, TokensOut: 5}
}

// helperReplies returns the replies of a subagent that creates a file. Its requests contain job.
func helperReplies(a *Agent, job string) []modelserver.Reply {
	return []modelserver.Reply{{When: job, ToolCalls: []modelserver.Call{a.touch}, TokensIn: 100, TokensOut: 50}, {When: job, Text: "The helper is done.", TokensIn: 100, TokensOut: 50}}
}

// reviews returns the replies of a model whose subagent creates a file.
func reviews(a *Agent) []modelserver.Reply {
	return append([]modelserver.Reply{a.call(a.background.helps), a.replyText("I have started it."), a.replyText("The helper has made a file.")}, helperReplies(a, a.background.job)...)
}

// hangs returns the replies of a model whose subagent does not end.
func hangs(a *Agent) []modelserver.Reply {
	return []modelserver.Reply{a.call(a.background.helps), a.replyText("I have started it."), a.replyText("It was stopped."), {When: a.background.job, Hang: true}, a.replyText("The second answer.")}
}

// serves returns the replies of a model that starts a command that does not end.
func serves(a *Agent) []modelserver.Reply {
	return []modelserver.Reply{a.call(a.background.serves), a.replyText("It runs."), a.replyText("It was stopped.")}
}
