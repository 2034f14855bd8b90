//go:build linux

package relaytest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestClone checks that hostds started from a copy of a machine's state are refused with a reason,
// and that the original hostd continues.
func TestClone(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	w := newWork(s)
	a := w.a
	kill(s.hostd)
	files, err := filepath.Glob(s.path("state/spool.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range []string{"copied", "old"} {
		if err := os.Mkdir(s.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s.put(filepath.Join(name, filepath.Base(file)), string(text))
		}
	}
	clone := func(name, why string) {
		c, _ := s.start("hostd", "--server", s.machine.URL(), "--host-id", "host_a", "--token-file", s.path("token"), "--state", s.path(name), "--socket", s.path(name+".sock"), "--root", s.dir)
		defer kill(c)
		s.expectLog(why)
		w.input()
		a.grows(w.run, 20)
	}
	s.startHostd()
	a.grows(w.run, 5)
	clone("copied", "another hostd with this machine's id has taken over") // its epoch equals the machine's
	s.expectLog("its spool was copied")
	kill(s.hostd)
	s.startHostd()
	a.grows(w.run, 5)
	clone("old", "this one is an old copy")
	s.expectLog("a machine reconnected with an older state")
	w.finish()
	w.check()
}
