package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// loseStorage deletes what the page stores for its devices, as a browser does with a page that is
// not used, and loads the page again.
func loseStorage(b *browser.Tab) {
	b.Eval(`new Promise((done) => { const q = indexedDB.open("concerto-relay"); q.onsuccess = () => { const all = ["counters", "devices", "meta", "events", "runs"], t = q.result.transaction(all, "readwrite"); for (const s of all) t.objectStore(s).clear(); t.oncomplete = () => { q.result.close(); done(true); }; }; })`)
	b.Reload()
	b.Wait(online)
}

// storedDevice is the stored device of the page: whether its keys can be read, and its id.
const storedDevice = `new Promise((done) => { const q = indexedDB.open("concerto-relay"); q.onsuccess = () => { const g = q.result.transaction(["devices"]).objectStore("devices").getAll(); g.onsuccess = () => { q.result.close(); done(g.result.map((d) => d.id + " " + (d.sign.extractable || d.seal.extractable)).join()); }; }; })`

// TestPasskey enrols a browser with a passkey. After the browser has lost its storage, it becomes
// the same device again, reads the runs, and its decisions are accepted. Only the session of the
// user reads the stored text. A device that an owner has removed is not restored.
func TestPasskey(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	a := r.Sealed("mbp")
	r.URL = strings.Replace(r.URL, "127.0.0.1", "localhost", 1) // passkeys need a name
	machine := r.HelloMachine("mbp")
	b := enter(t, r, webtest.Operator, "#/inbox")
	b.Passkeys()
	link := a.Link(r.URL, time.Minute)
	openLink(b, link.String())
	b.Click("@join-passkey")
	picture(t, b, "passkey-join")
	b.Click("@join")
	id, _ := a.Confirm(link, seal.Operator)
	b.See("is enrolled")
	if got := b.Eval(storedDevice); got != id+" false" {
		t.Errorf("stored device = %v, want %s with keys that cannot be read", got, id)
	}
	run := a.BeginSealed(machine, "run_1", webtest.Data{"tool": "claude", "cwd": "/", "command": "claude", "title": "the release"})
	a.Play(machine)
	approve := func(q string) *seal.Accepted {
		t.Helper()
		request := run.Ask(q, webtest.Data{"prompt": "Run " + q, "op_tool": "bash", "op_args": webtest.Data{"command": "make " + q}})
		run.Head()
		b.Eval("location.hash = '#/inbox'")
		b.See("make " + q)
		b.Wait("__see.all('.waits').length === 0")
		awake(b)
		decide(b, "@approve")
		e := a.Next(protocol.RunDecide)
		accepted, err := a.Check(&e, seal.KindDecide, q, request)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": q, "decision": "approve", "actor": "web", "by": webtest.Operator})
		run.Head()
		b.Wait("__see.all('@approval-card').length === 0")
		return accepted
	}
	first := approve("q1")

	loseStorage(b)
	b.Eval("location.hash = '#/settings'")
	b.See("This browser is not enrolled")
	picture(t, b, "passkey-restore")
	b.Click("@use-passkey")
	b.Wait("__see.all('@device').length === 1 && __see.text('@device').includes('" + id + "')")
	b.WaitAbsent("This browser is not enrolled")
	if got := b.Eval(storedDevice); got != id+" false" {
		t.Errorf("stored device = %v, want %s with keys that cannot be read", got, id)
	}
	second := approve("q2")
	if second.Device.ID != first.Device.ID || second.Statement.Counter <= first.Statement.Counter+1024 {
		t.Errorf("the second decision is by %s with counter %d, the first by %s with counter %d", second.Device.ID, second.Statement.Counter, first.Device.ID, first.Statement.Counter)
	}
	b.Reload()
	b.Wait(online)
	if third := approve("q3"); third.Statement.Counter != second.Statement.Counter+1 {
		t.Errorf("counter after a reload = %d, want that after %d", third.Statement.Counter, second.Statement.Counter)
	}

	all, err := store.Passkeys(t.Context(), r.Store, a.ID, webtest.Operator)
	if err != nil || len(all) != 1 || all[0].Device != id || len(all[0].Text) > 1500 {
		t.Errorf("stored passkeys = %+v, %v", all, err)
	}
	foreign(t, r, a.ID)

	a.Remove(id)
	loseStorage(b)
	b.Eval("location.hash = '#/settings'")
	b.Click("@use-passkey")
	b.See("An owner has removed this device.")
	b.Click("@remove-passkey")
	b.WaitAbsent("Use your passkey")
	if all, err := store.Passkeys(t.Context(), r.Store, a.ID, webtest.Operator); err != nil || len(all) != 0 {
		t.Errorf("passkeys after the removal = %+v, %v", all, err)
	}
}

// foreign checks that other users do not see the passkeys of an account, and that tokens may not
// use them.
func foreign(t *testing.T, r *webtest.Relay, account string) {
	t.Helper()
	_, token, err := r.Auth.NewToken(t.Context(), audit.Actor{Type: "server", Name: "test"}, webtest.Operator, auth.NewToken{Name: "test", Role: auth.Operator})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"session": 200, "token": 403, "": 401} {
		q, err := http.NewRequest("GET", r.URL+"/seal/"+account+"/passkeys", nil)
		if err != nil {
			t.Fatal(err)
		}
		switch name {
		case "session":
			q.AddCookie(r.Session(webtest.Viewer))
		case "token":
			q.Header.Set("Authorization", "Bearer "+token)
		}
		got, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, 100)
		n, _ := got.Body.Read(body)
		got.Body.Close()
		if got.StatusCode != want || want == 200 && strings.TrimSpace(string(body[:n])) != "[]" {
			t.Errorf("passkeys for %q: status %d, body %s", name, got.StatusCode, body[:n])
		}
	}
}
