package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/runtime/host"
)

// isolatedHost is a host of TestIsolateEndings. There is one for each value of isolate and each
// transport.
type isolatedHost struct{ name, isolate, transport string }

func (h *isolatedHost) isolated() bool { return h.isolate != "none" }

// valuesOf returns the values of a key of the manifest.
func valuesOf(path string) []string {
	keys := manifest.Keys()
	return keys[slices.IndexFunc(keys, func(k manifest.Key) bool { return k.Path == path })].Values
}

func isolatedHosts() (all []isolatedHost) {
	for _, isolate := range valuesOf("hosts.*.isolate") {
		for _, transport := range valuesOf("hosts.*.transport") {
			words := strings.Split(transport+"-"+isolate, "-")
			for i, w := range words {
				words[i] = strings.ToUpper(w[:1]) + w[1:]
			}
			all = append(all, isolatedHost{strings.Join(words, ""), isolate, transport})
		}
	}
	return all
}

// isolateAgent is the program of the hosts: sh agent.sh DIR TRANSPORT. After its prompt it starts a
// process in another session. The prompt is "ask", to work after an approval; "wait", to work when
// DIR/go exists; or "look", to change nothing. The work is a file that is committed in a worktree,
// and another one. DIR/log has a line for each step.
const isolateAgent = `
dir=$1 transport=$2 name=${CONCERTO_HOST#*:}
case "$*" in *--version*) echo '2.1.197 (Claude Code)'; exit ;; esac
note() { echo "$1 $name $$ $PWD" >> "$dir/log"; }
say() { printf '%s\n' "$1"; }
member() { v=${line##*\"$1\":}; v=${v%%[,\}]*}; }
work() {
	echo done > work
	if test -f .git; then git -c user.name=A -c user.email=a@example.com -c maintenance.auto=false commit -qam work; fi
	echo draft > draft
	note worked
	finish
}
prompted() {
	note prompted
	setsid sleep 300 < /dev/null > /dev/null 2>&1 &
	echo "started $name $! $PWD" >> "$dir/log"
	case $line in
	*ask*) ask; note asked ;;
	*wait*) note asked; test -e "$dir/go" || read -r _ < "$dir/go-$name"; work ;;
	*) finish ;;
	esac
}
case $transport in
stdio)
	ask() { say '{"type":"approval","id":"a","description":"may I?"}'; }
	finish() { say '{"type":"result","text":"done","session":"s-'$name'"}'; } ;;
claude-code)
	ask() { say '{"type":"control_request","request_id":"a","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t"}}'; }
	finish() { say '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s-'$name'","num_turns":1}'; } ;;
codex)
	ask() { say '{"method":"item/commandExecution/requestApproval","id":7,"params":{"threadId":"s-'$name'","turnId":"u","itemId":"c","command":"ls","cwd":"/"}}'; }
	finish() {
		say '{"method":"item/completed","params":{"threadId":"s-'$name'","turnId":"u","item":{"type":"agentMessage","id":"m","text":"done"}}}'
		say '{"method":"turn/completed","params":{"threadId":"s-'$name'","turn":{"id":"u","status":"completed","items":[]}}}'
	} ;;
acp)
	ask() { say '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s-'$name'","toolCall":{"toolCallId":"t","title":"ls","kind":"execute"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}'; }
	finish() { say '{"jsonrpc":"2.0","id":'$prompt',"result":{"stopReason":"end_turn"}}'; } ;;
esac
while read -r line; do
	case $line in
	*'"type":"init"'*) say '{"type":"init_ack","capabilities":["resume"]}' ;;
	*'"subtype":"initialize"'*) member request_id; say '{"type":"control_response","response":{"subtype":"success","request_id":'$v',"response":{}}}' ;;
	*'"method":"initialize"'*) member id; say '{"jsonrpc":"2.0","id":'$v',"result":{"userAgent":"codex/0.169.0","protocolVersion":1,"agentCapabilities":{"loadSession":true}}}' ;;
	*'"method":"thread/start"'* | *'"method":"thread/resume"'*) member id; say '{"id":'$v',"result":{"thread":{"id":"s-'$name'"}}}' ;;
	*'"method":"session/new"'* | *'"method":"session/load"'*) member id; say '{"jsonrpc":"2.0","id":'$v',"result":{"sessionId":"s-'$name'"}}' ;;
	*'"method":"turn/start"'*) member id; say '{"id":'$v',"result":{"turn":{"id":"u","status":"inProgress"}}}'; prompted ;;
	*'"method":"session/prompt"'*) member id; prompt=$v; prompted ;;
	*'"type":"prompt"'*) prompted ;;
	*'"type":"user"'*) say '{"type":"system","subtype":"init","session_id":"s-'$name'","model":"m","tools":[]}'; prompted ;;
	*'"value":"yes"'* | *'"behavior":"allow"'* | *'"decision":"accept"'* | *'"optionId":"y"'*) work ;;
	esac
done
`

