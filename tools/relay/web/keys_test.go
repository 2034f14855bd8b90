package web_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// seenFocus is a JavaScript expression that reports whether the focused element is in the window
// and has a visible outline.
const seenFocus = `(() => {
	const e = document.activeElement, r = e.getBoundingClientRect(), marked = [e, e.closest(".terminal-box")].some((x) => x && getComputedStyle(x).outlineStyle !== "none" && parseFloat(getComputedStyle(x).outlineWidth) > 0);
	return e !== document.body && r.bottom > 0 && r.top < innerHeight && marked;
})()`

// tabTo presses Tab until the element with this accessible name has the focus. Each element on the
// way must show that it has the focus.
func tabTo(t *testing.T, b *browser.Tab, name string) {
	t.Helper()
	var way []string
	for range 40 {
		b.Press("Tab")
		at := b.Spoken(":focus")
		if at == "" || strings.HasPrefix(at, "RootWebArea") {
			continue // after the last element, the focus leaves the page and returns to the first one
		}
		if b.Eval(seenFocus) != true {
			t.Errorf("the focus on %q is not visible", at)
		}
		if at == name || strings.HasPrefix(at, name+" ") {
			return
		}
		way = append(way, at)
	}
	t.Fatalf("Tab does not reach %q, only\n%s", name, strings.Join(way, "\n"))
}

// answer waits for a request of this type from the page, sends the host's response, and returns the
// data of the request.
func answer(host *servertest.Peer, typ string, result any) (request string) {
	e := host.Next(typ)
	host.Send(protocol.RPCResponse, e.RunID, 0, webtest.Data{"request_id": e.ID, "rpc_type": typ, "ok": true, "result": result})
	return string(e.Data)
}

// expectAnnouncement adds a request to a run, and waits until the page announces it to screen
// readers. The focus must not move.
func expectAnnouncement(t *testing.T, b *browser.Tab, run *webtest.Run, id string) {
	t.Helper()
	at := b.Spoken(":focus")
	run.Ask(id, webtest.Data{"prompt": "May " + id + "?"})
	b.Wait("[...document.querySelectorAll('[aria-live=assertive]')].some((e) => e.textContent === 'New request from the release: May " + id + "?')")
	if now := b.Spoken(":focus"); now != at {
		t.Errorf("focus before the request = %q, after it = %q; want the same", at, now)
	}
}

