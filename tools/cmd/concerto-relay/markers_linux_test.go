package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/markers"
	"github.com/concerto-lang/concerto/internal/testkit/pgserver"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/relay/nats"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
	"github.com/concerto-lang/concerto/tools/browser"
	"github.com/concerto-lang/concerto/tools/relay/nats/natstest"
)

// bus records the messages between servers.
type bus struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *bus) write(subject string, body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.WriteString(subject + " " + string(body) + "\n")
}

// TestMarkersSQLite uses a sealed run by a server, a browser with a passkey, push messages and a
// link. None of their texts is in the server's database, in its log, or in the push messages.
func TestMarkersSQLite(t *testing.T) {
	r := newRelay(t)
	r.serve([]string{"ADMIN_USERNAME=ann", "ADMIN_PASSWORD_HASH=" + r.do(0, "correct horse\n", "token", "hash-password")}, "--push-insecure")
	run, secret := r.useMarked(r.url, "sqlite:relay.db")
	r.stop()
	r.hasNoMarker(map[string][]byte{"the server's log": r.stderr.Bytes()}, run, secret, filepath.Join(r.dir, "relay.db"))
}

// TestMarkersPostgres does the same with two servers on PostgreSQL that are connected by NATS: the
// machine is connected to one of them, and all others use the other one. It also searches the
// database's log and dump, and the messages between the servers.
func TestMarkersPostgres(t *testing.T) {
	r := newRelay(t)
	db := pgtest.Make(t, pgtest.Start(t), "markers")
	messages, n := &bus{}, natstest.Start(t)
	all, err := nats.Connect(n.URL, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if err := all.Subscribe(">", messages.write); err != nil {
		t.Fatal(err)
	}
	r.serve([]string{"ADMIN_USERNAME=ann", "ADMIN_PASSWORD_HASH=" + r.do(0, "correct horse\n", "token", "hash-password")}, "--db", db, "--nats", n.URL, "--push-insecure")
	other := &relay{t: t, exe: r.exe, dir: r.dir}
	other.start(nil, "--db", db, "--nats", n.URL, "--push-insecure")
	t.Cleanup(func() { _ = other.server.Process.Kill() }) // it may have ended
	run, secret := r.useMarked(other.url, db)

	bin, err := pgserver.Programs()
	if err != nil {
		t.Fatal(err)
	}
	dump, err := exec.Command(filepath.Join(bin, "pg_dump"), db).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	if !bytes.Contains(dump, []byte(run)) {
		t.Error("the dump does not contain the run")
	}
	other.stop()
	r.stop()
	messages.mu.Lock()
	defer messages.mu.Unlock()
	if text := messages.text.String(); !strings.Contains(text, "run."+run+".") || !strings.Contains(text, "\nmail.") {
		t.Errorf("messages between the servers = %q, want some about the run, and commands", text)
	}
	_, dir, _ := strings.Cut(db, "?host=")
	r.hasNoMarker(map[string][]byte{"the servers' logs": append(r.stderr.Bytes(), other.stderr.Bytes()...), "the dump": dump, "NATS": messages.text.Bytes()}, run, secret, filepath.Join(dir, "data"), filepath.Join(dir, "log"))
}

// useMarked uses a sealed run with a marker in all its texts by the server at url: a browser is
// enrolled with a passkey, decides, and receives push messages, and a link shares the run. It
// returns the run's id and the secret of the link.
func (r *relay) useMarked(url, db string) (run, secret string) {
	t := r.t
	t.Helper()
	token := r.do(0, "", "token", "create", "--user", "ann", "--role", "owner", "--db", db)
	if err := os.WriteFile(filepath.Join(r.dir, "token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	at := []string{"--server", strings.Replace(url, "127.0.0.1", "localhost", 1), "--token-file", "token"} // passkeys need a name
	r.do(0, "", append([]string{"seal", "init", "--user", "ann", "--code-file", "code"}, at...)...)

	b := browser.Open(t)
	b.Passkeys()
	b.Expect("401")
	b.Expect("404")
	b.Go(at[1])
	login(b)
	b.See("No open requests")
	add := r.command(append([]string{"devices", "add", "--yes", "--format", "ndjson"}, at...)...)
	out, err := add.StdoutPipe()
	if err == nil {
		err = add.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var shown struct{ Link, ID string }
	lines := json.NewDecoder(out)
	if err := lines.Decode(&shown); err != nil {
		t.Fatal(err)
	}
	l, err := seal.ParseLink(shown.Link)
	if err != nil {
		t.Fatal(err)
	}
	b.Eval("location.hash = '" + shown.Link[strings.Index(shown.Link, "#"):] + "'")
	b.Wait("__see.all('@join-name').length === 1")
	b.Eval("void (document.querySelector('[data-testid=join-name]').value = '" + markers.Text + "')")
	b.Click("@join-passkey")
	b.Click("@join")
	b.See(markers.Text + " is enrolled")
	if err := lines.Decode(&shown); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := add.Wait(); err != nil {
		t.Fatal(err)
	}
	service := pushtest.New(t)
	phone := service.Subscribe("phone", b.Eval("fetch('/push/key').then((r) => r.json()).then((v) => v.key)").(string))
	subscription := strings.Replace(phone.JSON(), "{", `{"devices":["`+shown.ID+`"],`, 1)
	if status := b.Eval("fetch('/push/subscriptions', {method: 'POST', headers: {'X-Concerto': '1', 'Content-Type': 'application/json'}, body: JSON.stringify(" + subscription + ")}).then((r) => r.status)"); status != 204.0 {
		t.Fatalf("subscription: status = %v", status)
	}
	if n := b.Eval("fetch('/seal/" + l.Account + "/passkeys').then((r) => r.json()).then((all) => all.length)"); n != 1.0 {
		t.Fatalf("the server has %v passkeys", n)
	}

	run = r.do(0, "", "run", "--detach", "--title", markers.Text, "--", "printf '"+markers.Text+", go on? [y/N] '; read x; echo \"said $x to "+markers.Text+"\"; read y; echo \"heard $y\"")
	_, m := phone.Next()
	if found := markers.In([]byte(m.Text), markers.Text); len(found) > 0 || !strings.Contains(m.Text, run) {
		t.Errorf("push message = %s, want one about the run %s without the marker (%s)", m.Text, run, found)
	}
	link := r.do(0, "", append([]string{"share", run}, at...)...)
	_, rest, _ := strings.Cut(link, "#/s/")
	_, rest, _ = strings.Cut(rest, ".")
	if secret, _, _ = strings.Cut(rest, "/"); len(secret) != 43 {
		t.Fatalf("link = %s", link)
	}
	b.Eval("location.hash = '#/runs/" + run + "'")
	b.Wait("__see.all('@approve').length === 1 && document.querySelector('[data-testid=approve]').ariaDisabled === 'false'")
	b.Click("@approve")
	b.See("said y to " + markers.Text)
	b.Click("=Terminal")
	b.Wait("__see.text('@terminal').includes('said y')")
	b.Click("@terminal")
	b.Paste(markers.Text) // keys reach the machine by a message between the servers
	b.Press("Enter")
	b.Wait("__see.text('@terminal').includes('heard " + markers.Text + "')")
	b.See("The run has ended")
	b.Go("about:blank") // the servers stop
	return run, secret
}

// hasNoMarker fails the test if a text or a file below a path has the marker or the secret of the
// link. Files must have the run's id.
func (r *relay) hasNoMarker(texts map[string][]byte, run, secret string, paths ...string) {
	r.t.Helper()
	found := false
	for _, path := range paths {
		all, err := filepath.Glob(path + "*")
		if err != nil || len(all) == 0 {
			r.t.Fatal(path, err)
		}
		for _, at := range all {
			err := filepath.WalkDir(at, func(file string, f fs.DirEntry, err error) error {
				if err == nil && f.Type().IsRegular() {
					texts[file], err = os.ReadFile(file)
					found = found || bytes.Contains(texts[file], []byte(run))
				}
				if errors.Is(err, fs.ErrNotExist) { // the database has removed it
					return nil
				}
				return err
			})
			if err != nil {
				r.t.Fatal(err)
			}
		}
	}
	if !found {
		r.t.Errorf("no file of %q has the run %s: the test searches the wrong ones", paths, run)
	}
	for name, text := range texts {
		for _, marker := range []string{markers.Text, secret} {
			if forms := markers.In(text, marker); len(forms) > 0 {
				r.t.Errorf("%s has %q, %s", name, marker, forms)
			}
		}
	}
}
