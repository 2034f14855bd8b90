//go:build linux

package relaytest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// rounds returns the number of kills: the value of RELAY_KILL_ROUNDS, or that of a usual run.
func rounds(t *testing.T, usual int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("RELAY_KILL_ROUNDS"), strconv.Itoa(usual)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestKill kills the server, hostd, PTY holders and connections while a run writes output and
// receives inputs, each after a number of events. The app must receive every event of each run's
// log once and in order. Each input must reach the run once or not at all, as its state reports.
func TestKill(t *testing.T) {
	t.Parallel()
	w := newWork(newSystem(t))
	chance, done := rand.New(rand.NewPCG(1, 0)), map[string]int{}
	for range rounds(t, 20) {
		for range chance.IntN(4) {
			w.input()
		}
		w.a.grows(w.run, chance.IntN(40))
		what := []string{"server", "server", "hostd", "hostd", "hostd", "shim", "cut", "both"}[chance.IntN(8)]
		done[what]++
		w.input()
		w.fail(what)
		w.a.grows(w.run, 5)
	}
	w.finish()
	w.check()
	t.Logf("%v; %d inputs: %v", done, w.n, w.states)
}

// work is the activity during the failures: a run and inputs to it.
type work struct {
	s      *system
	a      *app
	run    string
	runs   []string
	n      int
	inputs map[string][]string // ids of the inputs by run
	lost   map[string]bool     // runs whose PTY holder was killed
	states map[string]int
}

// newWork starts an app and a run.
func newWork(s *system) *work {
	w := &work{s: s, a: startApp(s.t, s.apps.URL(), login(s.t, s.apps.URL(), "ann", "correct horse battery")), inputs: map[string][]string{}, lost: map[string]bool{}}
	w.begin()
	return w
}

func (w *work) begin() {
	w.run = w.s.run()
	w.runs = append(w.runs, w.run)
	w.s.saveLog(w.run)
	w.a.await("the run's beginning", func() bool { return len(w.a.events[w.run]) > 2 })
}

func (w *work) input() {
	w.n++
	id := fmt.Sprintf("in%d", w.n)
	w.inputs[w.run] = append(w.inputs[w.run], id)
	w.a.input(w.run, id, id+"\n")
}

// fail causes a failure and repairs it.
func (w *work) fail(what string) {
	s := w.s
	switch what {
	case "server", "hostd", "both":
		if what != "hostd" {
			kill(s.server)
		}
		if what != "server" {
			kill(s.hostd)
			w.input()
			s.startHostd()
		}
		if what != "hostd" {
			s.startServer()
		}
	case "cut":
		s.machine.CutAll()
		s.apps.CutAll()
	case "shim":
		for _, shim := range s.shims() {
			_ = syscall.Kill(shim, syscall.SIGKILL)
			if left, err := testproc.AwaitExit(patience, shim); err != nil || len(left) > 0 {
				s.t.Fatal(left, err)
			}
		}
		w.ended()
		w.lost[w.run] = true
		w.begin()
	}
}

// ended waits for the run's end.
func (w *work) ended() {
	w.a.await("the end of "+w.run, func() bool {
		e := w.a.events[w.run]
		return len(e) > 0 && e[len(e)-1].Type == protocol.RunExited
	})
}

// finish ends the run after it has handled its inputs.
func (w *work) finish() {
	w.states = map[string]int{}
	for run, ids := range w.inputs {
		for _, id := range ids {
			w.states[w.a.settle(run, id, id+"\n")]++
		}
	}
	if state := w.a.settle(w.run, "quit", "quit\n"); state != "applied" {
		w.s.t.Errorf("state of the last input = %s, want applied", state)
	}
	w.ended()
}

// check checks the output and inputs of all runs.
func (w *work) check() {
	t := w.s.t
	for _, wrong := range w.a.wrong {
		t.Error(wrong)
	}
	for _, run := range w.runs {
		w.checkOutput(run)
		w.checkInputs(run)
		types := w.a.types(run)
		if types[protocol.RunStarted] != 1 || types[protocol.RunExited] != 1 || types[protocol.RunGap] != 0 {
			t.Errorf("types of the events of %s = %v", run, types)
		}
	}
}

// checkOutput checks that the app received the bytes of the run's log, and thus the tool's output
// in order.
func (w *work) checkOutput(run string) {
	t := w.s.t
	got, want := w.a.text(run), w.s.raw(run)
	if got != want {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Errorf("%s: the app received %d bytes, the log has %d; they differ at %d: %q, %q", run, len(got), len(want), at, excerpt(got, at), excerpt(want, at))
	}
	n := 0
	for line := range strings.Lines(got) {
		if _, rest, found := strings.Cut(line, "#"); found && strings.HasSuffix(rest, " ü\r\n") {
			number, _ := strconv.Atoi(strings.TrimSuffix(rest, " ü\r\n"))
			if n++; number != n {
				t.Fatalf("%s: line %q, want number %d", run, line, n)
			}
		}
	}
	if n == 0 {
		t.Errorf("the output of %s is empty", run)
	}
}

func excerpt(text string, at int) string {
	return text[max(0, at-20):min(len(text), at+20)]
}

// checkInputs checks that applied inputs reached the run once, rejected inputs never, and
// indeterminate inputs at most once.
func (w *work) checkInputs(run string) {
	count := map[string]int{}
	for _, line := range inputsSentTo(w.s.t, w.s.dir, run) {
		count[line]++
	}
	for _, id := range w.inputs[run] {
		state := w.a.states[id]
		low, high := 0, 0
		switch state {
		case "applied":
			low, high = 1, 1
			if w.lost[run] {
				low = 0 // the terminal had received the input when the run was killed
			}
		case "indeterminate":
			high = 1
		}
		if n := count[id]; n < low || n > high {
			w.s.t.Errorf("%s: input %s is %s and reached the run %d times", run, id, state, n)
		}
	}
}
