package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// subscribed replaces the browser's push service by a push service of the test, because the test
// browser has none. It records the options with which the page subscribes.
const subscribed = `(() => {
	let subscription = null;
	globalThis.asked = [];
	PushManager.prototype.getSubscription = async function () { return subscription; };
	PushManager.prototype.subscribe = async function (options) {
		if (Notification.permission !== "granted") throw new DOMException("nobody has allowed it", "NotAllowedError");
		const key = btoa(String.fromCharCode(...new Uint8Array(options.applicationServerKey))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
		asked.push({ userVisibleOnly: options.userVisibleOnly, key });
		const json = %s;
		return subscription = { endpoint: json.endpoint, options, toJSON: () => json, unsubscribe: async () => (subscription = null, true) };
	};
})()`

// notes is a JavaScript expression for the notifications that the service worker shows.
const notes = `navigator.serviceWorker.getRegistration("/").then((r) => r.getNotifications()).then((all) => all.map((n) => ({ title: n.title, body: n.body, tag: n.tag })))`

// clickNote sends the service worker the event for a click on a notification. Headless Chromium
// displays no notification that could be clicked.
const clickNote = `(async () => {
	const [n] = await registration.getNotifications();
	const e = new NotificationEvent("notificationclick", { notification: n, action: "" });
	let work = null;
	e.waitUntil = (p) => { work = p; };
	self.dispatchEvent(e);
	await work;
	return n.data.request_id;
})()`

// notify delivers a push message, and repeats that until the notification is shown. Chromium loses
// a notification that is queried too early, so notify waits longer after each attempt.
func notify(t *testing.T, b *browser.Tab, r *webtest.Relay, text string) {
	t.Helper()
	for wait := 100; wait < 20_000; wait *= 2 {
		b.Push(r.URL, text)
		shown := b.InWorker(r.URL, fmt.Sprintf("new Promise((done) => setTimeout(done, %d)).then(() => registration.getNotifications()).then((all) => all.length)", wait))
		if shown == 1.0 {
			return
		}
	}
	t.Fatalf("timeout: no notification for the push message %s", text)
}

// TestPush subscribes a browser to push messages. A request must arrive encrypted and must be shown
// without its arguments. A click on the notification must open the run and its request, in an open
// tab or a new one. A decision in another tab must close the notification.
func TestPush(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	service := pushtest.New(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
	b := enter(t, r, webtest.Operator, "#/settings")
	b.Wait("navigator.serviceWorker.ready")
	key, _ := b.Eval("fetch('/push/key').then((a) => a.json()).then((x) => x.key)").(string)
	phone := service.Subscribe("phone", key)
	b.Eval(fmt.Sprintf(subscribed, phone.JSON()))
	b.Allow(r.URL, "notifications")
	b.Click("=Turn on")
	b.See("This device gets a notification when a run has a request.")
	if asked, _ := json.Marshal(b.Eval("asked")); string(asked) != fmt.Sprintf(`[{"key":%q,"userVisibleOnly":true}]`, key) {
		t.Errorf("options of the subscription = %s", asked)
	}

	run.Write("before it asked\n")
	run.Ask("q1", webtest.Data{"prompt": "Push it?", "op_tool": "bash", "op_args": webtest.Data{"cmd": "git push s3cret"}, "op_args_summary": "git push s3cret"})
	_, msg := phone.Next()
	notify(t, b, r, msg.Text)
	shown, _ := json.Marshal(b.Eval(notes))
	if text := string(shown); !strings.Contains(text, `"title":"the release"`) || !strings.Contains(text, "requests a permission: bash") || strings.Contains(text, "s3cret") {
		t.Errorf("notifications = %s, want the title and the tool without arguments", text)
	}
	for n := range 100 { // new events move the request away from the end of the thread
		run.Send(protocol.RunEmit, webtest.Data{"channel": "step", "payload": n, "awaited": false})
	}
	if id := b.InWorker(r.URL, clickNote); id != "q1" {
		t.Errorf("request of the notification = %v, want q1", id)
	}
	b.Wait("location.hash === '#/runs/run_1?request=q1' && __see.text('@approval-card').includes('git push s3cret') && document.activeElement.contains(__see.one('@approval-card'))")
	b.Wait("(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(__see.one('@approval-card').getBoundingClientRect())")
	awake(b)
	b.Press("a", "Enter")
	machine.Next(protocol.RunApprove)
	run.Resolve("q1", "approve", webtest.Operator)
	if over, _ := phone.Next(); !over.Withdrawn || over.RequestID != "q1" {
		t.Errorf("message after the decision = %+v, want a withdrawal of q1", over)
	}
	b.Wait("__see.text('@resolved').includes('approved by olga')")
	b.Wait(notes + ".then((all) => all.length === 0)")

	run.Ask("q2", webtest.Data{"prompt": "And tell?"})
	_, msg = phone.Next()
	notify(t, b, r, msg.Text)
	run.Resolve("q2", "deny", "ann")
	finished, msg := phone.Next()
	if !finished.Withdrawn {
		t.Errorf("message after another user's decision = %+v, want a withdrawal", finished)
	}
	b.Push(r.URL, msg.Text)
	b.Wait(notes + ".then((all) => all.length === 0)")

	b.Eval("location.hash = '#/settings'")
	b.Click("=Turn off")
	b.See("Get a notification when a run has a request")
	run.Ask("q3", webtest.Data{"prompt": "Still there?"})
	b.Wait("document.title.startsWith('(1)')")
	if subs, err := r.Store.Subscriptions(t.Context()); err != nil || len(subs) != 0 {
		t.Errorf("number of subscriptions after Turn off = %d, want 0; error = %v", len(subs), err)
	}

	// A click without an open tab opens one at the request.
	b.Go("about:blank")
	notify(t, b, r, `{"title": "the release", "run_id": "run_1", "request_id": "q3", "summary": "asks for a permission"}`)
	opened, _ := b.InWorker(r.URL, "(async () => { let at; clients.openWindow = async (url) => { at = url; return null; }; await "+clickNote+"; return at; })()").(string)
	if opened != "/#/runs/run_1?request=q3" {
		t.Fatalf("address of the opened tab = %q, want that of q3", opened)
	}
	b.Go(r.URL + opened)
	b.Wait("__see.text('@approval-card').includes('Still there?') && document.activeElement.contains(__see.one('@approval-card'))")
}