// isolateRun is a project with the hosts, whose program opens an exchange with each of them.
type isolateRun struct {
	*testing.T
	hosts     []isolatedHost
	dir, logs string
	server    func() func(database string) string // starts PostgreSQL
	engine    string                              // URL of the engine; "" for none
	output    string                              // of all commands
}

// isolateProgram is the program. MAIN is the text of the statements, and HOSTS the list of calls.
const isolateProgram = `
async fn go(h: Host, name: String, prompt: String) {
    let r = listen h.execute(prompt) {
        "approval" => |_a| if await emit<Bool>("ok", name)? { "yes" } else { "no" },
        "question" => |_q| "",
    };
    match r {
        Ok(m) => println("${name} ok ${to_string(m.work_dir).split("/tasks/").slice(1).join("")}"),
        Err(e) => println("${name} failed ${e.message}"),
    }
}
`

func newIsolateRun(t *testing.T, server func() func(string) string) *isolateRun {
	t.Helper()
	x := &isolateRun{T: t, hosts: isolatedHosts(), logs: t.TempDir(), server: server}
	files := map[string]string{"work": "to do\n", ".gitignore": ".concerto\njob*\nother\nevals\n", "agent.sh": isolateAgent}
	var declared, sections, calls strings.Builder
	for _, h := range x.hosts {
		fmt.Fprintf(&declared, "host %s { connector: %[1]s, output_format: \"json\", timeout: 600 }\n", h.name)
		fmt.Fprintf(&sections, "[hosts.%s]\ntransport = %q\ncommand = \"sh\"\nargs = [\"agent.sh\", %q, %q]\nisolate = %q\n", h.name, h.transport, x.logs, h.transport, h.isolate)
		if h.transport == "stdio" {
			sections.WriteString("init = true\ninput_format = \"json\"\n")
		}
		if err := syscall.Mkfifo(x.pipe(&h), 0o666); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&calls, "go(%s, \"%[1]s\", \"PROMPT\"), ", h.name)
	}
	files["Concerto.toml"] = "[dependencies]\nlib = { path = \"lib\" }\n\n" + sections.String()
	for name, prompt := range map[string]string{"main.conc": "ask", "wait.conc": "wait", "look.conc": "look"} {
		files[name] = declared.String() + isolateProgram + "fn main() { let _ = await (" + strings.ReplaceAll(calls.String(), "PROMPT", prompt) + "); println(\"end\"); }\n"
	}
	var again, calls2, served, cases strings.Builder
	for _, h := range x.hosts {
		fmt.Fprintf(&again, "go(%s.resume(\"s-%[1]s\"), \"%[1]s\", \"PROMPT\"), ", h.name)
		fmt.Fprintf(&calls2, "{\"id\": \"%s\"}\n", h.name)
		fmt.Fprintf(&cases, "\"%s\" => %[1]s, ", h.name)
	}
	fmt.Fprintf(&served, "match name { %s _ => StdioNone }", cases.String())
	for name, prompt := range map[string]string{"session.conc": "look", "session_wait.conc": "wait"} {
		files[name] = declared.String() + isolateProgram + "fn main() { let _ = await (" + strings.ReplaceAll(again.String(), "PROMPT", prompt) + "); }\n"
	}
	files["rows.jsonl"] = calls2.String()
	pick := "fn named(name: String) -> Host { " + served.String() + " }\n"
	files["eval.conc"] = declared.String() + pick + "schema Case { id: String }\n@eval(data: \"rows.jsonl\")\nfn works(c: Case) -> Result<Bool, Error> {\n" +
		"    let r = (listen named(c.id).execute(\"ask\") { \"approval\" => |_a| \"yes\", \"question\" => |_q| \"\" })?;\n    Ok(to_string(r.text) != \"\")\n}\n"
	files["serve.conc"] = declared.String() + pick + "pub tool Work { description: \"Works\", @describe(\"Works\") fn go(self, @param(\"which\") name: String) -> String { let _ = named(name).execute(\"wait\"); \"done\" } }\nfn main() {}\n"
	files["lib/Concerto.toml"] = "[project]\nname = \"lib\"\n"
	files["lib/lib.conc"] = declared.String() + isolateProgram + "pub fn all() { let _ = await (" + strings.ReplaceAll(calls.String(), "PROMPT", "wait") + "); }\n"
	files["package.conc"] = "use lib;\nfn main() { lib::all(); }\n"
	files["broken.conc"] = declared.String() + isolateProgram + "async fn broken() { while !std::fs::exists(\"" + x.logs + "/break\") { std::time::sleep(20); } panic(\"broken\"); }\n" +
		"fn main() { let _ = await (" + strings.ReplaceAll(calls.String(), "PROMPT", "wait") + "broken()); }\n"
	x.dir = programs(t, files)
	for _, args := range []string{"init -q -b main --template=", "add -A", "-c user.name=A -c user.email=a@example.com -c maintenance.auto=false commit -q -m one"} {
		x.must(exec.Command("git", strings.Fields(args)...))
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(x.logs, "log"))
			t.Logf("output:\n%s\nlog of the hosts:\n%s", x.output, log)
		}
		for _, pid := range x.pids() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return x
}

