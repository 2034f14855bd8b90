package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
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
	*'"subtype":"initialize"'*|*'"subtype":"get_usage"'*) member request_id; say '{"type":"control_response","response":{"subtype":"success","request_id":'$v',"response":{}}}' ;;
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

// isolateProgram is the common part of the programs. go opens an exchange, and prints how it ended.
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
	var again, rows, served, cases strings.Builder
	for _, h := range x.hosts {
		fmt.Fprintf(&again, "go(%s.resume(\"s-%[1]s\"), \"%[1]s\", \"PROMPT\"), ", h.name)
		fmt.Fprintf(&rows, "{\"id\": \"%s\"}\n", h.name)
		fmt.Fprintf(&cases, "\"%s\" => %[1]s, ", h.name)
	}
	fmt.Fprintf(&served, "match name { %s _ => StdioNone }", cases.String())
	for name, prompt := range map[string]string{"session.conc": "look", "session_wait.conc": "wait"} {
		files[name] = declared.String() + isolateProgram + "fn main() { let _ = await (" + strings.ReplaceAll(again.String(), "PROMPT", prompt) + "); }\n"
	}
	files["rows.jsonl"] = rows.String()
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

// try runs a command. It kills a command that does not exit.
func (x *isolateRun) try(c *exec.Cmd) (string, error) {
	c.Dir = x.dir
	var all bytes.Buffer
	c.Stdout, c.Stderr = &all, &all
	err := c.Start()
	if err == nil {
		late := time.AfterFunc(outlive, func() { _ = c.Process.Kill() })
		defer late.Stop()
		err = c.Wait()
	}
	out := all.String()
	x.output += fmt.Sprintf("%v\n%s", c.Args, out)
	return out, err
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
	// Otherwise the command ignores the signal if nohup runs the tests.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
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

// Results of an exchange.
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
