package data_test

import (
	"context"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestSessionEnds ends the session of a user. Open pages must retain their data, and must continue
// to receive events after the user has logged in again. If another user logs in, that user must not
// see the data. A logout must delete all data in all tabs.
func TestSessionEnds(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	b := r.tab("")
	same(t, b, "[data.session.value.state, data.requestsState.value.loading]", `["out",true]`) // nothing is known yet
	same(t, b, "data.login('olga', 'wrong').catch((e) => [e.code, e.status, e.message])", `["unauthorized",401,"The name or the password is wrong."]`)
	b.Eval("data.login('olga', '" + password + "')")
	b.Wait("state('run_a').live && navigator.serviceWorker.controller")
	two := b.Beside()
	for _, what := range quiet {
		two.Expect(what)
	}
	two.Go(r.url + "/")
	two.Wait("globalThis.ready && data.session.value.user === 'olga'")

	r.lock("olga")
	b.Wait("data.session.value.state === 'ended' && data.conn.value.state === 'ended' && !state('run_a').live")
	same(t, b, "[items('run_a').length, data.runs.value.length, data.session.value.why.length > 0]", `[1,1,true]`)
	sendSeqs(h, "run_a", 2, 3)
	b.Eval("data.login('olga', '" + password + "')")
	b.Wait("state('run_a').live && output('run_a') === '2\\n3\\n'")
	two.Wait("data.session.value.state === 'in' && data.conn.value.state === 'online'") // through the other tab

	ask(h, "run_a", "q1", 4, nil)
	b.Wait("data.requests.value.length === 1")
	r.cut(b, two)
	b.Eval("data.decide(request('q1'), 'approve')")
	two.Wait("data.outbox.value.length === 1")
	r.restore(two)
	two.Wait("data.outbox.value[0].done || data.outbox.value[0].state === 'accepted'")
	two.Eval("data.login('vera', '" + password + "')") // another user in this browser
	two.Wait("data.session.value.user === 'vera' && data.outbox.value.length === 0 && data.conn.value.state === 'online'")
	r.restore(b)
	b.Wait("data.session.value.user === 'vera' && data.outbox.value.length === 0")

	b.Eval("data.logout()")
	b.Wait("data.session.value.state === 'out' && data.requestsState.value.loading")
	two.Wait("data.session.value.state === 'out' && data.runs.value.length === 0")
	same(t, b, `(async () => {
		const me = await fetch("/auth/me").then((r) => r.status);
		return [(await indexedDB.databases()).filter((d) => d.name !== "concerto-relay").length, await cache.getMeta("me") ?? null, (await cache.getEntries()).length, (await cache.getEvents("run_a")).length,
			(await caches.keys()).length, (await navigator.serviceWorker.getRegistrations()).length, me, items("run_a").length];
	})()`, `[0,null,0,0,0,0,401,0]`)
}

// lock ends all sessions of a user. It removes the user and adds the user again.
func (r *relay) lock(name string) {
	r.t.Helper()
	by := audit.Actor{Type: "server", Name: "test"}
	if err := r.auth.RemoveUser(context.Background(), by, name); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.auth.PutUser(context.Background(), by, name, auth.Operator, webtest.Hash); err != nil {
		r.t.Fatal(err)
	}
}

// TestRPC calls requests of the page to a machine. A call must return the machine's result, or an
// error with a message for the user. After a restart of the server, the page must repeat an open
// call with the same id.
func TestRPC(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	b := r.tab("olga")
	answer := func(e protocol.Envelope, data map[string]any) {
		d := map[string]any{"request_id": e.ID, "rpc_type": e.Type}
		for k, v := range data {
			d[k] = v
		}
		h.Send(protocol.RPCResponse, "run_a", 0, d)
	}
	b.Eval("globalThis.got = []; globalThis.go = (...args) => { data.rpc(...args).then((r) => got.push(r), (e) => got.push([e.code, e.message])); }; go('rpc.fs.read', 'run_a', {path: 'a'})")
	answer(h.Next("rpc.fs.read"), map[string]any{"ok": true, "result": map[string]any{"content": "x"}})
	b.Wait("got.length === 1")
	b.Eval("go('rpc.fs.read', 'run_a', {path: '..'})")
	answer(h.Next("rpc.fs.read"), map[string]any{"ok": false, "error": "the path leads out of the run's directory", "error_code": "out_of_scope"})
	b.Wait("got.length === 2")
	b.Eval("go('rpc.fs.list', 'run_a', {path: 'b'})")
	first := h.Next("rpc.fs.list")
	r.stop()
	r.restart()
	h = r.machine("h1")
	second := h.Next("rpc.fs.list")
	if first.ID == "" || first.ID != second.ID {
		t.Errorf("id of the call before the restart = %q, after it = %q; want the same", first.ID, second.ID)
	}
	answer(second, map[string]any{"ok": true, "result": map[string]any{"entries": []any{}}})
	b.Wait("got.length === 3")
	b.Eval("go('rpc.fs.read', 'run_b', {path: 'a'}); go('rpc.host.info', null, {host_id: 'h9'})")
	b.Wait("got.length === 5")
	same(t, b, "got.slice(0, 3)", `[{"content":"x"},["out_of_scope","The path leads out of the run's directory."],{"entries":[]}]`)
	same(t, b, "got.slice(3).map((x) => x[0]).sort()", `["unknown_host","unknown_run"]`)
	b.Eval("data.sendKeys('run_a', 'l'); data.sendKeys('run_a', 's\\r'); data.resize('run_a', 80, 24)")
	keys := h.Next(protocol.RunSendKeys)
	if d, err := protocol.Decode[protocol.SendKeys](&keys); err != nil || d.Keys != "ls\r" {
		t.Errorf("keys that the machine receives = %s, want ls and a carriage return", keys.Data)
	}
	h.Next(protocol.RunResize)
	b.Eval("data.stopRun('run_a', 'kill')")
	stop := h.Next(protocol.RunStop)
	if d, err := protocol.Decode[protocol.Stop](&stop); err != nil || d.Signal != "kill" {
		t.Errorf("stop that the machine receives = %s, want the signal kill", stop.Data)
	}
}

// TestWorker opens the page without a connection, which must show the stored data. It then installs
// a new version of the page. The new version must wait while tabs show the old one. TestNewerPage
// in tools/relay/web checks how the new version becomes active.
func TestWorker(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	sendSeqs(h, "run_a", 2, 5)
	b := r.tab("vera")
	b.Wait("state('run_a').live && navigator.serviceWorker.controller")
	b.Wait("(async () => (await cache.getEvents('run_a')).length === 5 && (await cache.getMeta('overview'))?.rows.length === 1)()")
	r.cut(b)
	b.Reload()
	b.Wait("globalThis.ready && data.runs.value.length === 1 && output('run_a') === '2\\n3\\n4\\n5\\n'")
	same(t, b, "[data.session.value.user, data.runsState.value.from, state('run_a').live]", `["vera","cache",false]`)

	b.Offline(false)
	two := b.Beside()
	for _, what := range quiet {
		two.Expect(what)
	}
	two.Go(r.url + "/")
	two.Wait("globalThis.ready")
	r.page = page(t, "globalThis.newer = true;")
	r.stop()
	r.restart()
	b.Eval("navigator.serviceWorker.getRegistration().then((r) => r.update())")
	b.Wait("data.update.value")
	two.Wait("data.update.value")
	two.Reload()
	two.Wait("globalThis.ready")
	same(t, two, "[data.update.value, globalThis.newer ?? false]", `[true,false]`) // still only the old page
	same(t, two, "(async () => (await caches.keys()).length)()", 2)
}
