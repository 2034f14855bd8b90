package data_test

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/tools/browser"
)

// cut disables the network of the given tabs. Open connections close, and new connections fail.
func (r *relay) cut(tabs ...*browser.Tab) {
	r.t.Helper()
	for _, b := range tabs {
		b.Offline(true)
	}
	r.stop()
	r.restart()
	for _, b := range tabs {
		b.Wait("data.conn.value.state === 'offline' || data.conn.value.state === 'connecting'")
	}
}

// restore enables the network of tabs again.
func (r *relay) restore(tabs ...*browser.Tab) {
	r.t.Helper()
	for _, b := range tabs {
		b.Offline(false)
		b.Eval("data.retryNow()")
	}
	for _, b := range tabs {
		b.Wait("data.conn.value.state === 'online' && !data.runsState.value.loading")
	}
}

// decision returns the decision that a machine receives.
func decision(t *testing.T, e protocol.Envelope) string {
	t.Helper()
	d, err := protocol.Decode[protocol.Decide](&e)
	if err != nil {
		t.Fatal(err)
	}
	return e.Type + " " + d.RequestID
}

// TestOutbox makes decisions and inputs without a connection. They must wait, also across a reload.
// One tab must send them in order and once, and the page must show their outcomes.
func TestOutbox(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	for i, id := range []string{"q1", "q2", "q3", "q4", "q5"} {
		ask(h, "run_a", id, int64(i+2), nil)
	}
	b := r.tab("olga")
	b.Wait("navigator.serviceWorker.controller") // the page opens without a connection
	two := b.Beside()
	for _, what := range quiet {
		two.Expect(what)
	}
	two.Go(r.url + "/")
	two.Wait("globalThis.ready && data.requests.value.length === 5")
	b.Wait("data.requests.value.length === 5")
	b.Wait("(async () => (await cache.getMeta('overview'))?.requests.length === 5)()")

	r.cut(b, two)
	b.Eval("data.decide(request('q1'), 'approve')")
	two.Wait("data.outbox.value.length === 1 && card('q1').state === 'waiting-to-send'")
	two.Eval("data.decide(request('q2'), 'deny', {text: 'no'})")
	b.Wait("data.outbox.value.length === 2")
	b.Eval("data.sendInput('run_a', 'hello')")
	b.Eval("data.decide({...request('q3'), args_sha256: '" + sha("old") + "'}, 'approve')") // decides older arguments
	b.Eval("data.decide(request('q4'), 'approve')")
	b.Eval("data.decide(request('q5'), 'approve')")
	same(t, b, "[card('q1').state, data.outboxText(entry('q1')), items('run_a').at(-1).kind]", `["waiting-to-send","Waiting to send.","sending"]`)
	b.Reload()
	b.Wait("globalThis.ready && data.outbox.value.length === 6 && card('q5').state === 'waiting-to-send'")
	same(t, b, "[data.session.value.state, data.session.value.user, data.conn.value.state === 'online']", `["in","olga",false]`)
	// One entry is too old, and one is removed.
	b.Eval(`(async () => {
		const old = entry('q4');
		await cache.putEntry({ ...old, created: old.created - 25 * 3600e3 });
		await data.dropEntry(entry('q5').id);
	})()`)

	// Another user decides while the page is offline.
	h = r.machine("h1")
	h.Send(protocol.RunPermissionResolved, "run_a", 7, map[string]any{"request_id": "q2", "decision": "approve", "by": "ann", "actor": "web"})
	h.Acked("run_a", 7)
	r.restore(b, two)
	if got := decision(t, h.Next(protocol.RunApprove)); got != "run.permission.approve q1" {
		t.Errorf("message to the machine = %s", got)
	}
	in := h.Next(protocol.RunSendInput)
	if d, err := protocol.Decode[protocol.SendInput](&in); err != nil || d.Text != "hello" {
		t.Errorf("input to the machine = %s", in.Data)
	}
	b.Wait("data.outbox.value.every((x) => x.done || x.state === 'sent')")
	for _, tab := range []*browser.Tab{b, two} {
		tab.Wait("card('q1').state === 'deciding' && card('q2').state === 'decided-by-other' && card('q3').state === 'args-changed' && card('q4').state === 'open'")
		same(t, tab, "['q1', 'q2', 'q3', 'q4'].map((q) => entry(q).state)", `["sent","already_decided","args_changed","too_old"]`)
		same(t, tab, "[data.outboxText(entry('q2')), request('q3').args_sha256, card('q2').by, request('q5').state]", []string{"Already decided by ann: approved.", sha("q3"), "ann", "open"})
	}
	h.Send(protocol.RunPermissionResolved, "run_a", 8, map[string]any{"request_id": "q1", "decision": "approve", "by": "olga"})
	b.Wait("card('q1').state === 'applied'")
	two.Wait("card('q1').state === 'applied' && data.outbox.value.length === 5")
	// Nothing was sent twice or late, so the machine's next message is this decision.
	b.Eval("data.decide(request('q5'), 'deny')")
	for {
		e := h.Read()
		if e.Type == protocol.RunDeny {
			if got := decision(t, e); got != "run.permission.deny q5" {
				t.Errorf("message to the machine = %s, want the denial of q5", got)
			}
			break
		}
		if e.Type == protocol.RunApprove || e.Type == protocol.RunSendInput {
			t.Errorf("message to the machine = %s", e.Data)
		}
	}
}

