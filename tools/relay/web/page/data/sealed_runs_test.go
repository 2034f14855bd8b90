package data_test

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/web/webtest"
)

// TestSealedRun follows a run whose events a host seals: its row, its thread and a request, which
// can be approved when the host has confirmed it.
func TestSealedRun(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	b := r.tab("olga")
	b.Eval("data.loadMachines()")
	id := enrol(t, r, a, b)
	run := a.BeginSealed(h, "run_a", webtest.Data{"tool": "claude", "cwd": "/src", "command": "claude --fast", "title": "the fix"})
	a.Play(h)
	b.Wait("data.runs.value[0]?.title === 'the fix' && data.runs.value[0].tool === 'claude'")
	run.Write("ready\n")
	request := run.Ask("q1", webtest.Data{"prompt": "May it? 😀", "op_tool": "bash", "op_args": map[string]any{"cmd": "rm -r <build>", "n": 1.5}, "args_sha256": sha("q1"), "risk": "high"})
	b.Wait("request('q1')?.op_args.cmd === 'rm -r <build>'")
	same(t, b, "waiting.peek().has('run_a q1')", true)
	b.Eval("data.decide(request('q1'), 'approve')")
	b.Wait("card('q1').state === 'rejected'")
	run.Head()
	b.Wait("!waiting.peek().has('run_a q1')")
	b.Wait("output('run_a') === 'ready\\n' && items('run_a').some((x) => x.kind === 'request' && x.data.request_id === 'q1')")
	b.Eval("data.decide(request('q1'), 'approve')")
	e := a.Next(protocol.RunDecide)
	if ok, err := a.Check(&e, seal.KindDecide, "q1", request); err != nil || ok.Statement.Device != id {
		t.Errorf("decision: %v", err)
	}
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "approve", "actor": "web", "by": "olga"})
	run.Head()
	b.Wait("card('q1').state === 'applied' && data.requests.value.length === 0")
	run.Send(protocol.RunAwaitingInput, webtest.Data{"reason": "prompt"})
	b.Wait("data.runs.value[0].status === 'awaiting_input'")
	run.Write("done\n")
	b.Wait("output('run_a') === 'ready\\ndone\\n'")
	same(t, b, "items('run_a').map((x) => x.kind).join()", "started,output,request,waiting,output")

	b.Wait("cache.getMeta('overview').then((m) => m.rows[0].waits)")
	b.Reload() // the keys are stored
	b.Wait("globalThis.ready && data.conn.value.state === 'online' && data.runsState.value.from === 'server'")
	b.Wait("output('run_a') === 'ready\\ndone\\n'")
	b.Wait("data.runs.value[0].status === 'awaiting_input' && data.runs.value[0].title === 'the fix'")
	readable := "cache.within(['counters'], 'readonly', (done, all) => { all.getAll().onsuccess = (e) => done(e.target.result.flatMap((v) => [...v.secrets?.values() ?? []])); }).then((keys) => Promise.all(keys.map((k) => crypto.subtle.exportKey('raw', k).then(() => 'read', () => 'refused')))).then((all) => all.join())"
	if got := b.Eval(readable); got != "refused" {
		t.Errorf("export of the stored secrets = %v", got)
	}
	b.Eval("data.loadSeal().then((s) => s.forgetDevice(data.devices.value[0].account))")
	same(t, b, "cache.within(['counters'], 'readonly', (done, all) => { all.count().onsuccess = (e) => done(e.target.result); })", 0)
}

// hostile is a script of the page that plays a server which withholds the events for which
// withheld(e) holds, and changes others by changeEvent(e).
const hostile = `void (() => {
	const pass = (e) => !globalThis.withheld?.(e);
	const change = (e) => globalThis.changeEvent?.(e) ?? e;
	const message = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
	Object.defineProperty(WebSocket.prototype, 'onmessage', { ...message, set(fn) { message.set.call(this, (m) => { const e = JSON.parse(m.data); if (pass(e)) fn.call(this, { data: JSON.stringify(change(e)) }); }); } });
	const real = globalThis.fetch;
	globalThis.fetch = async (path, ...rest) => {
		const answer = await real(path, ...rest);
		if (!/events\?/.test(path) || !answer.ok) return answer;
		const body = await answer.json();
		return new Response(JSON.stringify({ ...body, events: body.events.filter(pass).map(change) }), { status: 200, headers: answer.headers });
	};
})()`

