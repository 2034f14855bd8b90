package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/runtime/host"
)

// isolateEnding is a way in which a process ends.
type isolateEnding struct {
	name     string
	commands string // commands that end the process, or that continue, separated by commas
	play     func(x *isolateRun)
}

// signalEndings returns the endings by signals: of a run, and of a stored run that continues.
func signalEndings() (all []isolateEnding) {
	for _, s := range interrupt.Signals {
		name := unix.SignalName(s.(syscall.Signal))
		all = append(all, isolateEnding{name, "run", func(x *isolateRun) {
			x.asked("run", "wait.conc").end(s)
			x.remains(nothing)
		}}, isolateEnding{name + " and resume", "run, runs resume", func(x *isolateRun) {
			x.asked("run", "--journal", "job", "wait.conc").end(s)
			x.allRun()
			x.remains(empty)
			x.release()
			x.exits(0, "runs", "resume", "job")
			x.sameDirectory()
			x.remains(worked)
		}})
	}
	return all
}

// isolateEndings contains the ways in which a process of Concerto ends, or hands a run to another
// process, while the exchanges are open.
var isolateEndings = []isolateEnding{
	{"end", "run", func(x *isolateRun) {
		x.exits(0, "run", "--answer", "ok=true", "main.conc")
		x.sameDirectory()
		x.remains(worked)
	}},
	{"end without changes", "run", func(x *isolateRun) {
		x.exits(0, "run", "look.conc")
		x.remains(nothing)
	}},
	{"error", "run", func(x *isolateRun) {
		c := x.asked("run", "broken.conc")
		x.touch("break")
		c.end()
		x.remains(nothing)
	}},
	{"kill", "run, work clean, work list", func(x *isolateRun) {
		x.asked("run", "wait.conc").end(syscall.SIGKILL)
		x.noProcess()
		x.remains(empty)
		x.owned()
		x.remains(nothing)
	}},
	{"keeper killed", "run, keeper, runs resume", func(x *isolateRun) {
		c := x.asked("run", "--journal", "job", "wait.conc")
		keeper := childCalled(c.Process.Pid, "keeper")
		c.end(syscall.SIGKILL)
		_ = syscall.Kill(keeper, syscall.SIGKILL)
		x.noProcess()
		x.remains(empty)
		x.release()
		out := x.exits(0, "runs", "resume", "job")
		for _, h := range x.hosts {
			// The other exchanges are lost: the hosts have not named their conversations, or
			// work in directories of their own.
			continues := !h.isolated() && h.transport != "stdio"
			if !strings.Contains(out, h.name+map[bool]string{true: " ok", false: " failed host '" + h.name + "' is lost: "}[continues]) {
				x.Errorf("%s: continues: %v, want %v", h.name, !continues, continues)
			}
		}
		x.remains(nothing)
	}},
	{"fork", "runs fork", func(x *isolateRun) {
		x.exits(75, "run", "--journal", "job", "--park", "main.conc")
		x.exits(0, "runs", "fork", "job", "--at", "1", "--to", "other", "--no-run")
		x.exits(0, "runs", "resume", "other", "--answer", "ok=true")
		x.directories(2)
		if n := len(x.steps("worked")); n != len(x.hosts) {
			x.Errorf("%d hosts of the fork have worked, want %d", n, len(x.hosts))
		}
		x.exits(0, "runs", "resume", "job", "--answer", "ok=true")
		x.directories(2)
		if n := len(x.steps("worked")); n != 2*len(x.hosts) {
			x.Errorf("%d hosts have worked, want %d", n, 2*len(x.hosts))
		}
	}},
	{"fork of open exchanges", "runs fork, fork, runs inspect, inspect", func(x *isolateRun) {
		x.exits(75, "run", "--journal", "job", "--park", "main.conc")
		waiting, n := x.pids(), 0
		for line := range strings.Lines(x.exits(0, "runs", "inspect", "job", "--format", "ndjson")) {
			var e struct {
				Effect int
				Kind   string
			}
			if json.Unmarshal([]byte(line), &e) == nil && e.Kind == "emit.await" {
				n = max(n, e.Effect)
			}
		}
		x.exits(0, "runs", "fork", "job", "--at", fmt.Sprint(n), "--answer", "true", "--to", "other", "--no-run")
		out := x.exits(0, "runs", "resume", "other", "--answer", "ok=true")
		for _, h := range x.hosts {
			if h.isolated() && !strings.Contains(out, h.name+" failed host '"+h.name+"' is lost: ") {
				x.Errorf("%s: its exchange is not lost in the fork", h.name)
			}
		}
		if len(alive(waiting)) != len(waiting) {
			x.Errorf("%d of %d processes of the other run are running", len(alive(waiting)), len(waiting))
		}
		x.remains(empty)
		x.exits(0, "runs", "resume", "job", "--answer", "ok=true")
		x.remains(worked)
	}},
	{"session", "run", func(x *isolateRun) {
		x.exits(0, "run", "--answer", "ok=true", "main.conc")
		x.exits(0, "run", "session.conc")
		x.remains(worked)
		for _, h := range x.hosts {
			if h.isolated() {
				x.sameOf(&h)
			}
		}
		c := x.start("run", "--journal", "job", "session_wait.conc")
		x.awaitAsked(c, 2*len(x.hosts))
		c.end(syscall.SIGKILL)
		out := x.exits(0, "run", "session.conc")
		for _, h := range x.hosts {
			if busy := strings.Contains(out, h.name+" failed host '"+h.name+"' cannot be isolated: an exchange of the run "); busy != h.isolated() {
				x.Errorf("%s: a second run cannot resume its session: %v, want %v", h.name, busy, h.isolated())
			}
		}
		x.release()
		x.exits(0, "runs", "resume", "job")
		x.remains(worked)
	}},
	{"steer", "steer", func(x *isolateRun) {
		c := x.asked("run", "--journal", "job", "wait.conc")
		out := x.exits(1, "steer", "job", "wait")
		for _, h := range x.hosts {
			line := "  " + h.name
			if h.isolated() {
				line += "  " + x.dirs(&h)[0]
			}
			if !strings.Contains(out, line+"\n") {
				x.Errorf("the list of hosts lacks %q", line)
			}
		}
		x.release()
		c.end()
		x.sameDirectory()
		x.remains(worked)
	}},
	{"eval", "eval", func(x *isolateRun) {
		x.exits(0, "eval", "eval.conc", "--dir", "evals")
		x.directories(1)
		x.exits(0, "eval", "eval.conc", "--dir", "evals2")
		x.directories(2)
		if n := len(x.steps("worked")); n != 2*len(x.hosts) {
			x.Errorf("%d hosts have worked, want %d", n, 2*len(x.hosts))
		}
	}},
	{"call of a server", "mcp serve", func(x *isolateRun) {
		c := x.concerto("mcp", "serve", "serve.conc")
		in, err := c.StdinPipe()
		if err != nil {
			x.Fatal(err)
		}
		s := x.begin(c)
		_, _ = io.WriteString(in, strings.Join(strings.SplitAfter(servedCall, "\n")[:2], ""))
		for i, h := range x.hosts {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Work_go","arguments":{"name":%q}}}`+"\n", 10+i, h.name)
		}
		x.awaitAsked(s, len(x.hosts))
		for i := range x.hosts {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", 10+i)
		}
		x.noProcess()
		for end := time.Now().Add(outlive); x.anyDirectory() && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		}
		x.remains(nothing)
		s.end(syscall.SIGINT)
	}},
	{"package", "run, runs resume", func(x *isolateRun) {
		x.asked("run", "--journal", "job", "package.conc").end(syscall.SIGKILL)
		x.allRun()
		x.remains(empty)
		x.release()
		x.exits(0, "runs", "resume", "job")
		x.sameDirectory()
		x.remains(worked)
	}},
	{"takeover by another worker", "submit, worker, engine", func(x *isolateRun) {
		x.anotherWorker("takeover", syscall.SIGKILL, "--lease", "1s")
	}},
	{"handover to another worker", "submit, worker", func(x *isolateRun) {
		x.anotherWorker("handover", syscall.SIGTERM)
	}},
	{"schedule", "schedule, worker", func(x *isolateRun) {
		x.useEngine("schedule")
		x.exits(0, "schedule", "set", "s", "--every", "24h", "look.conc")
		x.exits(0, "schedule", "trigger", "s")
		x.exits(0, "worker", "--state", "state", "--until-idle")
		if n := len(x.steps("prompted")); n != len(x.hosts) {
			x.Errorf("%d hosts were prompted, want %d", n, len(x.hosts))
		}
		x.remains(nothing)
	}},
	{"stop", "runs stop", func(x *isolateRun) {
		x.exits(75, "run", "--journal", "job", "--park", "main.conc")
		x.exits(0, "runs", "stop", "job")
		x.remains(nothing)
	}},
	{"stop of a killed run", "runs stop", func(x *isolateRun) {
		x.asked("run", "--journal", "job", "wait.conc").end(syscall.SIGKILL)
		x.exits(0, "runs", "stop", "job")
		x.remains(nothing)
	}},
	{"stop while it runs", "runs stop", func(x *isolateRun) {
		c := x.asked("run", "--journal", "job", "wait.conc")
		x.exits(0, "runs", "stop", "job")
		c.end()
		x.remains(nothing)
	}},
	{"rm", "runs rm", func(x *isolateRun) {
		x.exits(75, "run", "--journal", "job", "--park", "main.conc")
		x.exits(0, "runs", "rm", "job")
		x.noProcess()
		x.remains(nothing)
	}},
	{"kill and resume", "run, runs resume, work clean", func(x *isolateRun) {
		x.asked("run", "--journal", "job", "wait.conc").end(syscall.SIGKILL)
		x.allRun()
		x.remains(empty)
		x.owned()
		x.remains(empty)
		x.release()
		x.exits(0, "runs", "resume", "job")
		x.sameDirectory()
		x.remains(worked)
	}},
	{"park and answer", "run, runs show, runs answer, answer, runs resume, resume", func(x *isolateRun) {
		x.exits(75, "run", "--journal", "job", "--park", "main.conc")
		x.allRun()
		x.owned()
		x.remains(empty)
		var shown struct{ Pending []struct{ ID string } }
		if err := json.Unmarshal([]byte(x.exits(0, "runs", "show", "job", "--format", "json")), &shown); err != nil {
			x.Fatal(err)
		}
		x.exits(0, "runs", "answer", "job", shown.Pending[0].ID, "true")
		x.exits(0, "runs", "resume", "job", "--answer", "ok=true")
		x.sameDirectory()
		x.remains(worked)
	}},
}

