package data_test

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// TestLive sends events of a machine. The overview and the run must show them; each has a
// subscription of its own. A decision and an input must reach the machine once, and the page must
// show their outcome.
func TestLive(t *testing.T) {
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	b := r.tab("olga")
	same(t, b, "data.session.value.user + ' ' + data.session.value.role", "olga operator")
	same(t, b, "[data.can('decide'), data.can('audit'), data.can('start')]", `[true,false,true]`)
	b.Wait("data.runs.value.length === 1 && data.runs.value[0].title === 't'")
	b.Wait("state('run_a').live")
	h.Send(protocol.RunOutput, "run_a", 2, servertest.Output("one\rtwo\n"))
	ask(h, "run_a", "q1", 3, map[string]any{"expires_at": "2025-01-01T00:10:00Z"})
	b.Wait("data.requests.value.length === 1 && data.newRequest.value?.request_id === 'q1'")
	b.Wait("items('run_a').length === 3")
	same(t, b, "items('run_a').map((x) => [x.kind, x.role, x.seq, x.text])", `[["started","system",1,"codex -q"],["output","assistant",2,"two\n"],["request","request",3,"May it?"]]`)
	same(t, b, "[data.runs.value[0].status, data.runs.value[0].pending.length, card('q1').state, request('q1').cwd]", `["awaiting_approval",1,"open","/w"]`)

	// The time until the request expires depends on the machine's clock, which shows the beginning
	// of
	// 2025. A page that connects later must know that clock too.
	const minutes = "Math.round((request('q1').expires_ms - data.now()) / 60e3)"
	same(t, b, minutes, 10)
	later := r.tab("vera")
	later.Wait("request('q1') && " + minutes + " === 10")
	same(t, later, "data.machineClock('h1') < -3600e3", true)

	b.Eval("data.decide(request('q1'), 'approve', {text: 'fine'})")
	e := h.Next(protocol.RunApprove)
	d, err := protocol.Decode[protocol.Decide](&e)
	if err != nil || d.RequestID != "q1" || d.ArgsSHA256 != sha("q1") || d.Text != "fine" || d.Actor != "web" {
		t.Fatalf("decision that the machine receives = %s, error = %v", e.Data, err)
	}
	b.Wait("card('q1').state === 'deciding' && entry('q1').state === 'sent'")
	h.Send(protocol.RunPermissionResolved, "run_a", 4, map[string]any{"request_id": "q1", "decision": "approve", "by": "olga", "actor": "web"})
	b.Wait("card('q1').state === 'applied' && entry('q1').done")
	b.Wait("data.requests.value.length === 0 && data.runs.value[0].status === 'running' && watch('run_a').last.value === 4")
	same(t, b, "items('run_a').at(-1).data.resolution.decision + ' ' + data.outboxText(entry('q1'))", "approve Applied: approved.")

	b.Eval("data.sendInput('run_a', 'go on')")
	e = h.Next(protocol.RunSendInput)
	in, err := protocol.Decode[protocol.SendInput](&e)
	if err != nil || in.Text != "go on" {
		t.Fatalf("input that the machine receives = %s, error = %v", e.Data, err)
	}
	b.Wait("items('run_a').at(-1).kind === 'sending'")
	h.Send(protocol.RunInput, "run_a", 5, map[string]any{"actor": "web", "input_id": in.InputID, "text_redacted": "go on", "text_sha256": sha("x")})
	b.Wait("items('run_a').at(-1).kind === 'input' && data.outbox.value.length === 1 && data.outbox.value[0].state === 'applied'")
	b.Wait("(async () => !JSON.stringify(await cache.getEntries()).includes('go on'))()") // the typed text was deleted

	h.Send(protocol.RunExited, "run_a", 6, map[string]any{"exit_code": 3})
	b.Wait("data.runs.value[0].status === 'exited' && data.runs.value[0].exit_code === 3 && watch('run_a').last.value === 6")
	same(t, b, "items('run_a').at(-1).text", "Ended with exit code 3.")
	same(t, b, "data.conn.value.clock_differs", false)
}

// TestMissedDecision disconnects a page that has received the input of a decision, but not the
// decision. After the reconnection, the page must show the decision and the user who made it.
func TestMissedDecision(t *testing.T) {
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	ask(h, "run_a", "q1", 2, nil)
	b := r.tab("olga")
	b.Wait("data.requests.value.length === 1")
	h.Send(protocol.RunInput, "run_a", 3, map[string]any{"actor": "web", "by": "olga", "input_id": "q1", "text_redacted": "y\n", "text_sha256": sha("y")})
	b.Wait("data.settled.value[0]?.resolution.decision === 'answered'")
	r.cut(b)
	h = r.machine("h1")
	h.Send(protocol.RunPermissionResolved, "run_a", 4, map[string]any{"request_id": "q1", "decision": "approve", "by": "olga", "actor": "web"})
	h.Acked("run_a", 4)
	r.restore(b)
	b.Wait("data.settled.value[0].resolution.decision === 'approve' && data.settled.value.length === 1")
}
