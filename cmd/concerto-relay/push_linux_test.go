package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
