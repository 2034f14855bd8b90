package webtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/record/eventtext"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// sampleDiff is the diff of a write.
const sampleDiff = `--- a/checkout/total.go
+++ b/checkout/total.go
@@ -12,7 +12,9 @@ func Total(items []Item, rate float64) Money {
 	for _, it := range items {
 		sum += it.Price * Money(it.Count)
 	}
-	return sum * (1 + rate)
+	// Taxes are rounded once, at the end.
+	tax := round(float64(sum) * rate)
+	return sum + tax
 }

 func round(x float64) Money {
`

// Samples creates two machines with a run of each kind: a run on a terminal, a run of Concerto, a
// run with NDJSON messages, a run that waits for the approval of a write, and a run that has ended.
// The machines answer RPCs.
func (r *Relay) Samples() {
	r.T.Helper()
	desk, ci := r.Machine("desk"), r.Machine("ci-runner")
	over := Begin(ci, "run_over", Data{"tool": "make", "command": "make release", "cwd": "/srv/build", "title": "release 2.14"})
	over.Write("go build ./...\r\n\x1b[32mok\x1b[0m  shop/checkout  1.2s\r\n\x1b[31mFAIL\x1b[0m shop/invoice  0.4s\r\n")
	over.Send(protocol.RunExited, Data{"exit_code": 2, "reason": "exited"})
	over.Stored()

	done := Begin(ci, "run_done", Data{"tool": "codex", "command": "codex exec 'update the changelog'", "cwd": "/srv/build", "title": "changelog"})
	done.Write("Wrote CHANGELOG.md\n")
	done.Ask("e1", Data{"prompt": "Edit CHANGELOG.md", "op_tool": "apply_patch", "diff": "--- a/CHANGELOG.md\n+++ b/CHANGELOG.md\n@@ -1 +1,2 @@\n # Changes\n+- Taxes are rounded once.\n"})
	done.Send(protocol.RunPermissionResolved, Data{"request_id": "e1", "decision": "approve", "by": "olga", "actor": "web"})
	done.Ask("e2", Data{"prompt": "Run a command", "op_tool": "bash", "op_args": Data{"command": "git push --force origin main"}})
	done.Send(protocol.RunPermissionResolved, Data{"request_id": "e2", "decision": "deny", "by": "ann", "actor": "web", "reason": "never to main"})
	done.Send(protocol.RunExited, Data{"exit_code": 0, "reason": "exited"})
	done.Stored()

	messages := Begin(ci, "run_ndjson", Data{"tool": "reviewer", "source": "ndjson", "command": "python3 review.py", "cwd": "/srv/review", "title": "review of #481"})
	messages.Write("reading 14 files\n")
	messages.Send(protocol.ToolCall, Data{"request_id": "t1", "tool": protocol.RPCReadFile, "actor": "web", "args": Data{"path": "checkout/total.go"}})
	messages.Send(protocol.ToolResult, Data{"request_id": "t1", "tool": protocol.RPCReadFile, "actor": "web", "ok": true, "duration_ms": 3, "result": Data{"path": "checkout/total.go", "bytes": 1840}})
	messages.Write("two remarks so far\n")
	messages.Stored()

	concerto := Begin(desk, "run_concerto", Data{"tool": "concerto", "source": "concerto", "command": "concerto run examples/relay", "cwd": "/home/ann/shop", "title": "nightly migration"})
	concerto.Send(protocol.RunMeta, Data{"structure": sampleStructure(), "line": Data{"file": "main.conc", "line": 31}, "usage": Data{"tokens_in": 48210, "tokens_out": 3120, "cost_usd": 0.2741}})
	concerto.Send(protocol.RunEmit, Data{"channel": "pipeline:stage_start", "payload": Data{"name": "Migrate", "stage": "dump"}, "awaited": false})
	concerto.Send(protocol.RunEmit, Data{"channel": "plan", "payload": Data{"steps": []string{"dump", "migrate", "verify"}, "rows": 184200}, "awaited": false})
	sampleTalk(concerto)
	concerto.Send(protocol.RunEmit, Data{"channel": "pipeline:stage_complete", "payload": Data{"name": "Migrate", "stage": "dump", "duration_ms": 5233}, "awaited": false})
	concerto.Send(protocol.RunEmit, Data{"channel": "pipeline:stage_start", "payload": Data{"name": "Migrate", "stage": "verify"}, "awaited": false})
	concerto.Ask("q1", Data{"reason": "choice", "prompt": "When does it go out?", "from": Data{"kind": "emit", "channel": "when", "file": "main.conc", "line": 34}, "questions": []Data{
		{"id": "when", "question": "When does it go out?", "kind": "choice", "required": true, "options": []Data{{"value": "now", "label": "Now", "description": "at once, while traffic is low"}, {"value": "tonight", "label": "Tonight"}}},
		{"id": "note", "question": "What should the announcement say?", "kind": "text"},
	}})

	pty := Begin(desk, "run_claude", Data{"title": "fix the tax rounding"})
	pty.Write("\x1b[1mI read checkout/total.go.\x1b[0m Taxes are rounded for each item, which loses cents.\r\n\r\nI will round once, at the end, and add a test.\r\n")
	pty.Send(protocol.RunInput, Data{"actor": "web", "input_id": "i1", "text_redacted": "yes, and keep the old name of the function\n", "text_sha256": strings.Repeat("0", 64), "by": "ann"})
	pty.Write("\x1b[32m✓\x1b[0m Understood. The name stays.\r\n")
	pty.Ask("w1", Data{"prompt": "Write checkout/total.go", "op_tool": protocol.RPCWriteFile, "op_args": Data{"path": "checkout/total.go", "bytes": 1912, "content_preview": "package checkout\n\n…", "content_truncated": true},
		"op_args_summary": "checkout/total.go, 1912 bytes", "args_sha256": "3f9a1c77" + strings.Repeat("ab", 28), "risk": "low", "diff": sampleDiff, "from": Data{"kind": "rpc"}})
	pty.Ask("b1", Data{"prompt": "Run a command", "op_tool": "bash", "op_args": Data{"cmd": "git push --force-with-lease origin fix/tax-rounding && gh pr create --fill"}, "op_args_summary": "git push --force-with-lease origin fix/tax-rou…",
		"args_sha256": "c41d00e9" + strings.Repeat("cd", 28), "risk": "high", "approve_text": "y\n", "deny_text": "n\n", "from": Data{"kind": "pty"}})
	Answer(desk)
	Answer(ci)
}

