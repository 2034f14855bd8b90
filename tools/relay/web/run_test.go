package web_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestFollowAndDecide logs in and opens a run. It approves a request in the run's thread and types
// an input. The page must show new output and the outcome of both, also after a reload.
func TestFollowAndDecide(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "fix the rounding"})
	b := enterByHand(t, r, webtest.Operator, "#/runs")
	b.See("fix the rounding")
	if row := b.Text("@run-row"); !strings.Contains(row, "running") || !strings.Contains(row, "desk") {
		t.Errorf("row of the run = %q, want its status and machine", row)
	}
	b.Click("@run-row")
	run.Write("\x1b[32mlooking\x1b[0m at total.go\n")
	b.Wait("__see.text('@run-thread').includes('looking at total.go')")

	run.Ask("b1", webtest.Data{"prompt": "Push it?", "op_tool": "bash", "op_args": webtest.Data{"cmd": "git push origin fix"}, "args_sha256": strings.Repeat("ab", 32)})
	b.Wait("__see.text('@approval-card').includes('git push origin fix')")
	b.Wait("document.title.startsWith('(1) ')")
	b.Wait("[...document.querySelectorAll('[aria-live=assertive]')].some((e) => e.textContent.includes('fix the rounding'))")
	decide(b, "@approve")
	msg := machine.Next(protocol.RunApprove)
	d, err := protocol.Decode[protocol.Decide](&msg)
	if err != nil || d.RequestID != "b1" || d.ArgsSHA256 != strings.Repeat("ab", 32) || msg.RunID != "run_1" {
		t.Errorf("the machine receives for run %s the decision %+v, %v", msg.RunID, d, err)
	}
	run.Resolve("b1", "approve", webtest.Operator)
	b.Wait("__see.text('@resolved').includes('approved by olga')")
	b.Wait("!document.title.startsWith('(')")

	b.Click("@composer")
	b.Type("go on")
	b.Press("Enter")
	msg = machine.Next(protocol.RunSendInput)
	in, err := protocol.Decode[protocol.SendInput](&msg)
	if err != nil || in.Text != "go on\n" {
		t.Errorf("the machine receives the input %+v, %v; want the typed text", in, err)
	}
	run.Send(protocol.RunInput, webtest.Data{"actor": "web", "input_id": in.InputID, "text_redacted": "go on\n", "text_sha256": strings.Repeat("0", 64), "by": "olga"})
	b.Wait("__see.all('@sending').length === 0 && __see.text('@run-thread').includes('go on')")

	b.Reload()
	b.Wait("__see.text('@run-thread').includes('looking at total.go') && __see.text('@run-thread').includes('go on') && __see.text('@resolved').includes('approved by olga')")
	if n := b.Count("@resolved"); n != 1 {
		t.Errorf("number of resolved requests = %d, want 1", n)
	}
	run.Write("done\n")
	run.Send(protocol.RunExited, webtest.Data{"exit_code": 0})
	b.Wait("__see.all('@composer').length === 0 && __see.text('main').includes('done')")
}

// TestInboxByKeys decides requests in the inbox with the keyboard only. A decision needs two keys,
// the second of which is Enter.
func TestInboxByKeys(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "first"})
	run.Ask("q1", webtest.Data{"prompt": "Delete the branch?", "op_tool": "bash", "op_args": webtest.Data{"cmd": "git branch -D old"}})
	run.Ask("q2", webtest.Data{"prompt": "Run the tests?", "op_tool": "bash", "op_args": webtest.Data{"cmd": "go test ./..."}})
	b := enter(t, r, webtest.Operator, "#/hosts")
	b.Press("g", "i")
	b.See("Delete the branch?")
	b.Press("j", "d")
	b.Wait("document.querySelector('[data-key=\"run_1 q1\"]').contains(document.activeElement)")
	b.Press("Escape", "Enter") // cancelled: Enter opens the run
	b.Wait("location.hash === '#/runs/run_1'")
	b.Press("g", "i")
	b.Wait("__see.all('@approval-card').length === 2")
	awake(b)
	b.Press("j", "d", "Enter")
	deny := machine.Next(protocol.RunDeny)
	if d, err := protocol.Decode[protocol.Decide](&deny); err != nil || d.RequestID != "q1" {
		t.Errorf("denied request = %+v, %v; want q1", d, err)
	}
	run.Resolve("q1", "deny", webtest.Operator)
	b.Wait("__see.all('@approval-card').length === 1 && __see.text('@settled').includes('denied by olga')")
	b.Press("j", "a", "Enter")
	approve := machine.Next(protocol.RunApprove)
	if d, err := protocol.Decode[protocol.Decide](&approve); err != nil || d.RequestID != "q2" {
		t.Errorf("approved request = %+v, %v; want q2", d, err)
	}
	run.Resolve("q2", "approve", webtest.Operator)
	b.See("No open requests")
	b.Press("?")
	b.See("approve the selected request, then Enter")
	b.Press("Escape")
	b.Press("g", "r")
	b.Wait("__see.all('@run-row').length === 1")
	b.Press("/")
	b.Wait("document.activeElement.type === 'search'")
	b.Type("nothing like it")
	b.See("No runs match the filter")
}

