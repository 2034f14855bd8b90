package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// asks is a program that prints a line, asks a question, and emits the answer.
const asks = `fn main() {
    println("begin");
    let ok = await emit<Bool>("approve", "ship it?")?;
    emit("done", ok);
}
`

// engineTest is a server that shows an engine, with the users ann, ada and bob.
type engineTest struct {
	*testing.T
	dir, url string // url is that of the engine's owner
	d        *daemon
	tokens   map[string]string
	events   map[string][]protocol.Envelope // events that the server has sent, by run
	cursor   map[string]int64
}

func newEngineTest(t *testing.T, url string) *engineTest {
	t.Helper()
	e := &engineTest{T: t, dir: t.TempDir(), url: url, tokens: map[string]string{}}
	e.write("ask.conc", asks)
	e.write("password", "correct horse\n")
	for _, user := range [][2]string{{"ann", "owner"}, {"ada", "operator"}, {"bob", "operator"}} { // the first one must be an owner
		run(t, e.dir, "", "user", "add", user[0], "--role", user[1], "--password-file", "password", "--db", "sqlite:relay.db")
	}
	e.concerto(0, "engine", "init")
	return e
}

func (e *engineTest) write(name, text string) {
	e.Helper()
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600); err != nil {
		e.Fatal(err)
	}
}

// command returns a command of concerto or concerto-relay.
func (e *engineTest) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(links(e.T), name), args...)
	c.Dir = e.dir
	c.Env = append(os.Environ(), "HOME="+e.dir, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "CONCERTO_ENGINE="+e.url, "CONCERTO_PROGRESS=none")
	return c
}

// do runs a command, which must exit with the code want, and returns its output.
func (e *engineTest) do(want int, c *exec.Cmd) string {
	e.Helper()
	out, err := c.CombinedOutput()
	if code := c.ProcessState.ExitCode(); code != want {
		e.Fatalf("%s: exit code = %d, want %d: %v\n%s", c.Args, code, want, err, out)
	}
	return string(out)
}

func (e *engineTest) concerto(want int, args ...string) string {
	e.Helper()
	return e.do(want, e.command("concerto", args...))
}

// serve starts the server, which logs in to the engine as user.
func (e *engineTest) serve(user string) {
	e.Helper()
	e.d = start(e.T, e.dir, []string{"XDG_STATE_HOME="}, "--engine", strings.Replace(e.url, "postgres@", user+"@", 1))
	e.events, e.cursor = map[string][]protocol.Envelope{}, map[string]int64{}
	for _, name := range []string{"ann", "ada", "bob"} {
		e.write(name+".token", e.d.login(name, "correct horse"))
		e.tokens[name] = e.d.login(name, "correct horse")
	}
}

// until waits until the server has an event of a run of the engine whose type and data match, and
// returns the relay's id of the run and the event.
func (e *engineTest) until(run, typ, text string) (id string, found protocol.Envelope) {
	e.Helper()
	for {
		for id, all := range e.events {
			for _, event := range all {
				if strings.HasPrefix(id, run+"-") && event.Type == typ && strings.Contains(string(event.Data), text) {
					return id, event
				}
			}
		}
		e.read(30)
	}
}

// read reads the next events.
func (e *engineTest) read(wait int) (n int) {
	e.Helper()
	var cursor []string
	for run, seq := range e.cursor {
		cursor = append(cursor, fmt.Sprintf("%s:%d", run, seq))
	}
	var page struct {
		Events []json.RawMessage
		Cursor map[string]int64
	}
	code := e.d.ask("GET", fmt.Sprintf("/events?rest=start&wait=%d&cursor=%s", wait, strings.Join(cursor, ",")), e.tokens["ann"], "", &page)
	if code != 200 || wait > 0 && len(page.Events) == 0 {
		e.Fatalf("no further events: status = %d, events so far:\n%s\n%s", code, e.text(), e.d.output())
	}
	for _, text := range page.Events {
		event, refused := protocol.Parse(text)
		if refused != nil {
			e.Fatalf("event %s: %v", text, refused)
		}
		e.events[event.RunID] = append(e.events[event.RunID], event)
	}
	e.cursor = page.Cursor
	return len(page.Events)
}

