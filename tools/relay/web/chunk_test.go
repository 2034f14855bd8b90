package web_test

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestScreenWithoutServer opens a screen, whose script the page loads on first use, while the
// server is stopped. The service worker must have the script from the first visit. If a script is
// missing, the page must report that it could not load the screen, and open it at the next visit
// when the script is there.
func TestScreenWithoutServer(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	b := enter(t, r, webtest.Owner, "#/inbox")
	b.Wait("navigator.serviceWorker.ready")
	b.Wait("navigator.serviceWorker.controller")
	b.Expect("ERR_")
	b.Expect("WebSocket")
	away(r, b)
	b.Eval("void (location.hash = '#/settings')")
	b.See("Colours")

	const stored = "(async (put) => { for (const name of await caches.keys()) { const c = await caches.open(name); for (const q of await c.keys()) if (q.url.endsWith('/audit.js')) put ? await c.put(q, new Response('', { status: 404 })) : await c.delete(q); } return 0; })"
	b.Expect("404")
	b.Eval(stored + "(true)")
	b.Eval("void (location.hash = '#/audit')")
	b.See("This part of the page could not be loaded. Check the connection and reload the page.")
	r.Restart()
	b.Wait(online)
	b.Eval(stored + "(false)")
	b.Eval("void (location.hash = '#/inbox')")
	b.WaitAbsent("This part of the page")
	b.Eval("void (location.hash = '#/audit')")
	loaded(b)
	b.WaitAbsent("This part of the page")
}
