package web_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestRunWithoutTerminal opens a run without a terminal. The page must show no Terminal tab and no
// input field. Requests of the page that only read files must not appear in the thread. An ended
// run can be started again, and a parked run can be resumed.
func TestRunWithoutTerminal(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.HelloMachine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "asks", "source": "ndjson", "tool": "reviewer", "command": "python3 review.py --all", "cwd": "/srv/review"})
	for id, tool := range map[string]string{"t1": "rpc.fs.read", "t2": "rpc.git.diff", "t3": "rpc.fs.list"} {
		run.Send(protocol.ToolCall, webtest.Data{"request_id": id, "tool": tool, "actor": "web", "args": webtest.Data{"path": "looked-at"}})
		run.Send(protocol.ToolResult, webtest.Data{"request_id": id, "tool": tool, "actor": "web", "ok": true, "duration_ms": 3})
	}
	run.Send(protocol.ToolCall, webtest.Data{"request_id": "t4", "tool": "bash", "actor": "web", "args": webtest.Data{"cmd": "make"}})
	run.Stored()
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	b.Wait("__see.text('@run-thread').includes('make')")
	if text := b.Text("main"); strings.Contains(text, "looked-at") || strings.Contains(text, "Terminal") || b.Count("@composer") != 0 || b.Count("@again") != 0 {
		t.Errorf("the run's page shows %q", text)
	}
	parked := webtest.Begin(machine, "run_2", webtest.Data{"source": "concerto", "command": "concerto run --park main.conc"})
	parked.Send(protocol.RunMeta, webtest.Data{"labels": webtest.Data{"run": "r_7"}})
	parked.Send(protocol.RunExited, webtest.Data{"exit_code": 75})
	parked.Stored()
	run.Send(protocol.RunExited, webtest.Data{"exit_code": 1})
	run.Stored()
	webtest.Answer(machine)
	b.Click("@again")
	b.Wait("document.querySelector('[data-testid=start-cmd]')?.value === 'python3 review.py --all'")
	if dir := b.Eval("document.querySelector('input[list=start-dirs]').value"); dir != "/srv/review" {
		t.Errorf("suggested working directory = %v, want /srv/review", dir)
	}
	b.Eval("location.hash = '#/runs/run_2'")
	b.Wait("__see.text('@again') === 'Resume'")
	b.Click("@again")
	b.Wait("document.querySelector('[data-testid=start-cmd]')?.value === 'concerto runs resume r_7'")
}

// TestRunOfEngine opens a run of an engine. The page must show the state and the reason that the
// engine's machine reports, and no directory, files or changes. A request of the run has precedence
// over the state.
func TestRunOfEngine(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.HelloMachine("runs")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "triage.conc r_7", "source": "concerto", "tool": "concerto", "command": "triage.conc", "cwd": ""})
	run.Send(protocol.RunMeta, webtest.Data{"labels": webtest.Data{"run": "r_7", "state": "ready", "why": "no worker online for queue default"}})
	run.Stored()
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	b.Wait("__see.text('@why') === 'no worker online for queue default' && __see.text('main .status') === 'ready'")
	if text := b.Text("main"); strings.Contains(text, "Files") || strings.Contains(text, "Diff") || strings.Contains(text, "started triage.conc in") {
		t.Errorf("the run's page shows %q", text)
	}
	run.Send(protocol.RunMeta, webtest.Data{"labels": webtest.Data{"run": "r_7", "state": "waiting"}})
	run.Ask("q1", webtest.Data{"prompt": "ship it?"})
	b.Wait("__see.all('@why').length === 0 && __see.text('main .status') === 'needs approval'")
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "withdrawn"})
	run.Stored()
	b.Wait("__see.text('main .status') === 'waiting'")
	b.Eval("location.hash = '#/runs'")
	b.Wait("__see.text('@run-row').includes('waiting')")
}

// TestNames checks that the page shows the name of a machine instead of its id, and a new name
// after an owner has changed it.
func TestNames(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("host_yoacsm")
	machine.Send(protocol.Hello, "", 0, protocol.HelloData{Protocol: protocol.Version, Agent: "test/1", Name: "ann-laptop", Instance: "i"})
	machine.Next(protocol.Welcome)
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "fix"})
	run.Ask("q1", webtest.Data{"prompt": "Push?", "op_tool": "bash"})
	webtest.Answer(machine)
	b := enter(t, r, webtest.Owner, "#/inbox")
	b.Wait("__see.text('@approval-card').includes('on ann-laptop')")
	b.Eval("location.hash = '#/hosts/host_yoacsm'")
	b.Wait("document.querySelector('[data-testid=host-name]')?.value === 'ann-laptop'")
	b.See("system")
	b.Eval("{ const name = document.querySelector('[data-testid=host-name]'); name.value = 'the desk'; name.form.requestSubmit(); }")
	b.Wait("document.querySelector('main h1').textContent === 'the desk'")
	b.Eval("location.hash = '#/runs'")
	b.Wait("__see.text('@run-row').includes('the desk')")
}
