package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/runs"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// machine is a directory with the state of a hostd, which tests start and kill.
type machine struct {
	t     *testing.T
	dir   string
	flags []string
	hostd *exec.Cmd
	nohup bool      // start commands with SIGHUP ignored
	log   io.Writer // receives what hostd logs once it serves
}

func newMachine(t *testing.T, flags ...string) *machine {
	dir, err := os.MkdirTemp("", "hostd") // the length of a socket's path is limited, and t.TempDir returns long paths
	if err != nil {
		t.Fatal(err)
	}
	h := &machine{t: t, dir: dir, flags: flags, log: io.Discard}
	t.Cleanup(func() {
		h.kill()
		for _, r := range h.pids() {
			_ = syscall.Kill(-r, syscall.SIGKILL)
		}
		os.RemoveAll(dir)
	})
	return h
}

// pids returns the ids of the processes that hold runs, of a separate hostd or of a server with
// --with-hostd.
func (h *machine) pids() (all []int) {
	own, _ := filepath.Glob(filepath.Join(h.dir, "state", "runs", "*", "run.json"))
	server, _ := filepath.Glob(filepath.Join(h.dir, ".local", "state", "concerto", "hostd", "runs", "*", "run.json"))
	for _, file := range append(own, server...) {
		var of struct {
			PID int `json:"pid"`
		}
		text, err := os.ReadFile(file)
		if err == nil && json.Unmarshal(text, &of) == nil && of.PID > 1 {
			all = append(all, of.PID)
		}
	}
	return all
}

// command returns the command with these arguments and the environment of this machine.
func (h *machine) command(args ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Args = append([]string{"concerto-relay"}, args...)
	if h.nohup {
		c = exec.Command("sh", append([]string{"-c", `trap '' HUP; exec "$0" "$@"`, exe}, args...)...)
	}
	c.Dir = h.dir
	c.Env = append(os.Environ(), "HOME="+h.dir, "XDG_CONFIG_HOME="+h.dir, "LOCAL_UNIX_SOCKET="+filepath.Join(h.dir, "s"), "HOST_TOKEN=t0ken-of-the-host", asCommand+"=1")
	return c
}

// start starts hostd and waits until it accepts requests.
func (h *machine) start() {
	h.t.Helper()
	ready := filepath.Join(h.dir, "ready")
	if err := os.Remove(ready); err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	h.hostd = h.command(append([]string{"hostd", "--state", "state", "--root", h.dir, "--ready-file", ready}, h.flags...)...)
	log, err := h.hostd.StderrPipe()
	if err == nil {
		err = h.hostd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		h.t.Log(lines.Text())
		if strings.Contains(lines.Text(), "hostd serves") {
			go io.Copy(h.log, log)
			return
		}
	}
	h.t.Fatalf("hostd did not start: %v", h.hostd.Wait())
}

// kill kills hostd with SIGKILL.
func (h *machine) kill() {
	if h.hostd != nil {
		_ = h.hostd.Process.Kill()
		_ = h.hostd.Wait()
		h.hostd = nil
	}
}

// eventually calls what until it succeeds.
func (h *machine) eventually(name string, what func() (string, bool)) {
	h.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // polls again
		out, ok := what()
		if ok {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("%s: %s", name, out)
		}
	}
}

// do runs a command until it exits, checks that its exit code is want, and returns its output.
func (h *machine) do(want int, args ...string) string {
	h.t.Helper()
	c := h.command(args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if code := c.ProcessState.ExitCode(); code != want {
		h.t.Fatalf("%v: exit code = %d (%v), want %d\n%s%s", args, code, err, want, out.String(), errs.String())
	}
	if want != 0 {
		return out.String() + errs.String()
	}
	return out.String()
}

func (h *machine) detached(cmd string) string {
	h.t.Helper()
	return strings.TrimSpace(h.do(0, "run", "--detach", "--title", "a test", "--", cmd))
}

// until follows a run until it has an event of this type whose data contains text, and returns the
// event.
func (h *machine) until(run, typ, text string) protocol.Envelope {
	h.t.Helper()
	c := h.command("attach", run, "--format", "ndjson")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, protocol.MaxFrame)
	shown := ""
	for lines.Scan() {
		e, refused := protocol.Parse(lines.Bytes())
		if refused != nil {
			h.t.Fatal(refused)
		}
		data := string(e.Data)
		if e.Type == protocol.RunOutput {
			o, err := protocol.Decode[protocol.Output](&e)
			if err != nil {
				h.t.Fatal(err)
			}
			shown += o.Text
			data = shown
		}
		if e.Type == typ && strings.Contains(data, text) {
			return e
		}
	}
	h.t.Fatalf("run %s has no event %s with %q", run, typ, text)
	return protocol.Envelope{}
}

