package web_test

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestRunBeforeItsFirstReport checks the views of a run of Concerto in a directory without git that
// has reported nothing yet: the tab Structure exists, and the missing repository is no error. The
// filter of the runs shows at least 12 characters on a narrow phone. Titles set their direction.
func TestRunBeforeItsFirstReport(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.HelloMachine("desk")
	webtest.Begin(machine, "run_1", webtest.Data{"title": "\u05e9\u05dc\u05d5\u05dd", "source": "concerto", "tool": "concerto", "cwd": "/home/ann"})
	b := enter(t, r, webtest.Owner, "#/runs/run_1/structure")
	b.See("The program has not reported its structure yet.")
	b.Click("=Diff")
	for _, typ := range []string{"rpc.git.status", "rpc.git.diff"} {
		e := machine.Next(typ)
		machine.Send(protocol.RPCResponse, e.RunID, 0, webtest.Data{"request_id": e.ID, "rpc_type": e.Type, "ok": false, "error_code": "not_found", "error": "git: fatal: not a git repository"})
	}
	b.See("The run's directory is not in a git repository")
	if n := b.Count(".failed"); n != 0 {
		t.Errorf("errors on the tab Diff = %d, want none", n)
	}
	if direction := b.Eval("getComputedStyle(document.querySelector('h1')).direction"); direction != "rtl" {
		t.Errorf("direction of a Hebrew title = %v, want rtl", direction)
	}
	b.Emulate(narrow, browser.Light)
	b.Eval("location.hash = '#/runs'")
	b.Wait("__see.all('@run-row').length === 1")
	if width := b.Eval("(() => { const e = document.querySelector('.bar input'), s = getComputedStyle(e), c = document.createElement('canvas').getContext('2d'); c.font = s.font; return e.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight) >= c.measureText('0'.repeat(12)).width; })()"); width != true {
		t.Error("the filter shows fewer than 12 characters")
	}
}
