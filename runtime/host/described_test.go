package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/internal/term/progress"
	"github.com/concerto-lang/concerto/internal/term/prompt"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/internal/testkit/testcommand"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/vm"
)

// quietTerminal is a terminal that stores the text shown and returns no input.
type quietTerminal struct {
	shown string
	body  []screen.Row
}

func (q *quietTerminal) Join(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
func (q *quietTerminal) Turn(context.Context) (func(), error)               { return func() {}, nil }
func (q *quietTerminal) PrintAbove(text string)                             { q.shown = text }
func (q *quietTerminal) Ask(_ context.Context, p screen.Prompt) (string, error) {
	q.body = p.Body
	return "a", nil
}
func (q *quietTerminal) View(context.Context, []screen.Row) error { return nil }

// TestDescribed sends approvals of hostile commands through every place that shows a description.
// Each place must show the whole description, or mark the omitted part, and must not hide
// characters.
func TestDescribed(t *testing.T) {
	commands := testcommand.Hostile()
	if len(commands) < 200 {
		t.Fatal(len(commands))
	}
	file := filepath.Join(t.TempDir(), "ledger.ndjson")
	l, err := ledger.Open(file, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	record, err := ledger.Begin(l, ledger.RunOptions{ID: "r_1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, transport := range []struct{ name, of, line string }{
		{"claude-code", "Bash", `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":%s}}}`},
		{"codex", "command", `{"method":"item/commandExecution/requestApproval","id":8,"params":{"command":%s}}`},
		{"acp", "execute", `{"method":"session/request_permission","id":8,"params":{"toolCall":{"toolCallId":"1","kind":"execute","title":%s}}}`},
		{"acp", "execute", `{"method":"session/request_permission","id":8,"params":{"toolCall":{"toolCallId":"1","kind":"execute","title":"Run a command","rawInput":{"command":%s}}}}`},
		{"acp", "terminal", `{"method":"terminal/create","id":8,"params":{"sessionId":"S","command":%s}}`},
	} {
		for n, command := range commands {
			text, err := json.Marshal(command)
			if err != nil {
				t.Fatal(err)
			}
			c := Config{Name: "Coder", Transport: transport.name, Dir: "/work", Access: Access{Permissions: &hostpolicy.Rules{}}}
			v, err := c.adapterConfig(acquireSpec{})
			if err != nil {
				t.Fatal(err)
			}
			a := adapter.Protocols[transport.name].New(v)
			var message json.RawMessage
			for _, o := range a.FromAgent([]byte(fmt.Sprintf(transport.line, text))).Messages {
				message = o
			}
			var asked struct {
				Description string
				Args        struct{ Command string }
			}
			if err := json.Unmarshal(message, &asked); err != nil {
				t.Fatalf("%s: could not decode approval: %v: %s", transport.name, err, message)
			}
			if asked.Args.Command != command {
				t.Errorf("%s: args.command = %.80q, want %.80q", transport.name, asked.Args.Command, command)
			}
			described, ok := strings.CutPrefix(asked.Description, transport.of+": ")
			if !ok {
				t.Fatalf("%s: description = %q, want the prefix %q", transport.name, asked.Description, transport.of+": ")
			}
			testcommand.RequireWhole(t, transport.name, described, command, 500)
			q := &quietTerminal{}
			if _, err := (&prompt.Person{Terminal: q, Now: time.Now}).AskHost(t.Context(), effect.Asking{Host: "Coder", Type: "approval"}, message); err != nil {
				t.Fatal(err)
			}
			var prompted []string
			for _, r := range q.body {
				if r.Text != "risk: high" {
					prompted = append(prompted, r.Text)
				}
			}
			var lines []string
			for line := range strings.SplitSeq(strings.Trim(command, " \t\r\n"), "\n") {
				rest := strings.TrimLeft(line, "\t")
				lines = append(lines, strings.Repeat("    ", len(line)-len(rest))+rest)
			}
			testcommand.RequireWhole(t, "the prompt", strings.Join(prompted, "⏎"), strings.Join(lines, "\n"), 1<<20)
			e := activity.Event{Kind: activity.Asked, Number: 1, Host: "Coder", Name: "Coder", Lane: 1, Text: asked.Description, Answer: activity.Answer{Type: "approval"}}
			var plain string
			progress.NewPlain(func(line string) { plain = line }).HandleEvent(e)
			testcommand.RequireWhole(t, "the line", strings.TrimPrefix(plain, "host 'Coder' requests approval: "+transport.of+": "), command, 500)
			view, began := progress.NewView(), e
			began.Kind, began.Percent = activity.Began, -1
			view.HandleEvent(began)
			view.HandleEvent(e)
			row := view.Lines(0, 80, 1)[0].Text
			if all := transport.of + ": " + strings.Join(testcommand.Display(strings.Trim(command, " \t\r\n")), ""); !strings.Contains(row, all) && !strings.Contains(row, "…") {
				t.Errorf("the agent view shows %q, want the whole command", row)
			}
			for _, shown := range []string{strings.ReplaceAll(q.shown, "\n", ""), plain, row} {
				for _, r := range shown {
					if !testcommand.Visible(r) {
						t.Errorf("invisible character %U is shown for command %.80q", r, command)
					}
				}
			}
			if err := record.Decided(&vm.Decision{Kind: hostmsg.Approval, Effect: int64(n + 1), Host: "Coder", ID: json.RawMessage(`"r"`), Asked: message, Answer: json.RawMessage(`"no"`), By: effect.ByTerminal}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line, err := range audit.Lines(bytes.NewReader(text), file) {
		if err != nil {
			t.Fatal(err)
		}
		var data struct {
			Asked struct {
				Description string
				Args        struct{ Command string }
			}
		}
		command := commands[n%len(commands)]
		if err := json.Unmarshal(line.Data, &data); err != nil || data.Asked.Args.Command != command {
			t.Fatalf("command in the ledger = %.100q (error %v), want %.100q", data.Asked.Args.Command, err, command)
		}
		_, described, _ := strings.Cut(data.Asked.Description, ": ")
		testcommand.RequireWhole(t, "the ledger", described, command, 500)
		if shown := line.String(); len(command) > 200 && !strings.Contains(shown, "…") {
			t.Errorf("ledger line %q does not mark the omitted part with …", shown)
		}
		n++
	}
	if n != 5*len(commands) {
		t.Errorf("number of ledger records = %d, want five for each command", n)
	}
}

// TestArgumentsOfATerminal checks that each argument of a terminal's command is shown as one.
func TestArgumentsOfATerminal(t *testing.T) {
	for _, c := range []struct {
		params, want string
	}{
		{`"command":"npm test && rm x"`, "npm test && rm x"},
		{`"command":"git","args":["commit","-m","one two"]`, "git commit -m 'one two'"},
		{`"command":"rm","args":["-rf","a b","c"]`, "rm -rf 'a b' c"},
		{`"command":"echo","args":["","it's","; rm -rf x","$HOME","~","*","größe=1","a\nb"]`, `echo '' 'it'\''s' '; rm -rf x' '$HOME' '~' '*' größe=1 'a⏎b'`},
		{`"command":"/opt/my tool","args":["x"]`, "'/opt/my tool' x"},
		{`"command":"bash","args":["-lc","rm -rf 'a b'"]`, "rm -rf 'a b'"},
	} {
		config := Config{Name: "Coder", Transport: "acp", Dir: "/work", Access: Access{Permissions: &hostpolicy.Rules{}}}
		v, err := config.adapterConfig(acquireSpec{})
		if err != nil {
			t.Fatal(err)
		}
		out := adapter.Protocols["acp"].New(v).FromAgent([]byte(`{"method":"terminal/create","id":8,"params":{"sessionId":"S",` + c.params + `}}`))
		if len(out.Messages) != 1 {
			t.Fatalf("%s: messages = %q, want one", c.params, out.Messages)
		}
		var asked struct{ Description string }
		if err := json.Unmarshal(out.Messages[0], &asked); err != nil || asked.Description != "terminal: "+c.want {
			t.Errorf("description for %s:\n%s, want\n%s (error %v)", c.params, asked.Description, c.want, err)
		}
	}
}