// TestHostd starts, lists, approves and stops runs from the command line, and restarts hostd while
// a run waits for an approval. A process of a run must not decide the run's own requests. hostd
// must reject invalid settings.
func TestHostd(t *testing.T) {
	t.Parallel()
	h := newMachine(t)
	if out := h.do(2, "runs"); !strings.Contains(out, "no hostd serves") {
		t.Errorf("output of runs without hostd = %s, want \"no hostd serves\"", out)
	}
	h.start()
	if ready, err := os.ReadFile(filepath.Join(h.dir, "ready")); err == nil && string(ready) != filepath.Join(h.dir, "s") {
		t.Errorf("ready file = %q, want the socket", ready)
	}
	if info, err := os.Stat(filepath.Join(h.dir, "s")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket = %v, error = %v; want mode 0600", info, err)
	}
	if out := h.do(3, "run", "--", `echo "$RELAY_TOOL [$HOST_TOKEN]"; exit 3`); out != "echo []\r\n" {
		t.Errorf("output of the run = %q, want the tool's name and no token", out)
	}
	if out := h.do(0, "run", "--", "printf", "%s|", "a b", "it's"); out != "a b|it's|" {
		t.Errorf("output of the run with arguments = %q", out)
	}
	run := h.detached(`printf 'Go on? [y/N] '; read x; echo "said $x"; exit 4`)
	asked := h.until(run, protocol.RunPermissionRequested, "Go on?")
	q, err := protocol.Decode[protocol.PermissionRequested](&asked)
	if err != nil {
		t.Fatal(err)
	}
	h.kill()
	h.start()
	if list := h.do(0, "runs"); !strings.Contains(list, run+"  awaiting_approval") || !strings.Contains(list, "a test") {
		t.Errorf("listed runs =\n%s", list)
	}
	if out := h.do(1, "approve", run, "no-such"); !strings.Contains(out, "unknown_request") {
		t.Errorf("approval of an unknown request = %s", out)
	}
	if err := h.post(run, "long", strings.Repeat("x", 64<<10+1)); err == nil || !strings.Contains(err.Error(), "bad_message") {
		t.Errorf("input of 64 KiB + 1: error = %v, want bad_message", err)
	}
	if out := h.do(0, "approve", run, q.RequestID); out != "approved "+q.RequestID+": applied\n" {
		t.Errorf("output of approve = %s", out)
	}
	if out := h.do(1, "deny", run, q.RequestID); !strings.Contains(out, "already_decided") {
		t.Errorf("denial of an approved request = %s", out)
	}
	if out := h.do(4, "attach", run); !strings.Contains(out, "said y") {
		t.Errorf("output of the run = %q", out)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := h.detached(fmt.Sprintf(`printf 'Delete? [y/N] '; setsid -w %s deny $RELAY_RUN_ID x --socket $RELAY_HOSTD_SOCK 2>&1; read x`, exe))
	h.until(agent, protocol.RunOutput, "may not answer, write to or stop itself")
	hidden := h.detached(fmt.Sprintf(`run=$RELAY_RUN_ID sock=$RELAY_HOSTD_SOCK; (p=$BASHPID; env -i %s=1 setsid bash -c "while [ \$(cut -d' ' -f4 /proc/\$\$/stat) = $p ]; do :; done; exec -a concerto-relay %s deny $run x --socket $sock" 2>&1 &); read x`, asCommand, exe))
	// The process has lost its parent and has no variables of the run. hostd still recognizes it,
	// because the process that holds the run has adopted it.
	h.until(hidden, protocol.RunOutput, "may not answer, write to or stop itself")
	var all []string
	for _, line := range strings.Split(strings.TrimSpace(h.do(0, "runs", "--format", "ndjson")), "\n") {
		var one protocol.RunSummary
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, string(one.Status))
	}
	if got := strings.Join(all, " "); got != "exited exited exited running running" && got != "exited exited exited awaiting_approval running" {
		t.Errorf("states of the runs = %s", got)
	}
	if err := h.hostd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := h.hostd.Wait(); err != nil {
		t.Errorf("hostd after SIGTERM: %v", err)
	}
	h.hostd = nil
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--server", "ftp://x"}, "--server: it is not an http"}, {[]string{"--root", "/no/such"}, "--root: /no/such is not a directory"}, {[]string{"--spool-max", "much"}, "--spool-max"},
		{[]string{"--remote-exec", "maybe"}, "on or off"}, {[]string{"--host-id", "a b"}, "--host-id"}, {[]string{"--token-file", "none"}, "--token-file"}, {[]string{"--approval-timeout", "0"}, "at least 1"},
		{[]string{"--socket", "/tmp/" + strings.Repeat("x", 120)}, "107 bytes"},
	} {
		if out := h.do(2, append([]string{"hostd", "--state", "state"}, c.args...)...); !strings.Contains(out, c.want) {
			t.Errorf("hostd %v: output = %s", c.args, out)
		}
	}
}

