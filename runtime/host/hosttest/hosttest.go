// Package hosttest is the conformance suite for host transports. It tests each H rule of
// spec/host-protocol.md with a scripted host at the other end of the transport. A transport that
// passes the suite supports the whole protocol.
//
// The rules are quoted in full, and a test compares the quotations with the chapter.
package hosttest

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/runtime/host"
)

// rule is one rule of the chapter and its test.
type rule struct {
	id   string
	text string
	play func(w *world)
}

// rules lists all rules in the order of the chapter.
var rules = slices.Concat(processRules, lineRules, initRules, promptRules, messageRules, endRules, sessionRules, decidedRules, upkeepRules, steerRules)

// Run tests every rule. Afterwards it checks that no goroutine of the hosts and no process is left.
// Each function in with changes the options of the hosts.
func Run(t *testing.T, peer Peer, with ...func(*testing.T, *host.Options)) {
	t.Cleanup(func() { checkGoroutines(t) }) // runs after the tests of all rules
	for _, r := range rules {
		t.Run(r.id, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, peer)
			w.with = with
			defer func() {
				if t.Failed() {
					t.Logf("failed rule %s: %s", r.id, r.text)
				}
			}()
			r.play(w)
			if w.hosts != nil {
				w.end()
			}
			files, err := filepath.Glob(w.file("*.spawns"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				for _, p := range w.spawns(strings.TrimSuffix(filepath.Base(f), ".host.spawns")) {
					if groupAlive(p) {
						t.Errorf("process group %d is still running", p)
					}
				}
			}
		})
	}
}

// checkGoroutines fails if a goroutine runs Concerto's code after all hosts are closed. It waits
// for the last goroutines to exit.
func checkGoroutines(t *testing.T) {
	t.Helper()
	var left []string
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() {
		buf := make([]byte, 1<<20)
		all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
		left = slices.DeleteFunc(all[1:], func(s string) bool {
			ours := strings.Contains(s, "/runtime/host.") || strings.Contains(s, "/runtime/keeper.") || strings.Contains(s, "/internal/process/procgroup.")
			// the starter thread of package procgroup
			return !ours || strings.Contains(s, "/internal/process/procgroup.runStarter")
		})
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("goroutines are still running:\n%s", strings.Join(left, "\n\n"))
}
