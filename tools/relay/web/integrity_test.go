package web_test

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestChangedModule loads the page from a server that serves another module than the page names:
// one that the page loads on first use, and one that it loads at its start. The browser must not
// run either of them.
func TestChangedModule(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	r.Tamper("/joined/settings.js", "globalThis.changed = true; export const Settings = () => 'changed';")
	b := enter(t, r, webtest.Owner, "#/inbox")
	b.Expect("integrity")
	b.Expect("blocked")
	b.Expect("ERR_")
	b.Expect("Failed")
	b.Eval("void (location.hash = '#/settings')")
	b.See("This part of the page could not be loaded.")
	b.Eval("void (location.hash = '#/audit')")
	loaded(b)

	r.Tamper("/joined/shared1.js", "globalThis.changed = true;")
	b.Eval("navigator.serviceWorker.getRegistration().then((r) => r?.unregister()).then(() => caches.keys()).then((all) => Promise.all(all.map((name) => caches.delete(name)))).then(() => 0)")
	other := browser.Open(t)
	for _, text := range []string{"integrity", "blocked", "ERR_", "Failed"} {
		other.Expect(text)
	}
	other.Go(r.URL + "/")
	other.See("Concerto relay")
	for _, tab := range []*browser.Tab{b, other} {
		if ran := tab.Eval("globalThis.changed === true"); ran != false {
			t.Error("the browser ran a changed module")
		}
	}
	if started := other.Eval("!!document.querySelector('[data-testid=login-user]')"); started != false {
		t.Error("the page started with a changed module")
	}
}
