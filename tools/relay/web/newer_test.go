package web_test

import (
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// builtAs is a JavaScript expression for the build of the page that a tab shows.
const builtAs = "[...document.querySelectorAll('script[src]')].map((e) => e.src.split('/')[4]).join()"

// TestNewerPage restarts the server with a new version of the page. Both open tabs must offer the
// new version and continue to work with the old one. When the user accepts in one tab, both tabs
// must load the new version completely. They must retain typed text, and send waiting decisions and
// inputs once.
func TestNewerPage(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
	run.Ask("q1", webtest.Data{"prompt": "Release?"})
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	b.Wait("navigator.serviceWorker.ready")
	b.Wait("navigator.serviceWorker.controller && __see.all('@approval-card').length === 1")
	other := b.Beside()
	other.Go(r.URL + "/#/runs")
	other.See("the release")
	for _, tab := range []*browser.Tab{b, other} {
		tab.Expect("ERR_")
		tab.Expect("WebSocket")
	}
	older := b.Eval(builtAs)
	if past := other.Eval("performance.getEntriesByName(location.origin + '/auth/me').map((e) => e.workerFinalSourceType).join()"); past != "network" {
		t.Errorf("source of a request to the API = %v, want network", past)
	}

	r.Stop()
	r.Newer()
	r.Restart()
	b.Wait(online)
	b.Eval("navigator.serviceWorker.getRegistration('/').then((r) => r.update()).then(() => 0)")
	b.See("A new version of this page is available.")
	other.See("A new version of this page is available.")
	other.Reload()
	other.See("A new version of this page is available.")
	if is := other.Eval(builtAs); is != older {
		t.Errorf("build of the reloaded tab = %v, want %v as in the other tab", is, older)
	}

	away(r, b)
	decide(b, "@approve")
	b.Wait("__see.text('@approval-card').includes('aiting to send')")
	b.Click("@composer")
	b.Type("and tag it")
	b.Press("Enter")
	b.Type("half a thou")
	b.Wait("__see.text('@sending').toLowerCase().includes('waiting to send')")
	b.Eval("void setInterval(() => __see.one('=Reconnect')?.click(), 5)") // what a page asks the server does not wake the older worker
	other.Click("=Reload")
	for _, tab := range []*browser.Tab{b, other} {
		tab.Wait(builtAs + " !== '" + older.(string) + "'")
		tab.WaitAbsent("A new version of this page is available.")
	}
	b.Wait("__see.text('@approval-card').includes('aiting to send') && document.querySelector('[data-testid=composer]').value === 'half a thou'")
	r.Restart()
	machine = r.Machine("desk")
	machine.Send(protocol.Heartbeat, "", 0, webtest.Data{})
	first := machine.Next(protocol.RunApprove)
	if d, err := protocol.Decode[protocol.Decide](&first); err != nil || d.RequestID != "q1" {
		t.Errorf("the machine receives the decision %+v, %v; want q1", d, err)
	}
	second := machine.Next(protocol.RunSendInput)
	if in, err := protocol.Decode[protocol.SendInput](&second); err != nil || in.Text != "and tag it\n" {
		t.Errorf("the machine receives the input %+v, %v; want and tag it", in, err)
	}
	run.Reconnect(machine)
	run.Resolve("q1", "approve", webtest.Operator)
	b.Wait("__see.text('@resolved').includes('approved by olga')")
	if n := b.Eval("caches.keys().then((all) => all.length)"); n != 1.0 {
		t.Errorf("number of cached builds = %v, want 1", n)
	}
}
