package data_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// openVectorCommand and the following are functions of the page. Each returns {code} or {out}.
const (
	openVectorCommand = `async ({ statement, sealed, key }) => {
		try { return { out: forms.canonical(await forms.openCommand(await forms.importCommand(forms.decode64(key, 32)), statement, sealed)) }; } catch (err) { return { code: err.code ?? String(err.stack) }; }
	}`
	openVectorResponse = `async ({ statement, sealed, key, ct }) => {
		try { return { out: forms.canonical(await forms.openResponse(await forms.importCommand(forms.decode64(key, 32)), statement, sealed, ct)) }; } catch (err) { return { code: err.code ?? String(err.stack) }; }
	}`
	openVectorPush = `async ({ at, key, ct }) => {
		try {
			const { derive } = await forms.importCommand(forms.decode64(key, 32));
			const text = await forms.openText(await forms.deriveKey(derive, "push"), forms.place(...at), ct, () => 512);
			const { ts } = forms.parse(text, { summary: "string", title: "string", ts: "string" });
			return forms.isTime(ts) ? { out: text } : { code: "bad_message" };
		} catch (err) { return { code: err.code ?? String(err.stack) }; }
	}`
	openVectorPasskey = `async ({ text, account, output }) => {
		const passkeys = await globalThis.passkeys();
		try {
			const key = await crypto.subtle.importKey("raw", forms.decode64(output, 32), "HKDF", false, ["deriveKey"]);
			const { name, sign, seal } = await passkeys.open(passkeys.read(text, account), key);
			return { out: [name, sign.extractable || seal.extractable] };
		} catch (err) { return { code: err.code ?? String(err.stack) }; }
	}`
	sealVectorCommands = `async ({ commands, key, epoch }) => {
		const k = await forms.importCommand(forms.decode64(key, 32)), done = [];
		for (const c of commands) done.push(await forms.sealCommand(k, epoch, c));
		return done;
	}`
)

// commandVector is the input of a vector of commands and responses.
type commandVector struct {
	Text, Kind, Run, CT string
	Now                 int64
	Epochs              []*seal.Epoch
	Command             *seal.Command
}

