package data_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/concerto-lang/concerto/tools/browser"
)

// TestLink opens a link to one run in a second tab. That tab must only show this run. The session
// and the stored data of the browser must not change, also when the tab logs out of the link.
func TestLink(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	h.Begin("run_b")
	b := r.tab("ann")
	b.Wait("data.runs.value.length === 2")
	token, ok := b.Eval(`data.api.post("/tokens", {name: "link", role: "viewer", runs: ["run_a"], ttl_s: 3600}).then((t) => t.token)`).(string)
	if !ok {
		t.Fatal("the server created no token")
	}
	two := b.Beside()
	for _, what := range quiet {
		two.Expect(what)
	}
	two.Expect("status of 404")
	two.Go(r.url + "/?idle") // the page removes the token from the address first
	two.Wait("globalThis.ready")
	same(t, two, "data.useToken('wrong').catch((e) => e.code)", "unauthorized")
	two.Eval(fmt.Sprintf("data.useToken(%q).then(data.start)", token))
	two.Wait("data.conn.value.state === 'online' && data.runs.value.length === 1 && state('run_a').live")
	same(t, two, "[data.session.value.runs, data.can('read'), data.can('decide'), data.can('machines'), data.runs.value[0].id]", `[["run_a"],true,false,false,"run_a"]`)
	same(t, two, "(async () => { watch('run_b'); await new Promise((ok) => setTimeout(ok)); return 1; })()", 1)
	two.Wait("state('run_b').state === 'unknown'")
	two.Go(r.url + "/")
	two.Wait("globalThis.ready && data.session.value.runs.length === 1 && data.runs.value.length === 1")
	two.Eval("data.logout()")
	two.Wait("data.session.value.state === 'out' && data.runs.value.length === 0")
	same(t, b, "[data.session.value.state, data.conn.value.state, data.runs.value.length]", `["in","online",2]`)
	b.Wait("(async () => (await cache.getMeta('me')).user === 'ann' && (await cache.getMeta('overview')).rows.length === 2)()")
	if status, _ := r.ask(token, "/runs/run_a"); status != 200 {
		t.Errorf("status of the token after a logout from the link = %d, want 200", status)
	}
	two.Go(r.url + "/") // this tab uses the browser's session again
	two.Wait("globalThis.ready && data.session.value.user === 'ann' && data.runs.value.length === 2")
}

// ask sends a GET request with a token, and returns the status and the body of the response.
func (r *relay) ask(token, path string) (int, string) {
	r.t.Helper()
	q, err := http.NewRequest("GET", r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return a.StatusCode, string(text)
}
