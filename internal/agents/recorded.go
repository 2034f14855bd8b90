package agents

import (
	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// Recorded returns the scenarios that are recorded for the tests of the adapters. In one the agent
// asks the user a question, in another it calls the program's tool. An agent that receives messages
// while it works is steered while it waits for an approval, and while the model sends its last
// reply.
func Recorded(a *Agent) []Scenario {
	all := []Scenario{
		{Name: a.Name, Programs: decides(`"yes"`), Replies: func(a *Agent) []modelserver.Reply {
			first := unlessUnknown(a, a.touch)[0]
			if a.thinks {
				first.Thought = "A file is wanted."
			}
			return append([]modelserver.Reply{first}, questionReplies(a)...)
		}},
		{Name: a.Name + "-tool", Programs: []func(*play) string{toolProgram}, Replies: callReplies},
	}
	if a.Transport == adapter.TransportACP {
		return all
	}
	late := `host Coder { connector: coder }
fn main() {
    let mut steered = false;
    let done = listen Coder.execute("please work") {
        "partial" => |_p: HostPartial| { if !steered { steered = true; let _ = Coder.steer("` + steering + `"); } },
        "question" => |_q: HostQuestion| "tabs",
        "approval" => |_a: HostApproval| "no",
        "progress" => |_p: HostProgress| {},
        "log" => |_l: HostLog| {},
    };
    println("result", done?.text);
}
`
	return append(all,
		Scenario{Name: a.Name + "-steer", Programs: []func(*play) string{steerProgram}, Replies: func(a *Agent) []modelserver.Reply { return unlessUnknown(a, a.touch, "All done.", "A test too.") }},
		Scenario{Name: a.Name + "-steer-late", Programs: []func(*play) string{func(*play) string { return late }}, Replies: texts("All done.", "A test too.")})
}