// TestNohup starts hostd with SIGHUP ignored, as nohup does. hostd must ignore the signal, but the
// processes of its runs must not.
func TestNohup(t *testing.T) {
	t.Parallel()
	h := newMachine(t)
	h.nohup = true
	h.start()
	if err := h.hostd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	_, mask, _ := strings.Cut(h.do(0, "run", "--", "grep SigIgn /proc/self/status"), "SigIgn:")
	var ignored uint64
	if _, err := fmt.Sscanf(strings.TrimSpace(mask), "%x", &ignored); err != nil || ignored&(1<<(syscall.SIGHUP-1)) != 0 {
		t.Errorf("signals ignored by a tool = %x (%v), want SIGHUP not ignored", ignored, err)
	}
}

// TestHostdKilled kills hostd repeatedly at random moments while a run writes output and receives
// input. The events must contain each byte of output once, and the run must receive each input
// once.
func TestHostdKilled(t *testing.T) {
	t.Parallel()
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	h := newMachine(t)
	h.start()
	run := h.detached(`stty -echo; for i in $(seq 4000); do echo "line $i"; done; while read x; do echo "got $x"; [ "$x" = end ] && exit; done`)
	h.until(run, protocol.RunOutput, "line 1") // stty has run, so input is not echoed
	dice := rand.New(rand.NewPCG(5, 6))
	for i := range rounds {
		c := h.command("attach", run, "--format", "ndjson")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_ = h.post(run, fmt.Sprintf("input-%d", i), fmt.Sprintf("%d\n", i)) // hostd may be killed during the request
		}()
		for range dice.IntN(2000) {
			_, _ = os.Stat(h.dir) // takes a short and variable time
		}
		h.kill()
		<-sent
		_ = c.Process.Kill()
		_ = c.Wait()
		h.start()
		for range 2 { // each input has one id, so repeating the request must not write the input again
			if err := h.post(run, fmt.Sprintf("input-%d", i), fmt.Sprintf("%d\n", i)); err != nil {
				t.Fatalf("round %d: input failed: %v", i, err)
			}
		}
	}
	if err := h.post(run, "input-end", "end\n"); err != nil {
		t.Fatal(err)
	}
	h.until(run, protocol.RunExited, "")
	h.kill()
	want := &strings.Builder{}
	for i := range 4000 {
		fmt.Fprintf(want, "line %d\r\n", i+1)
	}
	for i := range rounds {
		fmt.Fprintf(want, "got %d\r\n", i)
	}
	want.WriteString("got end\r\n")
	h.checkEvents(run, want.String(), rounds+1)
}