// TestIsolateEndings crosses each value of isolate and each transport with each way in which a
// process of Concerto ends. An ending is one run, with all hosts.
func TestIsolateEndings(t *testing.T) {
	randtest.RacedElsewhere(t)
	server := sync.OnceValue(func() func(string) string { return pgtest.Start(t) })
	for _, e := range slices.Concat(isolateEndings, signalEndings()) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			x := newIsolateRun(t, server)
			e.play(x)
			x.noProcess()
		})
	}
}

// noEnding contains the commands that are in no row of isolateEndings, with the reason.
var noEnding = map[string]string{
	"runs list, runs replay, replay, runs verify, runs tape, runs output, report, top, audit, budget": "they read what is stored, or write other files",
	"runs export, runs import, runs move, runs release":                                               "another machine has neither the directory nor the host: its exchange is lost there (spec/37-engine.md)",
	"work open, work diff, work commit, work merge, work rm, merge, jobs, queue":                      "they start no host; scripts check that they respect the owner of a directory (work_parked.txtar)",
	"serve, relay, hostd": "a session is a run in a process of its own, or in one that ends its hosts as `run` does",
	"test, repl, dap":     "they end their run as `run` does, and store none",
	"guard":               "its agents are started by people, and are no hosts",
	"host, mcp add, mcp login, mcp logout, mcp status, tools": "they start hosts or servers without an exchange in a directory",
	"build, check, graph, models, fmt, lsp, playground, init, add, remove, update, why, vendor, verify, doctor, explain, doc, version, completion, man": "they start no host",
}