// must runs a command in the directory of the project.
func (x *isolateRun) must(c *exec.Cmd) string {
	x.Helper()
	out, err := x.try(c)
	if err != nil {
		x.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return out
}

func (x *isolateRun) try(c *exec.Cmd) (string, error) {
	c.Dir = x.dir
	out, err := c.CombinedOutput()
	x.output += fmt.Sprintf("%v\n%s", c.Args, out)
	return string(out), err
}

func (x *isolateRun) concerto(args ...string) *exec.Cmd {
	if x.engine != "" {
		return engineCommand(x.dir, x.engine, args...)
	}
	return command(x.dir, args...)
}

// useEngine makes the commands use a new engine.
func (x *isolateRun) useEngine(name string) {
	x.Helper()
	if !pgtest.IsInstalled() {
		x.Skip("PostgreSQL is not installed")
	}
	x.engine = pgtest.Make(x.T, x.server(), name)
	x.exits(0, "engine", "init")
}

// exits runs the command and compares its exit code.
func (x *isolateRun) exits(code int, args ...string) string {
	x.Helper()
	out, err := x.try(x.concerto(args...))
	got := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		got = failed.ExitCode()
	} else if err != nil {
		x.Fatal(err)
	}
	if got != code {
		x.Fatalf("exit code of %v = %d, want %d\n%s", args, got, code, out)
	}
	return out
}

// steps returns the lines of the log with a word, each as the fields word, name, pid and directory.
func (x *isolateRun) steps(word string) (all [][]string) {
	text, _ := os.ReadFile(filepath.Join(x.logs, "log"))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 4 && (f[0] == word || word == "") {
			all = append(all, f)
		}
	}
	return all
}

