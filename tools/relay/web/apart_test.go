package web_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// away stops the relay's server and waits until the page reports that it is offline.
func away(r *webtest.Relay, b *browser.Tab) {
	r.Stop()
	b.Wait("document.querySelector('[data-testid=conn]').dataset.state === 'offline'")
}

// storedKeys is a JavaScript function that returns all values in a store of the browser's database.
const storedKeys = `(async (store) => {
	const db = await new Promise((done, failed) => Object.assign(indexedDB.open("concerto-relay"), { onsuccess: (e) => done(e.target.result), onerror: failed }));
	const all = await new Promise((done) => (db.transaction(store).objectStore(store).getAll().onsuccess = (e) => done(e.target.result)));
	db.close();
	return all;
})`

// TestOffline stops the server and reloads the page. The page must still show the stored data, also
// after another reload. The user then decides a request and types an input. When the server is
// back, the machine must receive both in this order, and the page must show the outcome.
func TestOffline(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
	run.Write("ready to go\n")
	run.Ask("q1", webtest.Data{"prompt": "Release?", "op_tool": "bash", "op_args": webtest.Data{"cmd": "make release"}, "args_sha256": strings.Repeat("ab", 32)})
	run.Ask("q2", webtest.Data{"prompt": "Tell everybody?", "op_tool": "bash", "op_args": webtest.Data{"cmd": "make tell"}, "args_sha256": strings.Repeat("cd", 32)})
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	b.Expect("ERR_")
	b.Expect("WebSocket")
	b.Wait("__see.all('@approval-card').length === 2 && __see.text('@run-thread').includes('ready to go')")
	b.Wait("navigator.serviceWorker.ready")
	b.Wait(storedKeys + "('events').then((all) => all.length >= 4)")
	b.Wait(storedKeys + "('meta').then((all) => all.some((x) => x.requests?.length === 2))")
	away(r, b)
	b.Reload()
	b.Wait("__see.text('@run-thread').includes('ready to go') && __see.all('@approval-card').length === 2")
	b.See("is not reachable")
	decide(b, "@approve")
	b.Wait("__see.text('@approval-card').includes('aiting to send')")
	b.Click("@composer")
	b.Type("and tag it")
	b.Press("Enter")
	b.Wait("__see.text('@sending').toLowerCase().includes('waiting to send')")
	b.Reload()
	b.Wait("__see.all('@outbox-entry').length === 2 || __see.text('main').includes('and tag it')")

	r.Restart()
	machine = r.Machine("desk")
	machine.Send(protocol.Heartbeat, "", 0, webtest.Data{})
	first := machine.Next(protocol.RunApprove)
	second := machine.Next(protocol.RunSendInput)
	d, err := protocol.Decode[protocol.Decide](&first)
	if err != nil || d.RequestID != "q1" || d.ArgsSHA256 != strings.Repeat("ab", 32) {
		t.Errorf("the machine receives the decision %+v, %v; want q1", d, err)
	}
	if in, err := protocol.Decode[protocol.SendInput](&second); err != nil || in.Text != "and tag it\n" {
		t.Errorf("the machine receives the input %+v, %v; want and tag it", in, err)
	}
	run.Reconnect(machine)
	run.Resolve("q1", "approve", "olga")
	b.Wait("__see.text('@resolved').includes('approved by olga')")
}

// TestTwoUsers shows one request to two users, who decide it at the same time. The first decision
// is applied. The other user's page must show who decided, and how.
func TestTwoUsers(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
	run.Ask("q1", webtest.Data{"prompt": "Release?", "op_tool": "bash", "op_args": webtest.Data{"cmd": "make release"}})
	ann, olga := enter(t, r, webtest.Owner, "#/inbox"), enter(t, r, webtest.Operator, "#/inbox")
	for _, b := range []*browser.Tab{ann, olga} {
		b.See("make release")
		awake(b)
	}
	decide(ann, "@approve")
	machine.Next(protocol.RunApprove)
	decide(olga, "@deny")
	olga.Wait("/already decided|ann/i.test(__see.text('body'))")
	run.Resolve("q1", "approve", webtest.Owner)
	for _, b := range []*browser.Tab{ann, olga} {
		b.Wait("__see.text('@settled').includes('approved by ann')")
		if n := b.Count("@approval-card"); n != 0 {
			t.Errorf("number of cards after the decision = %d, want 0", n)
		}
	}
}

// TestTwoTabs opens the page in two tabs. A decision in one tab must appear in the other one. A
// logout in one tab must log out both and remove all stored data from the browser.
func TestTwoTabs(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
	run.Ask("q1", webtest.Data{"prompt": "Release?"})
	b := enter(t, r, webtest.Operator, "#/inbox")
	other := b.Beside()
	other.Expect("401")
	other.Go(r.URL + "/#/runs/run_1")
	other.Wait("__see.all('@approval-card').length === 1")
	b.See("Release?")
	decide(b, "@approve")
	machine.Next(protocol.RunApprove)
	run.Resolve("q1", "approve", webtest.Operator)
	other.Wait("__see.text('@resolved').includes('approved by olga')")
	b.Expect("401")
	b.Eval("location.hash = '#/settings'")
	b.Click("@logout")
	b.See("Log in")
	other.Wait("__see.all('@login-user').length === 1")
	b.Wait("indexedDB.databases().then((all) => all.length === 0)") // after the other tab closes its own
	if left := b.Eval("Object.keys(localStorage).filter((k) => k !== 'theme').length + sessionStorage.length"); left != 0.0 {
		t.Errorf("number of stored values after the logout = %v, want 0", left)
	}
}

// TestSessionEnds revokes a user's session while the page is open. The login dialog must cover the
// page. After the login, the page must show the same run, new output and the text that the user had
// typed.
func TestSessionEnds(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	run := webtest.Begin(r.Machine("desk"), "run_1", webtest.Data{"title": "the release"})
	run.Write("ready\n")
	b := enterByHand(t, r, webtest.Operator, "#/runs/run_1")
	b.Wait("__see.text('@run-thread').includes('ready')")
	b.Click("@composer")
	b.Type("half a thou")
	all, err := r.Store.Tokens(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range all {
		if token.User == webtest.Operator {
			if err := r.Revoke(token.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.See("Log in again")
	run.Write("meanwhile\n")
	login(b, webtest.Operator)
	b.Wait("__see.text('@run-thread').includes('meanwhile') && location.hash === '#/runs/run_1'")
	if draft := b.Eval("document.querySelector('[data-testid=composer]').value"); draft != "half a thou" {
		t.Errorf("text in the composer = %q, want half a thou", draft)
	}
}
