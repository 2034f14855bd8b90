package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/google/go-cmp/cmp"
)

// person is a HostPrompter that answers the requests of hosts. If fails is set, it returns an error
// instead.
type person struct {
	mu    sync.Mutex
	asked []string
	fails bool
}

func (p *person) Ask(context.Context, string) (string, error) { return "", fmt.Errorf("not asked so") }

func (p *person) AskHost(ctx context.Context, q effect.Asking, message json.RawMessage) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, fmt.Sprintf("%s %s %d %s", q.Host, q.Type, q.Within, message))
	if p.fails {
		return nil, fmt.Errorf("no handler is available")
	}
	if q.Type == "approval" {
		return json.RawMessage(`"session"`), nil
	}
	return json.RawMessage(`"mine"`), nil
}

const unhandled = `
host W { connector: w, output_format: "json", question_timeout: 60 }
host D { connector: w, output_format: "json", question_default: "by default" }
fn main() {
    let r = listen W.execute("go") { "progress" => |p| {} };
    println(to_string(r?.text));
    println(W.execute("go")?);
    let d = listen D.execute("go") { "approval" => |p| "no" };
    println(to_string(d?.text));
}`

// asks is the manifest of a host that asks a question and an approval, and reports both answers.
const asks = `
[hosts.w]
command = "sh"
args = ["-c", '''
while read -r prompt; do
  echo '{"type":"question","id":1,"question":"Which?"}'; read -r one
  echo '{"type":"approval","id":2,"description":"rm"}'; read -r two
  echo "{\"type\":\"result\",\"answers\":[$one,$two],\"text\":\"done\"}"
done''']
message_types = ["question", "approval", "progress"]
`

// TestUnhandledIsAsked checks that a host's request without a handler in the program goes to the
// prompter, and that the application receives the outcome as an activity event.
func TestUnhandledIsAsked(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": unhandled, "Concerto.toml": asks})
	for _, fails := range []bool{false, true} {
		who := &person{fails: fails}
		var received, emitted []string
		var out strings.Builder
		err := p.Run(t.Context(), Options{
			Environ: []string{"PATH=/bin:/usr/bin"}, Answers: Answers{Prompter: who}, Output: Output{To: &out},
			Records: Records{OnActivity: func(a activity.Event) {
				if a.Kind == activity.Answered {
					received = append(received, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", a.Host, a.Type, a.By, a.Scope+a.Text)))
				}
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "[listen:unhandled]") {
				emitted = append(emitted, line)
			}
		}
		// The prompter is not called if the host's section has a default. Under execute, it is
		// called before other answers are tried.
		asked := []string{`W question 60000 {"id":1,"question":"Which?"}`, `W approval 60000 {"id":2,"description":"rm"}`,
			`W question 60000 {"id":1,"question":"Which?"}`, `W approval 60000 {"id":2,"description":"rm"}`}
		if d := cmp.Diff(asked, who.asked); d != "" {
			t.Error(d)
		}
		want := []string{"W question terminal mine", "W approval terminal session", "W question terminal mine", "W approval terminal session", "D question default by default", "D approval handler"}
		unhandled := 1
		if fails {
			want = []string{"W question nobody nothing handles question messages, and no person can be asked", "W approval nobody nothing handles approval messages, and no person can be asked", "W question default", "W approval default once", "D question default by default", "D approval handler"}
			unhandled = 3
		}
		if d := cmp.Diff(want, received); d != "" || len(emitted) != unhandled {
			t.Errorf("received activity differs if the prompter fails = %v (-want +got):\n%s\noutput:\n%s", fails, d, out.String())
		}
	}
}

// TestActivity checks that every kind of activity is reported, and that everything that begins also
// ends.
func TestActivity(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": `
host W { connector: w, output_format: "json" }
pipeline P { stage one(n: Int) -> String { W.execute("go")? } }
fn main() {
    let r = listen W.execute("go") { "question" => |q| "a", "approval" => |a| "yes" };
    println(to_string(r?.text));
    println(P.run(1)?);
}`, "Concerto.toml": strings.Replace(asks, "read -r prompt; do", `read -r prompt; do echo '{"type":"progress","percent":5}'`, 1)})
	var received []activity.Kind
	open := map[int64]string{}
	err := p.Run(t.Context(), Options{
		Environ: []string{"PATH=/bin:/usr/bin"}, Answers: Answers{Fixed: []emit.Fixed{{Channel: "host:question", Value: "x"}}},
		Records: Records{OnActivity: func(a activity.Event) {
			received = append(received, a.Kind)
			switch a.Kind {
			case activity.Began, activity.ListenBegan, activity.StageBegan:
				open[a.Number] = a.Name
			case activity.Ended, activity.ListenEnded, activity.StageEnded:
				if open[a.Number] != a.Name {
					t.Errorf("activity %d ends with the name %s, but began with %q", a.Number, a.Name, open[a.Number])
				}
				delete(open, a.Number)
			}
		}},
	})
	if err != nil || len(open) > 0 {
		t.Fatal(err, open)
	}
	received = slices.Compact(received)
	exchange := []activity.Kind{activity.Began, activity.Moved, activity.Asked, activity.Answered, activity.Asked, activity.Answered, activity.Ended}
	want := append([]activity.Kind{activity.ListenBegan}, exchange...)
	want = append(append(want, activity.ListenEnded, activity.StageBegan), exchange...)
	if d := cmp.Diff(append(want, activity.StageEnded), received); d != "" {
		t.Error(d)
	}
}
