package data_test

import (
	"fmt"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// misnaming is a script of the page that plays a server which names the machine named(x) for an
// event or a row x, and reports all machines as those of an account.
const misnaming = `void (() => {
	const change = (e) => e.run_id && e.seq || e.last_seq ? { ...e, host_id: globalThis.named?.(e) ?? e.host_id } : e;
	const message = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
	Object.defineProperty(WebSocket.prototype, 'onmessage', { ...message, set(fn) { message.set.call(this, (m) => fn.call(this, { data: JSON.stringify(change(JSON.parse(m.data))) })); } });
	const real = globalThis.fetch;
	globalThis.fetch = async (path, ...rest) => {
		const answer = await real(path, ...rest);
		if (!/^.(runs|hosts|inbox)/.test(path) || !answer.ok) return answer;
		const body = await answer.json(), account = Array.isArray(body) && body.find((x) => x.account)?.account;
		const changed = path === '/hosts' ? body.map((x) => ({ ...x, account })) : Array.isArray(body) ? body.map(change) : body.events ? { ...body, events: body.events.map(change) } : change(body);
		return new Response(JSON.stringify(changed), { status: 200, headers: answer.headers });
	};
})()`

// hostileTab opens the page with a script that plays the server, until the page is loaded again.
func (r *relay) hostileTab(script string) *browser.Tab {
	r.t.Helper()
	b := r.tab("")
	b.Expect("404")
	b.Eval(script)
	b.Eval(fmt.Sprintf("data.login('olga', %q)", password))
	b.Wait("data.conn.value.state === 'online' && data.runsState.value.from === 'server'")
	return b
}

// TestFalseMachine shows a sealed run as that of another machine, in lists and events. The page
// must not remember that: it opens the run when the server names the right machine.
func TestFalseMachine(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	r.machine("other")
	b := r.hostileTab(misnaming)
	b.Eval("data.loadMachines()")
	enrol(t, r, a, b)
	b.Eval("void (globalThis.named = () => 'other')")
	run := a.BeginSealed(h, "run_a", webtest.Data{"tool": "claude", "title": "the fix"})
	run.Write("one\n")
	run.Head()
	run.Stored()
	b.Wait("items('run_a').length > 0")
	same(t, b, "output('run_a')", "")

	b.Eval("void (globalThis.named = undefined)")
	b.Reload()
	b.Wait("globalThis.ready && data.conn.value.state === 'online'")
	b.Wait("output('run_a') === 'one\\n' && data.runs.value[0]?.title === 'the fix'")
	same(t, b, "items('run_a').some((x) => x.data?.code === 'changed')", false)
}

// TestTwoMachines shows the events of one run as those of two machines, before the page has opened
// any of them. The ones with the right machine are opened, and decide which it is.
func TestTwoMachines(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	r.machine("other")
	b := r.hostileTab(misnaming)
	b.Eval("data.loadMachines()")
	run := a.BeginSealed(h, "run_a", webtest.Data{"tool": "claude"}) // 1
	run.Write("two\n")
	run.Write("three\n")
	run.Stored()
	enrol(t, r, a, b)
	a.NewEpoch(true)
	again := a.BeginSealed(h, "run_b", webtest.Data{"tool": "claude"}) // 1
	b.Eval("void (globalThis.named = (e) => e.run_id !== 'run_b' ? undefined : e.seq === 2 ? undefined : 'other')")
	again.Write("two\n")
	again.Write("three\n")
	again.Stored()
	b.Wait("output('run_b').includes('two')")
	b.Wait("output('run_b') === 'two\\nthree\\n'") // the machine is known now
	b.Eval("void (globalThis.named = undefined)")
	b.Reload()
	b.Wait("globalThis.ready && data.conn.value.state === 'online'")
	b.Wait("output('run_b') === 'two\\nthree\\n' && data.runsState.value.from === 'server'")
	b.Eval("watch('run_b').loadEarlier()") // the first event was not stored
	b.Wait("items('run_b').some((x) => x.kind === 'started')")
	same(t, b, "items('run_b').some((x) => x.data?.code === 'changed')", false)
}

// TestPlaintextBeforeSealed sends plaintext before the page has opened an event of the run. When it
// has, the plaintext is reported, and is neither shown nor stored.
func TestPlaintextBeforeSealed(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	b := r.hostileTab(hostile)
	b.Eval("data.loadMachines()")
	enrol(t, r, a, b)
	b.Eval("void (globalThis.changeEvent = (e) => e.run_id === 'run_a' && e.seq <= 2 ? { type: e.seq === 1 ? 'run.started' : 'run.output', ts: e.ts, run_id: e.run_id, host_id: e.host_id, seq: e.seq, data: e.seq === 1 ? { tool: 'a lie' } : { stream: 'stdout', text: 'a lie\\n' } } : e)")
	run := a.BeginSealed(h, "run_a", webtest.Data{"tool": "claude"}) // 1
	run.Write("two\n")
	run.Stored()
	b.Wait("output('run_a') === 'a lie\\n'")
	b.Wait("cache.getEvents('run_a').then((all) => all.length === 2)")
	run.Send(protocol.RunOutput, webtest.Data{"stream": "stdout", "text": "three\n"})
	b.Wait("output('run_a') === 'three\\n'")
	same(t, b, "items('run_a').filter((x) => x.data?.code === 'changed').map((x) => [x.data.from, x.data.to])", "[[1,1],[2,2]]")
	b.Eval("void (globalThis.changeEvent = undefined)")
	b.Reload()
	b.Wait("globalThis.ready && data.conn.value.state === 'online'")
	b.Wait("output('run_a') === 'two\\nthree\\n'")
	same(t, b, "items('run_a').some((x) => x.data?.code === 'changed')", false)
}

// TestPlainRequest shows a plain request of a run that the server calls sealed, and one of a run
// that it does not, without any events. The page does not list the first one after it has loaded
// the keys, and marks both runs.
func TestPlainRequest(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	b := r.hostileTab(`void (() => {
	const real = globalThis.fetch;
	const json = (v) => new Response(JSON.stringify(v), { status: 200, headers: { "content-type": "application/json" } });
	const ts = new Date().toISOString();
	const request = (run_id) => ({ request_id: "q_" + run_id, run_id, host_id: "mbp", seq: 2, state: "open", ts, prompt: "A LIE", reason: "permission", questions: [{ id: "x", question: "Your password?", kind: "text" }], fresh: "x" });
	const row = (id, sealed) => ({ id, host_id: "mbp", tool: "", cwd: "", command: "", title: "", status: "awaiting_approval", sealed, last_seq: 2, started_at: ts, last_active_at: ts, pending: [request(id)] });
	const rows = [row("run_x", true), row("run_y")];
	globalThis.fetch = async (path, ...rest) => {
		if (/^.runs\?/.test(path)) return json(rows);
		if (/^.inbox/.test(path)) return json(rows.map((x) => x.pending[0]));
		if (/^.runs.run_[xy].events/.test(path)) return json({ events: [], more: false });
		if (/^.runs.run_[xy]/.test(path)) return json(rows.find((x) => path.includes(x.id)));
		return real(path, ...rest);
	};
})()`)
	b.Eval("data.loadMachines()")
	enrol(t, r, a, b)
	a.Play(h)
	b.Eval("void data.rpc('rpc.host.info', null, { host_id: 'mbp' }).catch(() => {})")
	b.Wait("document.dispatchEvent(new Event('visibilitychange')), data.requests.value.filter((x) => x.state === 'open').map((x) => x.run_id).join() === 'run_y'")
	same(t, b, "['run_x', 'run_y'].map((id) => data.unsealed.value(data.runs.value.find((x) => x.id === id), true))", []string{"Not sealed", "Not sealed"})
}
