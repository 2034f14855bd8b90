package data_test

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// sockets replaces WebSocket, so that the test can delay the close events of the page's
// connections: hold starts the delay, and release delivers the events.
const sockets = `(() => {
	const Real = WebSocket;
	globalThis.sockets = [];
	globalThis.WebSocket = class extends Real { constructor(url) { super(url); sockets.push(this); } };
	let held = null;
	globalThis.hold = () => {
		held = [];
		for (const ws of sockets) {
			const { onclose } = ws;
			ws.onclose = (e) => (held ? held.push(() => onclose(e)) : onclose(e));
		}
	};
	globalThis.release = () => { const all = held; held = null; for (const fn of all) fn(); };
})()`

// TestClosingConnection sends messages after a connection has closed and before the page receives
// its close event. Decisions, calls and subscriptions must be sent once on the next connection.
// Keys and sizes of the terminal must be discarded.
func TestClosingConnection(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	h.Begin("run_b")
	ask(h, "run_a", "q1", 2, nil)
	ask(h, "run_a", "q2", 3, nil)
	b := r.tab("olga")
	b.Go(r.url + "/?idle")
	b.Wait("globalThis.ready")
	b.Eval(sockets)
	b.Eval("data.start()")
	b.Wait("data.requests.value.length === 2 && state('run_a').live")
	closed(t, b, h, "q1", "")
	closed(t, b, h, "q2", "await new Promise((ok) => { const look = () => (sockets.every((ws) => ws.readyState === 3) ? ok() : setTimeout(look, 5)); look(); });")
	h.Send(protocol.RunOutput, "run_b", 2, servertest.Output("seen"))
	b.Wait("output('run_b') === 'seen'")
}

// closed closes the page's connections and runs the JavaScript code more. Before the page receives
// the close events, it sends a message of each kind.
func closed(t *testing.T, b *browser.Tab, h *servertest.Peer, id, more string) {
	t.Helper()
	b.Eval(`(async () => {
		hold();
		for (const ws of sockets.splice(0)) ws.close();
		` + more + `
		globalThis.asked = data.rpc("rpc.fs.read", "run_a", { path: "` + id + `" });
		data.sendKeys("run_a", "lost");
		data.resize("run_a", 90, 30);
		watch("run_b");
		await data.decide(request("` + id + `"), "approve");
		await new Promise((ok) => setTimeout(ok, 10)); // keys are collected for a moment before they are sent
	})()`)
	same(t, b, "[data.conn.value.state, entry('"+id+"').state]", `["online","waiting"]`) // no message has informed the page
	b.Eval("release()")
	for received := 0; received < 2; {
		e := h.Read()
		switch e.Type {
		case protocol.RunApprove:
			received++
			if got := decision(t, e); got != "run.permission.approve "+id {
				t.Errorf("%s: decision that the machine receives = %s", id, got)
			}
		case "rpc.fs.read":
			received++
			h.Send(protocol.RPCResponse, "run_a", 0, map[string]any{"request_id": e.ID, "rpc_type": e.Type, "ok": true, "result": e.Data})
		case protocol.RunSendKeys, protocol.RunResize:
			t.Errorf("%s: the machine receives %s of the closed connection: %s", id, e.Type, e.Data)
		}
	}
	same(t, b, "asked.then((r) => r.path)", id)
	b.Wait("card('" + id + "').state === 'deciding' && state('run_a').live && state('run_b').live")
}