// TestKeysAlone uses all screens with the keyboard only. The focus must always be visible, and each
// screen must announce new requests to screen readers.
func TestKeysAlone(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	host := r.HelloHost("desk")
	run := webtest.Begin(host, "run_1", webtest.Data{"title": "the release"})
	run.Send(protocol.RunMeta, webtest.Data{"structure": webtest.Structure("function:main asks agent:Critic")})
	run.Write("ready\n")
	b := browser.Open(t)
	b.Expect("401")
	b.Go(r.URL + "/#/inbox")
	b.Wait("document.activeElement.dataset.testid === 'login-user'")
	b.Type(webtest.Owner)
	b.Press("Tab")
	b.Type(webtest.Password)
	b.Press("Enter")
	b.Wait(online)
	b.See("No open requests.")
	expectAnnouncement(t, b, run, "q1")

	b.Press("g", "r")
	b.Wait("__see.all('@run-row').length === 1")
	expectAnnouncement(t, b, run, "q2")
	tabTo(t, b, "searchbox Filter runs")
	b.Type("release")
	b.Press("Escape", "j", "Enter")
	b.Wait("__see.text('@run-thread').includes('ready')")
	inRun(t, b, host)

	b.Press("g", "h")
	b.See("authenticates with a token")
	tabTo(t, b, "link desk")
	b.Press("Enter")
	answer(host, "rpc.host.doctor", webtest.Data{"host_id": "desk", "pid": 1, "os": "linux", "arch": "amd64", "version": "1", "tools": []any{}, "deps": []webtest.Data{{"name": "git", "ok": true, "detail": "2.51"}}})
	b.See("2.51")
	expectAnnouncement(t, b, run, "q3")
	tabTo(t, b, "button Show the last lines")
	b.Press("Enter")
	answer(host, "rpc.host.logs.tail", webtest.Data{"path": "/log", "text": "hostd serves", "truncated": false})
	b.See("hostd serves")

	b.Press("g", "s")
	answer(host, "rpc.host.info", webtest.Data{"host_id": "desk", "pid": 1, "os": "linux", "arch": "amd64", "version": "1", "tools": []webtest.Data{{"tool": "claude", "bin": "/bin/claude", "ok": true}}})
	tabTo(t, b, "combobox Tool")
	tabTo(t, b, "textbox Command")
	b.Type("claude 'fix it'")
	expectAnnouncement(t, b, run, "q4")
	b.Type(" now")
	tabTo(t, b, "button Start")
	b.Press("Enter")
	if asked := answer(host, "rpc.run.start", webtest.Data{"run_id": "run_2"}); !strings.Contains(asked, `"cmd":"claude 'fix it' now"`) || !strings.Contains(asked, `"tool":"claude"`) {
		t.Errorf("request to start a run = %s, want the typed command and the tool claude", asked)
	}
	webtest.Begin(host, "run_2", webtest.Data{"title": "the fix"})
	b.Wait("location.hash === '#/runs/run_2' && __see.text('main h1') === 'the fix'")

	b.Press("g", "a")
	b.Wait("__see.text('main').includes('rpc')")
	tabTo(t, b, "searchbox Filter these records")
	b.Type("login")
	tabTo(t, b, "region Records")
	expectAnnouncement(t, b, run, "q5")

	b.Press("g", ",")
	loaded(b)
	tabTo(t, b, "button high contrast")
	b.Press("Space")
	b.Wait("document.documentElement.dataset.theme === 'contrast'")
	tabTo(t, b, "textbox Name of a new token")
	b.Type("ci")
	b.Press("Enter")
	b.Wait("__see.all('@secret').length === 1")
	for range 3 {
		b.Press("Shift+Tab")
	}
	b.Eval("document.querySelector('main h1').focus()")
	tabTo(t, b, "button Log out")
	b.Press("Enter")
	b.Wait("document.activeElement.dataset.testid === 'login-user'")
}

// inRun opens the views of a run, and decides one of its requests, with the keyboard only.
func inRun(t *testing.T, b *browser.Tab, host *servertest.Peer) {
	tabTo(t, b, "tab Thread")
	b.Press("ArrowRight")
	b.Wait("document.querySelector('.terminal .xterm-rows')?.textContent.includes('ready')")
	if at := b.Spoken(":focus"); !strings.HasPrefix(at, "tab Terminal") {
		t.Errorf("focus after ArrowRight = %q, want the tab Terminal", at)
	}
	tabTo(t, b, "textbox Terminal input")
	b.Press("Tab") // the tool receives this key, so the focus does not move
	if keys := host.Next(protocol.RunSendKeys); !strings.Contains(string(keys.Data), `"\t"`) {
		t.Errorf("keys that the tool receives = %s, want a tab character", keys.Data)
	}
	b.Press("F6")
	if at := b.Spoken(":focus"); !strings.HasPrefix(at, "tab Terminal") {
		t.Errorf("focus after F6 = %q, want the tab Terminal", at)
	}
	b.Press("5")
	b.Wait("__see.text('.tabpanel').includes('main')")
	b.Press("1")
	b.Wait("__see.all('@approval-card').length === 2")
	awake(b)
	b.Press("j", "j", "d", "Enter")
	if deny := host.Next(protocol.RunDeny); !strings.Contains(string(deny.Data), `"q2"`) {
		t.Errorf("denied request = %s, want q2", deny.Data)
	}
	b.Press("c")
	b.Wait("document.activeElement.dataset.testid === 'composer'")
	b.Type("go on")
	b.Press("Enter")
	host.Next(protocol.RunSendInput)
	b.Press("Escape")
	tabTo(t, b, "button Stop")
	b.Press("Enter")
	tabTo(t, b, "button Cancel")
	b.Press("Enter")
}
