package web_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestFleet follows a run with many tasks: its summary in the list of runs, and the tab with a row
// for each task, the queues above, and the open request at the top, which is decided with the
// keyboard. A run without tasks has no such tab.
func TestFleet(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.HelloMachine("desk")
	webtest.Begin(machine, "run_1", webtest.Data{"source": "concerto", "title": "the lone one"})
	run := webtest.Fleet(machine)
	b := enter(t, r, webtest.Operator, "#/runs")
	b.Wait(`__see.text("@run-fleet") === "4 working, 1 waiting for you, 7 merged, 1 failed"`)
	if n := b.Count("@run-fleet"); n != 1 {
		t.Errorf("%d runs of the list have a summary of tasks, want 1", n)
	}
	b.Eval("location.hash = '#/runs/run_fleet'")
	b.Click("=Fleet")
	b.Wait(`location.hash === "#/runs/run_fleet/fleet" && __see.all("@task").length === 14 && __see.all("@approval-card").length === 1`)
	if got := b.Text("@fleet-sum"); got != "4 working, 1 waiting for you, 7 merged, 1 failed" {
		t.Errorf("summary = %q", got)
	}
	states := func() string {
		text, _ := b.Eval(`__see.all("@task").map((e) => e.dataset.state).join(" ")`).(string)
		return text
	}
	if got := states(); got != "waiting failed working working working working submitted"+strings.Repeat(" merged", 7) {
		t.Errorf("states of the tasks = %s", got)
	}
	row := `((name) => [...__see.all("@task").find((e) => e.firstElementChild.textContent === name).children].map((e) => e.textContent.trim()).join("|"))`
	for name, want := range map[string]string{
		"payments": "payments|Coder3|waiting for you|7 min ago|$0.4000|Run a command: go test ./payments/... -run TestRounding -count=1",
		"reports":  "reports|Coder1|failed red|12 min ago|$1.20|TestTotals fails: want 12.50, got 12.49",
		"stock":    "stock|Coder2|submitted to 7 merged|2 min ago||Stock is counted per warehouse now.",
		"cart":     "cart|Coder1|merged|40 min ago|$0.3100|All tests pass.",
	} {
		if got := b.Eval(row + `("` + name + `")`); got != want {
			t.Errorf("row = %v, want %s", got, want)
		}
	}
	if got := b.Eval(`[...document.querySelectorAll(".queues li")].map((e) => e.textContent).join("|")`); got != "main 1 queued · gate 1 of 3 · 7 merged · 1 failed|docs 0 queued · 0 merged · 0 failed" {
		t.Errorf("queues = %v", got)
	}
	if above := b.Eval(`(([card, queues, rows]) => card < queues && queues < rows)(["[data-testid=approval-card]", ".queues", ".tasks"].map((s) => document.querySelector(s).getBoundingClientRect().top))`); above != true {
		t.Error("the request is not above the queues, or they are not above the tasks")
	}
	b.Axe()
	b.Emulate(browser.Phone, browser.Dark)
	b.Axe()
	if wide := b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
		t.Errorf("the tab is %v pixels wider than the phone", wide)
	}
	b.Emulate(browser.Desk, browser.Light)
	awake(b)
	b.Press("j", "a", "Enter")
	if d := machine.Next(protocol.RunApprove); d.RunID != "run_fleet" {
		t.Errorf("the machine receives the decision %+v", d)
	}
	run.Resolve("f1", "approve", webtest.Operator)
	b.Wait(`__see.all("@approval-card").length === 0 && __see.text("@fleet-sum") === "5 working, 7 merged, 1 failed"`)
	fleet := webtest.FleetOf("main")
	fleet["merged"], fleet["total"], fleet["tasks"] = 8, 20, append(fleet["tasks"].([]webtest.Data)[:13], webtest.Data{"task": "stock", "agent": "Coder2", "state": "merged"})
	run.Send(protocol.RunMeta, webtest.Data{"fleet": fleet})
	b.Wait(`__see.text("@fleet-sum") === "5 working, 8 merged, 1 failed"`)
	b.See("6 older tasks are not shown.")
	run.Send(protocol.RunExited, webtest.Data{"exit_code": 1})
	b.See("stopped")
	b.Eval("location.hash = '#/runs/run_1'")
	b.Wait("document.querySelector('main h1').textContent.includes('the lone one')")
	if n := b.Count("=Fleet"); n != 0 {
		t.Error("a run without tasks has the tab Fleet")
	}
}
