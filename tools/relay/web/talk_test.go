package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// talk sends the messages of an exchange.
type talk struct {
	run  *webtest.Run
	id   string
	host string
}

func startTalk(run *webtest.Run, id, host, prompt string) *talk {
	x := &talk{run, id, host}
	x.send("start", webtest.Data{"message_type": "prompt", "value": prompt})
	return x
}

func (x *talk) send(phase string, data webtest.Data) {
	data["listen_id"], data["host"], data["phase"] = x.id, x.host, phase
	x.run.Send(protocol.RunListen, data)
}

func (x *talk) message(typ, id string, value webtest.Data) {
	data := webtest.Message(typ, value)
	if id != "" {
		data["message_id"] = id
	}
	x.send("message", data)
	if typ == "progress" || typ == "log" { // execute emits it, too
		x.run.Send(protocol.RunEmit, webtest.Data{"channel": "host:" + typ, "payload": value, "awaited": false})
	}
}

func (x *talk) call(id, name, about string, input webtest.Data) {
	x.message("progress", "", webtest.Data{"message": name + ": " + about, "stage": "tool",
		"payload": webtest.Data{"message": webtest.Data{"content": []webtest.Data{{"type": "tool_use", "id": id, "name": name, "input": input}}}}})
}

func (x *talk) returned(id, output string, failed bool) {
	x.message("progress", "", webtest.Data{"message": output, "stage": "tool_result",
		"payload": webtest.Data{"message": webtest.Data{"content": []webtest.Data{{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}}}}})
}

// kindsOfTalk is a JavaScript expression for the rows of the only conversation, as CLASS or
// data-testid.
const kindsOfTalk = `[...document.querySelectorAll("[data-testid=talk] > [data-testid]")].map((e) => e.dataset.testid).join(" ")`

// TestConversation shows an exchange with a host while it works, and after its end: the whole
// prompt, one bubble for pieces of text, a row for each call, and one line for 600 messages of
// progress. Nothing may be shown twice. The keyboard opens each fold.
func TestConversation(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	run := webtest.Begin(r.HelloMachine("desk"), "run_1", webtest.Data{"tool": "concerto", "source": "concerto", "title": "fix"})
	prompt := "Fix **the** rounding.\n" + strings.Repeat("Whole line of the task.\n", 60) + "The last line."
	run.Send(protocol.RunEmit, webtest.Data{"channel": "listen:start", "payload": webtest.Data{"host": "Coder"}, "awaited": false})
	x := startTalk(run, "x1", "Coder", prompt)
	x.message("progress", "", webtest.Data{"message": "claude-opus-5-5, Claude Code 2.1", "stage": "start", "payload": webtest.Data{"type": "system"}})
	x.message("log", "", webtest.Data{"level": "thought", "message": "A file "})
	x.message("log", "", webtest.Data{"level": "thought", "message": "is wanted."})
	for _, piece := range []string{"I look at ", "**total.go**", " first."} {
		x.message("partial", "", webtest.Data{"text": piece})
	}
	x.message("progress", "", webtest.Data{"message": "11 tokens", "stage": "usage", "usage": webtest.Data{"tokens_in": 10, "tokens_out": 1}})
	x.call("toolu_1", "Bash", "go test ./...", webtest.Data{"command": "go test ./...", "description": "test"})
	for i := range 600 {
		x.message("progress", "", webtest.Data{"message": fmt.Sprintf("step %d of 600", i+1), "percent": (i + 1) / 6})
	}
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	b.Wait(`__see.text('@progress').includes('step 600 of 600') && __see.all('@prompt').length === 1`) // the page has loaded the earlier events
	if got := b.Eval(kindsOfTalk); got != "prompt thought said call progress facts" {
		t.Errorf("rows of the conversation = %v", got)
	}
	for place, want := range map[string]string{"@prompt": strings.TrimSpace(prompt), "@said": "I look at total.go first.", "@call": "Run a command\ngo test ./...\nrunning", "@progress": "step 600 of 600\n600 messages", "@facts": "10 tokens in, 1 out"} {
		if got := strings.TrimSpace(b.Text(place)); got != want {
			t.Errorf("%s = %.200q, want %.200q", place, got, want)
		}
	}
	if got := b.Eval(`(([bar]) => bar.ariaLabel + " " + bar.value)(document.querySelectorAll("[data-testid=progress] progress"))`); got != "Progress of Coder 100" {
		t.Errorf("bar = %v", got)
	}
	if n := b.Count(".said strong"); n != 1 {
		t.Errorf("the text of the host has %d bold parts, want 1", n)
	}
	if text := b.Text("main"); strings.Count(text, "step 600") != 1 || strings.Contains(text, "host:progress") || strings.Contains(text, "listen:start") || strings.Contains(text, "step 599") {
		t.Errorf("the thread shows progress or events of the runtime twice: %.2000s", text)
	}
	x.returned("toolu_1", "ok shop/checkout\n", false)
	x.call("toolu_2", "Read", ".env", webtest.Data{"file_path": ".env"})
	x.returned("toolu_2", "denied", true)
	x.message("partial", "", webtest.Data{"text": "All done."})
	x.message("result", "", webtest.Data{"text": "All done.", "session": "s-77", "usage": webtest.Data{"tokens_in": 30000, "tokens_out": 15}, "cost_usd": 0.25, "turns": 3})
	x.send("complete", webtest.Data{"duration_ms": 125_000})
	b.Wait(`__see.one("@talk").dataset.state === "complete"`)
	if got := b.Eval(kindsOfTalk); got != "prompt thought said call progress call said facts" {
		t.Errorf("rows of the complete conversation = %v", got)
	}
	for _, want := range []string{"Run a command", "Read .env", "failed", "30,000 tokens in, 15 out · $0.2500 · 3 turns · session s-77", "2 min"} {
		if text := b.Text("@talk"); strings.Count(text, want) != 1 {
			t.Errorf("the conversation contains %q %d times, want once: %.2000s", want, strings.Count(text, want), text)
		}
	}
	if n := b.Eval(`__see.all("@said").filter((e) => e.textContent.includes("All done.")).length`); n != 1.0 {
		t.Errorf("the result is shown %v times", n)
	}
	open := func(place, shows string) {
		t.Helper()
		b.Eval(`__see.one("` + place + `").querySelector("summary").focus()`)
		b.Press("Enter")
		b.Wait(`__see.text("` + place + `").includes("` + shows + `")`)
	}
	open("@call", "ok shop/checkout")
	open("@progress", "step 599 of 600")
	open("@thought", "A file is wanted.")
	open("@facts", "claude-opus-5-5")
	if got := b.Eval(`[...__see.one("@call").querySelectorAll("pre")].map((e) => e.textContent).join("|")`); got != "go test ./...|ok shop/checkout\n" {
		t.Errorf("input and output of the call = %q", got)
	}
	b.Axe()
	b.Emulate(browser.Phone, browser.Dark)
	b.Axe()
	if wide := b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
		t.Errorf("the page is %v pixels wider than the phone", wide)
	}
}

