package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// narrow is the phone with the narrowest screen that the page supports.
var narrow = browser.Device{Name: "narrow", Width: 360, Height: 640, Scale: 2, Touch: true}

// reachable defines a JavaScript function that reports whether an element is completely in the
// window and not covered by another one.
const reachable = `globalThis.reachable = (e) => {
	const r = e.getBoundingClientRect(), at = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
	return r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth && (e.contains(at) || at.contains(e));
}`

// next returns the next value of a channel. It fails the test after 2 minutes.
func next(t *testing.T, from <-chan string) string {
	t.Helper()
	select {
	case text := <-from:
		return text
	case <-time.After(2 * time.Minute):
		t.Fatal("timeout: no value arrived within 2 minutes")
		return ""
	}
}

// TestApprovalOfWriteIsVisible saves a long file in the editor on a phone. The page must
// immediately show the approval that the write needs, without scrolling.
func TestApprovalOfWriteIsVisible(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.HelloMachine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{})
	asked := make(chan string, 1)
	machine.Each(func(e protocol.Envelope) {
		var d struct {
			RequestID string `json:"request_id"`
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return
		}
		switch e.Type {
		case "rpc.fs.read":
			text, err := json.Marshal(protocol.ReadFileResult{Path: "a.go", Content: strings.Repeat("a line\n", 200), SHA256: strings.Repeat("0", 64)})
			if err != nil {
				panic(err)
			}
			machine.Answer(&e, protocol.Response{RequestID: d.RequestID, RPCType: e.Type, OK: true, Result: text})
		case "rpc.fs.write":
			asked <- d.RequestID
		}
	})
	b := enter(t, r, webtest.Operator, "#/runs/run_1/files?file=a.go")
	b.Emulate(narrow, browser.Light)
	b.Eval(reachable)
	b.Click("@edit")
	b.Wait("document.querySelector('[data-testid=editor]')?.value.length > 1000")
	b.Click("@save")
	run.Send(protocol.RunPermissionRequested, webtest.Data{"request_id": next(t, asked), "reason": "permission", "prompt": "Write a.go?", "op_tool": "rpc.fs.write", "op_args": webtest.Data{"path": "a.go", "bytes": 12}})
	b.Wait("(() => { const e = document.querySelector('[data-testid=approve]'); return e && reachable(e); })()")
}

// TestKeyRowOnPhone opens the terminal on a phone and on a desktop. On the phone, the page must
// show a row of keys that the phone's keyboard lacks, and each key must send its characters. On the
// desktop, the row must be absent.
func TestKeyRowOnPhone(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.HelloMachine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{})
	run.Write("Go on? [y/n] ")
	run.Stored()
	typed := make(chan string, 16)
	machine.Each(func(e protocol.Envelope) {
		var d protocol.SendKeys
		if e.Type == protocol.RunSendKeys && json.Unmarshal(e.Data, &d) == nil {
			typed <- d.Keys
		}
	})
	b := enter(t, r, webtest.Operator, "#/runs/run_1/terminal")
	b.Wait("document.querySelector('.xterm-rows')?.innerText.includes('Go on?')")
	if n := b.Eval("[...document.querySelectorAll('.terminal-keys button')].filter((e) => e.checkVisibility()).length"); n != 0.0 {
		t.Errorf("number of phone keys on a desktop = %v, want 0", n)
	}
	b.Emulate(narrow, browser.Light)
	b.Reload()
	b.Wait("document.querySelector('.xterm-rows')?.innerText.includes('Go on?')")
	b.Eval(reachable)
	b.Wait("[...document.querySelectorAll('.terminal-keys button')].length > 6 && [...document.querySelectorAll('.terminal-keys button')].every(reachable)")
	b.Eval("navigator.clipboard.readText = async () => 'pasted'")
	for _, key := range []struct{ label, types string }{{"Enter", "\r"}, {"y", "y"}, {"n", "n"}, {"Esc", "\x1b"}, {"Tab", "\t"}, {"PgUp, page up", "\x1b[5~"}, {"Paste", "pasted"}} {
		b.Eval(`[...document.querySelectorAll(".terminal-keys button")].find((e) => (e.ariaLabel ?? e.textContent) === "` + key.label + `").click()`)
		if got := next(t, typed); got != key.types {
			t.Errorf("key %s types %q, want %q", key.label, got, key.types)
		}
	}
}

// TestNothingIsCovered checks on all screens and devices that the connection state covers no part
// of the screen, and that every control can be scrolled into view and is not covered.
func TestNothingIsCovered(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	r.Samples()
	b := enter(t, r, webtest.Owner, "#/inbox")
	b.Eval(reachable)
	for _, device := range []browser.Device{browser.Desk, browser.Phone, narrow} {
		b.Emulate(device, browser.Light)
		for _, at := range []string{"#/inbox", "#/runs", "#/runs/run_claude", "#/runs/run_over", "#/hosts", "#/hosts/desk", "#/start", "#/audit", "#/settings"} {
			b.Eval("location.hash = '" + at + "'")
			loaded(b)
			covered := b.Eval(`(() => {
				const conn = document.querySelector("[data-testid=conn]"), main = document.querySelector("main").getBoundingClientRect(), c = conn.getBoundingClientRect();
				if (conn.checkVisibility() && c.left < main.right && main.left < c.right && c.top < main.bottom && main.top < c.bottom) return "by how the connection stands";
				return [...document.querySelectorAll("main :is(button, a[href], input, select, textarea, summary)")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < innerHeight / 2)
					.filter((e) => { e.scrollIntoView({ block: "center" }); return !reachable(e); }).map((e) => e.outerHTML.slice(0, 150)).join("\n");
			})()`)
			if covered != "" {
				t.Errorf("%s on a %s: covered elements: %v", at, device.Name, covered)
			}
		}
	}
}

// TestAuditLogOnPhone checks that the narrowest phone shows all cells of the audit log completely.
func TestAuditLogOnPhone(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	run := webtest.Begin(r.HelloMachine("a-host-with-quite-a-long-name"), "run_"+strings.Repeat("0123456789", 3), webtest.Data{})
	run.Ask("q1", webtest.Data{"prompt": "Push?", "op_tool": "bash", "op_args": webtest.Data{"cmd": "git push"}})
	b := enter(t, r, webtest.Owner, "#/inbox")
	decide(b, "@deny")
	b.Emulate(narrow, browser.Light)
	b.Eval("location.hash = '#/audit'")
	b.Wait("document.querySelectorAll('.audit tbody tr').length > 2")
	cut := b.Eval(`[...document.querySelectorAll(".audit, .audit td")].filter((e) => e.checkVisibility())
		.filter((e) => e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0 || e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.slice(0, 80)).join("; ")`)
	if cut != "" {
		t.Errorf("cells of the audit log that are cut off: %v", cut)
	}
	if wide := b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
		t.Errorf("the page is %v pixels wider than the window", wide)
	}
}
