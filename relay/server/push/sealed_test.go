package push_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/relay/store"
)

// sealed sends a sealed event with a body for each device, which is its name and the sequence
// number.
func sealed(p *servertest.Peer, typ, run string, seq int64, id string, devices ...string) {
	data := map[string]any{"ct": strings.Repeat("A", 379), "prev": ""}
	switch {
	case typ == protocol.RunInput:
		data["input_id"] = id
	case id != "":
		data["request_id"] = id
	}
	bodies := map[string]string{}
	for _, d := range devices {
		bodies[d] = fmt.Sprint(d, "-", seq)
	}
	if len(bodies) > 0 {
		data["push"] = bodies
	}
	text, _ := json.Marshal(map[string]any{"type": typ, "ts": "2026-03-01T14:00:00.000Z", "run_id": run, "seq": seq, "enc": map[string]int{"v": 1, "epoch": 7}, "data": data})
	p.Raw(text)
}

// TestSealedBodies checks which body of a sealed event a browser receives: that of its device. The
// stored event has none, and the machine may send it again with its bodies.
func TestSealedBodies(t *testing.T) {
	f := begin(t)
	phone, tablet := f.subscribe("ann", "phone"), f.subscribe("ann", "tablet")
	with := func(b *pushtest.Browser, devices string) int {
		code, _ := f.do("POST", "/push/subscriptions", "ann", strings.Replace(b.JSON(), "{", `{"devices":`+devices+`,`, 1))
		return code
	}
	if code := with(phone, `["d_other","d_phone"]`); code != 204 {
		t.Fatalf("subscription with devices: status %d", code)
	}
	if code := with(phone, `["d/1"]`); code != 400 {
		t.Errorf("subscription with an invalid device: status %d, want 400", code)
	}
	f.subscribe("ann", "laptop") // has no devices
	if code, _ := f.do("POST", "/push/subscriptions", "ann", phone.JSON()); code != 204 {
		t.Errorf("subscription without devices: status %d", code) // the stored devices remain
	}
	h := f.machine("")
	next := func(b *pushtest.Browser, want string) {
		t.Helper()
		if _, m := b.Next(); m.Text != want {
			t.Errorf("message = %s, want %s", m.Text, want)
		}
	}
	note := func(id, typ, ct, more string) string {
		return fmt.Sprintf(`{"title":"","run_id":"run_a","request_id":%q,"summary":""%s,"host_id":"host_a","sealed":{"type":%q,"epoch":7,"device":"d_phone","ct":%q}}`, id, more, typ, ct)
	}
	sealed(h, protocol.RunStarted, "run_a", 1, "")
	sealed(h, protocol.RunPermissionRequested, "run_a", 2, "q1", "d_phone", "d_cli")
	next(phone, note("q1", protocol.RunPermissionRequested, "d_phone-2", ""))
	next(tablet, `{"title":"run_a","run_id":"run_a","request_id":"q1","summary":"it has a request","host_id":"host_a"}`)
	sealed(h, protocol.RunPermissionRequested, "run_a", 2, "q1", "d_phone", "d_cli") // a resend
	sealed(h, protocol.RunInput, "run_a", 3, "q1")                                   // closes the request; the outcome follows
	h.Acked("run_a", 3)
	sealed(h, protocol.RunPermissionResolved, "run_a", 4, "q1", "d_phone")
	next(phone, note("q1", protocol.RunPermissionResolved, "d_phone-4", `,"withdrawn":true`))
	if n, _ := tablet.Next(); !n.Withdrawn {
		t.Errorf("message = %+v, want a withdrawal", n)
	}
	sealed(h, protocol.RunPermissionRequested, "run_a", 5, "q2")
	next(phone, `{"title":"run_a","run_id":"run_a","request_id":"q2","summary":"it has a request","host_id":"host_a"}`)
	if err := f.store.RecordStarter(ctx, "run_a", "ann"); err != nil {
		t.Fatal(err)
	}
	sealed(h, protocol.RunExited, "run_a", 6, "", "d_phone")
	if n, _ := phone.Next(); !n.Withdrawn || n.RequestID != "q2" {
		t.Errorf("message = %+v, want the withdrawal of q2", n)
	}
	next(phone, note("", protocol.RunExited, "d_phone-6", ""))
	all, err := f.store.Events(ctx, "run_a", 0, 99)
	if err != nil || len(all) != 6 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	for _, e := range all {
		if strings.Contains(string(e.Data), "push") || !strings.Contains(string(e.Data), `"ct":"AAA`) {
			t.Errorf("the stored event has the data %s", e.Data)
		}
	}
	f.until("the bodies are deleted", func() bool {
		for _, id := range []string{"q1", ""} {
			for _, typ := range []string{protocol.RunPermissionRequested, protocol.RunPermissionResolved, protocol.RunExited} {
				if b, err := store.ReadPushBodies(ctx, f.store, "run_a", id, typ); err != nil || b != nil {
					return false
				}
			}
		}
		return true
	})
}

// TestSealedBodyAfterRestart checks that a message which no push service has accepted has its body
// when it is sent again after a restart.
func TestSealedBodyAfterRestart(t *testing.T) {
	f := beginWith(t, true)
	phone := f.subscribe("ann", "phone")
	f.do("POST", "/push/subscriptions", "ann", strings.Replace(phone.JSON(), "{", `{"devices":["d_phone"],`, 1))
	h := f.machine("")
	sealed(h, protocol.RunStarted, "run_a", 1, "")
	sealed(h, protocol.RunPermissionRequested, "run_a", 2, "q1", "d_phone")
	h.Acked("run_a", 2)
	if fresh, err := f.store.ClaimNotice(ctx, "run_a", "q1"); err != nil || !fresh { // a server that was killed
		t.Fatal(fresh, err)
	}
	f.restart()
	if _, m := phone.Next(); !strings.Contains(m.Text, `"ct":"d_phone-2"`) {
		t.Errorf("message = %s, want the body", m.Text)
	}
}
