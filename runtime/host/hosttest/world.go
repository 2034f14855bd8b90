package hosttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// patience limits every wait of the suite. A wait takes that long only if there is a bug.
const patience = 2 * time.Minute

// A Peer returns the configuration of a host that uses the transport under test and plays the
// script file. The suite sets the host's name, formats, parameters and limits.
type Peer func(t *testing.T, script string) host.Config

// RunID is the id of the run in tests. It differs in each test process, because the guardian of a
// run kills all processes with the run's id.
var RunID = fmt.Sprintf("r_test%d", os.Getpid())

// world contains the hosts of one test.
type world struct {
	*testing.T
	peer  Peer
	dir   string
	ctx   context.Context
	hosts *host.Hosts
	with  []func(*testing.T, *host.Options)

	mu      sync.Mutex
	log     []string
	remarks []string
}

func newWorld(t *testing.T, peer Peer) *world {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return &world{T: t, peer: peer, dir: t.TempDir(), ctx: ctx}
}

// worker returns the configuration of a host named worker that plays the script and answers in
// JSON.
func (w *world) worker(script string) host.Config {
	w.Helper()
	return w.named("worker", script)
}

func (w *world) named(name, script string) host.Config {
	w.Helper()
	file := filepath.Join(w.dir, name+".host")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		w.Fatal(err)
	}
	c := w.peer(w.T, file)
	c.Name, c.Connector, c.OutputFormat, c.Timeout = name, name, "json", patience.Seconds()
	return c
}

// start starts the hosts. When the test ends, the hosts are closed, and the test fails if a host
// did not receive the lines in its script.
func (w *world) start(configs ...host.Config) {
	// The hosts would log variables that they do not pass on.
	inherited, _ := procgroup.Inherit{}.Of(os.Environ())
	w.startIn(inherited, configs...)
}

func (w *world) startIn(environ []string, configs ...host.Config) {
	note := func(to *[]string) func(a, b string) {
		return func(a, b string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			*to = append(*to, a+": "+b)
		}
	}
	o := host.Options{Configs: configs, Environ: environ, Run: &procgroup.Run{ID: RunID}, Stderr: note(&w.log), Log: note(&w.remarks), Directories: workspace.Directories{}}
	for _, change := range w.with {
		change(w.T, &o)
	}
	w.hosts = host.New(o)
	w.Cleanup(func() {
		w.end()
		for _, c := range configs {
			if b, err := os.ReadFile(w.file(c.Name + ".host.fail")); err == nil {
				w.Errorf("host %s reported: %s", c.Name, b)
			}
		}
	})
}

// end closes the hosts.
func (w *world) end() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.hosts.Close(ctx); err != nil {
		w.Errorf("Close: %v", err)
	}
}

// endAsync begins to close the hosts. The returned function cancels the close's context and returns
// when the close has ended.
func (w *world) endAsync() (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.hosts.Close(ctx)
	}()
	return func() { cancel(); <-done }
}

