package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/runs"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

var took = regexp.MustCompile(`"duration_ms":\d+`)

// TestInterruptedCommandsGetFinalStates kills hostd while a machine waits for two commands. After
// the restart, each command must have one final state: the command without an approval was
// withdrawn, and the result of the approved one, which had begun, is unknown.
func TestInterruptedCommandsGetFinalStates(t *testing.T) {
	t.Parallel()
	h := newMachine(t)
	h.start()
	run := h.detached("read x")
	asked := make(chan error, 2)
	for id, cmd := range map[string]string{"undecided": "touch undecided", "approved": "touch begun; exec sleep 600"} {
		go func() { asked <- h.bash(run, id, cmd) }()
		h.until(run, protocol.RunPermissionRequested, id)
	}
	h.do(0, "approve", run, "approved")
	if err := testproc.AwaitFile(filepath.Join(h.dir, "begun")); err != nil {
		t.Fatal(err)
	}
	h.kill()
	for range 2 {
		if err := <-asked; err == nil {
			t.Error("an interrupted command was answered")
		}
	}
	for range 2 {
		h.start()
		h.kill()
	}
	all := h.spooledEvents(run)
	for _, want := range []string{
		`run.permission_resolved {"request_id":"undecided","decision":"withdrawn","reason":"hostd was restarted"}`,
		`tool.result {"request_id":"undecided","tool":"bash","actor":"local","ok":false,"duration_ms":N,"error":"withdrawn"}`,
		`run.permission_resolved {"request_id":"approved","decision":"approve","actor":"cli"}`,
		`tool.result {"request_id":"approved","tool":"bash","actor":"local","ok":false,"duration_ms":N,"error":"hostd was restarted: it is unknown whether it took effect"}`,
	} {
		if n := len(slices.DeleteFunc(slices.Clone(all), func(e string) bool { return e != want })); n != 1 {
			t.Errorf("number of events = %d, want 1 of %s in\n%s", n, want, strings.Join(all, "\n"))
		}
	}
}

// bash sends a shell command to hostd through the machine of a run, and waits for the result.
func (h *machine) bash(run, id, cmd string) error {
	a := &console.Console{Environ: h.command().Env, Dir: h.dir, Places: map[string]string{}}
	e, err := connect.EndpointOf(a, &connect.Target{Socket: filepath.Join(h.dir, "s")})
	if err != nil {
		return err
	}
	return e.Call(context.Background(), http.MethodPost, runs.RunPath(run)+"/bash", map[string]string{"request_id": id, "cmd": cmd}, nil)
}

// spooledEvents reads a run's events from the spool, without its output and with N for each
// duration. hostd must not be running.
func (h *machine) spooledEvents(run string) (all []string) {
	h.t.Helper()
	s, err := spool.Open(context.Background(), filepath.Join(h.dir, "state", "spool.db"), spool.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer s.Close()
	events, err := s.Next(context.Background(), run, 0, 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range events {
		if e.Type != protocol.RunOutput {
			all = append(all, took.ReplaceAllString(fmt.Sprintf("%s %s", e.Type, e.Data), `"duration_ms":N`))
		}
	}
	return all
}
