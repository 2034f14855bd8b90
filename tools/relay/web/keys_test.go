package web_test

import (
	"strconv"
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

// answer waits for a request of this type from the page, sends the machine's response, and returns
// the data of the request.
func answer(machine *servertest.Peer, typ string, result any) (request string) {
	e := machine.Next(typ)
	machine.Send(protocol.RPCResponse, e.RunID, 0, webtest.Data{"request_id": e.ID, "rpc_type": typ, "ok": true, "result": result})
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
	machine := r.HelloMachine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
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
	inRun(t, b, machine)

	b.Press("g", "h")
	b.See("authenticates with a token")
	tabTo(t, b, "link desk")
	b.Press("Enter")
	answer(machine, "rpc.host.doctor", webtest.Data{"host_id": "desk", "pid": 1, "os": "linux", "arch": "amd64", "version": "1", "tools": []any{}, "deps": []webtest.Data{{"name": "git", "ok": true, "detail": "2.51"}}})
	b.See("2.51")
	expectAnnouncement(t, b, run, "q3")
	tabTo(t, b, "button Show the last lines")
	b.Press("Enter")
	answer(machine, "rpc.host.logs.tail", webtest.Data{"path": "/log", "text": "hostd serves", "truncated": false})
	b.See("hostd serves")

	b.Press("g", "s")
	answer(machine, "rpc.host.info", webtest.Data{"host_id": "desk", "pid": 1, "os": "linux", "arch": "amd64", "version": "1", "tools": []webtest.Data{{"tool": "claude", "bin": "/bin/claude", "ok": true}}})
	tabTo(t, b, "combobox Tool")
	tabTo(t, b, "textbox Command")
	b.Type("claude 'fix it'")
	expectAnnouncement(t, b, run, "q4")
	b.Type(" now")
	tabTo(t, b, "button Start")
	b.Press("Enter")
	if asked := answer(machine, "rpc.run.start", webtest.Data{"run_id": "run_2"}); !strings.Contains(asked, `"cmd":"claude 'fix it' now"`) || !strings.Contains(asked, `"tool":"claude"`) {
		t.Errorf("request to start a run = %s, want the typed command and the tool claude", asked)
	}
	webtest.Begin(machine, "run_2", webtest.Data{"title": "the fix"})
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
func inRun(t *testing.T, b *browser.Tab, machine *servertest.Peer) {
	tabTo(t, b, "tab Thread")
	b.Press("ArrowRight")
	b.Wait("document.querySelector('.terminal .xterm-rows')?.textContent.includes('ready')")
	if at := b.Spoken(":focus"); !strings.HasPrefix(at, "tab Terminal") {
		t.Errorf("focus after ArrowRight = %q, want the tab Terminal", at)
	}
	tabTo(t, b, "textbox Terminal input")
	b.Press("Tab") // the tool receives this key, so the focus does not move
	if keys := machine.Next(protocol.RunSendKeys); !strings.Contains(string(keys.Data), `"\t"`) {
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
	if deny := machine.Next(protocol.RunDeny); !strings.Contains(string(deny.Data), `"q2"`) {
		t.Errorf("denied request = %s, want q2", deny.Data)
	}
	b.Press("c")
	b.Wait("document.activeElement.dataset.testid === 'composer'")
	b.Type("go on")
	b.Press("Enter")
	machine.Next(protocol.RunSendInput)
	b.Press("Escape")
	tabTo(t, b, "button Stop")
	b.Press("Enter")
	tabTo(t, b, "button Cancel")
	b.Press("Enter")
}

// TestHiddenPartsAreShownFirst checks that a card of which a part is hidden is approved neither by
// the button nor by the keys before the user shows everything, and that denying always works.
func TestHiddenPartsAreShownFirst(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.HelloMachine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
	lines := make([]string, 93)
	for i := range lines {
		lines[i] = "echo " + strconv.Itoa(i+1)
	}
	run.Ask("q1", webtest.Data{"prompt": "Run a command", "op_tool": "bash", "args_sha256": strings.Repeat("ab", 32), "op_args": webtest.Data{"command": strings.Join(lines, "\n")}})
	b := enter(t, r, webtest.Owner, "#/inbox")
	b.Wait("__see.text('@show-all') === 'Show all 93 lines'")
	b.See("Show all 93 lines first.")
	card := "document.querySelector('[data-testid=approval-card]')"
	if nested := b.Eval(card + ".querySelectorAll('*').values().filter((e) => /auto|scroll/.test(getComputedStyle(e).overflowY)).map((e) => e.outerHTML.slice(0, 100)).toArray().join()"); nested != "" {
		t.Errorf("scroll areas within the card: %v", nested)
	}
	if most := b.Eval("document.querySelector('.approval-body').clientHeight <= 0.4 * innerHeight + 1"); most != true {
		t.Error("the cut body is higher than 40 % of the window")
	}
	b.Wait("document.querySelector('[data-testid=deny]').ariaDisabled === 'false'")
	b.Eval("document.querySelector('[data-testid=approve]').click()")
	b.Press("j", "a")
	b.Wait("document.activeElement.dataset.testid === 'show-all'")
	if state := b.Eval(card + ".dataset.state"); state != "open" {
		t.Errorf("state after the click on Approve = %v, want open", state)
	}
	b.Press("Enter")
	b.Wait("__see.all('@show-all').length === 0 && document.querySelector('[data-testid=approve]').ariaDisabled === 'false'")
	b.Press("a", "Enter")
	if d := machine.Next(protocol.RunApprove); !strings.Contains(string(d.Data), `"q1"`) {
		t.Errorf("approved = %s, want q1", d.Data)
	}

	var patch strings.Builder
	for _, name := range []string{"a.go", "b.go", "c.go", "d.go"} {
		patch.WriteString("diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1,2 @@\n-one\n+two\n+three\n")
	}
	run.Ask("q2", webtest.Data{"prompt": "Edit 4 files", "op_tool": "Edit", "args_sha256": strings.Repeat("cd", 32), "diff": patch.String()})
	b.Wait("__see.text('main').includes('Edit 4 files') && __see.all('@show-all').length === 1")
	if open := b.Eval("document.querySelectorAll('.diff details[open]').length + ' of ' + document.querySelectorAll('.diff details').length"); open != "2 of 4" {
		t.Errorf("open files = %v, want 2 of 4", open)
	}
	if row := b.Text(".diff summary"); !strings.Contains(strings.ReplaceAll(row, "\n", " "), "+2 −1") {
		t.Errorf("title row of a file = %q, want its counts", row)
	}
	b.Click("@show-all")
	b.Wait("document.querySelectorAll('.diff details[open]').length === 4 && __see.all('@show-all').length === 0")
	decide(b, "@approve")
	if d := machine.Next(protocol.RunApprove); !strings.Contains(string(d.Data), `"q2"`) {
		t.Errorf("approved = %s, want q2", d.Data)
	}
}