// spawns returns the process IDs of all starts of a host. Each process leads the process group with
// its ID.
func (w *world) spawns(name string) []int {
	w.Helper()
	var pids []int
	for _, l := range w.lines(name + ".host.spawns") {
		var pid, pgid int
		if _, err := fmt.Sscan(l, &pid, &pgid); err != nil || pid != pgid {
			w.Fatalf("start record %q: the process does not lead its process group (error %v)", l, err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func (w *world) file(name string) string { return filepath.Join(w.dir, name) }

// lines returns the lines of a file, or nil if the file does not exist.
func (w *world) lines(name string) []string {
	b, err := os.ReadFile(w.file(name))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// await waits until the file exists.
func (w *world) await(name string) {
	w.Helper()
	w.until("the file "+name, func() bool { _, err := os.Stat(w.file(name)); return err == nil })
}

// until waits until ok returns true, by polling.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	for !ok() {
		select {
		case <-w.ctx.Done():
			w.Fatalf("timed out waiting for %s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (w *world) make(name string) {
	if err := os.WriteFile(w.file(name), []byte("x\n"), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) logged(part string) bool { return w.has(&w.log, part) }

func (w *world) remarked(part string) bool { return w.has(&w.remarks, part) }

func (w *world) has(lines *[]string, part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(*lines, func(l string) bool { return strings.Contains(l, part) })
}

// wantRemarks compares the log lines with want. It ignores the line about a missing guard process,
// which these tests cannot start.
func (w *world) wantRemarks(want ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := slices.DeleteFunc(slices.Clone(w.remarks), func(line string) bool { return strings.HasPrefix(line, "debug: if this process is killed") })
	if !slices.Equal(got, want) {
		w.Errorf("log lines:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// payload returns a message's payload as JSON.
func payload(m effect.HostMessage) string { return string(value.AppendJSON(nil, m.Payload)) }

// quoted returns s as JSON.
func quoted(s string) string { return string(value.AppendString(nil, s)) }

// talk is one exchange of a test.
type talk struct {
	w         *world
	id        int64
	unchecked []effect.HostMessage // received messages that the test has not yet checked
}

func (w *world) tryOpen(r effect.ExchangeOpen) (*talk, error) {
	res, err := w.hosts.Perform(w.ctx, &r)
	if err != nil {
		return nil, err
	}
	return &talk{w: w, id: res.(*effect.ExchangeOpened).ID}, nil
}

// open begins an exchange with the host worker.
func (w *world) open(prompt string) *talk {
	w.Helper()
	return w.openAt("worker", prompt)
}

func (w *world) openAt(name, prompt string) *talk {
	w.Helper()
	x, err := w.tryOpen(effect.ExchangeOpen{Host: name, Prompt: prompt})
	if err != nil {
		w.Fatalf("open %s: %v", name, err)
	}
	return x
}

// next returns the next message, or the failure of the exchange.
func (x *talk) next() (effect.HostMessage, error) {
	if len(x.unchecked) == 0 {
		res, err := x.w.hosts.Perform(x.w.ctx, &effect.ExchangeNext{ID: x.id})
		if err != nil {
			return effect.HostMessage{}, err
		}
		x.unchecked = res.(*effect.ExchangeMessages).Messages
	}
	m := x.unchecked[0]
	x.unchecked = x.unchecked[1:]
	return m, nil
}

// want receives the next message and compares its type and its payload as JSON.
func (x *talk) want(typ, body string) effect.HostMessage {
	x.w.Helper()
	m, err := x.next()
	if err != nil {
		x.w.Fatalf("want a %s, got the failure %v", typ, err)
	}
	if got := payload(m); m.Type != typ || got != body {
		x.w.Fatalf("want %s %s, got %s %s", typ, body, m.Type, got)
	}
	return m
}

// fails checks that the exchange fails instead of sending a message, and returns the failure.
func (x *talk) fails() *effect.Error {
	x.w.Helper()
	m, err := x.next()
	if err == nil {
		x.w.Fatalf("want a failure, got %s %s", m.Type, m.Text)
	}
	return x.w.hostError(err)
}

func (w *world) hostError(err error) *effect.Error {
	w.Helper()
	var e *effect.Error
	if !errors.As(err, &e) || e.Kind != "HostError" {
		w.Fatalf("want a HostError, got %v", err)
	}
	return e
}

// reply answers the message m with a value, given as JSON.
func (x *talk) reply(m effect.HostMessage, value string) {
	x.w.Helper()
	r := &effect.ExchangeReply{ID: x.id, InReplyTo: m.Type, AnswerTo: m.ID, Value: []byte(value)}
	if _, err := x.w.hosts.Perform(x.w.ctx, r); err != nil {
		x.w.Fatalf("reply: %v", err)
	}
}

// close closes the exchange.
func (x *talk) close() {
	x.w.Helper()
	x.cancel("")
}

func (x *talk) cancel(reason string) {
	x.w.Helper()
	if _, err := x.w.hosts.Perform(x.w.ctx, &effect.ExchangeClose{ID: x.id, Reason: reason}); err != nil {
		x.w.Fatalf("close: %v", err)
	}
}

// ask runs a whole exchange and checks that its only message is a result with the given text.
func (w *world) ask(prompt, text string) {
	w.Helper()
	x := w.open(prompt)
	x.want("result", `{"text":"`+text+`"}`)
	x.close()
}