// text returns all events, in the order of the runs and of their sequence numbers.
func (e *engineTest) text() string {
	var lines []string
	for id, all := range e.events {
		for _, event := range all {
			lines = append(lines, fmt.Sprintf("%s %05d %s %s", id, event.Seq, event.Type, event.Data))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// approve answers a question of a run as a user.
func (e *engineTest) approve(want int, user, run, request, answer string) string {
	e.Helper()
	return e.do(want, e.command("concerto-relay", "approve", run, request, "--answer", answer, "--server", e.d.url, "--token-file", user+".token"))
}

// worker starts a worker and returns the function that stops it.
func (e *engineTest) worker() (stop func()) {
	e.Helper()
	c := e.command("concerto", "worker", "--state", "worker")
	if err := c.Start(); err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return func() {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			e.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			e.Fatalf("error of the worker = %v", err)
		}
	}
}

// TestServeEngine shows the runs of an engine with the rights of concerto_client: why they do not
// progress, their output, questions and ends. Users answer the questions, stop a run, and learn who
// was first. The connections to the database are cut, and the server is restarted: no event is
// missing or repeated.
func TestServeEngine(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	e := newEngineTest(t, pgtest.Make(t, server, "engine1"))
	pgtest.Do(t, e.url, "CREATE ROLE c1 LOGIN IN ROLE concerto_client")
	e.concerto(0, "submit", "--id", "one", "ask.conc")
	e.serve("c1")

	e.until("one", protocol.RunMeta, `"why":"no worker online for queue default"`)
	machines := e.d.machines(e.tokens["ann"], func(all []machineSeen) bool { return len(all) == 1 && all[0].Online })
	if machines[0].Name != "engine1" {
		t.Errorf("name of the machine = %q, want that of the database", machines[0].Name)
	}
	stop := e.worker()
	one, asked := e.until("one", protocol.RunPermissionRequested, "")
	q, err := protocol.Decode[protocol.PermissionRequested](&asked)
	if err != nil {
		t.Fatal(err)
	}
	if q.Prompt != "ship it?" || q.From == nil || q.From.Channel != "approve" || len(q.Questions) != 1 || q.Questions[0].Kind != "confirm" {
		t.Errorf("request = %s", asked.Data)
	}
	e.until("one", protocol.RunOutput, `begin\n`)
	if out := e.approve(1, "ada", one, q.RequestID, `"perhaps"`); !strings.Contains(out, "must be true or false") {
		t.Errorf("answer of another type: %s", out)
	}
	e.approve(0, "ada", one, q.RequestID, "true")
	e.until("one", protocol.RunPermissionResolved, `"by":"ada"`)
	e.until("one", protocol.RunEmit, `{"channel":"done","payload":true`)
	e.until("one", protocol.RunExited, `"exit_code":0`)
	if out := e.approve(1, "bob", one, q.RequestID, "false"); !strings.Contains(out, "by ada") {
		t.Errorf("second answer: %s", out)
	}
	if out := e.concerto(0, "runs", "show", "one", "--json"); !strings.Contains(out, `"value":true,"by":"ada"`) {
		t.Errorf("run in the engine: %s", out)
	}

	// An answer that did not come from the page.
	e.concerto(0, "submit", "--id", "two", "ask.conc")
	two, _ := e.until("two", protocol.RunPermissionRequested, q.RequestID)
	e.concerto(0, "queue", "pause", "default") // so that the run does not continue with the answer
	e.concerto(0, "runs", "answer", "two", q.RequestID, "false", "--by", "ada")
	if out := e.approve(1, "bob", two, q.RequestID, "true"); !regexp.MustCompile(q.RequestID + ` was answered by ada at \d{4}-\d\d-\d\dT`).MatchString(out) {
		t.Errorf("answer after another one: %s", out)
	}
	e.concerto(0, "queue", "resume", "default")
	e.until("two", protocol.RunPermissionResolved, `"by":"ada"`)
	e.until("two", protocol.RunExited, `"exit_code":0`)

	// The server loses its connections to the engine.
	e.concerto(0, "submit", "--id", "three", "ask.conc")
	three, _ := e.until("three", protocol.RunPermissionRequested, "")
	admin := server("postgres")
	pgtest.Do(t, admin, "ALTER ROLE c1 NOLOGIN")
	pgtest.Do(t, admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'c1'")
	e.d.machines(e.tokens["ann"], func(all []machineSeen) bool { return !all[0].Online })
	e.concerto(0, "submit", "--id", "four", "ask.conc")
	pgtest.Do(t, admin, "ALTER ROLE c1 LOGIN")
	four, _ := e.until("four", protocol.RunPermissionRequested, "")

	// The server restarts. Until it does, four is answered by someone else, and six is removed.
	e.concerto(0, "submit", "--id", "five.1", "ask.conc")
	e.until("five_1", protocol.RunPermissionRequested, "")
	e.concerto(0, "submit", "--id", "six", "ask.conc")
	e.until("six", protocol.RunPermissionRequested, "")
	before := e.events
	e.d.stop()
	e.concerto(0, "runs", "answer", "four", q.RequestID, "true", "--by", "bob")
	e.concerto(75, "submit", "--id", "seven", "ask.conc", "--wait", "--park")
	stop()
	e.concerto(0, "runs", "rm", "six")
	e.serve("c1")
	stop = e.worker()
	e.until("four", protocol.RunPermissionResolved, `"by":"bob"`)
	e.until("four", protocol.RunExited, `"exit_code":0`)
	e.until("six", protocol.RunExited, `"reason":"lost"`)
	e.until("seven", protocol.RunPermissionRequested, "")
	e.approve(0, "bob", three, q.RequestID, "false")
	e.until("three", protocol.RunExited, `"exit_code":0`)
	five, _ := e.until("five_1", protocol.RunPermissionRequested, "")
	if code := e.d.ask("POST", "/runs/"+five+"/stop", e.tokens["ada"], `{"id":"stop5","actor":"web"}`, nil); code/100 != 2 {
		t.Errorf("stop: status = %d", code)
	}
	e.until("five_1", protocol.RunExited, `"exit_code":1,"reason":"stopped"`)
	e.checkRestart(before, four)
	stop()
	e.d.stop()
	if strings.Contains(e.d.output(), "level=ERROR") {
		t.Errorf("output of the server:\n%s", e.d.output())
	}
}

// checkRestart checks that the events of each run begin with those before a restart, and contain
// each line of output and each request once.
func (e *engineTest) checkRestart(before map[string][]protocol.Envelope, finished string) {
	e.Helper()
	for id, was := range before {
		now := e.events[id]
		for i, event := range was {
			if i >= len(now) || now[i].Seq != event.Seq || string(now[i].Data) != string(event.Data) {
				e.Fatalf("event %d of run %s has changed:\n%s", event.Seq, id, e.text())
			}
		}
		count := map[string]int{}
		for i, event := range now {
			if count[event.Type]++; event.Seq != int64(i+1) {
				e.Errorf("event %d of run %s has sequence number %d", i+1, id, event.Seq)
			}
		}
		for _, typ := range []string{protocol.RunStarted, protocol.RunOutput, protocol.RunPermissionRequested, protocol.RunPermissionResolved, protocol.RunExited} {
			if count[typ] != 1 {
				e.Errorf("run %s has %d events %s, want 1:\n%s", id, count[typ], typ, e.text())
			}
		}
	}
	var row struct {
		Status string
		Meta   json.RawMessage
	}
	if code := e.d.ask("GET", "/runs/"+finished, e.tokens["ann"], "", &row); code != 200 || row.Status != "exited" || !strings.Contains(string(row.Meta), `"state":"finished"`) {
		e.Errorf("run %s = %d %s %s", finished, code, row.Status, row.Meta)
	}
}

// TestServeEngineUnavailable starts a server for engines that it cannot use.
func TestServeEngineUnavailable(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	empty := pgtest.Make(t, server, "empty")
	for _, c := range []struct {
		url, want string
		code      int
	}{
		{"mysql://ada:geheim@127.0.0.1/x", `unsupported scheme "mysql"`, 2},
		{"postgres://ada:geheim@127.0.0.1:no/x", "engine URL is invalid", 2},
		{"postgres://ada:geheim@127.0.0.1:1/x?connect_timeout=1", "could not connect to engine postgres://127.0.0.1:1/x: ", 69},
		{strings.Replace(empty, "postgres@", "postgres:geheim@", 1), "database empty has no concerto schema; run concerto engine init", 2},
	} {
		dir := t.TempDir()
		x := exec.Command(filepath.Join(links(t), "concerto-relay"), "serve", "--engine", c.url, "--listen", "127.0.0.1:0", "--db", "sqlite:relay.db")
		x.Dir, x.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=")
		out, _ := x.CombinedOutput()
		if x.ProcessState.ExitCode() != c.code || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "geheim") {
			t.Errorf("%s: exit code = %d, want %d with %q\n%s", c.url, x.ProcessState.ExitCode(), c.code, c.want, out)
		}
	}
}