// TestRefusedAnswer checks that the page shows why a machine has rejected an answer, that the user
// can decide the request again, and that secret answers are not stored.
func TestRefusedAnswer(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	ask(h, "run_a", "q1", 2, map[string]any{"questions": []any{map[string]any{"id": "n", "question": "How many?", "kind": "text"}}})
	ask(h, "run_a", "q2", 3, map[string]any{"questions": []any{map[string]any{"id": "p", "question": "Password?", "kind": "text", "secret": true}}})
	b := r.tab("olga")
	b.Wait("data.requests.value.length === 2")
	b.Eval("data.decide(request('q1'), 'approve', {answers: {n: 'x'}})")
	h.Next(protocol.RunApprove)
	result := func(id, state, why string) {
		h.Send(protocol.CommandResult, "run_a", 0, map[string]any{"id": id, "kind": "decision", "state": state, "error": why})
	}
	result("q1", "rejected", "n: must be a number")
	b.Wait("card('q1').state === 'rejected'")
	same(t, b, "[card('q1').error, card('q1').errors]", `["N: must be a number.",{"n":"Must be a number."}]`)
	b.Eval("data.decide(request('q1'), 'approve', {answers: {n: '3'}})")
	e := h.Next(protocol.RunApprove)
	if d, err := protocol.Decode[protocol.Decide](&e); err != nil || string(d.Answers) != `{"n":"3"}` {
		t.Errorf("answer to the machine = %s", e.Data)
	}
	result("q1", "applied", "")
	b.Wait("card('q1').state === 'applied'")

	r.cut(b)
	b.Eval("data.decide(request('q2'), 'approve', {answers: {p: 'hunter22'}})")
	same(t, b, "(async () => JSON.stringify(await cache.getEntries()).includes('hunter22'))()", false)
	h = r.machine("h1")
	r.restore(b)
	e = h.Next(protocol.RunApprove)
	if d, err := protocol.Decode[protocol.Decide](&e); err != nil || string(d.Answers) != `{"p":"hunter22"}` {
		t.Errorf("answer to the machine = %s", e.Data)
	}
	r.cut(b)
	b.Eval("data.decide(request('q2'), 'deny')")
	b.Go(r.url + "/?again") // the tab with the answer was closed
	b.Wait("globalThis.ready && data.outbox.value.some((x) => x.state === 'lost')")
}

// TestUnansweredDecision checks that a decision without an answer on an open connection is sent
// again.
func TestUnansweredDecision(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	ask(h, "run_a", "q1", 2, nil)
	b := r.tab("olga")
	b.Wait("data.requests.value.length === 1 && data.conn.value.state === 'online'")
	b.Eval(`(() => {
		const send = WebSocket.prototype.send, after = setTimeout;
		globalThis.swallowed = 0;
		WebSocket.prototype.send = function (text) { if (!text.includes("run.permission.approve") || swallowed++ > 0) send.call(this, text); };
		globalThis.setTimeout = (fn, ms, ...args) => after(fn, ms === 15_000 && swallowed === 1 ? 0 : ms, ...args); // do not wait 15 seconds in the test
	})()`)
	b.Eval("data.decide(request('q1'), 'approve')")
	if got := decision(t, h.Next(protocol.RunApprove)); got != "run.permission.approve q1" {
		t.Errorf("decision to the machine = %s", got)
	}
	b.Wait("data.outbox.value[0].state === 'sent' && swallowed === 2")
}

// TestConcurrentStates checks that the final state of a decision stays when several messages of the
// server arrive at once.
func TestConcurrentStates(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	ask(h, "run_a", "q1", 2, nil)
	b := r.tab("olga")
	b.Wait("data.requests.value.length === 1 && data.conn.value.state === 'online'")
	b.Eval(`(() => {
		const { set } = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
		let held = null;
		Object.defineProperty(WebSocket.prototype, "onmessage", { set(hear) {
			set.call(this, (e) => {
				if (e.data.includes('"command.state"') && e.data.includes('"accepted"')) { held = e; return; }
				if (held) hear(held);
				held = null;
				hear(e);
			});
		} });
	})()`)
	r.cut(b)
	h = r.machine("h1")
	r.restore(b)
	b.Eval("data.decide(request('q1'), 'approve')")
	h.Next(protocol.RunApprove)
	b.Wait("data.outbox.value[0].state === 'sent'")
}