// Fleet starts a run with 14 tasks and two merge queues on the machine desk, whose connection is
// machine. One of its hosts waits for an approval.
func Fleet(machine *servertest.Peer) *Run {
	machine.T.Helper()
	run := Begin(machine, "run_fleet", Data{"tool": "concerto", "source": "concerto", "command": "concerto run fleet", "cwd": "/home/ann/shop", "title": "port the shop to v3"})
	run.Send(protocol.RunMeta, Data{"usage": Data{"tokens_in": 918210, "tokens_out": 48120, "cost_usd": 7.31}, "fleet": FleetOf("7 merged")})
	run.Ask("f1", Data{"prompt": "Run a command", "op_tool": "Bash", "op_args": Data{"command": "npm publish --dry-run"}, "from": Data{"kind": "approval", "host": "Coder3", "message_id": "m1"}})
	return run
}

// FleetOf returns the data of a fleet with 14 tasks. note is the note of its last task.
func FleetOf(note string) Data {
	since := func(minutes int) string {
		return time.Now().Add(-time.Duration(minutes) * time.Minute).UTC().Format(time.RFC3339)
	}
	tasks := []Data{}
	for i, name := range []string{"cart", "catalog", "checkout", "coupons", "customers", "invoices", "login"} {
		tasks = append(tasks, Data{"task": name, "agent": "Coder1", "state": "merged", "since": since(40 - i), "cost_usd": 0.31 + float64(i)/100, "last": "All tests pass."})
	}
	for i, name := range []string{"mail", "orders", "payments", "search", "shipping"} {
		tasks = append(tasks, Data{"task": name, "agent": fmt.Sprintf("Coder%d", i+1), "state": "working", "since": since(9 - i), "cost_usd": 0.2 + float64(i)/10, "last": "Run a command: go test ./" + name + "/... -run TestRounding -count=1"})
	}
	tasks = append(tasks, Data{"task": "reports", "agent": "Coder1", "state": "failed", "note": "red", "since": since(12), "cost_usd": 1.204, "last": "TestTotals fails: want 12.50, got 12.49"},
		Data{"task": "stock", "agent": "Coder2", "state": "submitted", "note": note, "since": since(2), "last": "Stock is counted per warehouse now."})
	return Data{"working": 5, "merged": 7, "failed": 1, "total": 14, "tasks": tasks, "queues": []Data{
		{"name": "main", "queued": 1, "tested": 1, "batch": 3, "merged": 7, "failed": 1}, {"name": "docs", "queued": 0, "tested": 0, "batch": 0, "merged": 0, "failed": 0}}}
}