// keyOf returns the command key of a device in an epoch as the page imports it, or "".
func keyOf(t *testing.T, epochs []*seal.Epoch, n int64, device string) string {
	t.Helper()
	for _, e := range epochs {
		if key, ok := e.Commands[device]; ok && e.N == n {
			text, err := key.MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
	return ""
}

// TestCommandVectors checks the vectors of sealed commands and responses: the page opens the
// responses, and its own commands, as Go does, and Go opens each valid command that the page
// seals.
func TestCommandVectors(t *testing.T) {
	b := start(t).tab("")
	_, cases := readVectors(t)
	// The host refuses these. The page opens only commands that it has sealed itself.
	ofHost := []string{"in another order", "ended", "unknown epoch", "epoch 0", "no id", "unknown member", "without ct", "statement", "an array"}
	opened, responses := 0, 0
	var commands []seal.Command
	var epochs []*seal.Epoch
	for _, c := range cases {
		var in commandVector
		if err := json.Unmarshal(c.In, &in); err != nil && (c.Format == "sealed_command" || c.Format == "response") {
			t.Fatal(err)
		}
		switch {
		case c.Format == "command" && c.Code == "":
			commands = append(commands, *in.Command)
			continue
		case c.Format == "sealed_command" && !slices.ContainsFunc(ofHost, func(s string) bool { return strings.Contains(c.Name, s) }) || c.Format == "response":
		default:
			continue
		}
		epochs = in.Epochs
		var sealed seal.SealedCommand
		if err := json.Unmarshal([]byte(in.Text), &sealed); err != nil {
			t.Fatal(err)
		}
		arg := map[string]any{"sealed": sealed, "ct": in.CT, "key": keyOf(t, in.Epochs, sealed.Epoch, sealed.Device)}
		e := in.Epochs[0]
		kind, function, want := in.Kind, openVectorCommand, c.Out["command"]
		if c.Format == "response" {
			kind, function, want = seal.KindRPC, openVectorResponse, c.Out["data"]
			responses++
		} else {
			opened++
		}
		arg["statement"] = map[string]any{"account": e.Account, "host": e.Host, "run": in.Run, "kind": kind, "id": sealed.ID, "device": sealed.Device}
		if arg["key"] == "" {
			continue // of a device that has no keys
		}
		wanted := map[string]any{"code": c.Code}
		if c.Code == "" {
			wanted = map[string]any{"out": want}
		}
		if got := evalJSON(t, b, function, arg); text(t, got) != text(t, wanted) {
			t.Errorf("%s: the page has %s, want %s", c.Name, text(t, got), text(t, wanted))
		}
	}
	if opened < 8 || responses < 11 || len(commands) < 15 {
		t.Errorf("%d commands and %d responses were opened, %d commands sealed", opened, responses, len(commands))
	}
	for _, c := range commands {
		device := c.DeviceOf()
		e := epochs[len(epochs)-1]
		key := keyOf(t, epochs, e.N, device)
		if key == "" {
			e = &seal.Epoch{Account: e.Account, Host: e.Host, N: e.N, Commands: map[string]seal.Key{device: {1, 2, 3}}}
			key = keyOf(t, []*seal.Epoch{e}, e.N, device)
		}
		got := evalJSON(t, b, sealVectorCommands, map[string]any{"commands": []seal.Command{c}, "key": key, "epoch": e.N})
		var frames []struct {
			ID   string
			Enc  seal.Enc
			Data json.RawMessage
		}
		if err := json.Unmarshal([]byte(text(t, got)), &frames); err != nil {
			t.Fatal(err)
		}
		var st struct{ Run, Kind, ID string }
		if err := json.Unmarshal(c.Statement, &st); err != nil {
			t.Fatal(err)
		}
		s, err := seal.ParseSealedCommand(frames[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		if opened, err := e.OpenCommand(st.Run, st.Kind, s); err != nil || text(t, canonicalOf(t, opened)) != text(t, canonicalOf(t, c)) {
			t.Errorf("command %s of the page: %v", c.Statement, err)
		}
		if frames[0].ID != st.ID || s.ID != st.ID || s.Device != device || frames[0].Enc != (seal.Enc{V: 1, Epoch: e.N}) {
			t.Errorf("frame of the page = %+v", frames[0])
		}
	}
}

func canonicalOf(t *testing.T, v any) (out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text(t, v)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// sealing starts a relay whose machine mbp seals, with the run run_a, in an enrolled tab.
func sealing(t *testing.T) (*relay, *webtest.Account, *servertest.Peer, *browser.Tab, *webtest.SealedRun) {
	t.Helper()
	r, a := sealed(t)
	h := r.machine("mbp")
	b := r.tab("olga")
	b.Expect("404")
	b.Eval("data.loadMachines()")
	enrol(t, r, a, b)
	run := a.BeginSealed(h, "run_a", webtest.Data{"tool": "claude"})
	a.Play(h)
	b.Wait("data.runs.value[0]?.tool === 'claude'")
	return r, a, h, b, run
}

// later is a script of the page that makes it read key records again.
const later = `void (() => { const real = Date.now; Date.now = () => real.call(Date) + 31_000; })()`

// TestSealedCommands sends a command of each kind to a machine that seals. Go must open and accept
// each.
func TestSealedCommands(t *testing.T) {
	_, a, _, b, run := sealing(t)
	ask := func(id string, more webtest.Data) webtest.Data {
		more["prompt"] = "May it " + id
		request := run.Ask(id, more)
		run.Head()
		b.Wait("request('" + id + "') && !waiting.peek().has('run_a " + id + "')")
		return request
	}
	check := func(typ, kind, id string, request any) (protocol.Envelope, *seal.Accepted) {
		t.Helper()
		e := a.Next(typ)
		if id == "" {
			id = e.ID
		}
		ok, err := a.Check(&e, kind, id, request)
		if err != nil {
			t.Fatalf("%s: %v\n%s", typ, err, e.Data)
		}
		if ok.Statement.ID != e.ID {
			t.Errorf("id of %s = %s in the envelope, %s in the statement", typ, e.ID, ok.Statement.ID)
		}
		return e, ok
	}
	request := ask("q1", webtest.Data{"args_sha256": sha("q1"), "op_tool": "bash"})
	b.Eval("data.decide(request('q1'), 'approve', { scope: 'session', text: 'fine €' })")
	e, ok := check(protocol.RunDecide, seal.KindDecide, "q1", request)
	if d := a.Content(&e, seal.KindDecide); ok.Statement.Decision != "approve" || ok.Statement.Scope != "session" || d["text"] != "fine €" || d["request_id"] != "q1" {
		t.Errorf("decision = %+v, %v", ok.Statement, d)
	}
	request = ask("q2", webtest.Data{"questions": []any{map[string]any{"id": "x", "question": "Which?", "kind": "text"}}})
	b.Eval("data.decide(request('q2'), 'approve', { answers: { x: 'a' } })")
	if _, ok = check(protocol.RunDecide, seal.KindDecide, "q2", request); ok.Statement.Decision != "approve" {
		t.Errorf("decision = %+v", ok.Statement)
	}
	request = ask("q3", webtest.Data{})
	b.Eval("data.decide(request('q3'), 'deny')")
	if _, ok = check(protocol.RunDecide, seal.KindDecide, "q3", request); ok.Statement.Decision != "deny" {
		t.Errorf("decision = %+v", ok.Statement)
	}
	b.Eval("data.sendInput('run_a', 'go on\\n')")
	e, _ = check(protocol.RunSendInput, seal.KindInput, "", nil)
	if d := a.Content(&e, seal.KindInput); d["input_id"] != e.ID || d["text"] != "go on\n" {
		t.Errorf("input = %v", d)
	}
	b.Eval("data.sendKeys('run_a', 'k')")
	check(protocol.RunSendKeys, seal.KindKeys, "", nil)
	b.Eval("data.resize('run_a', 80, 24)")
	check(protocol.RunResize, seal.KindResize, "", nil)
	b.Eval("data.stopRun('run_a')")
	e, _ = check(protocol.RunStop, seal.KindStop, "", nil)
	if d := a.Content(&e, seal.KindStop); d["signal"] != "term" {
		t.Errorf("stop = %v", d)
	}

	a.NewEpoch(true) // the page reads the newest key records before it seals
	b.Eval(later)
	b.Eval("data.sendKeys('run_a', 'l')")
	e, _ = check(protocol.RunSendKeys, seal.KindKeys, "", nil)
	if string(e.Enc) != `{"v":1,"epoch":2}` && string(e.Enc) != `{"epoch":2,"v":1}` {
		t.Errorf("enc after a new epoch = %s", e.Enc)
	}
	keys := "cache.within(['counters'], 'readonly', (done, all) => { all.getAll().onsuccess = (e) => done(e.target.result.flatMap((v) => [...v.commands?.values() ?? []])); })"
	if got := b.Eval(keys + ".then((all) => Promise.all(all.flatMap((c) => [c.seal, c.derive]).map((k) => crypto.subtle.exportKey('raw', k).then(() => 'read', () => 'refused')))).then((all) => all.join())"); got != "refused,refused,refused,refused" {
		t.Errorf("export of the stored command keys = %v", got)
	}
	left := b.Eval(keys + ".then((all) => all.filter((c) => c.until).map((c) => (c.until - Date.now()) / 3600e3).join())")
	if hours := fmt.Sprint(left); !strings.HasPrefix(hours, "23.99") && hours != "24" {
		t.Errorf("hours that the first command key is left = %v", left)
	}
}

// TestNothingGoesInPlaintext lets the server hide that a machine seals, and withhold its keys. The
// page sends nothing then.
func TestNothingGoesInPlaintext(t *testing.T) {
	_, a, _, b, _ := sealing(t)
	const text = "a secret line"
	b.Expect("500")
	b.Eval("void (data.machines.value = data.machines.value.map((m) => ({ ...m, account: undefined })))")
	a.FailKeys(true)
	b.Eval(later)
	b.Eval("void (globalThis.failed = [])")
	b.Eval("data.onNotice((n) => failed.push(n.text)); data.sendKeys('run_a', '" + text + "')")
	b.Wait("failed.length === 1")
	b.Eval("data.sendInput('run_a', '" + text + "')")
	b.Eval("void data.rpc('rpc.fs.read', 'run_a', { path: '" + text + "' }).catch((e) => failed.push('rpc'))")
	b.Eval("data.stopRun('run_a').catch((e) => failed.push('stop'))")
	b.Wait("failed.includes('rpc') && failed.includes('stop')")
	a.FailKeys(false)
	e := a.Next(protocol.RunSendInput) // the input waits for the server
	if _, err := a.Check(&e, seal.KindInput, e.ID, nil); err != nil {
		t.Errorf("input: %v", err)
	}
	select {
	case e := <-a.Got:
		t.Errorf("the page sent %s %s", e.Type, e.Data)
	case <-time.After(100 * time.Millisecond):
	}
}

// TestOutboxStoresCiphertext seals a decision and an input whose machine does not answer. The
// browser's storage then contains neither of them.
func TestOutboxStoresCiphertext(t *testing.T) {
	_, a, h, b, run := sealing(t)
	request := run.Ask("q1", webtest.Data{"prompt": "Delete the marker?"})
	run.Head()
	b.Wait("request('q1') && !waiting.peek().has('run_a q1')")
	b.Eval("data.decide(request('q1'), 'deny', { text: 'the marker' })")
	b.Eval("data.sendInput('run_a', 'the marker\\n')")
	sent := a.Next(protocol.RunDecide)
	if _, err := a.Check(&sent, seal.KindDecide, "q1", request); err != nil {
		t.Fatal(err)
	}
	in := a.Next(protocol.RunSendInput)
	b.Wait("data.outbox.value.length === 2 && data.outbox.value.every((x) => x.state === 'sent')")
	stored := "cache.getEntries().then((all) => JSON.stringify(all))"
	b.Wait("cache.getEntries().then((all) => all.length === 2 && all.every((x) => x.state === 'sent' && x.statement && x.message.data.ct))")
	if got := b.Eval(stored).(string); strings.Contains(got, "marker") {
		t.Errorf("stored outbox = %s", got)
	}
	same(t, b, "data.outbox.value.map((x) => x.label)", []string{"q1", "***"})

	// The machine's records show that the keys have ended.
	a.NewEpochAt(true, time.Now().Add(-25*time.Hour))
	result := func(id, kind, state, why string) {
		h.Send(protocol.CommandResult, "run_a", 0, map[string]any{"id": id, "kind": kind, "state": state, "error": why})
	}
	result("q1", "decision", "rejected", "old_epoch: epoch 1 is unknown")
	result(in.ID, "input", "rejected", "old_epoch: epoch 1 is unknown")
	again := a.Next(protocol.RunDecide)
	if _, err := a.Check(&again, seal.KindDecide, "q1", request); err != nil || a.Content(&again, seal.KindDecide)["text"] != "the marker" {
		t.Errorf("decision sealed again: %v, %s", err, again.Data)
	}
	b.Wait("data.outbox.value.find((x) => x.kind === 'input').state === 'rejected'") // its id is that of the first one

	// The outcome of the decision comes from the machine's event, not from the server.
	result("q1", "decision", "applied", "")
	b.Eval("data.sendKeys('run_a', 'x')")
	a.Next(protocol.RunSendKeys)
	same(t, b, "entry('q1').state", "sent")
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "approve", "actor": "cli", "by": "ann"})
	b.Wait("entry('q1').state === 'already_decided'")
	same(t, b, "[entry('q1').by, entry('q1').was, card('q1').state]", []string{"ann", "approve", "decided-by-other"})
}

// TestChangedRequestIsNotResealed changes a request while its decision waits for new keys. The
// page shows the request again.
func TestChangedRequestIsNotResealed(t *testing.T) {
	_, a, h, b, run := sealing(t)
	other := run.Fork()
	run.Ask("q1", webtest.Data{"prompt": "Run make"})
	run.Head()
	b.Wait("request('q1') && !waiting.peek().has('run_a q1')")
	b.Eval("data.decide(request('q1'), 'approve')")
	a.Next(protocol.RunDecide)
	other.SealRequest("q1", webtest.Data{"prompt": "Run rm"})
	b.Eval("document.dispatchEvent(new Event('visibilitychange'))") // loads the lists
	b.Wait("request('q1')?.prompt === 'Run rm'")
	a.NewEpochAt(true, time.Now().Add(-25*time.Hour))
	h.Send(protocol.CommandResult, "run_a", 0, map[string]any{"id": "q1", "kind": "decision", "state": "rejected", "error": "old_epoch: epoch 1 is unknown"})
	b.Wait("card('q1').state === 'args-changed'")
	select {
	case e := <-a.Got:
		if e.Type == protocol.RunDecide {
			t.Errorf("the page sent %s %s", e.Type, e.Data)
		}
	case <-time.After(100 * time.Millisecond):
	}
}

// rpcServer is a script of the page that plays a server for sealed RPCs: sent contains their
// frames, and receive(frame) passes one to the page.
const rpcServer = `void (() => {
	globalThis.sent = [];
	const { send } = WebSocket.prototype;
	WebSocket.prototype.send = function (text) {
		const e = JSON.parse(text);
		if (!e.type.startsWith('rpc.') || e.type === 'rpc.host.info') { send.call(this, text); return; }
		sent.push(e);
		globalThis.receive = (frame) => this.onmessage({ data: JSON.stringify(frame) });
	};
})()`

// TestSealedRPC makes RPCs to a machine that seals. The page opens only the machine's responses,
// and accepts errors of the server.
func TestSealedRPC(t *testing.T) {
	_, a, _, b, _ := sealing(t)
	b.Eval(rpcServer)
	call := func(expression string) protocol.Envelope {
		t.Helper()
		b.Eval("void (globalThis.sent = [], globalThis.outcome = undefined, " + expression + ".then((x) => { outcome = x; }, (e) => { outcome = e.code + ': ' + e.message; }))")
		b.Wait("sent.length === 1")
		frame, err := json.Marshal(b.Eval("sent[0]"))
		if err != nil {
			t.Fatal(err)
		}
		e, why := protocol.Parse(frame)
		if why != nil {
			t.Fatal(why)
		}
		if e.Type != "rpc.sealed" {
			t.Errorf("type of %s = %s", expression, e.Type)
		}
		ok, err := a.Check(&e, seal.KindRPC, e.ID, nil)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		if ok.Statement.Run != e.RunID {
			t.Errorf("run of %s = %q, in the frame %q", expression, ok.Statement.Run, e.RunID)
		}
		return e
	}
	receive := func(frame any) { b.Eval("receive(" + text(t, frame) + ")") }
	answer := func(e protocol.Envelope) { b.Eval("receive(" + string(e.Append(nil)) + ")") }
	respond := func(e protocol.Envelope, more webtest.Data) protocol.Envelope {
		more["request_id"], more["rpc_type"] = e.ID, "rpc.fs.read"
		return a.Respond(&e, more)
	}

	e := call("data.rpc('rpc.fs.read', 'run_a', { path: 'a' })")
	if d := a.Content(&e, seal.KindRPC); e.RunID != "run_a" || e.MachineID != "" || d["rpc_type"] != "rpc.fs.read" || d["request_id"] != e.ID || d["path"] != "a" {
		t.Errorf("frame = %s, data = %v", e.Append(nil), d)
	}
	answer(respond(e, webtest.Data{"ok": true, "result": webtest.Data{"content": "secret"}}))
	b.Wait("outcome?.content === 'secret'")

	e = call("data.rpc('rpc.host.doctor', null, { host_id: 'mbp' })")
	if d := a.Content(&e, seal.KindRPC); e.RunID != "" || e.MachineID != "mbp" || d["host_id"] != "mbp" || d["rpc_type"] != "rpc.host.doctor" {
		t.Errorf("frame = %s, data = %v", e.Append(nil), d)
	}
	answer(respond(e, webtest.Data{"ok": false, "error": "denied by the user", "error_code": "denied"}))
	b.Wait("outcome === 'denied: Denied by the user.'")

	e = call("data.rpc('rpc.host.info', null, { host_id: 'mbp' })") // unlike that for the token
	plain := func(ok bool, more webtest.Data) map[string]any {
		more["request_id"], more["rpc_type"], more["ok"] = e.ID, "rpc.sealed", ok
		return map[string]any{"type": "rpc.response", "ts": e.TS, "re": e.ID, "data": more}
	}
	receive(plain(true, webtest.Data{"result": webtest.Data{"tools": []any{}}}))
	b.Wait("outcome === 'bad_signature: The server has changed the response of the machine.'")
	e = call("data.rpc('rpc.fs.read', 'run_a', { path: 'a' })")
	receive(plain(false, webtest.Data{"error": "machine mbp is not connected", "error_code": "host_offline"}))
	b.Wait("outcome === 'host_offline: Machine mbp is not connected.'")

	e = call("data.rpc('rpc.fs.read', 'run_a', { path: 'a' })")
	forged := respond(e, webtest.Data{"ok": true, "result": webtest.Data{"content": "a lie"}})
	e = call("data.rpc('rpc.fs.read', 'run_a', { path: 'b' })")
	forged.Re = e.ID
	answer(forged)
	b.Wait("outcome === 'bad_signature: The server has changed the response of the machine.'")

	// The server's word that the machine lacks the keys may be a lie: the machine may have
	// performed the RPC.
	first := call("data.rpc('rpc.fs.read', 'run_a', { path: 'c' })")
	a.NewEpoch(true)
	e = first
	receive(plain(false, webtest.Data{"error": "old_epoch: epoch 1 is unknown", "error_code": "old_epoch"}))
	b.Wait("outcome === 'old_epoch: Request with old keys. Send it again.'")
	same(t, b, "sent.length", 1)
	e = call("data.rpc('rpc.fs.read', 'run_a', { path: 'c' })")
	if !strings.Contains(string(e.Enc), "2") {
		t.Errorf("the next RPC does not have the newest keys: %s", e.Enc)
	}
	answer(respond(e, webtest.Data{"ok": true, "result": 1}))
	b.Wait("outcome === 1")
}

// TestNoKeys enrols a browser from which the server hides the machine's key records. The page sends
// nothing to the machine but the question for its info.
func TestNoKeys(t *testing.T) {
	for name, script := range map[string]string{
		"withheld": "void 0",
		"denied":   "void (() => { const real = globalThis.fetch; globalThis.fetch = (path, ...rest) => (/^.seal.*keys/.test(path) ? Promise.resolve(new Response('', { status: 404 })) : real(path, ...rest)); })()",
	} {
		t.Run(name, func(t *testing.T) { noKeys(t, script) })
	}
}

func noKeys(t *testing.T, script string) {
	r, a := sealed(t)
	h := r.machine("mbp")
	h.Begin("run_a")
	a.NewEpoch(false)
	b := r.hostileTab(script)
	b.Eval("data.loadMachines()")
	enrol(t, r, a, b)
	a.Play(h)
	same(t, b, "data.unsealed.value(data.runs.value[0], true)", "Not sealed") // the machine's keys are not needed for it
	b.Eval("void (globalThis.failed = [])")
	for what, call := range map[string]string{"start": "data.rpc('rpc.run.start', null, { host_id: 'mbp', tool: 'claude', cmd: 'secret' })", "info": "data.rpc('rpc.host.info', null, { host_id: 'mbp' })", "stop": "data.stopRun('run_a')"} {
		b.Eval("void " + call + ".catch((e) => failed.push('" + what + " ' + e.code))")
	}
	b.Eval("data.onNotice((n) => failed.push('keys')); data.sendKeys('run_a', 'secret')")
	b.Eval("data.sendInput('run_a', 'secret')")
	b.Wait("failed.length === 4 && data.outbox.value[0].state === 'failed'")
	same(t, b, "failed.sort()", []string{"info no_keys", "keys", "start no_keys", "stop no_keys"})
	select {
	case e := <-a.Got:
		t.Errorf("the page sent %s %s", e.Type, e.Data)
	case <-time.After(100 * time.Millisecond):
	}
}

// TestInputIsNotSentTwice lets the server claim that the machine has refused the first of two
// inputs for its old keys, although it has applied it: before and after the machine has new keys.
func TestInputIsNotSentTwice(t *testing.T) {
	_, a, h, b, _ := sealing(t)
	for i := range 2 {
		var ids []string
		for _, text := range []string{"one", "two"} {
			b.Eval("data.sendInput('run_a', '" + text + "')")
			e := a.Next(protocol.RunSendInput)
			if _, err := a.Check(&e, seal.KindInput, e.ID, nil); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, e.ID)
		}
		b.Wait(fmt.Sprintf("data.outbox.value.length === %d && data.outbox.value.every((x) => x.state === 'sent' || x.done)", 2*i+2))
		if i == 1 {
			a.NewEpoch(true)
		}
		h.Send(protocol.CommandResult, "run_a", 0, map[string]any{"id": ids[0], "kind": "input", "state": "rejected", "error": "old_epoch: x"})
		b.Wait("data.outbox.value.find((x) => x.id === '" + ids[0] + "').error === 'Input with old keys. Send it again.'")
		same(t, b, "data.outbox.value.find((x) => x.id === '"+ids[0]+"').state", "rejected")
		select {
		case e := <-a.Got:
			if e.Type != protocol.CommandAck {
				t.Errorf("the page sent %s %s", e.Type, e.Data)
			}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// TestInputIsAppliedByItsEvent lets the server claim that an input was applied. Only the machine's
// event shows it.
func TestInputIsAppliedByItsEvent(t *testing.T) {
	_, a, h, b, run := sealing(t)
	b.Eval("data.sendInput('run_a', 'important')")
	e := a.Next(protocol.RunSendInput)
	b.Wait("data.outbox.value[0]?.state === 'sent'")
	h.Send(protocol.CommandResult, "run_a", 0, map[string]any{"id": e.ID, "kind": "input", "state": "applied"})
	run.Write("more\n")
	b.Wait("output('run_a').endsWith('more\\n')")
	same(t, b, "data.outbox.value.map((x) => x.state)", []string{"sent"})
	run.Send(protocol.RunInput, webtest.Data{"input_id": e.ID, "text": "important", "actor": "web"})
	b.Wait("data.outbox.value.length === 0")
}

// TestDecisionWhileClosed closes the page after a decision and an input. The page shows their
// outcome when it is open again.
func TestDecisionWhileClosed(t *testing.T) {
	_, a, h, b, run := sealing(t)
	run.Ask("q1", webtest.Data{"prompt": "May I?"})
	run.Head()
	b.Wait("request('q1') && !waiting.peek().has('run_a q1')")
	b.Eval("data.decide(request('q1'), 'approve')")
	a.Next(protocol.RunDecide)
	b.Eval("data.sendInput('run_a', 'go on')")
	in := a.Next(protocol.RunSendInput)
	b.Wait("cache.getEntries().then((all) => all.length === 2 && all.every((x) => x.state === 'sent'))")
	b.Eval("void (location.href = 'about:blank')")
	b.Wait("location.href === 'about:blank'")
	h.Send(protocol.CommandResult, "run_a", 0, map[string]any{"id": "q1", "kind": "decision", "state": "applied"})
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "approve", "actor": "web", "by": "olga"})
	h.Send(protocol.CommandResult, "run_a", 0, map[string]any{"id": in.ID, "kind": "input", "state": "applied"})
	run.Head()
	run.Send(protocol.RunInput, webtest.Data{"input_id": in.ID, "text": "go on", "actor": "web", "by": "olga"})
	run.Head()
	b.Eval("void history.back()")
	b.Wait("globalThis.ready && data.conn.value.state === 'online'")
	b.Wait("entry('q1').state === 'applied' && data.outbox.value.length === 1")
}

// TestKeysKeepTheirOrder types while the page reads new key records, and keys that take longer to
// seal than the next ones.
func TestKeysKeepTheirOrder(t *testing.T) {
	_, a, _, b, _ := sealing(t)
	next := func() string {
		t.Helper()
		e := a.Next(protocol.RunSendKeys)
		if _, err := a.Check(&e, seal.KindKeys, e.ID, nil); err != nil {
			t.Fatal(err)
		}
		return a.Content(&e, seal.KindKeys)["keys"].(string)
	}
	const count = 100
	b.Eval("void (() => { globalThis.skip = 0; const real = Date.now; Date.now = () => real.call(Date) + skip; })()")
	b.Eval(fmt.Sprintf("void (async () => { for (let i = 0; i < %d; i++) { if (i %% 5 === 0) skip += 31000; data.sendKeys('run_a', '<' + i + '>'); await new Promise((r) => setTimeout(r, 12)); } })()", count))
	all, want := "", ""
	for i := range count {
		want += fmt.Sprintf("<%d>", i)
	}
	for len(all) < len(want) {
		all += next()
	}
	if all != want {
		t.Errorf("keys = %s", all)
	}
	b.Eval("void (() => { const real = SubtleCrypto.prototype.digest; SubtleCrypto.prototype.digest = async function (how, bytes) { if (bytes.byteLength > 50000) await new Promise((r) => setTimeout(r, 100)); return real.call(this, how, bytes); }; })()")
	b.Eval("void (async () => { data.sendKeys('run_a', 'long' + 'x'.repeat(60000)); await new Promise((r) => setTimeout(r, 12)); data.sendKeys('run_a', 'short'); })()")
	if first, last := next(), next(); !strings.HasPrefix(first, "long") || last != "short" {
		t.Errorf("keys = %.10s, then %.10s", first, last)
	}
}

// TestPushVectors checks the vectors of the texts of push messages with the modules that the
// service worker uses.
func TestPushVectors(t *testing.T) {
	b := start(t).tab("")
	_, cases := readVectors(t)
	n := 0
	for _, c := range cases {
		if c.Format != "push" {
			continue
		}
		var in struct {
			Kind, Run, ID, To, CT string
			Epochs                []*seal.Epoch
		}
		if err := json.Unmarshal(c.In, &in); err != nil {
			t.Fatal(err)
		}
		e := in.Epochs[0]
		key := keyOf(t, in.Epochs, e.N, in.To)
		if key == "" {
			continue // of a device that has no keys
		}
		wanted := map[string]any{"code": c.Code}
		if c.Code == "" {
			wanted = map[string]any{"out": c.Out["notice"]}
		}
		arg := map[string]any{"at": []any{"push", e.Account, e.Host, in.Run, e.N, in.Kind, in.ID, in.To}, "key": key, "ct": in.CT}
		if got := evalJSON(t, b, openVectorPush, arg); text(t, got) != text(t, wanted) {
			t.Errorf("%s: the page has %s, want %s", c.Name, text(t, got), text(t, wanted))
		}
		n++
	}
	if n < 18 {
		t.Errorf("only %d vectors", n)
	}
}

// TestPasskeyVectors checks the vectors of passkeys. The page opens a passkey as Go does, and its
// scripts cannot read the keys then.
func TestPasskeyVectors(t *testing.T) {
	b := start(t).tab("")
	_, cases := readVectors(t)
	n := 0
	for _, c := range cases {
		if c.Format != "passkey" {
			continue
		}
		var in struct {
			Text, Account string
			Output        string `json:"fresh_key"`
		}
		if err := json.Unmarshal(c.In, &in); err != nil {
			t.Fatal(err)
		}
		wanted := map[string]any{"code": c.Code}
		if c.Code == "" {
			wanted = map[string]any{"out": []any{c.Out["name"], false}}
		}
		if got := evalJSON(t, b, openVectorPasskey, map[string]any{"text": in.Text, "account": in.Account, "output": in.Output}); text(t, got) != text(t, wanted) {
			t.Errorf("%s: the page has %s, want %s", c.Name, text(t, got), text(t, wanted))
		}
		n++
	}
	if n < 13 {
		t.Errorf("only %d vectors", n)
	}
}