// pids returns the processes that the log names.
func (x *isolateRun) pids() (all []int) {
	for _, f := range x.steps("") {
		pid, _ := strconv.Atoi(f[2])
		all = append(all, pid)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// started is a command in the background.
type started struct {
	*exec.Cmd
	x    *isolateRun
	out  string        // file with its output
	done chan struct{} // closed when it has exited
}

// start starts a command.
func (x *isolateRun) start(args ...string) *started {
	x.Helper()
	return x.begin(x.concerto(args...))
}

func (x *isolateRun) begin(cmd *exec.Cmd) *started {
	x.Helper()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // otherwise the command ignores it if nohup runs the tests
	c := &started{cmd, x, filepath.Join(x.logs, fmt.Sprint("out", len(x.output))), make(chan struct{})}
	out, err := os.Create(c.out)
	if err != nil {
		x.Fatal(err)
	}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		x.Fatal(err)
	}
	out.Close()
	go func() {
		defer close(c.done)
		_ = c.Wait()
	}()
	x.Cleanup(func() { _ = c.Process.Kill(); <-c.done })
	return c
}

// asked starts a command and waits until all hosts have asked.
func (x *isolateRun) asked(args ...string) *started {
	x.Helper()
	c := x.start(args...)
	x.awaitAsked(c, len(x.hosts))
	return c
}

func (x *isolateRun) awaitAsked(c *started, n int) {
	x.Helper()
	for end := time.Now().Add(outlive); len(x.steps("asked")) < n; {
		select {
		case <-c.done:
			c.end()
			x.Fatalf("%v has exited", c.Args)
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			c.end(syscall.SIGKILL)
			x.Fatalf("%d hosts have asked, want %d", len(x.steps("asked")), n)
		}
	}
}

// end sends the signals and waits until the command has exited.
func (c *started) end(signals ...os.Signal) {
	for _, s := range signals {
		_ = c.Process.Signal(s)
	}
	<-c.done
	out, _ := os.ReadFile(c.out)
	c.x.output += fmt.Sprintf("%v: %v\n%s", c.Args, c.ProcessState, out)
}

// release lets the hosts work that wait, and those that will.
func (x *isolateRun) release() {
	x.touch("go")
	poke := func() {
		for _, h := range x.hosts {
			// No process waits if this fails.
			if f, err := os.OpenFile(x.pipe(&h), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				_, _ = f.WriteString("\n")
				f.Close()
			}
		}
	}
	poke()
	go func() { // for a host that had seen no file, and waits now
		for x.Context().Err() == nil {
			time.Sleep(200 * time.Millisecond)
			poke()
		}
	}()
}

// pipe returns the path of the pipe from which a host reads when it waits.
func (x *isolateRun) pipe(h *isolatedHost) string { return filepath.Join(x.logs, "go-"+h.name) }

func (x *isolateRun) touch(name string) {
	if err := os.WriteFile(filepath.Join(x.logs, name), nil, 0o666); err != nil {
		x.Fatal(err)
	}
}

var isolateName = regexp.MustCompile(`^.*-([A-Za-z]+)-([0-9]+)$`)

// dirs returns the names of the directories of a host.
func (x *isolateRun) dirs(h *isolatedHost) (all []string) {
	entries, err := os.ReadDir(filepath.Join(x.dir, ".concerto", "tasks"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		x.Fatal(err)
	}
	for _, e := range entries {
		if m := isolateName.FindStringSubmatch(e.Name()); m != nil && m[1] == h.name {
			all = append(all, e.Name())
		}
	}
	return all
}

// What remains of an exchange.
const (
	nothing = "nothing"               // no directory
	empty   = "a directory"           // one directory, in which nothing has changed
	worked  = "a directory with work" // one directory, with what the agent has committed and what not
)

// remains checks what remains of each host's exchange.
func (x *isolateRun) remains(want string) {
	x.Helper()
	for _, h := range x.hosts {
		dirs := x.dirs(&h)
		branches, _ := filepath.Glob(filepath.Join(x.dir, ".git", "refs", "heads", "concerto", "*-"+h.name+"-*"))
		got := nothing
		if len(dirs) == 1 {
			got = empty
			path := filepath.Join(x.dir, ".concerto", "tasks", dirs[0])
			text, err := os.ReadFile(filepath.Join(path, "work"))
			_, absent := os.Stat(filepath.Join(path, "draft"))
			switch {
			case err != nil || (string(text) == "done\n") != (absent == nil):
				x.Errorf("%s: its work is incomplete: %q (errors %v, %v)", h.name, text, err, absent)
			case absent == nil:
				got = worked
			}
			if h.isolate == "worktree" && got == worked {
				log, err := os.ReadFile(filepath.Join(x.dir, ".git", "logs", "refs", "heads", "concerto", dirs[0]))
				if lines := strings.Split(strings.TrimSpace(string(log)), "\n"); err != nil || !strings.HasSuffix(lines[len(lines)-1], "commit: work") {
					x.Errorf("%s: its branch does not end in the agent's commit: %s (error %v)", h.name, log, err)
				}
			}
		}
		wanted := want
		if !h.isolated() {
			wanted = nothing
		}
		if got != wanted || len(dirs) > 1 {
			x.Errorf("%s: %s remains (%v), want %s", h.name, got, dirs, wanted)
		}
		if exists := len(branches) > 0; exists != (h.isolate == "worktree" && want != nothing) {
			x.Errorf("%s: its branch exists: %v; %s should remain", h.name, exists, want)
		}
	}
}

// sameDirectory checks that each host has worked where it was prompted, alone, and once.
func (x *isolateRun) sameDirectory() {
	x.Helper()
	for _, h := range x.hosts {
		x.sameOf(&h)
	}
	if n := len(x.steps("worked")); n != len(x.hosts) {
		x.Errorf("%d hosts have worked, want %d", n, len(x.hosts))
	}
}

// sameOf checks that all exchanges of a host have worked in one directory.
func (x *isolateRun) sameOf(h *isolatedHost) {
	x.Helper()
	var at []string
	for _, f := range x.steps("") {
		if f[1] == h.name && !slices.Contains(at, f[3]) {
			at = append(at, f[3])
		}
	}
	if len(at) != 1 {
		x.Errorf("%s worked in %v, want one directory", h.name, at)
	}
}

// directories checks that each isolated host has n directories, each with work.
func (x *isolateRun) directories(n int) {
	x.Helper()
	for _, h := range x.hosts {
		dirs := x.dirs(&h)
		if want := map[bool]int{true: n}[h.isolated()]; len(dirs) != want {
			x.Errorf("%s has the directories %v, want %d", h.name, dirs, want)
		}
	}
}

// anyDirectory reports whether a directory or its record is left. The record is removed last.
func (x *isolateRun) anyDirectory() bool {
	all, _ := filepath.Glob(filepath.Join(x.dir, ".concerto", "tasks", "r_*"))
	return len(all) > 0
}

// noProcess checks that nothing that the hosts have started is left.
func (x *isolateRun) noProcess() {
	x.Helper()
	if left, err := testproc.AwaitExit(outlive, x.pids()...); len(left) > 0 || err != nil {
		x.Errorf("processes %v still run (error %v)", left, err)
	}
}

// allRun checks that all processes of the hosts are running.
func (x *isolateRun) allRun() {
	x.Helper()
	if all := x.pids(); len(alive(all)) != len(all) {
		x.Errorf("%d of %d processes of the hosts are running", len(alive(all)), len(all))
	}
}

// owned checks that the commands know each directory: `work clean` removes those without changes,
// `work rm` the others, and then nothing is left.
func (x *isolateRun) owned() {
	x.Helper()
	x.must(x.concerto("work", "clean"))
	var listed []struct{ Name string }
	if err := json.Unmarshal([]byte(x.must(x.concerto("work", "list", "--format", "json"))), &listed); err != nil {
		x.Fatal(err)
	}
	for _, h := range x.hosts {
		for _, name := range x.dirs(&h) {
			if h.isolate == "worktree" && !slices.ContainsFunc(listed, func(l struct{ Name string }) bool { return l.Name == name }) {
				x.Errorf("`work list` does not list %s", name)
			}
		}
	}
}

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
			// The other exchanges are lost: the hosts have not named their conversations, or work in
			// directories of their own.
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
		out := x.exits(1, "steer", "job", "to whom?")
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
		x.useEngine("takeover")
		x.exits(0, "submit", "--id", "r", "wait.conc")
		x.asked("worker", "--lease", "1s", "--state", "state").end(syscall.SIGKILL)
		x.allRun()
		x.remains(empty)
		c := x.start("worker", "--lease", "1s", "--state", "state", "--until-idle")
		x.release()
		x.exits(0, "submit", "--id", "r", "wait.conc", "--wait")
		c.end()
		x.sameDirectory()
		x.remains(worked)
	}},
	{"handover to another worker", "submit, worker", func(x *isolateRun) {
		x.useEngine("handover")
		x.exits(0, "submit", "--id", "r", "wait.conc")
		x.asked("worker", "--state", "state").end(syscall.SIGTERM)
		x.allRun()
		x.remains(empty)
		c := x.start("worker", "--state", "state", "--until-idle")
		x.release()
		x.exits(0, "submit", "--id", "r", "wait.conc", "--wait")
		c.end()
		x.sameDirectory()
		x.remains(worked)
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
	"serve, relay, hostd":  "a session is a run in a process of its own, or in one that ends its hosts as `run` does",
	"test, repl, dap":      "they end their run as `run` does, and store none",
	"host, mcp add, tools": "they start hosts or servers without an exchange in a directory",
	"build, check, graph, fmt, lsp, playground, init, add, remove, update, why, vendor, verify, doctor, explain, doc, version, completion, man": "they start no host",
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
