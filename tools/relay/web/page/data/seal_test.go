package data_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

type vector struct {
	Name, Format string
	In           json.RawMessage
	Out          map[string]any
	Code         string
}

// readVectors returns the vectors of package relay/seal.
func readVectors(t *testing.T) (rosters map[string]string, cases []vector) {
	t.Helper()
	text, err := os.ReadFile("../../../../../relay/seal/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Rosters map[string]string
		Cases   []vector
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v.Rosters, v.Cases
}

// evalJSON evaluates a function of the page with an argument and returns its result.
func evalJSON(t *testing.T, b *browser.Tab, function string, arg any) any {
	t.Helper()
	text, err := json.Marshal(arg)
	if err != nil {
		t.Fatal(err)
	}
	return b.Eval(fmt.Sprintf("(%s)(%s)", function, text))
}

// checkVector is a function of the page that returns {code} or {out} for a vector.
const checkVector = `async ({ format, in: q, rosters }) => {
	const { parseLink } = await enrolment();
	const checks = {
		async canonical() { const text = forms.canonical(JSON.parse(q.text)); return { text, sha256: await forms.hash(text) }; },
		async roster() {
			const r = await forms.parseRoster((rosters[q.roster] ?? "") + (q.text ?? ""), q.account, q.known);
			return { account: r.account, ...r.head, members: r.members.map((m) => m.id) };
		},
		async link() {
			const { account, session, secret, expires_ms, server, page } = parseLink(q.text);
			return { account, session, secret: forms.encode64(secret), expires: expires_ms / 1000, server, page };
		},
	};
	try { return { out: await checks[format]() }; } catch (err) { return { code: err.code ?? (err instanceof SyntaxError ? "bad_message" : String(err)) }; }
}`

// TestSealVectors checks the vectors of relay/seal whose formats the page reads.
func TestSealVectors(t *testing.T) {
	b := start(t).tab("")
	rosters, cases := readVectors(t)
	elsewhere := map[string]bool{ // the address of the page, and that of the server, which must be the page's own
		"link: a page with another scheme": true, "link: a page with a user": true, "link: a server with another scheme": true}
	// The page refuses integers that it cannot show exactly.
	inexact := map[string]bool{"canonical: 1": true, "canonical: 2": true, "canonical: 5": true}
	checked := 0
	for _, c := range cases {
		if c.Format != "canonical" && c.Format != "roster" && c.Format != "link" || elsewhere[c.Name] {
			continue
		}
		if inexact[c.Name] {
			c.Out, c.Code = nil, "bad_message"
		}
		got := evalJSON(t, b, checkVector, map[string]any{"format": c.Format, "in": c.In, "rosters": rosters}).(map[string]any)
		delete(c.Out, "member_page")
		want := map[string]any{"code": c.Code}
		if c.Code == "" {
			want = map[string]any{"out": c.Out}
		}
		if text(t, got) != text(t, want) {
			t.Errorf("%s: the page has %s, want %s", c.Name, text(t, got), text(t, want))
		}
		checked++
	}
	if checked < 75 {
		t.Errorf("%d vectors were checked", checked)
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// randomCases is the number of random values, rosters and statements.
func randomCases() int {
	if randtest.Night() {
		return 10_000
	}
	return 200
}

func randomName(r *rand.Rand) string {
	letters := []rune("ab\"\\/<&é€\u2028\ue000😀\uffff\t")
	s := ""
	for range 1 + r.IntN(6) {
		s += string(letters[r.IntN(len(letters))])
	}
	return s
}

// randomValue returns a random JSON value that the page can show exactly.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return r.Int64N(1<<53) - r.Int64N(1<<53)
	case n == 3:
		return json.Number(fmt.Sprintf("%ve%d", r.NormFloat64(), r.IntN(30)-25))
	case n < 6 || depth == 0:
		return randomName(r)
	case n == 6:
		return []any{randomValue(r, depth-1), randomValue(r, depth-1)}
	}
	return map[string]any{randomName(r): randomValue(r, depth-1), randomName(r): randomValue(r, depth-1)}
}

// TestRandomValuesHaveOneHash compares the hashes of random values in Go and in the page.
func TestRandomValuesHaveOneHash(t *testing.T) {
	b := start(t).tab("")
	r := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for range randomCases() {
		texts = append(texts, text(t, map[string]any{randomName(r): randomValue(r, 4)}))
	}
	texts = append(texts, `{"a":"\ud800","b":"\udc00\ud800","z":-0.0,"y":1.50}`)
	got := evalJSON(t, b, "(all) => Promise.all(all.map((x) => forms.hash(forms.canonical(JSON.parse(x)))))", texts).([]any)
	for i, x := range texts {
		if want, err := seal.HashRequest(json.RawMessage(x)); err != nil || want != got[i] {
			t.Errorf("hash of %s = %v in the page, %s in Go (%v)", x, got[i], want, err)
		}
	}
}

// TestMutatedRosters changes single characters of a roster. The page must accept exactly what Go
// accepts, and refuse the rest with the same code.
func TestMutatedRosters(t *testing.T) {
	b := start(t).tab("")
	rosters, _ := readVectors(t)
	r := rand.New(rand.NewPCG(3, 4))
	good := rosters["main"]
	const letters = "abcdef0123456789{}\",:_-"
	var all []string
	for range randomCases() {
		i := r.IntN(len(good) - 1)
		switch r.IntN(3) {
		case 0:
			all = append(all, good[:i]+string(letters[r.IntN(len(letters))])+good[i+1:])
		case 1:
			all = append(all, good[:i]+good[i+1:])
		default:
			lines := strings.SplitAfter(good, "\n")
			n := r.IntN(len(lines) - 1)
			lines[n] = lines[r.IntN(len(lines)-1)]
			all = append(all, strings.Join(lines, ""))
		}
	}
	got := evalJSON(t, b, "(all) => Promise.all(all.map((x) => forms.parseRoster(x).then((r) => r.head.hash, (e) => e.code ?? String(e))))", all).([]any)
	refused := 0
	for i, x := range all {
		want := ""
		if ok, err := seal.ParseRoster([]byte(x), "", seal.Position{}); err == nil {
			want = ok.Head().Hash
		} else {
			want, refused = string(err.(*seal.Refusal).Code), refused+1
		}
		if got[i] != want {
			t.Errorf("mutated roster %d: the page has %v, Go %s", i, got[i], want)
		}
	}
	if refused < len(all)*3/4 {
		t.Errorf("%d of %d mutated rosters were refused", refused, len(all))
	}
}

// sealed starts a relay with an account of the machine mbp.
func sealed(t *testing.T) (*relay, *webtest.Account) {
	t.Helper()
	r := start(t)
	a := webtest.NewAccount(t, "mbp")
	r.wrap = a.Wrap
	r.stop()
	r.restart()
	return r, a
}

// enrol enrols the browser of a tab as an operator's device.
func enrol(t *testing.T, r *relay, a *webtest.Account, b *browser.Tab) string {
	t.Helper()
	link := a.Link(r.url, time.Minute)
	b.Eval(fmt.Sprintf("void (globalThis.joining = enrolment().then((s) => s.join(s.parseLink(%q), 'Firefox €', () => {})))", link.String()))
	id, name := a.Confirm(link, seal.Operator)
	if name != "Firefox €" {
		t.Errorf("name of the device = %q", name)
	}
	b.Wait("data.devices.value.length === 1 && data.devices.value[0].id === '" + id + "'")
	return id
}

// TestSignedCommands sends a command of each kind to a machine with an account, about a run that it
// does not seal. Go must open and accept the signature of each, and each
// must have the next counter. A reload must not change the keys or repeat a counter.
func TestSignedCommands(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	h.Begin("run_a")
	request := map[string]any{"request_id": "q1", "reason": "permission", "prompt": "May it? 😀", "op_tool": "bash", "op_args": map[string]any{"cmd": "rm -r <build>", "n": 1.5}, "args_sha256": sha("q1"), "risk": "high", "fresh": a.Token()}
	h.Send(protocol.RunPermissionRequested, "run_a", 2, request)
	h.Acked("run_a", 2)
	question := map[string]any{"request_id": "q2", "reason": "choice", "prompt": "Which?", "questions": []any{map[string]any{"id": "x", "question": "Which?", "kind": "text"}}, "fresh": a.Token()}
	h.Send(protocol.RunPermissionRequested, "run_a", 3, question)
	h.Acked("run_a", 3)
	a.Play(h)
	b := r.tab("olga")
	b.Wait("data.requests.value.length === 2")
	b.Eval("data.loadMachines()")
	same(t, b, "data.lockOf('mbp')", "This browser is not enrolled. Run concerto-relay devices add on the machine, or use your passkey in the settings.")
	id := enrol(t, r, a, b)
	same(t, b, "data.lockOf('mbp')", "")

	counter := int64(0)
	check := func(typ, kind, id string, request any) *seal.Accepted {
		t.Helper()
		e := a.Next(typ)
		if id == "" {
			id = e.ID
		}
		ok, err := a.Check(&e, kind, id, request)
		if err != nil {
			t.Fatalf("%s: %v\n%s", typ, err, e.Data)
		}
		counter++
		if ok.Statement.Counter != counter {
			t.Errorf("counter of %s = %d, want %d", typ, ok.Statement.Counter, counter)
		}
		if _, err := a.Check(&e, kind, id, request); err == nil || err.(*seal.Refusal).Code != seal.Replayed {
			t.Errorf("error of the same %s again = %v, want replayed", typ, err)
		}
		return ok
	}
	b.Eval("data.decide(request('q1'), 'approve', { scope: 'session', text: 'fine €' })")
	if d := check(protocol.RunDecide, seal.KindDecide, "q1", request); d.Statement.Scope != "session" || d.Statement.Decision != "approve" || d.Statement.Device != id {
		t.Errorf("statement = %+v", d.Statement)
	}
	b.Eval("data.decide(request('q2'), 'approve', { answers: { x: 'a \\ud800' } })")
	check(protocol.RunDecide, seal.KindDecide, "q2", question)
	b.Eval("data.sendInput('run_a', 'go on <&>\\n')")
	in := a.Next(protocol.RunSendInput)
	if ok, err := a.Check(&in, seal.KindInput, in.ID, nil); err != nil || ok.Statement.After != 0 {
		t.Fatalf("input: %v %+v", err, ok)
	}
	counter++
	for _, keys := range []string{"a", "b"} {
		b.Eval("data.sendKeys('run_a', '" + keys + "')")
		if ok := check(protocol.RunSendKeys, seal.KindKeys, "", nil); ok.Statement.After != counter-1 {
			t.Errorf("after of keys = %d, want %d", ok.Statement.After, counter-1)
		}
	}
	b.Eval("data.resize('run_a', 80, 24)")
	check(protocol.RunResize, seal.KindResize, "", nil)
	b.Eval("void data.stopRun('run_a').catch(() => {})")
	check(protocol.RunStop, seal.KindStop, "", nil)
	for _, call := range []string{"data.rpc('rpc.git.diff', 'run_a')", "data.rpc('rpc.host.doctor', null, { host_id: 'mbp' })"} {
		b.Eval("void " + call + ".catch(() => {})")
		e := a.Next(protocol.RPCSealed)
		if _, err := a.Check(&e, seal.KindRPC, e.ID, nil); err != nil {
			t.Errorf("%s: %v\n%s", call, err, e.Data)
		}
		counter++
	}

	b.Eval("void (data.machines.value = data.machines.value.map((m) => ({ ...m, account: undefined })))") // a server that hides the account
	b.Eval("data.sendKeys('run_a', 'c')")
	check(protocol.RunSendKeys, seal.KindKeys, "", nil)

	b.Reload()
	b.Wait("globalThis.ready && data.devices.value.length === 1 && data.conn.value.state === 'online'")
	b.Eval("data.sendKeys('run_a', 'c')")
	check(protocol.RunSendKeys, seal.KindKeys, "", nil)
	if readable := b.Eval("Promise.all([data.devices.value[0].sign, data.devices.value[0].seal].map((k) => crypto.subtle.exportKey('pkcs8', k).then(() => 'read', () => 'refused'))).then((all) => all.join())"); readable != "refused,refused" {
		t.Errorf("export of the private keys = %v", readable)
	}
	b.Eval("data.logout()")
	b.Wait("data.devices.value.length === 0")
	same(t, b, "cache.within(['devices'], 'readonly', (done, all) => { all.count().onsuccess = (e) => done(e.target.result); })", 0)
}

// TestSignedInputsContinue loses an input. The machine refuses the next one, and the one after that
// must follow the last input that was applied.
func TestSignedInputsContinue(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	h.Begin("run_a")
	a.Play(h)
	b := r.tab("olga")
	b.Wait("data.runs.value.length === 1")
	b.Eval("data.loadMachines()")
	id := enrol(t, r, a, b)
	b.Eval("data.sendKeys('run_a', 'a')")
	a.Next(protocol.RunSendKeys) // lost between the server and the run
	b.Eval("data.sendKeys('run_a', 'b')")
	e := a.Next(protocol.RunSendKeys)
	_, err := a.Check(&e, seal.KindKeys, e.ID, nil)
	if err == nil || err.(*seal.Refusal).Code != seal.Reordered {
		t.Fatalf("error of the second keys = %v, want reordered", err)
	}
	h.Send("run.refused", "run_a", 2, map[string]any{"action": "keys", "by_run_id": "run_a", "reason": err.Error(), "code": "reordered", "device": id})
	b.Wait("items('run_a').some((x) => x.kind === 'refused')")
	b.Eval("data.sendKeys('run_a', 'c')")
	e = a.Next(protocol.RunSendKeys)
	if _, err := a.Check(&e, seal.KindKeys, e.ID, nil); err != nil {
		t.Errorf("keys after the refusal: %v", err)
	}

	h.Close() // the server refuses keys to a machine that is offline
	b.Wait("data.loadMachines().then((all) => !all[0].online)")
	last := "cache.within(['counters'], 'readonly', (done, all) => { all.getAll().onsuccess = (e) => done(e.target.result[0].runs.get('run_a').at(-1)); })"
	was := b.Eval(last)
	b.Eval("data.onNotice(() => { globalThis.noticed = true; }); data.sendKeys('run_a', 'd')")
	b.Wait("globalThis.noticed && (" + last + ").then((n) => n === " + fmt.Sprint(was) + ")")
	a.Play(r.machine("mbp"))
	b.Eval("data.sendKeys('run_a', 'e')")
	e = a.Next(protocol.RunSendKeys)
	if _, err := a.Check(&e, seal.KindKeys, e.ID, nil); err != nil {
		t.Errorf("keys after an error of the server: %v", err)
	}
}

// TestChangedRequestIsNotSigned decides a request whose content differs from the machine's: once as
// the page finds it, and once as the machine does.
func TestChangedRequestIsNotSigned(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	h.Begin("run_a")
	for i, id := range []string{"q1", "q2"} {
		ask(h, "run_a", id, int64(i+2), map[string]any{"fresh": a.Token()})
	}
	a.Play(h)
	b := r.tab("olga")
	b.Wait("data.requests.value.length === 2")
	b.Eval("data.loadMachines()")
	enrol(t, r, a, b)
	b.Eval("data.decide({ ...request('q1'), op_args: { cmd: 'ls' } }, 'approve')")
	b.Wait("card('q1').state === 'args-changed'")
	b.Eval("data.decide(request('q2'), 'approve')")
	e := a.Next(protocol.RunDecide)
	if _, err := a.Check(&e, seal.KindDecide, "q2", map[string]any{"request_id": "q2", "prompt": "another"}); err == nil || err.(*seal.Refusal).Code != seal.ArgsChanged {
		t.Errorf("error = %v, want args_changed", err)
	}
	h.Send(protocol.CommandResult, "run_a", 0, map[string]any{"id": "q2", "kind": "decision", "state": "rejected", "error": "args_changed: the statement is for another content"})
	b.Wait("card('q2').state === 'args-changed'")
	b.Eval("data.decide(request('q1'), 'deny')")
	e = a.Next(protocol.RunDecide)
	d := map[string]any{"request_id": "q1", "reason": "permission", "prompt": "May it?", "op_tool": "bash", "op_args": map[string]any{"cmd": "rm q1"}, "args_sha256": sha("q1"), "fresh": b.Eval("request('q1').fresh")}
	if _, err := a.Check(&e, seal.KindDecide, "q1", d); err != nil {
		t.Errorf("the second decision: %v", err)
	}
}

// TestRandomStatements signs random data of all kinds in the page. Go must accept each statement.
func TestRandomStatements(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	h.Begin("run_a")
	a.Play(h)
	b := r.tab("olga")
	b.Wait("data.runs.value.length === 1")
	b.Eval("data.loadMachines()")
	enrol(t, r, a, b)
	random := rand.New(rand.NewPCG(5, 6))
	kinds := []string{seal.KindDecide, seal.KindInput, seal.KindKeys, seal.KindStop, seal.KindResize, seal.KindRPC}
	type what struct {
		Kind     string         `json:"kind"`
		ID       string         `json:"id"`
		Run      string         `json:"run"`
		Data     map[string]any `json:"data"`
		Decision string         `json:"decision,omitempty"`
		Shown    map[string]any `json:"shown,omitempty"`
	}
	var all []what
	for i := range randomCases() {
		x := what{Kind: kinds[random.IntN(len(kinds))], ID: fmt.Sprint("id_", i), Run: "run_a", Data: map[string]any{randomName(random): randomValue(random, 3)}}
		if x.Kind == seal.KindDecide {
			x.Decision, x.Shown = "deny", map[string]any{"request_id": x.ID, "prompt": randomName(random), "op_args": randomValue(random, 3), "fresh": a.Token()}
		}
		all = append(all, x)
	}
	got := evalJSON(t, b, `async (all) => {
		const s = await data.loadSeal(), done = [];
		for (const { data: d, run: run_id, decision, ...what } of all) {
			const message = { type: decision ? "run.permission." + decision : "x", run_id, data: d };
			done.push({ ts: "2026-01-01T00:00:00.000Z", ...(await s.seal(data.devices.value[0], "mbp", { ...what, message })).message });
		}
		return done;
	}`, all).([]any)
	for i, x := range all {
		e, why := protocol.Parse([]byte(text(t, got[i])))
		if why != nil {
			t.Fatal(why)
		}
		var request any
		if x.Shown != nil {
			request = x.Shown
		}
		if _, err := a.Check(&e, x.Kind, x.ID, request); err != nil {
			t.Errorf("%s: %v\n%.500s", x.Kind, err, e.Data)
		}
	}
}

// TestTabsShareCounters types in two tabs at once. All statements have counters of their own, and
// the host can accept all of them in some order.
func TestTabsShareCounters(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	h.Begin("run_a")
	a.Play(h)
	b := r.tab("olga")
	two := b.Beside()
	for _, what := range quiet {
		two.Expect(what)
	}
	two.Go(r.url + "/")
	two.Wait("globalThis.ready && data.conn.value.state === 'online' && data.runs.value.length === 1")
	b.Wait("data.runs.value.length === 1")
	enrol(t, r, a, b)
	two.Wait("data.devices.value.length === 1")
	const each = 10
	typing := fmt.Sprintf("void (async () => { for (let i = 0; i < %d; i++) { data.sendKeys('run_a', String(i)); await new Promise((done) => setTimeout(done, 15)); } })()", each)
	b.Eval(typing)
	two.Eval(typing)
	var waiting []protocol.Envelope
	for range 2 * each {
		waiting = append(waiting, a.Next(protocol.RunSendKeys))
		for again := true; again; {
			again = false
			for i, e := range waiting {
				if _, err := a.Check(&e, seal.KindKeys, e.ID, nil); err == nil {
					waiting, again = append(waiting[:i:i], waiting[i+1:]...), true
					break
				} else if !err.(*seal.Refusal).Retry {
					t.Fatal(err)
				}
			}
		}
	}
	if len(waiting) > 0 {
		t.Errorf("%d statements were not accepted", len(waiting))
	}
}

// TestSignedInputWaitsForItsMachine sends an input to a machine that is offline. The page signs it
// when the machine is back, because only the machine issues the token.
func TestSignedInputWaitsForItsMachine(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	h.Begin("run_a")
	h.Close()
	b := r.tab("olga")
	b.Wait("data.runs.value.length === 1")
	b.Eval("data.loadMachines()")
	enrol(t, r, a, b)
	b.Eval("data.sendInput('run_a', 'hello')")
	b.Eval("data.sendInput('run_a', 'again')")
	b.Wait("data.outbox.value.length === 2 && data.outbox.value.every((x) => x.state === 'waiting')")
	same(t, b, "data.rpc('rpc.host.info', null, { host_id: 'mbp' }).catch((e) => e.code)", "host_offline")
	a.Play(r.machine("mbp"))
	for range 2 {
		e := a.Next(protocol.RunSendInput)
		if _, err := a.Check(&e, seal.KindInput, e.ID, nil); err != nil {
			t.Errorf("input: %v", err)
		}
	}
}

// TestRefusalsInWords rejects commands of the page. Known codes become sentences, and the errors of
// an answer's fields stay as they are.
func TestRefusalsInWords(t *testing.T) {
	r, a := sealed(t)
	h := r.machine("mbp")
	h.Begin("run_a")
	for i, id := range []string{"q1", "q2", "q3"} {
		ask(h, "run_a", id, int64(i+2), map[string]any{"fresh": a.Token()})
	}
	a.Play(h)
	b := r.tab("olga")
	b.Wait("data.requests.value.length === 3")
	b.Eval("data.loadMachines()")
	id := enrol(t, r, a, b)
	reject := func(id, why string) {
		b.Eval("data.decide(request('" + id + "'), 'approve')")
		a.Next(protocol.RunDecide)
		h.Send(protocol.CommandResult, "run_a", 0, map[string]any{"id": id, "kind": "decision", "state": "rejected", "error": why})
	}
	reject("q1", "stale: fresh is 25h old")
	b.Wait("card('q1').error === 'Late decision. It arrived after its time. Send it again if you still need it.'")
	reject("q2", "when: choose one of the options")
	b.Wait("card('q2').errors?.when === 'Choose one of the options.'")
	a.Remove(id)
	reject("q3", "unknown_device: no device of the account")
	b.Wait("data.lockOf('mbp') === 'This browser is no longer enrolled. Run concerto-relay devices add on the machine.'")
	b.Eval("void (globalThis.failure = data.rpc('rpc.host.doctor', null, { host_id: 'mbp' }).catch((e) => e.message))")
	same(t, b, "failure", "This browser is no longer enrolled. Run concerto-relay devices add on the machine.")
}
