package hosttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host"
)

var processRules = []rule{
	{"H1", "A host is started when the program first uses it, and not before.", startsOnUse},
	{"H2", "A process receives the variables of the run's environment that programs need (below) and those that `pass_env` names; `env` adds to them. It is started in its `working_dir`.", dirAndEnv},
	{"H3", "A `command` that contains a slash is a file, relative to the working directory; any other is looked up in the PATH of the host's environment.", commandLookup},
	{"H4", "A command that is not found, not executable or not a program is an error that names the host and the command, and states what to check in the manifest.", spawnFailures},
	{"H5", "There is one process for a host declaration. It stays alive when an exchange ends, and its state remains for the next exchange.", oneProcess},
	{"H6", "Exchanges that need the same host at the same time are queued in the order of their requests. With `instances = n` up to n processes run in parallel, and a running process is preferred to a new one.", turns},
	{"H7", "After a crash, a timeout or a protocol error the next exchange gets a new process, initialised again. The old one and its process group have exited before the new one starts.", replaced},
	{"H8", "If a process that served an earlier exchange exits without having read the next prompt, a new process takes over that exchange: the work has not begun.", restartsAfterExit},
	{"H9", "Lines on standard error go to the run's log, with the host's name: control characters are escaped, pieces have at most 4 KB, and at most 100 a second are logged, followed by the number of those left out.", stderrIsLogged},
	{"H10", "When the run ends, Concerto closes the input of every idle host. A host that has not exited 200 ms later gets SIGTERM, and SIGKILL after five more seconds.", idleHostsEnd},
	{"H11", "Signals go to the host's process group. Processes that a host starts and leaves running in its group are terminated with it. Those that it started outside its group are killed when it has exited, where the system supports that.", groupsEnd},
	{"H12", "A process that has exited counts as exited even if a process that it started still holds its pipes open.", orphanHoldsPipes},
}

const echo = `
serve
read
< {"type":"result","text":${.text}}
end
`

func startsOnUse(w *world) {
	w.start(w.worker(echo))
	if got := w.spawns("worker"); len(got) != 0 {
		w.Errorf("processes before the first exchange: %v, want none", got)
	}
	w.ask("a", "a")
	if got := w.spawns("worker"); len(got) != 1 {
		w.Errorf("the host was started %d times, want once", len(got))
	}
}

func dirAndEnv(w *world) {
	c := w.worker(`
read
< {"type":"result","dir":${cwd},"own":${env.OWN},"both":${env.BOTH},"passed":${env.RUN_PASSED},"base":${env.LC_TEST},"kept":${env.KEPT},"key":${env.RUN_KEY},"mark":${env.CONCERTO_HOST},"proc":${env.CONCERTO_PROC}}
`)
	dir, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		w.Fatal(err)
	}
	c.Dir = dir
	c.Env["OWN"], c.Env["BOTH"] = "1", "own"
	c.Env["CONCERTO_HOST"], c.Env["CONCERTO_PROC"] = "mine", "9"
	c.PassEnv, c.Keys = []string{"RUN_*", "BOTH"}, map[string]bool{"RUN_KEY": true}
	w.startIn(append(os.Environ(), "RUN_PASSED=2", "BOTH=run", "LC_TEST=base", "KEPT=1", "RUN_KEY=secret"), c)
	x := w.open("go")
	x.want("result", `{"dir":"`+dir+`","own":"1","both":"own","passed":"2","base":"base","kept":null,"key":null,"mark":"`+RunID+`:worker","proc":"1"}`)
}