// TestDecisionsInConversation shows the requests of a host: one that a rule denied, one that a
// handler answered, and one that a person decides on a card. Each is shown once, also if its
// decision arrives after a reload. A host of an older version reports neither prompts nor ids of
// messages.
func TestDecisionsInConversation(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	run := webtest.Begin(r.HelloMachine("desk"), "run_1", webtest.Data{"tool": "concerto", "source": "concerto", "title": "fix"})
	x := startTalk(run, "x1", "Coder", "Work.")
	x.message("approval", "a1", webtest.Data{"description": "Read: .env", "tool": "Read", "kind": "read", "args": webtest.Data{"file_path": ".env"}})
	run.Send(protocol.RunDecision, webtest.Data{"title": "Read .env", "decision": "deny", "actor": "rule", "by": "deny = [\".env\"]", "host": "Coder", "message_id": "a1"})
	x.send("reply", webtest.Data{"message_type": "approval", "message_id": "a1", "value": webtest.Data{"decision": "deny"}})
	x.message("question", "q1", webtest.Data{"question": "Tabs or spaces?", "context": "The file has both.", "options": []webtest.Data{{"label": "Tabs", "description": "wide"}, {"label": "Spaces"}}})
	run.Send(protocol.RunEmit, webtest.Data{"channel": "host:question", "payload": webtest.Data{"question": "Tabs or spaces?"}, "awaited": true, "request_id": "e9"})
	run.Send(protocol.RunDecision, webtest.Data{"title": "Answer a question", "line": "Tabs or spaces?", "decision": "answer", "answer": "Tabs", "actor": "rule", "by": "main.conc:7", "host": "Coder", "message_id": "q1"})
	x.send("reply", webtest.Data{"message_type": "question", "message_id": "q1", "value": "Tabs"})
	x.message("host:blocked", "", webtest.Data{"host": "Coder", "address": "evil.example:443"})
	run.Event("host:blocked", webtest.Data{"host": "Coder", "address": "evil.example:443"})
	run.Event("host:repair", webtest.Data{"host": "Coder", "turn": 1, "error": "passed: expected Int"})
	run.Event("merge:landed", webtest.Data{"queue": "main", "commit": "1", "changes": []string{"fix"}})
	x.message("host:steered", "", webtest.Data{"host": "Coder", "text": "Hurry up.", "key": "k1", "outcome": "received", "by": "relay"})
	x.message("question", "q2", webtest.Data{"question": "Deploy at once?"})
	run.Ask("r2", webtest.Data{"reason": "prompt", "prompt": "Deploy at once?", "from": webtest.Data{"kind": "question", "host": "Coder › helper", "message_id": "q2"}, "questions": []webtest.Data{{"id": "answer", "question": "Deploy at once?", "kind": "text"}}})
	old := &talk{run, "x2", "Old"}
	old.send("start", webtest.Data{})
	old.message("question", "1", webtest.Data{"question": "Which old one?"})
	old.send("reply", webtest.Data{"message_type": "question", "message_id": "1", "value": "the first"})
	old.send("error", webtest.Data{"error": "it broke", "duration_ms": 5})
	run.Stored()
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	check := func() {
		t.Helper()
		b.Wait("__see.all('@approval-card').length === 1 && __see.all('@talk').length === 2")
		text := b.Text("@run-thread")
		for _, once := range []string{"Read .env", `Denied by deny = [".env"]`, "Tabs or spaces?", "The file has both.", "wide", `Answered "Tabs" by main.conc:7`, "Coder: blocked: evil.example:443", "Coder: asked again: passed: expected Int", "Coder received: Hurry up.", "main: merged fix", "Deploy at once?", "Which old one?", "Answered the first", "it broke"} {
			if n := strings.Count(text, once); n != 1 {
				t.Errorf("the thread contains %q %d times, want once: %s", once, n, text)
			}
		}
		if n := b.Count("@asked"); n != 3 {
			t.Errorf("number of requests in conversations = %d, want 3", n)
		}
	}
	check()
	b.Reload()
	check()
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "r2", "decision": "answer", "answer": "yes", "by": "olga", "actor": "web"})
	b.Wait(`__see.text('@resolved').includes('answered "yes" by olga')`)
	if n := strings.Count(b.Text("@run-thread"), "Deploy at once?"); n > 2 { // the line and the body of one card
		t.Errorf("the answered question is shown %d times", n)
	}
}