// TestRoles logs in as a viewer. The page must not show controls for actions that the role does not
// permit.
func TestRoles(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	run := webtest.Begin(r.Machine("desk"), "run_1", webtest.Data{})
	run.Ask("q1", webtest.Data{"prompt": "May I?"})
	b := enterByHand(t, r, webtest.Viewer, "#/inbox")
	b.See("May I?")
	for place, why := range map[string]string{"@approve": "decides", "@deny": "decides", "=Start": "starts", "=Audit": "reads the audit log"} {
		if b.Count(place) != 0 {
			t.Errorf("the page offers a viewer a control that %s", why)
		}
	}
	b.Press("j", "a", "Enter")
	b.Eval("location.hash = '#/runs/run_1'")
	b.Wait("__see.all('@run-thread').length === 1")
	for _, place := range []string{"@composer", "@stop", "@approve"} {
		if b.Count(place) != 0 {
			t.Errorf("the page shows a viewer the control %s", place)
		}
	}
	b.Eval("location.hash = '#/settings'")
	b.See("Log out")
	b.WaitAbsent("Devices and tokens")
	b.Click("@logout")
	b.See("Log in")
}

// TestHostile opens the screens with texts that try to inject markup and control characters. The
// page must show them as text. They must not widen a screen or violate accessibility rules.
func TestHostile(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	r.Hostile()
	b := enter(t, r, webtest.Owner, "#/inbox")
	for _, at := range []string{"#/inbox", "#/runs", "#/runs/run_hostile", "#/runs/run_hostile/terminal", "#/hosts", "#/audit"} {
		b.Emulate(browser.Desk, browser.Light)
		b.Eval("location.hash = '" + at + "'")
		b.Wait("__see.all('main h1').length === 1 && !__see.text('main').startsWith('Loading')")
		b.Axe()
		b.Emulate(browser.Phone, browser.Dark)
		if wide := b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
			t.Errorf("%s is %v pixels wider than the phone", at, wide)
		}
		if at != "#/hosts" && at != "#/audit" && !strings.HasSuffix(at, "terminal") {
			b.See("<img src=x onerror=")
			b.See("⟦U+202E⟧")
		}
		if n := b.Eval("document.querySelectorAll('img, script:not([src^=\"/assets/\"], head > [type=importmap]), iframe, a[href^=javascript]').length"); n != 0.0 {
			t.Errorf("%s: number of elements created by a run's text = %v, want 0", at, n)
		}
	}
	if title, _ := b.Eval("document.title").(string); strings.Contains(title, "harmed") {
		t.Errorf("title of the page = %q, want no text of a run", title)
	}
	if b.Eval("({}).polluted === undefined") != true {
		t.Error("a run's payload has changed Object.prototype")
	}
}

// TestSetup opens the link of a server without users. It must create the first owner and log that
// user in.
func TestSetup(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Empty(t)
	code, err := r.Auth.Setup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Go(r.URL + "/setup#" + code)
	b.See("Set up the relay")
	b.Click("@login-user")
	b.Type("ann")
	b.Press("Tab")
	b.Type("short")
	b.Press("Enter")
	b.See("The password needs at least 10 characters.")
	b.Eval("document.querySelector('[data-testid=login-pass]').select()")
	b.Type("long enough by now")
	b.Press("Enter")
	b.Wait("location.pathname === '/' && document.querySelector('main h1')?.textContent === 'Inbox'")
}

