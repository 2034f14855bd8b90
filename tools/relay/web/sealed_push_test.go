package web_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// cannotOpen is what the service worker shows for a message that it cannot open.
const cannotOpen = `[{"body":"A run needs you","tag":"run_1/q1","title":"Concerto"}]`

// noticeOf returns the texts of the events of a sealed run.
func noticeOf(typ string) *seal.Notice {
	switch typ {
	case protocol.RunPermissionRequested:
		return &seal.Notice{Title: "the release", Summary: "it requests a permission: bash"}
	case protocol.RunPermissionResolved:
		return &seal.Notice{Title: "the release", Summary: "it is decided, or was withdrawn"}
	case protocol.RunExited:
		return &seal.Notice{Title: "the release", Summary: "it has ended: exit code 0"}
	}
	return nil
}

// shows waits until the service worker has handled a message, and fails unless its notifications
// are then those that want has.
func shows(t *testing.T, b *browser.Tab, r *webtest.Relay, msg, want string) {
	t.Helper()
	const handle = `(async (note) => {
		await (note.withdrawn ? close(note) : show(note));
		const all = await registration.getNotifications();
		return all.map((n) => ({ title: n.title, body: n.body, tag: n.tag }));
	})(%s)`
	got := ""
	for range 20 { // Chromium loses a notification that is queried too early
		text, _ := json.Marshal(b.InWorker(r.URL, fmt.Sprintf(handle, msg)))
		if got = string(text); got == want {
			return
		}
	}
	t.Errorf("notifications after %s =\n%s, want\n%s", msg, got, want)
}

// awaitDevice waits until the server has the device of the only subscription.
func awaitDevice(t *testing.T, b *browser.Tab, r *webtest.Relay, id string) {
	t.Helper()
	for n := 0; ; n++ {
		subs, err := r.Store.Subscriptions(t.Context())
		if err == nil && len(subs) == 1 && slices.Equal(subs[0].Devices, []string{id}) {
			return
		}
		if n > 1000 {
			t.Fatalf("subscriptions = %+v, %v; want the device %s", subs, err, id)
		}
		b.Eval("new Promise((done) => setTimeout(done, 20))")
	}
}

// TestSealedPush subscribes an enrolled browser. The server and the push service receive no text of
// a sealed run, and the service worker shows that which the machine has sealed. A message that the
// server changes shows no text, and neither replaces nor closes a notification of the machine.
func TestSealedPush(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	a := r.Sealed("mbp")
	service := pushtest.New(t)
	machine := r.HelloMachine("mbp")
	b := enter(t, r, webtest.Operator, "#/settings")
	b.Wait("navigator.serviceWorker.ready")
	key, _ := b.Eval("fetch('/push/key').then((a) => a.json()).then((x) => x.key)").(string)
	phone := service.Subscribe("phone", key)
	b.Eval(fmt.Sprintf(subscribed, phone.JSON()))
	b.Allow(r.URL, "notifications")
	b.Click("=Turn on")
	b.See("This device gets a notification when a run has a request.")
	id := enrol(t, r, a, b)
	awaitDevice(t, b, r, id)

	run := a.BeginSealed(machine, "run_1", webtest.Data{"tool": "claude", "cwd": "/", "command": "claude", "title": "the release"})
	run.Notice = noticeOf
	b.Eval("location.hash = '#/runs/run_1'")
	b.See("the release") // the page has the keys
	run.Ask("q1", webtest.Data{"prompt": "Push it?", "op_tool": "bash", "op_args": webtest.Data{"cmd": "git push s3cret"}})
	_, asked := phone.Next()
	for _, text := range []string{"release", "bash", "requests", "s3cret"} {
		if strings.Contains(asked.Text, text) {
			t.Errorf("the push message has the text %q: %s", text, asked.Text)
		}
	}
	if asked.Urgency != "high" || asked.TTL > 24*3600 || len(asked.Topic) != 32 {
		t.Errorf("message = %+v", asked)
	}
	notify(t, b, r, asked.Text)
	opened := `[{"body":"it requests a permission: bash","tag":"run_1/q1","title":"the release"}]`
	shows(t, b, r, asked.Text, opened)
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q1", "decision": "approve", "actor": "web", "by": webtest.Operator})
	_, over := phone.Next()
	run.Ask("q2", webtest.Data{"prompt": "And this?"})
	_, other := phone.Next()

	// The server can forge no message that replaces or closes the notification.
	for _, forged := range []string{
		`{"title":"a lie","summary":"a lie","run_id":"run_1","request_id":"q1","host_id":"mbp"}`,
		`{"title":"a lie","summary":"a lie","run_id":"run_1","request_id":"q1","host_id":"desk"}`,
		`{"title":"a lie","summary":"a lie","run_id":"run_1","request_id":"q1"}`,
		`{"run_id":"run_1","request_id":"q1","host_id":"mbp","withdrawn":true}`,
		`{"run_id":"run_1","request_id":"q1","host_id":"desk","withdrawn":true}`,
		strings.Replace(over.Text, `"d_`, `"d_x`, 1),
		strings.Replace(asked.Text, `{`, `{"withdrawn":true,`, 1),
	} {
		shows(t, b, r, forged, opened)
	}
	shows(t, b, r, over.Text, `[]`)
	shows(t, b, r, strings.Replace(asked.Text, `"epoch":1`, `"epoch":2`, 1), cannotOpen)
	shows(t, b, r, over.Text, `[]`)
	hostilePushes(t, b, r, []string{asked.Text, over.Text, other.Text})

	// While no page is open, the machine begins epochs. The worker reads the key record at the
	// server.
	b.Go("about:blank")
	a.NewEpoch(true)
	run.Ask("q3", webtest.Data{"prompt": "And that?"})
	_, third := phone.Next()
	shows(t, b, r, third.Text, `[{"body":"it requests a permission: bash","tag":"run_1/q3","title":"the release"}]`)
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q3", "decision": "approve", "actor": "web", "by": webtest.Operator})
	_, msg := phone.Next()
	shows(t, b, r, msg.Text, `[]`)
	a.NewEpoch(false)
	run.Ask("q4", webtest.Data{"prompt": "And these?"})
	_, msg = phone.Next()
	shows(t, b, r, msg.Text, strings.Replace(cannotOpen, "q1", "q4", 1))
	a.ShowRecords()
	shows(t, b, r, msg.Text, strings.Replace(opened, "q1", "q4", 1))
	run.Send(protocol.RunPermissionResolved, webtest.Data{"request_id": "q4", "decision": "deny", "actor": "web", "by": webtest.Operator})
	_, msg = phone.Next()
	shows(t, b, r, msg.Text, `[]`)
	b.Go(r.URL)

	// Without its keys, the browser shows no text of the server.
	b.Eval(`new Promise((done) => { const q = indexedDB.open("concerto-relay"); q.onsuccess = () => { const t = q.result.transaction(["counters", "devices"], "readwrite"); t.objectStore("counters").clear(); t.objectStore("devices").clear(); t.oncomplete = () => { q.result.close(); done(true); }; }; })`)
	shows(t, b, r, asked.Text, cannotOpen)
}

