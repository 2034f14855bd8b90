package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestHistory opens the history of 130 decisions of two runs. A page has 100 of them; filters apply
// to all, stay in the address and survive a reload. A decision that is made while the page is open
// appears. A link for one run shows its decisions alone.
func TestHistory(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	desk, ci := r.Machine("desk"), r.Machine("ci-runner")
	a := webtest.Begin(desk, "run_a", webtest.Data{"title": "migration"})
	b := webtest.Begin(ci, "run_b", webtest.Data{"title": "release"})
	for i := range 128 {
		a.Send(protocol.RunDecision, webtest.Data{"title": "Run a command", "line": fmt.Sprintf("make step%d", i), "decision": "approve", "actor": "rule", "by": "[hosts.coder.permissions]"})
	}
	a.Stored()
	b.Ask("q1", webtest.Data{"prompt": "Run a command", "op_tool": "bash", "op_args": webtest.Data{"command": "git push\nrm x"}})
	b.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "deny", "by": webtest.Owner, "actor": "web", "reason": "not on Fridays"})
	b.Ask("q2", webtest.Data{"prompt": "Edit main.go", "op_tool": "edit", "diff": "--- a/main.go\n+++ b/main.go\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"})
	b.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q2", "decision": "approve", "by": webtest.Operator, "actor": "web"})
	b.Stored()
	tab := enter(t, r, webtest.Operator, "#/inbox")
	tab.Wait("__see.all('@settled').length === 10")
	tab.Press("g", "d")
	tab.Wait("location.hash === '#/history' && __see.all('@settled').length === 100")
	rows := tab.Eval("__see.all('@settled').slice(0, 2).map((e) => e.innerText.replace(/\\s+/g, ' ').replace(/ (now|\\d+ \\w+ ago).*/, '')).join('|')")
	if want := "Edit main.go +2 −1 lines approved by olga release|Run a command git push denied by ann: not on Fridays release"; rows != want {
		t.Errorf("newest decisions = %s, want %s", rows, want)
	}
	tab.Axe()
	tab.Click("=Show older decisions")
	tab.Wait("__see.all('@settled').length === 130 && !__see.text('main').includes('Show older')")
	tab.See("make step0")

	choose := func(label, value string) {
		t.Helper()
		tab.Eval(fmt.Sprintf(`{ const e = document.querySelector('[aria-label="%s"]'); e.value = %q; e.dispatchEvent(new Event("change", { bubbles: true })); }`, label, value))
	}
	choose("Decision", "deny")
	tab.Wait("location.hash === '#/history?decision=deny' && __see.all('@settled').length === 1")
	tab.Reload()
	tab.Wait("__see.all('@settled').length === 1 && document.querySelector('[aria-label=Decision]').value === 'deny'")
	choose("Person or rule", webtest.Operator)
	tab.See("No decisions match the filter.")
	choose("Decision", "")
	tab.Wait("__see.all('@settled').length === 1 && __see.text('@settled').includes('Edit main.go')")
	choose("Machine", "desk")
	tab.See("No decisions match the filter.")
	choose("Person or rule", "")
	tab.Wait("__see.all('@settled').length === 100")
	a.Send(protocol.RunDecision, webtest.Data{"title": "Read .env", "decision": "deny", "actor": "rule", "by": "[hosts.coder.permissions]"})
	tab.Wait("__see.all('@settled')[0].innerText.includes('Read .env')")
	tab.Go(r.URL + "/#/history?run=run_b")
	tab.Wait("__see.all('@settled').length === 2")
	tab.Click("=Only run run_b")
	tab.Wait("location.hash === '#/history' && __see.all('@settled').length === 100")

	_, token, err := r.Auth.NewToken(t.Context(), audit.Actor{Type: "server", Name: "test"}, webtest.Owner, auth.NewToken{Name: "guest", Role: auth.Viewer, Runs: []string{"run_b"}})
	if err != nil {
		t.Fatal(err)
	}
	guest := browser.Open(t)
	guest.Expect("401")
	guest.Expect("403")
	guest.Go(r.URL + "/#/t/" + token + "/run_b")
	guest.Wait(online)
	guest.Eval("void (location.hash = '#/history')")
	guest.Wait("__see.all('@settled').length === 2")
	if text := guest.Text("main"); strings.Contains(text, "migration") || strings.Contains(text, "make step") {
		t.Errorf("a link for run_b shows %s", text)
	}
}

// TestThreadOfDecisions shows the thread of a run whose rules and whose terminal decide. Each
// decision is one row, without the message of the machine about it, and a request that was decided
// at the terminal shows that decision instead of its withdrawal.
func TestThreadOfDecisions(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	run := webtest.Begin(r.Machine("desk"), "run_a", webtest.Data{"source": "concerto", "title": "migration"})
	run.Send(protocol.RunDecision, webtest.Data{"title": "Read .env", "decision": "deny", "actor": "rule", "by": "[hosts.coder.permissions]", "reason": "secret"})
	run.Send(protocol.RunEmit, webtest.Data{"channel": "host:decided", "payload": webtest.Data{"host": "Coder", "decision": "deny", "description": "Read .env"}, "awaited": false})
	run.Ask("q1", webtest.Data{"prompt": "Run a command", "op_tool": "bash", "op_args": webtest.Data{"command": "make"}, "op_args_summary": "make"})
	b := enter(t, r, webtest.Operator, "#/runs/run_a")
	b.See("Denied by [hosts.coder.permissions]: Read .env (secret)")
	b.Wait("__see.all('@approval-card').length === 1")
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "withdrawn", "reason": "answered elsewhere"})
	run.Send(protocol.RunDecision, webtest.Data{"request_id": "q1", "title": "Run a command", "line": "make", "decision": "approve", "actor": "human", "by": "bob"})
	b.Wait("__see.all('@approval-card').length === 0 && __see.text('@resolved').includes('approved by bob')")
	if text := b.Text("@run-thread"); strings.Count(text, "Read .env") != 1 || strings.Contains(text, "withdrawn") || strings.Count(text, "make") != 1 {
		t.Errorf("thread = %s", text)
	}
	b.Click("=Inbox")
	b.Wait("__see.all('@settled').length === 2 && __see.text('@settled').includes('approved by bob')")
	b.Axe()
}