// Message returns the data of run.listen about a message of a host. As a run does, it adds what a
// call or an approval is about.
func Message(typ string, value Data) Data {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	v := request.OfCall(text)
	if typ == hostmsg.Approval {
		v = request.Of(text, nil)
	}
	data := Data{"message_type": typ, "value": value}
	if v != nil {
		data["title"], data["line"] = v.Title, v.Subject()
	} else if e, ok := eventtext.Read(typ, text); ok && e.Text != "" {
		data["title"] = e.Text
	}
	return data
}

// Event sends an event of the runtime, with its text.
func (r *Run) Event(channel string, payload Data) {
	text, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	e, _ := eventtext.Read(channel, text)
	r.Send(protocol.RunEmit, Data{"channel": channel, "payload": payload, "text": e.Text, "awaited": false})
}

// sampleTalk sends a conversation with a host.
func sampleTalk(run *Run) {
	send := func(phase string, data Data) {
		data["listen_id"], data["host"], data["phase"] = "l1", "Coder", phase
		run.Send(protocol.RunListen, data)
	}
	progress := func(stage, message string, more Data) {
		more["stage"], more["message"] = stage, message
		send("message", Message(hostmsg.Progress, more))
	}
	send("start", Data{"message_type": "prompt", "value": "Dump the tables of the shop, migrate them to the new schema, and verify the sums.\nDo not touch the table of invoices."})
	send("message", Data{"message_type": "log", "value": Data{"level": "thought", "message": "The dump comes first: without it nothing can be undone."}})
	send("message", Data{"message_type": "partial", "value": Data{"text": "I **dump** the tables first, and then check:\n\n1. the rows of `orders`\n2. the sums"}})
	content := func(block Data) Data { return Data{"payload": Data{"message": Data{"content": []Data{block}}}} }
	progress("tool", "Bash: pg_dump shop", content(Data{"type": "tool_use", "id": "t1", "name": "Bash", "input": Data{"command": "pg_dump shop"}}))
	progress("tool_result", "ok", content(Data{"type": "tool_result", "tool_use_id": "t1", "content": "dumped 12 tables"}))
	progress("tool", "Read: .env", content(Data{"type": "tool_use", "id": "t2", "name": "Read", "input": Data{"file_path": ".env"}}))
	approval := Message(hostmsg.Approval, Data{"description": "Read: .env", "tool": "Read", "kind": "read", "args": Data{"file_path": ".env"}, "call": "t2"})
	approval["message_id"] = "a1"
	send("message", approval)
	run.Send(protocol.RunDecision, Data{"title": "Read .env", "decision": "deny", "actor": "rule", "by": "[hosts.coder.permissions]", "host": "Coder", "message_id": "a1"})
	progress("tool_result", "denied", content(Data{"type": "tool_result", "tool_use_id": "t2", "content": "denied", "is_error": true}))
	progress("", "dumped 11 tables", Data{"percent": 90})
	progress("", "dumped 12 tables", Data{"percent": 100})
	send("message", Data{"message_type": "question", "message_id": "q7", "value": Data{"question": "Which schema?", "context": "There are two.", "options": []string{"v2", "v3"}}})
	send("reply", Data{"message_type": "question", "message_id": "q7", "value": "v3"})
	send("message", Data{"message_type": "result", "value": Data{"text": "All tables are in the new schema; the sums are **equal**.", "session": "0f3c", "usage": Data{"tokens_in": 18210, "tokens_out": 940}, "cost_usd": 0.1141, "turns": 4}})
	send("complete", Data{"duration_ms": 5230})
}

