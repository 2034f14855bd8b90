package web_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// entry returns a JavaScript expression for the text of the outbox entry that contains about.
func entry(about string) string {
	return "__see.all('@outbox-entry').map((e) => e.innerText).find((t) => t.includes('" + about + "'))"
}

// TestOutcomesOfDecisions approves four requests while the page is offline. Before the page
// reconnects, another user denies one of them, one expires and one is withdrawn. The page must show
// the outcome of each request.
func TestOutcomesOfDecisions(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
	ask := func(id, what, hash string) {
		run.Ask(id, webtest.Data{"prompt": what + "?", "op_tool": "bash", "op_args": webtest.Data{"cmd": what}, "op_args_summary": what, "args_sha256": strings.Repeat(hash, 32)})
	}
	for id, what := range map[string]string{"q1": "make release", "q2": "make tell", "q4": "make late", "q5": "make moot"} {
		ask(id, what, "ab")
	}
	b := enter(t, r, webtest.Operator, "#/inbox")
	b.Expect("ERR_")
	b.Expect("WebSocket")
	b.Wait("__see.all('@approval-card').length === 4")
	b.Offline(true)
	r.Stop()
	b.Wait("document.querySelector('[data-testid=conn]').dataset.state === 'offline'")
	for _, id := range []string{"q1", "q2", "q4", "q5"} {
		b.Eval("document.querySelector('[data-key=\"run_1 " + id + "\"] [data-testid=approve]').scrollIntoView()")
		decide(b, `[data-key="run_1 `+id+`"] [data-testid=approve]`)
		b.Wait("__see.text('[data-key=\"run_1 " + id + "\"]').includes('Waiting to send: approve.')")
	}
	b.See("4 waiting to send")
	b.Axe()

	r.Restart()
	machine = r.Machine("desk")
	run.Reconnect(machine)
	run.Resolve("q2", "deny", webtest.Owner)
	run.Resolve("q4", "expired", "")
	run.Resolve("q5", "withdrawn", "")
	run.Stored()
	b.Offline(false)
	if b.Count("=Reconnect") > 0 {
		b.Eval("__see.one('=Try now')?.click()")
	}
	msg := machine.Next(protocol.RunApprove)
	if d, err := protocol.Decode[protocol.Decide](&msg); err != nil || d.RequestID != "q1" {
		t.Errorf("the machine receives the decision %+v, %v; want q1", d, err)
	}
	run.Resolve("q1", "approve", webtest.Operator)
	b.Wait(entry("make tell") + "?.includes('Already decided by ann: denied.')")
	b.Wait(entry("make late") + "?.includes('Expired')")
	b.Wait(entry("make moot") + "?.includes('Withdrawn')")
	for about, end := range map[string]string{"make release": "approved by olga", "make tell": "denied by ann", "make late": "expired", "make moot": "withdrawn"} {
		b.Wait("__see.all('@settled').some((e) => e.innerText.includes('" + about + "') && / " + end + " .*(now|ago)/s.test(e.innerText.replace(/\\s+/g, ' ')))")
	}
	if text := b.Text("section.over"); strings.Contains(text, " d ago") {
		t.Errorf("the page computes the age of decisions with the machine's clock: %s", text)
	}
	b.See("No open requests.")
	b.Axe()
	b.Click("=Clear all finished")
	b.Wait("__see.all('@outbox-entry').length === 0")
}