// TestIsolateEndingsAreComplete checks that each command and each transport is in the tables.
func TestIsolateEndingsAreComplete(t *testing.T) {
	known := map[string]bool{}
	for _, e := range slices.Concat(isolateEndings, signalEndings()) {
		for c := range strings.SplitSeq(e.commands, ", ") {
			known[c] = true
		}
	}
	for all, why := range noEnding {
		for c := range strings.SplitSeq(all, ", ") {
			if known[c] {
				t.Errorf("%q has an ending, and the reason why it has none is %q", c, why)
			}
			known[c] = true
		}
	}
	used := map[string]bool{}
	var visit func(c *cobra.Command, path string, covered bool)
	visit = func(c *cobra.Command, path string, covered bool) {
		if used[path] = true; known[path] {
			covered = true
		}
		for _, sub := range c.Commands() {
			visit(sub, strings.TrimSpace(path+" "+sub.Name()), covered)
		}
		if !covered && !c.HasSubCommands() {
			t.Errorf("`concerto %s`: add an ending that uses it to isolateEndings, or the reason why there is none to noEnding", path)
		}
	}
	visit(newRoot(&console.Console{}, commands), "", false)
	for c := range known {
		if !used[c] {
			t.Errorf("there is no command %q", c)
		}
	}
	transports := valuesOf("hosts.*.transport")
	for _, transport := range host.Transports() {
		if !slices.Contains(transports, transport) || !strings.Contains(isolateAgent, "\n"+transport+")") {
			t.Errorf("the hosts of TestIsolateEndings have no transport %q", transport)
		}
	}
}

// anotherWorker ends a worker by a signal while the hosts of its run ask, and starts a second one,
// which continues the run. flags are those of both.
func (x *isolateRun) anotherWorker(engine string, signal syscall.Signal, flags ...string) {
	x.useEngine(engine)
	worker := append([]string{"worker", "--state", "state"}, flags...)
	x.exits(0, "submit", "--id", "r", "wait.conc")
	x.asked(worker...).end(signal)
	x.allRun()
	x.remains(empty)
	c := x.start(worker...)
	x.release()
	x.exits(0, "submit", "--id", "r", "wait.conc", "--wait")
	c.end(syscall.SIGTERM)
	x.sameDirectory()
	x.remains(worked)
}