func sampleStructure() json.RawMessage {
	return Structure("function:main runs pipeline:Migrate", "pipeline:Migrate starts stage:Migrate/dump", "stage:Migrate/dump then stage:Migrate/verify", "stage:Migrate/dump listens host:Coder",
		"stage:Migrate/verify asks agent:Architect", "function:main asks agent:Auditor", "host:Coder offers tool:psql")
}

// Structure returns a structure with edges, each "KIND:NAME EDGE KIND:NAME", and with their nodes.
func Structure(edges ...string) json.RawMessage {
	g := &graph.Graph{}
	node := func(id string) {
		if !slices.ContainsFunc(g.Nodes, func(n graph.Node) bool { return n.ID == id }) {
			kind, name, _ := strings.Cut(id, ":")
			g.Nodes = append(g.Nodes, graph.Node{ID: id, Kind: kind, Name: name})
		}
	}
	for _, e := range edges {
		f := strings.Fields(e)
		node(f[0])
		node(f[2])
		g.Edges = append(g.Edges, graph.Edge{From: f[0], To: f[2], Kind: f[1]})
	}
	return g.Placed()
}

// Harm is a text that does damage if the page does not escape it.
const Harm = "<img src=x onerror=\"document.title='harmed'\"><script>document.title='harmed'</script>\x1b]0;harmed\x07\x1b[2J\u202egnp.exe\u2066 [x](javascript:alert(1)) &lt;b&gt;"

// Hostile creates a machine with a run all of whose texts are Harm.
func (r *Relay) Hostile() *Run {
	r.T.Helper()
	run := Begin(r.Machine("mallory"), "run_hostile", Data{"tool": Harm, "command": Harm, "cwd": Harm, "title": Harm})
	run.Write(Harm + "\n")
	run.Send(protocol.RunEmit, Data{"channel": Harm, "payload": Data{Harm: Harm, "__proto__": Data{"polluted": true}}, "awaited": false})
	run.Send(protocol.ToolCall, Data{"request_id": "t1", "tool": Harm, "actor": "web", "args": Data{"path": Harm}})
	run.Send(protocol.RunListen, Data{"listen_id": "l1", "host": Harm, "phase": "message", "message_type": Harm, "value": Harm})
	run.Send(protocol.RunMeta, Data{"title": Harm, "labels": Data{Harm: Harm}, "line": Data{"file": Harm, "line": 1}})
	run.Send(protocol.RunDecision, Data{"title": Harm, "line": Harm, "decision": "deny", "actor": Harm, "by": Harm, "reason": Harm, "host": Harm})
	run.Send("run.of_the_future", Data{"text": Harm})
	run.Ask("q1", Data{"prompt": Harm, "op_tool": Harm, "op_args": Data{"cmd": Harm}, "op_args_summary": Harm, "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-" + Harm + "\n+" + Harm + "\n", "questions": []Data{
		{"id": "q", "question": Harm, "header": Harm, "kind": "choice", "options": []Data{{"value": Harm, "label": Harm, "description": Harm}}}}})
	return run
}
