package relaytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// mounted is the environment variable that is set in a process with its own mount namespace.
const mounted = "RELAYTEST_MOUNTED"

// ownMounts runs the test again in a process with a new mount namespace. It returns true in that
// process.
func ownMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(mounted) != "" {
		return true
	}
	if out, err := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", t.TempDir()).CombinedOutput(); err != nil {
		t.Skipf("no disk can be made here that fills (unshare -m, mount -t tmpfs): %v %s", err, out)
	}
	c := exec.Command("unshare", "-m", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), mounted+"=1")
	if out, err := c.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// disk is a small file system, which a test can fill.
type disk struct {
	t    *testing.T
	path string
}

func mount(t *testing.T, path, size string) disk {
	t.Helper()
	err := os.MkdirAll(path, 0o700)
	if err == nil {
		err = syscall.Mount("none", path, "tmpfs", 0, "size="+size)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) }) // for the next test
	return disk{t, path}
}

// fill fills the disk completely.
func (d disk) fill() {
	d.t.Helper()
	f, err := os.OpenFile(d.path+"/filler", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
}

func (d disk) free() {
	d.t.Helper()
	if err := os.Remove(d.path + "/filler"); err != nil {
		d.t.Fatal(err)
	}
}

// ask sends a request to the server and returns the status and body.
func (a *app) ask(method, path, body string) (int, string) {
	a.t.Helper()
	q, err := http.NewRequest(method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+a.token)
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		a.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

// lastSeq returns the last sequence number of a run on the server.
func (a *app) lastSeq(run string) (last int64) {
	a.t.Helper()
	code, text := a.ask("GET", "/runs/"+run, "")
	var body struct {
		Last int64 `json:"last_seq"`
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil || code != 200 {
		a.t.Fatalf("GET of the run = %d %s", code, text)
	}
	return body.Last
}

// TestServerDiskFull fills the server's disk. The server must store and acknowledge nothing, answer
// writes with 503, and still serve reads. When there is space again, it must continue without
// losing anything.
func TestServerDiskFull(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	s := newSystem(t, func(s *system) { s.db = mount(t, s.path("db"), "8m").path + "/relay.db" })
	d := disk{t, s.path("db")}
	w := newWork(s)
	a := w.a
	w.input()
	d.fill()
	s.expectLog("could not store events")
	for range 3 { // the last bytes of the log file may still have space
		d.fill()
		if code, text := a.ask("POST", "/runs/"+w.run+"/input", `{"input_id":"not","text":"not\n"}`); code != 503 || !strings.Contains(text, `"internal"`) {
			t.Errorf("input on a full disk = %d %s, want 503", code, text)
		}
		if code, text := a.ask("POST", "/tokens", `{"name":"x","role":"viewer"}`); code != 503 {
			t.Errorf("token on a full disk = %d %s, want 503", code, text)
		}
	}
	stored := a.lastSeq(w.run)
	for _, path := range []string{"/runs", "/runs/" + w.run + "/events?limit=5", "/inbox", "/hosts", "/auth/me", "/audit", "/events?rest=start&cursor="} {
		if code, text := a.ask("GET", path, ""); code != 200 {
			t.Errorf("%s on a full disk: response = %d %s", path, code, text)
		}
	}
	fresh := startApp(t, s.apps.URL(), a.token) // reads must also work over a WebSocket
	fresh.await("what is stored", func() bool { return int64(len(fresh.events[w.run])) >= stored })
	if now := a.lastSeq(w.run); now != stored {
		t.Errorf("stored events on a full disk increased from %d to %d", stored, now)
	}
	d.free()
	w.input()
	a.grows(w.run, 20)
	w.finish()
	w.check()
	if inputs := strings.Join(inputsSentTo(t, s.dir, w.run), " "); strings.Contains(inputs, "not") {
		t.Errorf("refused inputs reached the run: %s", inputs)
	}
}

// TestHostDiskFull fills the disk of hostd. The run must wait, and hostd must log the full disk.
// When there is space again, the run must continue without losing anything.
func TestHostDiskFull(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	s := newSystem(t, func(s *system) { s.logDir = mount(t, s.path("state"), "8m").path })
	d := disk{t, s.path("state")}
	w := newWork(s)
	a := w.a
	w.input()
	d.fill()
	s.expectLog("could not write the spool: the disk is full; waiting for space")
	w.input() // applied or rejected, as its state reports
	if code, text := a.ask("GET", "/runs/"+w.run, ""); code != 200 || !strings.Contains(text, `"running"`) {
		t.Errorf("response = %d %s", code, text)
	}
	d.free()
	a.grows(w.run, 20)
	w.input()
	w.finish()
	w.check()
	s.expectLog("the spool is writable again")
	if n := a.types(w.run)[protocol.RunStarted]; n != 1 {
		t.Errorf("number of starts = %d, want 1", n)
	}
}
