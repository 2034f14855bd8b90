package web_test

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestWithheldEnd shows a run whose machine confirms that the page has all events. The server then
// withholds the newest events: the page must report them until they arrive.
func TestWithheldEnd(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	a := r.Sealed("mbp")
	machine := r.HelloMachine("mbp")
	b := enter(t, r, webtest.Operator, "#/inbox")
	enrol(t, r, a, b)
	run := a.BeginSealed(machine, "run_1", webtest.Data{"tool": "claude", "cwd": "/home/ann/shop", "command": "claude", "title": "the release"})
	run.Write("ready\n")
	run.Head()
	run.Stored()
	run.Confirm()
	a.Play(machine)
	b.Eval("location.hash = '#/runs/run_1'")
	b.See("ready")
	b.Wait("/^Confirmed by Ann’s MacBook until \\d\\d:\\d\\d/.test(__see.text('@confirmed'))")
	picture(t, b, "confirmed")

	late := run.Seal(protocol.RunOutput, webtest.Data{"stream": "stdout", "text": "withheld\n"})
	later := run.Seal(protocol.RunOutput, webtest.Data{"stream": "stdout", "text": "withheld, too\n"})
	run.Confirm()
	b.Eval("location.hash = '#/runs'")
	b.See("the release")
	b.Eval("location.hash = '#/runs/run_1'") // asks the machine at once
	b.Wait("__see.text('@changed') === 'The server changed or withheld events 4 to 5.'")
	picture(t, b, "withheld")
	run.SendFrame(late)
	b.Wait("__see.text('@changed') === 'The server changed or withheld event 5.'")
	run.SendFrame(later)
	b.See("withheld, too")
	b.Wait("__see.all('@changed').length === 0")
	b.Reload()
	b.See("withheld, too")
	b.Wait("__see.all('@confirmed').length === 1 && __see.all('@changed').length === 0")
}