// hostilePushes changes members of messages, and swaps them between messages. The service worker
// must show either what the machine has sealed for that request, or no text.
func hostilePushes(t *testing.T, b *browser.Tab, r *webtest.Relay, messages []string) {
	t.Helper()
	n := 600
	if randtest.Night() {
		n = 10_000
	}
	rnd := rand.New(rand.NewPCG(20261130, uint64(n)))
	parse := func(text string) map[string]any {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	names := []string{"run_id", "request_id", "host_id", "withdrawn", "sealed", "type", "epoch", "device", "ct"}
	var all []map[string]any
	for range n {
		m, other := parse(messages[rnd.IntN(len(messages))]), parse(messages[rnd.IntN(len(messages))])
		m["title"], m["summary"] = "a lie", "a lie"
		for range 1 + rnd.IntN(2) {
			name := names[rnd.IntN(len(names))]
			at, theirs := m, other
			if inner, ok := m["sealed"].(map[string]any); ok && slices.Index(names, name) > 4 {
				at, theirs = inner, other["sealed"].(map[string]any)
			}
			switch v, _ := at[name].(string); rnd.IntN(5) {
			case 0:
				delete(at, name)
			case 1, 2:
				at[name] = theirs[name]
			case 3:
				if v != "" {
					i := rnd.IntN(len(v))
					at[name] = v[:i] + string("abcABC019-_"[rnd.IntN(11)]) + v[i+1:]
				}
			default:
				at[name] = []any{nil, "", "x", 1.0, 2.0, true, []any{}, map[string]any{}}[rnd.IntN(8)]
			}
		}
		all = append(all, m)
	}
	counts := map[string]int{}
	for part := range slices.Chunk(all, 500) {
		in, _ := json.Marshal(part)
		out, _ := b.InWorker(r.URL, fmt.Sprintf("Promise.all(%s.map(textOf))", in)).([]any)
		if len(out) != len(part) {
			t.Fatalf("%d results of %d messages", len(out), len(part))
		}
		for i, v := range out {
			got := v.(map[string]any)
			same := slices.ContainsFunc(messages, func(text string) bool {
				m := parse(text)
				return part[i]["run_id"] == m["run_id"] && part[i]["request_id"] == m["request_id"] && part[i]["host_id"] == m["host_id"] && (part[i]["withdrawn"] == true) == (m["withdrawn"] == true)
			})
			switch {
			case got["mine"] == true && same && got["title"] == "the release":
				counts["opened"]++
			case got["mine"] == nil && got["title"] == "Concerto" && got["summary"] == "A run needs you":
				counts["no text"]++
			case got["mine"] == true && part[i]["sealed"] == nil && part[i]["host_id"] != "mbp" && part[i]["run_id"] != "run_1" && part[i]["host_id"] != nil:
				counts["of another machine without an account"]++ // the server can read and write these
			default:
				text, _ := json.Marshal(part[i])
				t.Errorf("%s shows %v", text, got)
			}
		}
	}
	t.Logf("%d changed messages: %v", n, counts)
	if counts["no text"] < n/2 || counts["opened"] == 0 {
		t.Errorf("of %d changed messages: %v", n, counts)
	}
}