func (h *machine) post(run, id, text string) error {
	a := &console.Console{Environ: h.command().Env, Dir: h.dir, Places: map[string]string{}}
	e, err := connect.EndpointOf(a, &connect.Target{Socket: filepath.Join(h.dir, "s")})
	if err != nil {
		return err
	}
	var body struct {
		State string `json:"state"`
	}
	if err := e.Call(context.Background(), "POST", runs.RunPath(run)+"/input", protocol.SendInput{InputID: id, Text: text}, &body); err != nil {
		return err
	}
	if body.State != "applied" {
		return errors.New(body.State)
	}
	return nil
}

// checkEvents reads a run's events from the spool. The output in them must be equal to output, and
// the number of inputs to inputs.
func (h *machine) checkEvents(run, output string, inputs int) {
	h.t.Helper()
	s, err := spool.Open(context.Background(), filepath.Join(h.dir, "state", "spool.db"), spool.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer s.Close()
	events, err := s.Next(context.Background(), run, 0, 1_000_000)
	if err != nil {
		h.t.Fatal(err)
	}
	var wrote strings.Builder
	seen := map[string]int{}
	for i, e := range events {
		if e.Seq != int64(i)+1 {
			h.t.Fatalf("sequence number = %d, want %d", e.Seq, i+1)
		}
		switch e.Type {
		case protocol.RunOutput:
			o, err := protocol.Decode[protocol.Output](&e)
			if err != nil || *o.Off != int64(wrote.Len()) {
				h.t.Fatalf("offset of the output = %v, want %d (%v)", o.Off, wrote.Len(), err)
			}
			wrote.WriteString(o.Text)
		case protocol.RunInput:
			in, err := protocol.Decode[protocol.Input](&e)
			if err != nil || seen[in.InputID] > 0 {
				h.t.Fatalf("second event of input %s (%v)", in.InputID, err)
			}
			seen[in.InputID]++
		}
	}
	if wrote.String() != output || len(seen) != inputs || events[len(events)-1].Type != protocol.RunExited {
		h.t.Errorf("%d inputs; it wrote %d bytes, not %d:\n…%s", len(seen), wrote.Len(), len(output), wrote.String()[max(0, wrote.Len()-300):])
	}
}

// TestNestedRunsCannotDecide starts a run whose process starts a second run, whose process starts a
// third one. The third one must not decide requests of the first; its attempt is refused and
// recorded. The user who started the first run may decide.
func TestNestedRunsCannotDecide(t *testing.T) {
	t.Parallel()
	h := newMachine(t)
	h.start()
	defer h.kill()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	begin := func(script string) string {
		return fmt.Sprintf(`env -u RELAY_RUN_ID %s run --detach --socket $RELAY_HOSTD_SOCK -- ". ./%s"; read x`, exe, script)
	}
	for name, script := range map[string]string{
		"second": "echo $RELAY_RUN_ID > second.id; " + begin("third"),
		"third":  fmt.Sprintf("echo $RELAY_RUN_ID > third.id; %s deny $(cat first.id) x --socket $RELAY_HOSTD_SOCK; read x", exe),
	} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := h.detached("echo $RELAY_RUN_ID > first.id; " + begin("second"))
	e := h.until(run, protocol.RunRefused, "by_run_id")
	third, err := os.ReadFile(filepath.Join(h.dir, "third.id"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := protocol.Decode[protocol.OwnRefused](&e)
	if err != nil || d.Action != "decide" || d.RequestID != "x" || d.ByRunID != strings.TrimSpace(string(third)) || !strings.Contains(d.Reason, "which run "+run+" has started") {
		t.Errorf("run.refused = %+v, error = %v", d, err)
	}
	if out := h.do(1, "deny", run, "x"); !strings.Contains(out, "unknown_request") {
		t.Errorf("denial by the user = %s, want unknown_request", out)
	}
}
