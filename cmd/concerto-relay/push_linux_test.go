package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/markers"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
)

// TestPromptReachesBrowser starts a run whose terminal shows a prompt. A browser must receive the
// prompt through a push service, and a withdrawal when the prompt is answered. The server's push
// key must survive a restart.
func TestPromptReachesBrowser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	service := pushtest.New(t)
	admin := []string{"--admin", "ann", "--admin-password-file", "password"}
	d := start(t, dir, nil, admin...)
	token := d.login("ann", "correct horse")
	var key, after struct{ Key string }
	d.ask("GET", "/push/key", token, "", &key)
	b := service.Subscribe("phone", key.Key)
	if code := d.ask("POST", "/push/subscriptions", token, b.JSON(), nil); code != 400 {
		t.Errorf("subscription with an http endpoint: status = %d, want 400", code)
	}
	d.stop()

	d = start(t, dir, nil, append(admin, "--push-insecure")...)
	if d.ask("GET", "/push/key", token, "", &after); after != key || key.Key == "" {
		t.Errorf("key before the restart = %+v, after = %+v; want the same", key, after)
	}
	if code := d.ask("POST", "/push/subscriptions", token, b.JSON(), nil); code != 204 {
		t.Fatalf("subscription: status = %d, want 204", code)
	}
	h := newMachine(t, "--server", d.url)
	h.start()
	id := strings.TrimSpace(h.do(0, "run", "--detach", "--title", "the release", "--", `printf 'Go on? [y/N] '; read answer; echo "said $answer"`))
	n, _ := b.Next()
	if n.RunID != id || n.RequestID == "" || n.Title != "the release" || n.Summary == "" || n.Withdrawn {
		t.Errorf("message = %+v, want the prompt of the run", n)
	}
	if code := d.ask("POST", "/runs/"+id+"/permissions/"+n.RequestID, token, `{"decision":"approve"}`, nil); code != 200 {
		t.Errorf("decision: status = %d, want 200", code)
	}
	if over, _ := b.Next(); over.RequestID != n.RequestID || !over.Withdrawn {
		t.Errorf("message after the decision = %+v, want a withdrawal", over)
	}
	d.stop()
	if log := d.output(); strings.Contains(log, b.Endpoint) {
		t.Errorf("the log contains the push endpoint: %s", log)
	}
}

// TestSealedPromptReachesBrowser does the same with a run that the machine seals. The browser of a
// device gets its title and how it ends, and neither the server nor the push service has a text.
func TestSealedPromptReachesBrowser(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	r := newRemoteOf(t, []string{"--push-insecure"})
	r.config(r.server.url)
	r.do(0, "seal", "init", "--user", "ann", "--code-file", "code")
	token := r.server.login("ann", "correct horse")
	p, l := r.addPhone(token)
	id := p.keys.Public().DeviceID()
	var key struct{ Key string }
	r.server.ask("GET", "/push/key", token, "", &key)
	b := service.Subscribe("phone", key.Key)
	if code := r.server.ask("POST", "/push/subscriptions", token, strings.Replace(b.JSON(), "{", `{"devices":["`+id+`"],`, 1), nil); code != 204 {
		t.Fatalf("subscription: status = %d, want 204", code)
	}
	next := func(typ, run string) *seal.Notice {
		t.Helper()
		_, m := b.Next()
		var note struct {
			RunID     string `json:"run_id"`
			RequestID string `json:"request_id"`
			MachineID string `json:"host_id"`
			Sealed    struct {
				Type, Device, CT string
				Epoch            int64
			}
		}
		if err := json.Unmarshal([]byte(m.Text), &note); err != nil || note.Sealed.Type != typ || note.RunID != run || note.MachineID != "desk" || len(markers.In([]byte(m.Text), marker)) > 0 || note.Sealed.Device != id {
			t.Fatalf("message = %s (%v), want %s for %s", m.Text, err, typ, id)
		}
		var known seal.EpochPosition
		for line := range strings.Lines(r.server.text(t, "/seal/"+l.Account+"/keys?host=desk&after=0", token)) {
			rec, err := p.roster.VerifyKeyRecord([]byte(strings.TrimSuffix(line, "\n")), "desk", known)
			if err != nil {
				t.Fatal(err)
			}
			if known = rec.Position(); known.N != note.Sealed.Epoch {
				continue
			}
			e, err := rec.Open(id, p.keys)
			if err != nil {
				t.Fatal(err)
			}
			n, err := e.OpenPush(&seal.SealedEvent{Type: typ, Run: run, Data: seal.SealedData{RequestID: note.RequestID}}, id, note.Sealed.CT)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		t.Fatalf("the server has no key record of epoch %d", note.Sealed.Epoch)
		return nil
	}
	run := r.waitForRun(strings.TrimSpace(r.do(0, "run", "--detach", "--title", marker, "--", asksMarked)))
	if n := next(protocol.RunPermissionRequested, run); n.Title != marker || !strings.HasPrefix(n.Summary, "it ") {
		t.Errorf("notice = %+v, want the title", n)
	}
	q := r.request(run, marker+", go on?")
	r.do(0, "approve", run, q.RequestID)
	if n := next(protocol.RunPermissionResolved, run); n.Title != marker {
		t.Errorf("notice of the outcome = %+v", n)
	}
	r.until(run, protocol.RunExited, "")
	r.serverHasNothing(marker)
}
