package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
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
member() { printf '%s' "$line" | sed 's/.*"'"$1"'": *\("[^"]*"\|[0-9]*\).*/\1/'; }
work() {
	echo done > work
	if test -f .git; then git add work; git -c user.name=A -c user.email=a@example.com commit -qm work; fi
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
	*'"subtype":"initialize"'*) say '{"type":"control_response","response":{"subtype":"success","request_id":'$(member request_id)',"response":{}}}' ;;
	*'"method":"initialize"'*) say '{"jsonrpc":"2.0","id":'$(member id)',"result":{"userAgent":"codex/0.169.0","protocolVersion":1,"agentCapabilities":{"loadSession":true}}}' ;;
	*'"method":"thread/start"'* | *'"method":"thread/resume"'*) say '{"id":'$(member id)',"result":{"thread":{"id":"s-'$name'"}}}' ;;
	*'"method":"session/new"'* | *'"method":"session/load"'*) say '{"jsonrpc":"2.0","id":'$(member id)',"result":{"sessionId":"s-'$name'"}}' ;;
	*'"method":"turn/start"'*) say '{"id":'$(member id)',"result":{"turn":{"id":"u","status":"inProgress"}}}'; prompted ;;
	*'"method":"session/prompt"'*) prompt=$(member id); prompted ;;
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
	output    string // of all commands
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

func newIsolateRun(t *testing.T) *isolateRun {
	t.Helper()
	x := &isolateRun{T: t, hosts: isolatedHosts(), logs: t.TempDir()}
	files := map[string]string{".gitignore": ".concerto\njob*\nother\nevals\n", "agent.sh": isolateAgent}
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
	files["Concerto.toml"] = sections.String()
	for name, prompt := range map[string]string{"main.conc": "ask", "wait.conc": "wait", "look.conc": "look"} {
		files[name] = declared.String() + isolateProgram + "fn main() { let _ = await (" + strings.ReplaceAll(calls.String(), "PROMPT", prompt) + "); println(\"end\"); }\n"
	}
	files["broken.conc"] = declared.String() + isolateProgram + "async fn broken() { while !std::fs::exists(\"" + x.logs + "/break\") { std::time::sleep(20); } panic(\"broken\"); }\n" +
		"fn main() { let _ = await (" + strings.ReplaceAll(calls.String(), "PROMPT", "wait") + "broken()); }\n"
	x.dir = programs(t, files)
	for _, args := range []string{"init -q -b main --template=", "add -A", "-c user.name=A -c user.email=a@example.com commit -q -m one"} {
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

func (x *isolateRun) concerto(args ...string) *exec.Cmd { return command(x.dir, args...) }

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
	c := &started{x.concerto(args...), x, filepath.Join(x.logs, fmt.Sprint("out", len(x.output))), make(chan struct{})}
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
			_, err1 := os.Stat(filepath.Join(path, "work"))
			_, err2 := os.Stat(filepath.Join(path, "draft"))
			if err1 == nil && err2 == nil {
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
		var at []string
		for _, f := range x.steps("") {
			if f[1] == h.name {
				at = append(at, f[3])
			}
		}
		if at = slices.Compact(at); len(at) != 1 {
			x.Errorf("%s worked in %v, want one directory", h.name, at)
		}
	}
	if n := len(x.steps("worked")); n != len(x.hosts) {
		x.Errorf("%d hosts have worked, want %d", n, len(x.hosts))
	}
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

// isolateEndings contains the ways in which a process of Concerto ends, or hands a run to another
// process, while the exchanges are open.
var isolateEndings = []struct {
	name string
	play func(x *isolateRun)
}{
	{"end", func(x *isolateRun) {
		x.exits(0, "run", "--answer", "ok=true", "main.conc")
		x.sameDirectory()
		x.remains(worked)
	}},
	{"end without changes", func(x *isolateRun) {
		x.exits(0, "run", "look.conc")
		x.remains(nothing)
	}},
	{"error", func(x *isolateRun) {
		c := x.asked("run", "broken.conc")
		x.touch("break")
		c.end()
		x.remains(nothing)
	}},
	{"kill", func(x *isolateRun) {
		x.asked("run", "wait.conc").end(syscall.SIGKILL)
		x.noProcess()
		x.remains(empty)
		x.owned()
		x.remains(nothing)
	}},
	{"SIGINT", func(x *isolateRun) {
		x.asked("run", "wait.conc").end(syscall.SIGINT)
		x.remains(nothing)
	}},
	{"SIGTERM", func(x *isolateRun) {
		x.asked("run", "wait.conc").end(syscall.SIGTERM)
		x.remains(nothing)
	}},
	{"SIGHUP", func(x *isolateRun) {
		x.asked("run", "wait.conc").end(syscall.SIGHUP)
		x.remains(nothing)
	}},
	{"SIGTERM and resume", func(x *isolateRun) {
		x.asked("run", "--journal", "job", "wait.conc").end(syscall.SIGTERM)
		x.allRun()
		x.remains(empty)
		x.owned()
		x.remains(empty)
		x.release()
		x.exits(0, "runs", "resume", "job")
		x.sameDirectory()
		x.remains(worked)
	}},
	{"SIGINT and resume", func(x *isolateRun) {
		x.asked("run", "--journal", "job", "wait.conc").end(syscall.SIGINT)
		x.allRun()
		x.remains(empty)
		x.release()
		x.exits(0, "runs", "resume", "job")
		x.sameDirectory()
		x.remains(worked)
	}},
	{"keeper killed", func(x *isolateRun) {
		c := x.asked("run", "--journal", "job", "wait.conc")
		keeper := childCalled(c.Process.Pid, "keeper")
		c.end(syscall.SIGKILL)
		_ = syscall.Kill(keeper, syscall.SIGKILL)
		x.noProcess()
		x.remains(empty)
		x.release()
		x.exits(0, "runs", "resume", "job")
		x.sameDirectory()
	}},
	{"stop", func(x *isolateRun) {
		x.exits(75, "run", "--journal", "job", "--park", "main.conc")
		x.exits(0, "runs", "stop", "job")
		x.remains(nothing)
	}},
	{"stop of a killed run", func(x *isolateRun) {
		x.asked("run", "--journal", "job", "wait.conc").end(syscall.SIGKILL)
		x.exits(0, "runs", "stop", "job")
		x.remains(nothing)
	}},
	{"stop while it runs", func(x *isolateRun) {
		c := x.asked("run", "--journal", "job", "wait.conc")
		x.exits(0, "runs", "stop", "job")
		c.end()
		x.remains(nothing)
	}},
	{"rm", func(x *isolateRun) {
		x.exits(75, "run", "--journal", "job", "--park", "main.conc")
		x.exits(0, "runs", "rm", "job")
		x.noProcess()
		x.remains(nothing)
	}},
	{"kill and resume", func(x *isolateRun) {
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
	{"park and answer", func(x *isolateRun) {
		x.exits(75, "run", "--journal", "job", "--park", "main.conc")
		x.allRun()
		x.owned()
		x.remains(empty)
		x.exits(0, "runs", "resume", "job", "--answer", "ok=true")
		x.sameDirectory()
		x.remains(worked)
	}},
}

// TestIsolateEndings crosses each value of isolate and each transport with each way in which a
// process of Concerto ends. An ending is one run, with all hosts.
func TestIsolateEndings(t *testing.T) {
	for _, e := range isolateEndings {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			x := newIsolateRun(t)
			e.play(x)
			x.noProcess()
		})
	}
}
