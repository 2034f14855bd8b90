package web_test

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestSealedRunOnPage uses a sealed run in an enrolled browser: its thread, a request that waits
// for the confirmation of its machine, an event that the server withholds, and a reload.
func TestSealedRunOnPage(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	a := r.Sealed("mbp")
	machine := r.HelloMachine("mbp")
	b := enter(t, r, webtest.Operator, "#/inbox")
	enrol(t, r, a, b)
	run := a.BeginSealed(machine, "run_1", webtest.Data{"tool": "claude", "cwd": "/home/ann/shop", "command": "claude", "title": "the release"})
	run.Write("ready\n")
	request := run.Ask("q1", webtest.Data{"prompt": "Run a command", "op_tool": "bash", "op_args": webtest.Data{"command": "git push --tags"}, "risk": "high"})
	a.Play(machine)
	b.Eval("location.hash = '#/inbox'")
	b.See("git push --tags")
	b.See("Waiting for Ann’s MacBook to confirm.")
	b.Wait("document.querySelector('[data-testid=approve]').ariaDisabled === 'true' && __see.all('@deny').length === 0 && __see.all('.waits').length === 1")
	picture(t, b, "sealed-waiting")
	b.Eval("document.querySelector('[data-testid=approve]').click()")
	run.Head()
	b.Wait("__see.all('.waits').length === 0")
	awake(b)
	picture(t, b, "sealed-confirmed")
	decide(b, "@approve")
	check(t, a, a.Next(protocol.RunApprove), seal.KindDecide, "q1", request)
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "approve", "actor": "web", "by": webtest.Operator})
	run.Head()
	b.Wait("__see.all('@approval-card').length === 0")

	run.Seal(protocol.RunOutput, webtest.Data{"stream": "stdout", "text": "withheld\n"}) // the next event is another one
	machine.Send(protocol.RunOutput, "run_1", 7, webtest.Data{"stream": "stdout", "text": "a lie\n"})
	run.Write("after\n")
	b.Eval("location.hash = '#/runs/run_1'")
	b.See("after")
	b.Wait("__see.text('@changed') === 'The server changed or withheld event 7.'")
	b.WaitAbsent("a lie")
	b.See("the release")
	picture(t, b, "sealed-changed")
	b.Reload()
	b.See("after")
	b.See("the release")

	run.Ask("q2", webtest.Data{"prompt": "Run another command", "op_tool": "bash", "op_args": webtest.Data{"command": "make"}})
	b.Eval("location.hash = '#/inbox'")
	b.Click(".waits")
	a.Next(protocol.RunDeny)
}

// TestSealedRunWithoutKeys opens a sealed run in a browser that is not enrolled, and then in one
// that was enrolled later, while the machine is offline.
func TestSealedRunWithoutKeys(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	a := r.Sealed("mbp")
	machine := r.HelloMachine("mbp")
	run := a.BeginSealed(machine, "run_1", webtest.Data{"tool": "claude", "title": "the release"})
	run.Write("before the device\n")
	run.Head()
	run.Stored()
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	b.Expect("404")
	b.See("Encrypted: this page cannot show it.")
	b.See("This browser is not enrolled. Run concerto-relay devices add on the machine.")
	picture(t, b, "sealed-not-enrolled")
	id := enrol(t, r, a, b)
	machine.Close()
	b.Eval("location.hash = '#/hosts'")
	b.See("offline")
	b.Eval("location.hash = '#/runs/run_1'")
	b.See("mbp is offline. Its older runs appear when it is back.")
	picture(t, b, "sealed-offline")
	a.AddHistory(id)
	b.See("before the device")
}
