//go:build unix

package live

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/models"
)

// begin opens the socket of a run without the delay.
func begin(t *testing.T, dir, id string, canceled *bool) *Run {
	t.Helper()
	r := Begin(Options{Directory: dir, Run: id, Program: "p", Usage: func() models.Sum { return models.Sum{Calls: 3} },
		Cancel: func() { *canceled = true }, Failed: func(err error) { t.Error(err) }})
	r.timer.Stop()
	r.open()
	t.Cleanup(r.End)
	return r
}

// list lists the runs once.
func list(dir string) ([]State, error) {
	c := NewClient(dir)
	defer c.Close()
	return c.List()
}

// TestList checks which runs are listed: those that reply, those that send invalid data, and not
// those of processes that have exited.
func TestList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rt")
	if all, err := list(dir); all != nil || err != nil {
		t.Errorf("a missing directory has %v, %v", all, err)
	}
	var canceled bool
	r := begin(t, dir, "r_one", &canceled)
	long := begin(t, dir, strings.Repeat("long/id", 20), &canceled)
	invalid, err := net.Listen("unix", filepath.Join(dir, "r_bad.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer invalid.Close()
	go func() {
		for {
			c, err := invalid.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("{\"state\":7}\n"))
			_ = c.Close()
		}
	}()
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "r_dead.sock"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	if all, err := list(dir); err != nil || len(all) != 3 {
		t.Errorf("runs %v, %v", all, err)
	}
	path := filepath.Join(dir, "r_dead.sock")
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("a new socket, whose process may not yet listen, was removed: %v", err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	r.Watched().Store(false)
	if r.Watched().Load() {
		t.Error("a run is watched before a client has read its state")
	}
	all, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, s := range all {
		states[s.Run] = s.State
	}
	if len(all) != 3 || states["r_one"] != Running || states["r_bad"] != Invalid || states[strings.Repeat("long/id", 20)] != Running {
		t.Errorf("states %v", states)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket of a process that has exited remains: %v", err)
	}
	if !r.Watched().Load() {
		t.Error("the run is not watched")
	}
	if err := Cancel(dir, "r_one"); err != nil || !canceled {
		t.Errorf("Cancel: %v, the run was cancelled: %v", err, canceled)
	}
	c, err := dial(socketOf(dir, "r_one"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ask(request{Op: "other"}); err == nil || err.Error() != "unknown operation other" {
		t.Errorf("an unknown operation: %v", err)
	}
	client := NewClient(dir)
	defer client.Close()
	for range 3 { // on the same connections
		if all, err := client.List(); len(all) != 3 || err != nil {
			t.Errorf("runs %v, %v", all, err)
		}
	}
	if len(client.connections) != 2 {
		t.Errorf("%d connections are open", len(client.connections))
	}
	r.End()
	long.End()
	for _, c := range []*Client{NewClient(dir), client} {
		if all, err := c.List(); len(all) != 1 || all[0].Run != "r_bad" || err != nil {
			t.Errorf("after their ends the runs are %v, %v", all, err)
		}
		c.Close()
	}
}

// TestDirectory checks where sockets are, and that a directory that others may open is refused.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for variables, want := range map[string]string{
		"CONCERTO_TOP=off":                           "",
		"CONCERTO_RUNTIME_DIR=/a XDG_RUNTIME_DIR=/b": "/a",
		"XDG_RUNTIME_DIR=/run/user/1000":             "/run/user/1000/concerto",
		"CONCERTO_TOP=off CONCERTO_RUNTIME_DIR=/a":   "",
	} {
		if got := Directory(strings.Fields(variables)); got != want {
			t.Errorf("%s: %s, want %s", variables, got, want)
		}
	}
	long := Directory([]string{"CONCERTO_RUNTIME_DIR=/" + strings.Repeat("x", 100)})
	if !strings.HasPrefix(long, Directory(nil)+"-") || len(socketOf(long, "r_0123456789abcdef")) > maxPath {
		t.Errorf("a long path: %s", long)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := list(dir); !errors.Is(err, ErrForeign) {
		t.Errorf("a directory of others: %v", err)
	}
	if err := Prepare(dir); !errors.Is(err, ErrForeign) {
		t.Errorf("a directory of others: %v", err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(filepath.Join(dir, "link")); !errors.Is(err, ErrForeign) {
		t.Errorf("a link: %v", err)
	}
}
