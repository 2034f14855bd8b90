// Package hosttest is the conformance suite of host transports: it plays each
// H rule of spec/host-protocol.md with a scripted host on the other side of the
// transport; its API promises nothing. A transport that passes it carries the whole protocol.
//
// The rules are quoted in full; a test holds the quotations against the
// chapter, so that neither can change without the other.
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

// rule is one rule of the chapter and the test that plays it.
type rule struct {
	id   string
	text string
	play func(w *world)
}

// rules are all of them, in the chapter's order.
var rules = slices.Concat(processRules, lineRules, initRules, promptRules, messageRules, endRules, sessionRules, decidedRules, upkeepRules)

// Run plays every rule. Afterwards no goroutine of the hosts may be left, and
// no process. Each of with changes the options of the hosts that a rule is played with.
func Run(t *testing.T, peer Peer, with ...func(*testing.T, *host.Options)) {
	t.Cleanup(func() { checkGoroutines(t) }) // when all rows are over
	for _, r := range rules {
		t.Run(r.id, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, peer)
			w.with = with
			defer func() {
				if t.Failed() {
					t.Logf("%s: %s", r.id, r.text)
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
						t.Errorf("group %d is left", p)
					}
				}
			}
		})
	}
}

// checkGoroutines fails when one runs our code after all is closed. The last
// ones may be on their way out.
func checkGoroutines(t *testing.T) {
	t.Helper()
	var left []string
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() {
		buf := make([]byte, 1<<20)
		all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
		left = slices.DeleteFunc(all[1:], func(s string) bool {
			ours := strings.Contains(s, "/runtime/host.") || strings.Contains(s, "/runtime/keeper.") || strings.Contains(s, "/internal/process/procgroup.")
			return !ours || strings.Contains(s, "/internal/process/procgroup.runStarter") // it has the thread that starts all
		})
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("goroutines are left:\n%s", strings.Join(left, "\n\n"))
}