// TestApprovalShowsAll shows commands with hidden characters, and a long one. The cards must show
// each command completely, with a mark for each hidden character, and must report redacted secrets.
func TestApprovalShowsAll(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	run := webtest.Begin(r.Machine("desk"), "run_1", webtest.Data{"title": "hides"})
	long := "echo " + strings.Repeat("0123456789", 1000) + "; rm -rf end-of-it"
	var want []any
	for i, c := range []struct{ cmd, shown string }{
		{"echo a\nrm -rf x", "echo a\nrm -rf x"},
		{"rm -rf \u202egpj.x\u2066\u200b", "rm -rf ⟦U+202E⟧gpj.x⟦U+2066⟧⟦U+200B⟧"},
		{"echo \x1b[2K\x1b[8mrm -rf x\x1b[0m\r", "echo ⟦ESC⟧[2K⟦ESC⟧[8mrm -rf x⟦ESC⟧[0m⟦CR⟧"},
		{"cat <<'E' > x\n\"'`$(rm -rf y)`'\"\nE", "cat <<'E' > x\n\"'`$(rm -rf y)`'\"\nE"},
		{long, long},
	} {
		run.Ask("b"+strconv.Itoa(i), webtest.Data{"prompt": "Run: it", "op_tool": "bash", "op_args": webtest.Data{"cmd": c.cmd}})
		want = append(want, c.shown)
	}
	run.Ask("b9", webtest.Data{"prompt": "Run: it", "op_tool": "bash", "op_args": webtest.Data{"cmd": "curl ***REDACTED***"}, "redacted": true})
	b := enter(t, r, webtest.Operator, "#/inbox")
	b.Wait("__see.all('@approval-card').length === 6")
	shown := b.Eval("[...document.querySelectorAll('.approval-arg pre')].map((e) => e.textContent)")
	if want = append(want, "curl ***REDACTED***"); !reflect.DeepEqual(shown, want) {
		t.Errorf("commands on the cards = %.2000q", shown)
	}
	if n := b.Count("@redacted"); n != 1 {
		t.Errorf("number of cards that report redacted secrets = %d, want 1", n)
	}
}

// TestAnswerIsShown answers a question with yes or no by one tap. The inbox, the thread and the
// audit log must show the value of the answer, not an approval.
func TestAnswerIsShown(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "asks", "source": "concerto"})
	run.Ask("q1", webtest.Data{"reason": "permission", "prompt": "Ship it?", "from": webtest.Data{"kind": "emit", "channel": "ship"},
		"questions": []webtest.Data{{"id": "answer", "question": "Ship it?", "kind": "confirm", "required": true}}})
	b := enter(t, r, webtest.Operator, "#/inbox")
	b.See("Ship it?")
	if text := b.Text("@approval-card"); strings.Count(text, "Ship it?") != 1 || strings.Contains(text, "Approve") || b.Count("@approval-card input[type=radio]") != 0 {
		t.Errorf("card of the question = %q, want the question once and no approval", text)
	}
	decide(b, "@deny")
	msg := machine.Next(protocol.RunApprove)
	d, err := protocol.Decode[protocol.Decide](&msg)
	if err != nil || string(d.Answers) != `{"answer":false}` {
		t.Errorf("the machine receives the decision %+v, %v; want the answer false", d, err)
	}
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "answer", "answer": false, "by": webtest.Operator, "actor": "web"})
	b.Wait("__see.text('@settled').includes('answered false by olga')")
	b.Go(r.URL + "/#/runs/run_1")
	b.Wait("__see.text('@resolved').includes('answered false by olga')")
	lines, err := r.Store.AuditLines(t.Context(), 0, 100)
	if log := strings.Join(lines, "\n"); err != nil || !strings.Contains(log, `"answer":"false"`) || !strings.Contains(log, `"decision":"answer"`) || strings.Contains(log, `"decision":"approve"`) {
		t.Errorf("audit log = %s, want an answer and no approval", log)
	}
}