func commandLookup(w *world) {
	byName, byPath := w.worker(echo), w.named("other", echo)
	program := byName.Command
	if err := os.MkdirAll(w.file("bin"), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.Symlink(program, w.file("bin/my-host")); err != nil {
		w.Fatal(err)
	}
	byName.Command, byName.Env["PATH"] = "my-host", w.file("bin")
	byPath.Command, byPath.Dir = "bin/my-host", w.dir
	w.start(byName, byPath)
	w.ask("by name", "by name")
	w.openAt("other", "by path").want("result", `{"text":"by path"}`)
}

func spawnFailures(w *world) {
	put := func(name string, mode os.FileMode, text string) string {
		if err := os.WriteFile(w.file(name), []byte(text), mode); err != nil {
			w.Fatal(err)
		}
		return w.file(name)
	}
	cases := []struct{ name, command, dir, message string }{
		{"none", "", "", "has no command"},
		{"lost", "no-such-program-here", "", "command 'no-such-program-here' not found"},
		{"gone", w.file("gone"), "", "not found"},
		{"text", put("text", 0o644, "hello"), "", "not executable"},
		{"dir", w.dir, "", "is a directory"},
		{"magic", put("magic", 0o755, "no first line that names an interpreter"), "", "not a program"},
		{"interp", put("interp", 0o755, "#!/no/such/interpreter\n"), "", "interpreter that does not exist"},
		{"cwd", "sh", w.file("nowhere"), "working_dir"},
	}
	var configs []host.Config
	for _, c := range cases {
		configs = append(configs, host.Config{Name: c.name, Connector: c.name, Command: c.command, Dir: c.dir})
	}
	w.start(configs...)
	for _, c := range cases {
		for range 2 { // the host remains usable after a failure, so the second exchange fails in the same way
			_, err := w.tryOpen(effect.ExchangeOpen{Host: c.name, Prompt: "go"})
			e := w.hostError(err)
			for _, part := range []string{"host '" + c.name + "'", c.message, c.command, "[hosts." + c.name + "] of Concerto.toml"} {
				if !strings.Contains(e.Message, part) {
					w.Errorf("%s: message %q does not contain %q", c.name, e.Message, part)
				}
			}
			if e.Status != effect.None || e.Fields["host"] != c.name {
				w.Errorf("%s: status = %v, fields = %v, want status none and the host's name", c.name, e.Status, e.Fields)
			}
		}
	}
	_, err := w.tryOpen(effect.ExchangeOpen{Host: "unknown", Prompt: "go"})
	if e := w.hostError(err); !strings.Contains(e.Message, "'unknown' is not configured") {
		w.Errorf("message = %q, want that host 'unknown' is not configured", e.Message)
	}
}

func oneProcess(w *world) {
	w.start(w.worker(`
serve
> {"type":"prompt","text":"one"}
< {"type":"result","text":"1"}
> {"type":"prompt","text":"two"}
< {"type":"result","text":"2"}
> {"type":"prompt","text":"three"}
< {"type":"error","message":"3"}
end
`))
	for range 3 {
		w.ask("one", "1")
		w.ask("two", "2")
		x := w.open("three")
		x.want("error", `{"message":"3"}`)
		x.close()
	}
	if got := w.spawns("worker"); len(got) != 1 {
		w.Errorf("the host was started %d times, want once", len(got))
	}
}

func turns(w *world) {
	one, two := w.worker(echo), w.named("pair", echo)
	two.Instances = 2
	w.start(one, two)

	first := w.open("first")
	const n = 4
	order := make(chan string, n)
	var waiting sync.WaitGroup
	for i := range n {
		// each exchange is queued before the next one is opened
		before := w.hosts.Waiting("worker")
		waiting.Go(func() {
			x, err := w.tryOpen(effect.ExchangeOpen{Host: "worker", Prompt: string(rune('a' + i))})
			if err != nil {
				w.Error(err)
				return
			}
			m, err := x.next()
			order <- fmt.Sprint(string(m.Text), err)
			x.close()
		})
		w.until("the exchange to queue", func() bool { return w.hosts.Waiting("worker") > before })
	}
	first.want("result", `{"text":"first"}`)
	first.close()
	waiting.Wait()
	for i := range n {
		if got, want := <-order, `{"type":"result","text":"`+string(rune('a'+i))+`"}<nil>`; got != want {
			w.Errorf("exchange %d: got %s, want %s", i, got, want)
		}
	}

	for range 3 {
		x := w.openAt("pair", "alone")
		x.want("result", `{"text":"alone"}`)
		x.close()
	}
	if got := w.spawns("pair"); len(got) != 1 {
		w.Errorf("%d starts for consecutive exchanges, want one", len(got))
	}
	a, b := w.openAt("pair", "a"), w.openAt("pair", "b")
	b.want("result", `{"text":"b"}`)
	a.want("result", `{"text":"a"}`)
	a.close()
	b.close()
	if got := w.spawns("pair"); len(got) != 2 {
		w.Errorf("%d starts for two concurrent exchanges, want two", len(got))
	}
}

func replaced(w *world) {
	c := w.worker(`
> {"type":"init","params":{"a":1}}
< {"type":"init_ack"}
> {"type":"prompt","text":"crash"}
exit 3
--- spawn
> {"type":"init","params":{"a":1}}
< {"type":"init_ack"}
> {"type":"prompt","text":"silence"}
spawn-grandchild child
hang
--- spawn
> {"type":"init","params":{"a":1}}
< {"type":"init_ack"}
> {"type":"prompt","text":"garbage"}
bytes ff0a
hang
--- spawn
> {"type":"init","params":{"a":1}}
< {"type":"init_ack"}
> {"type":"prompt","text":"idle"}
< {"type":"result","text":"then dies"}
stderr dying
exit 1
--- spawn
> {"type":"init","params":{"a":1}}
< {"type":"init_ack"}
> {"type":"prompt","text":"work"}
< {"type":"result","text":"works"}
`)
	c.Params = []byte(`{"a":1}`)
	c.Timeout = 3 // the initialisations must complete in time on a busy machine
	w.start(c)
	for _, prompt := range []string{"crash", "silence", "garbage"} {
		x := w.open(prompt)
		x.fails()
		x.close()
	}
	w.ask("idle", "then dies")
	w.until("the host to die", func() bool { return w.logged("worker: dying") })
	w.ask("work", "works")
	pids := w.spawns("worker")
	if len(pids) != 5 {
		w.Fatalf("the host was started %d times, want 5", len(pids))
	}
	for _, p := range pids[:4] {
		if groupAlive(p) {
			w.Errorf("process group %d is running after the next process was started", p)
		}
	}
}

func restartsAfterExit(w *world) {
	w.start(w.worker(`
read
< {"type":"result","text":"and goodbye"}
exit 0
`))
	for range 20 {
		w.ask("go", "and goodbye")
	}
	if got := w.spawns("worker"); len(got) != 20 {
		w.Errorf("the host was started %d times, want 20", len(got))
	}
}

func stderrIsLogged(w *world) {
	w.start(w.worker(`
stderr starting up
read
stderr at work` + "\x1b" + `[31m
< {"type":"result","text":"done"}
`))
	w.ask("go", "done")
	w.end()
	if !w.logged("worker: starting up") || !w.logged(`worker: at work\x1b[31m`) {
		w.Errorf("log = %q, want both lines of standard error", w.log)
	}
}

func idleHostsEnd(w *world) {
	polite, deaf := w.worker("read\n< {\"type\":\"result\"}\neof\nwrite left x\n"), w.named("deaf", `
on-sigterm terminated
read
< {"type":"result"}
hang
`)
	w.start(polite, deaf)
	x, y := w.open("go"), w.openAt("deaf", "go")
	x.want("result", `{}`)
	y.want("result", `{}`)
	x.close()
	y.close()
	stop := w.endAsync()
	w.await("terminated")
	stop()
	if w.lines("left") == nil {
		w.Error("the host that exits at the end of its input was not given the time to exit")
	}
}

func groupsEnd(w *world) {
	w.start(w.worker(`
ignore-sigterm
spawn-grandchild child ignore-sigterm
read
< {"type":"result"}
hang
`))
	x := w.open("go")
	x.want("result", `{}`)
	x.close()
	w.endAsync()()
}

func orphanHoldsPipes(w *world) {
	w.start(w.worker(`
spawn-grandchild child
read
< {"type":"progress"}
exit 4
`))
	x := w.open("go")
	x.want("progress", `{}`)
	if e := x.fails(); e.Fields["exit_code"] != int64(4) {
		w.Errorf("fields = %v, want exit code 4", e.Fields)
	}
}
