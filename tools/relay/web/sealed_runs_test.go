package web_test

import (
	"strings"
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
	check(t, a, a.Next(protocol.RunDecide), seal.KindDecide, "q1", request)
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "approve", "actor": "web", "by": webtest.Operator})
	run.Head()
	b.Wait("__see.all('@approval-card').length === 0")
	b.Eval("location.hash = '#/history'")
	b.Wait("__see.text('@settled').includes('Run a command') && __see.text('@settled').includes('git push --tags') && __see.text('@settled').includes('approved by " + webtest.Operator + "')")
	b.Eval("location.hash = '#/history?decision=deny'")
	b.See("No decisions match the filter.")

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
	a.Next(protocol.RunDecide)
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
	b.See("This browser is not enrolled. Run concerto-relay devices add on the machine, or use your passkey in the settings.")
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

// TestUnsealedRun shows runs in plaintext of a machine that seals, as a server can forge them: they
// are marked in the list, on their cards and in their headers. Those of a machine without an
// account are marked, too, because the server may hide that it has one.
func TestUnsealedRun(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	a := r.Sealed("mbp")
	machine, other := r.HelloMachine("mbp"), r.HelloMachine("build-3")
	b := enter(t, r, webtest.Operator, "#/inbox")
	enrol(t, r, a, b)
	sealed := a.BeginSealed(machine, "run_1", webtest.Data{"tool": "claude", "cwd": "/home/ann/shop", "command": "claude", "title": "the sealed run"})
	forged := webtest.Begin(machine, "run_2", webtest.Data{"title": "the forged run", "cwd": "/home/ann/shop"})
	webtest.Begin(other, "run_3", webtest.Data{"title": "the plain run"})
	sealed.Write("ready\n")
	forged.Write("ready\n")
	forged.Ask("q1", webtest.Data{"prompt": "Run a command", "op_tool": "bash", "args_sha256": strings.Repeat("ab", 32), "op_args": webtest.Data{"command": "git push --tags"}, "fresh": a.Token()})
	const long = "Not sealed: the server can read and change this run."
	b.Eval("location.hash = '#/inbox'")
	b.See("git push --tags")
	b.See(long)
	awake(b)
	picture(t, b, "unsealed-card")
	b.Eval("location.hash = '#/runs'")
	b.See("the sealed run")
	b.See("the plain run")
	b.Wait("[...document.querySelectorAll('[data-testid=run-row]')].map((x) => [x.dataset.run, x.innerText.includes('Not sealed')].join()).sort().join(' ') === 'run_1,false run_2,true run_3,true'")
	picture(t, b, "unsealed-list")
	b.Eval("location.hash = '#/runs/run_2'")
	b.See("ready")
	b.See(long)
	picture(t, b, "unsealed-run")
	b.Eval("location.hash = '#/runs/run_3'")
	b.Wait("document.querySelector('h1, h2')?.innerText.includes('the plain run')")
	b.See(long)
	b.Eval("location.hash = '#/runs/run_1'")
	b.Wait("document.querySelector('h1, h2')?.innerText.includes('the sealed run')")
	if marked := b.Eval("document.body.innerText.includes('Not sealed')"); marked != false {
		t.Error("the sealed run is marked")
	}
	b.Eval("location.hash = '#/runs'")
	b.Reload() // the keys are stored
	b.Wait("[...document.querySelectorAll('[data-testid=run-row]')].map((x) => [x.dataset.run, x.innerText.includes('Not sealed')].join()).sort().join(' ') === 'run_1,false run_2,true run_3,true'")
}