// TestStructure runs a pipeline. The view of its structure must mark the active stage and show what
// that stage waits for.
func TestStructure(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.HelloMachine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"source": "concerto"})
	run.Send(protocol.RunMeta, webtest.Data{"structure": webtest.Structure("function:main runs pipeline:P", "pipeline:P starts stage:P/one", "stage:P/one then stage:P/two", "stage:P/two listens host:Coder")})
	stage := func(event, name string) {
		run.Send(protocol.RunEmit, webtest.Data{"channel": "pipeline:" + event, "payload": webtest.Data{"name": "P", "stage": name}, "awaited": false})
	}
	run.Stored()
	b := enter(t, r, webtest.Operator, "#/runs/run_1/structure")
	is := func(at, marked string) {
		t.Helper()
		b.Wait("document.querySelector('.graph-facts')?.textContent === " + strconv.Quote(at))
		if got := b.Eval("[...document.querySelectorAll('.node.here title')].map((n) => n.textContent).join()"); got != marked {
			t.Errorf("marked node for %q = %v, want %s", at, got, marked)
		}
	}
	is("now at main", "function main")
	stage("stage_start", "one")
	is("now at P/one", "stage P/one")
	stage("stage_complete", "one")
	stage("stage_start", "two")
	run.Send(protocol.RunListen, webtest.Data{"listen_id": "l1", "host": "Coder", "phase": "start"})
	is("now at P/two, which waits for Coder", "stage P/two")
	run.Ask("q1", webtest.Data{"prompt": "Which?", "questions": []webtest.Data{{"id": "q", "question": "Which?", "kind": "text"}}})
	is("now at P/two, which waits for an answer", "stage P/two")
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "answer"})
	run.Send(protocol.RunListen, webtest.Data{"listen_id": "l1", "host": "Coder", "phase": "complete"})
	stage("error", "two")
	is("now at main", "function main")
	run.Send(protocol.RunExited, webtest.Data{"exit_code": 0})
	is("", "")
}

// TestMarkdownIsDrawn checks that the page renders texts of agents and programs as Markdown, and
// shows commands, tool output and options unchanged.
func TestMarkdownIsDrawn(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	run := webtest.Begin(r.HelloMachine("desk"), "run_1", webtest.Data{"source": "concerto"})
	run.Send(protocol.RunEmit, webtest.Data{"channel": "said", "payload": "**emitted**\n\n- [a](https://x.example)", "awaited": false})
	run.Send(protocol.RunListen, webtest.Data{"listen_id": "l1", "host": "Coder", "phase": "start"})
	run.Send(protocol.RunListen, webtest.Data{"listen_id": "l1", "host": "Coder", "phase": "message", "message_type": "partial", "value": webtest.Data{"text": "**heard**"}})
	run.Write("**printed**\n")
	run.Ask("q1", webtest.Data{"prompt": "**asked**", "questions": []webtest.Data{{"id": "a", "question": "**first**", "kind": "text"}, {"id": "b", "question": "**second**", "kind": "choice", "options": []webtest.Data{{"value": "x", "label": "**option**"}}}}})
	run.Ask("q2", webtest.Data{"prompt": "rm **approved** --now", "op_tool": "bash", "op_args": webtest.Data{"cmd": "rm **approved**"}})
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	b.Wait("document.querySelectorAll('[data-testid=approval-card]').length === 2")
	if got := b.Eval("[...document.querySelectorAll('strong')].map((e) => e.textContent).join()"); got != "emitted,heard,asked,first,second" {
		t.Errorf("bold texts = %v", got)
	}
	if text := b.Text("main"); !strings.Contains(text, "**printed**") || !strings.Contains(text, "rm **approved** --now") || !strings.Contains(text, "**option**") {
		t.Errorf("text of the page = %s, want commands, output and options without Markdown", text)
	}
}

// TestPlaces checks that the structure of a run shows merge queues and workspaces with their
// states, also after they have changed, and that the drawing remains.
func TestPlaces(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	run := webtest.Begin(r.HelloMachine("desk"), "run_1", webtest.Data{"source": "concerto"})
	send := func(places ...webtest.Data) {
		t.Helper()
		var g map[string]any
		if err := json.Unmarshal(webtest.Structure("function:main executes host:Coder"), &g); err != nil {
			t.Fatal(err)
		}
		for _, p := range places {
			g["nodes"] = append(g["nodes"].([]any), p)
		}
		run.Send(protocol.RunMeta, webtest.Data{"structure": g})
	}
	queue := webtest.Data{"id": "queue:main", "kind": "queue", "name": "main", "state": "2 queued · 0 merged · 0 failed"}
	send(queue, webtest.Data{"id": "workspace:fix", "kind": "workspace", "name": "fix", "state": "Coder works"})
	run.Stored()
	b := enter(t, r, webtest.Operator, "#/runs/run_1/structure")
	b.See("workspace fix: Coder works")
	b.See("Coder works")
	b.See("2 queued · 0 merged · 0 failed")
	queue["state"] = "0 queued · 2 merged · 0 failed"
	send(queue)
	b.See("0 queued · 2 merged · 0 failed")
	b.WaitAbsent("workspace fix")
	if n := b.Count(".graph .node"); n != 2 {
		t.Errorf("the drawing has %d nodes, want 2", n)
	}
}