// TestHostileServer withholds, changes and forges events of a sealed run. The thread reports each,
// and shows the other events.
func TestHostileServer(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	b := r.tab("olga")
	b.Eval(hostile)
	b.Eval("data.loadMachines()")
	enrol(t, r, a, b)
	run := a.BeginSealed(h, "run_a", webtest.Data{"tool": "claude"}) // 1
	b.Eval("void (globalThis.withheld = (e) => e.run_id === 'run_a' && e.type === 'run.output' && (e.seq === 3 || e.seq === 4))")
	b.Eval("void (globalThis.changeEvent = (e) => e.run_id === 'run_a' && e.seq === 8 ? { ...e, ts: '2020-01-01T00:00:00.000Z' } : e)")
	for _, text := range []string{"two\n", "three\n", "four\n", "five\n"} {
		run.Write(text) // 2 to 5
	}
	run.Head() // 6
	run.Stored()
	const changed = "items('run_a').filter((x) => x.data?.code === 'changed').map((x) => [x.data.from, x.data.to])"
	b.Wait("output('run_a') === 'two\\nfive\\n'")
	same(t, b, changed, "[[3,4]]")
	run.Write("seven\n")
	run.Write("eight\n") // the server changes it
	run.Write("nine\n")
	b.Wait("output('run_a').endsWith('nine\\n')")
	same(t, b, "output('run_a')", "two\nfive\nseven\nnine\n")
	same(t, b, changed, "[[3,4],[8,8]]")
	run.Seal(protocol.RunOutput, webtest.Data{"text": "ten"})
	h.Send(protocol.RunOutput, "run_a", 10, map[string]any{"stream": "stdout", "text": "a lie\n"}) // plaintext
	run.Write("eleven\n")
	b.Wait("output('run_a').endsWith('eleven\\n')")
	same(t, b, "output('run_a')", "two\nfive\nseven\nnine\neleven\n")
	same(t, b, changed, "[[3,4],[8,8],[10,10]]")

	// The server sends a plaintext event of another machine, which has no account.
	b.Eval("void (globalThis.changeEvent = (e) => e.run_id === 'run_a' && e.seq === 12 ? { type: 'run.output', ts: e.ts, run_id: e.run_id, host_id: 'other', seq: 12, data: { stream: 'stdout', text: 'a lie of another machine\\n' } } : e)")
	run.Write("twelve\n")
	run.Write("thirteen\n")
	b.Wait("output('run_a').endsWith('thirteen\\n')")
	same(t, b, changed, "[[3,4],[8,8],[10,10],[12,12]]")

	a.Deny()
	b.Reload()
	b.Wait("globalThis.ready && data.conn.value.state === 'online'")
	h.Send(protocol.RunOutput, "run_a", 14, map[string]any{"stream": "stdout", "text": "another lie\n"})
	b.Wait("items('run_a').some((x) => x.data?.from === 14)")
	same(t, b, "items('run_a').some((x) => x.text?.includes('lie'))", false)
	same(t, b, "data.runs.value[0].sealed", true)
	b.Eval("data.loadSeal().then((s) => s.forgetDevice(data.devices.value[0].account))")
	same(t, b, "cache.within(['counters'], 'readonly', (done, all) => { all.count().onsuccess = (e) => done(e.target.result); })", 0)
}

// TestKeysArriveLater follows a run whose host is offline and whose newest key record the server
// does not have yet, with a device that was added after the first epoch: the old events are opened
// by a history.
func TestKeysArriveLater(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	old := a.BeginSealed(h, "run_old", webtest.Data{"tool": "claude", "title": "old"})
	old.Write("before\n")
	old.Head()
	old.Stored()
	b := r.tab("olga")
	b.Expect("404")
	b.Eval("data.loadMachines()")
	same(t, b, "watch('run_old').id", "run_old")
	b.Wait("items('run_old').some((x) => x.text === 'Encrypted: this page cannot show it.')")
	id := enrol(t, r, a, b)
	b.Wait("items('run_old').some((x) => x.text === 'Waiting for the keys of mbp.')")
	a.NewEpoch(false)
	run := a.BeginSealed(h, "run_new", webtest.Data{"tool": "claude", "title": "new"})
	run.Write("after\n")
	run.Stored()
	b.Wait("items('run_new').some((x) => x.icon === 'key')")
	h.Close()
	b.Wait("data.loadMachines().then((all) => !all[0].online)")
	a.ShowRecords()
	b.Wait("output('run_new') === 'after\\n'")
	b.Wait("items('run_old').some((x) => x.text === 'Ann’s MacBook is offline. Its older runs appear when it is back.')")
	a.AddHistory(id)
	b.Wait("output('run_old') === 'before\\n' && data.runs.value.find((x) => x.id === 'run_old').title === 'old'")
}

// TestForgedRequest shows another request in the lists than in the run's events, as a server could
// that works together with a reader of the run. The machine's head does not confirm it.
func TestForgedRequest(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	b := r.tab("olga")
	b.Eval("data.loadMachines()")
	enrol(t, r, a, b)
	run := a.BeginSealed(h, "run_a", webtest.Data{"tool": "claude"})
	forger := run.Fork()
	run.Ask("q1", webtest.Data{"prompt": "Run make"})
	run.Head()
	run.Stored()
	b.Wait("request('q1')?.prompt === 'Run make' && !waiting.peek().has('run_a q1')")
	data := webtest.Data{"request_id": "q1", "prompt": "Run rm", "reason": "permission", "fresh": a.Token()}
	forger.Seal(protocol.RunPermissionRequested, data)
	b.Reload()
	b.Wait("globalThis.ready && request('q1')?.prompt === 'Run rm'")
	b.Wait("performance.getEntriesByType('resource').some((x) => /run_a.events.after=0&limit=500$/.test(x.name))")
	b.Wait("items('run_a').some((x) => x.data?.prompt === 'Run make')")
	same(t, b, "waiting.peek().has('run_a q1')", true)
}
