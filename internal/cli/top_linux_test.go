package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testterm"
)

const watchedFiles = `
-- main.conc --
fn main() {
  emit("begun", "with a sequence \u{1b}[2J");
  let answer = await emit<String>("go", { question: "Go on?" })?;
  emit("answer", answer);
}
`

// startTop parks a run in the directory runs/job, and shows it with top.
func startTop(t *testing.T, width, height int, args ...string) (*testterm.Running, string) {
	t.Helper()
	r, dir := onTerminal(t, watchedFiles, width, height, func(c *exec.Cmd) {
		c.Env = append(c.Env, "CONCERTO_RUNTIME_DIR="+filepath.Join(c.Dir, "rt"))
		run := exec.Command(c.Path, "run", "--journal", "runs/job", "--park", "main.conc")
		run.Dir, run.Env = c.Dir, c.Env
		if out, err := run.CombinedOutput(); run.ProcessState.ExitCode() != 75 {
			t.Fatalf("park the run: %v\n%s", err, out)
		}
	}, append([]string{"top", "runs"}, args...)...)
	return r, dir
}

// TestTop uses each key of top. The terminal must be restored at the end.
func TestTop(t *testing.T) {
	r, dir := startTop(t, 140, 20)
	r.AwaitText("RUN", "PENDING", "waiting", `go: {"question":"Go on?"}`, "? keys  q quit")
	r.Type("?")
	r.AwaitText("answer the oldest request", "sort by the next column")
	r.Type("\x1b")
	r.AwaitText("? keys  q quit")
	r.Type("\r")
	r.AwaitText("main.conc  waiting", "pid 0", "0 tasks, 0 calls", "q2 go since 20", `{"question":"Go on?"}`)
	r.Type("\x1b")
	r.AwaitText("RUN", "LAST")
	r.Type("/")
	r.AwaitText("filter: █")
	r.Type("nothing")
	r.Type("\r")
	r.AwaitText("no runs", "filter: nothing")
	r.Type("/")
	r.Type(strings.Repeat("\x7f", 1))
	for range 6 {
		r.Type("\x7f")
	}
	r.Type("\r")
	r.AwaitText("go: ")
	r.Type("s")
	r.AwaitText("by STATE")
	r.Type("x")
	r.AwaitText("cancel r_", "y or n")
	r.Type("y")
	r.AwaitText("no process executes the run; end it with: concerto runs stop")
	r.Type("r")
	r.AwaitText("wrote r_", ".html")
	if pages, err := filepath.Glob(filepath.Join(dir, "r_*.html")); err != nil || len(pages) != 1 {
		t.Errorf("reports %v, %v", pages, err)
	}
	r.Type("a")
	r.AwaitText("answer to q", ": █")
	r.Type("yes")
	r.AwaitText(": yes█")
	r.Type("\r")
	r.AwaitText("answered q")
	r.Type("q")
	checkRestored(t, r, r.Before, 0)
	resumed := exec.Command(os.Args[0], "runs", "resume", "runs/job")
	resumed.Args[0], resumed.Dir = "concerto", dir
	if out, err := resumed.Output(); err != nil || !strings.Contains(string(out), "[answer] yes\n") {
		t.Errorf("the resumed run printed %q, %v", out, err)
	}
}

// TestTopEnds checks that the terminal is restored after each way to end, and around Ctrl-Z.
func TestTopEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*testterm.Running)
		code int
	}{
		{"Ctrl-C", func(r *testterm.Running) { r.Type("\x03") }, 130},
		{"SIGTERM", func(r *testterm.Running) { r.Signal(syscall.SIGTERM) }, 143},
		{"q after Ctrl-Z", func(r *testterm.Running) {
			r.Type("\x1a")
			r.AwaitText("RUN", "waiting") // no shell could continue it, so it is not stopped
			r.Type("q")
		}, 0},
		{"SIGHUP", func(r *testterm.Running) { r.Signal(syscall.SIGHUP) }, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, _ := startTop(t, 100, 10)
			r.AwaitText("RUN", "waiting")
			c.end(r)
			checkRestored(t, r, r.Before, c.code)
		})
	}
}

// TestTopIsSmall checks that a small terminal shows what fits, and that a larger one shows more.
func TestTopIsSmall(t *testing.T) {
	r, _ := startTop(t, 20, 5)
	s := r.AwaitText("RUN", "? keys  q quit")
	for _, row := range s.Rows {
		if len([]rune(strings.TrimRight(row, " "))) > 20 {
			t.Errorf("a row is too wide: %q", row)
		}
	}
	if strings.Contains(s.Text(), "PENDING") {
		t.Errorf("a column that does not fit is shown:\n%s", s.Text())
	}
	r.Resize(120, 20)
	r.AwaitText("PENDING", "LAST", "go: ")
	r.Type("q")
	checkRestored(t, r, r.Before, 0)
}

const longFiles = `
-- Concerto.toml --
[hosts.coder]
command = "testhost"
args = ["coder.host"]
-- main.conc --
host Coder { connector: "coder", output_format: "json" }
fn main() {
  emit("result", Coder.execute("go")?);
}
-- coder.host --
read
< {"type":"approval","id":"a1","tool":"Bash","kind":"execute","args":{"command":"L1\nL2\nL3\nL4\nL5\nL6\nL7\nL8\nL9\nL10\nL11\nL12\nL13\nL14\nL15\nL16\nlast of all"}}
> {"type":"response","in_reply_to":"approval","answer_to":"a1","value":"yes"}
< {"type":"result","text":"done"}
`

// TestTopShowsAll checks that a request cannot be allowed before its end has been shown.
func TestTopShowsAll(t *testing.T) {
	runtime := t.TempDir()
	place := func(c *exec.Cmd) { c.Env = append(c.Env, "CONCERTO_RUNTIME_DIR="+runtime) }
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	run, dir := onTerminal(t, longFiles, 80, 12, place, "run", "main.conc")
	run.AwaitText("Coder asks to run a command")
	top, _ := onTerminal(t, "", 100, 10, place, "top", dir)
	top.AwaitText("Run a command: L1")
	top.Type("a")
	s := top.AwaitText("Coder asks to run a command", "n denies; press Space first to allow: 13 more lines")
	if strings.Contains(s.Text(), "last of all") {
		t.Errorf("the whole fits:\n%s", s.Text())
	}
	top.Type("y")
	top.Type(" ")
	top.AwaitText("press Space first to allow: 5 more lines", "L10")
	top.Type(" ")
	top.AwaitText("last of all", "allow a1 of r_", "? y or n")
	top.Type("y")
	top.AwaitText("allowed")
	if code, s := run.AwaitExit(); code != 0 || !strings.Contains(s.Text(), "[result] done") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
	top.Type("q")
	checkRestored(t, top, top.Before, 0)
}

const askingFiles = `
-- Concerto.toml --
[hosts.coder]
command = "testhost"
args = ["coder.host"]
-- main.conc --
host Coder { connector: "coder", output_format: "json" }
fn main() {
  let answer = await emit<Int>("count", "How many?")?;
  emit("answer", answer + 1);
  emit("result", Coder.execute("go")?);
}
-- coder.host --
read
< {"type":"approval","id":"a1","tool":"Bash","description":"rm -rf build","options":["once","always"]}
> {"type":"response","in_reply_to":"approval","answer_to":"a1","value":"no: keep it"}
< {"type":"result","text":"kept"}
`

// TestTopAnswers answers the requests of a run that waits for its terminal. An answer that does not
// fit leaves the request open.
func TestTopAnswers(t *testing.T) {
	runtime := t.TempDir()
	place := func(c *exec.Cmd) { c.Env = append(c.Env, "CONCERTO_RUNTIME_DIR="+runtime) }
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	run, dir := onTerminal(t, askingFiles, 80, 16, place, "run", "main.conc")
	run.AwaitText("count (")
	top, _ := onTerminal(t, "", 140, 16, place, "top", dir)
	top.AwaitText("waiting", `count: "How many?"`)
	answer := func(text string) {
		top.Type("a")
		top.AwaitText("answer to q", ": █")
		top.Type(text)
		top.AwaitText(text + "█")
		top.Type("\r")
		top.AwaitText("answered q")
	}
	answer("many")
	run.AwaitText(`expected Int, got "many"`)
	top.AwaitText(`count: expected Int, got "many": "How many?"`)
	answer("6")
	run.AwaitText("[answer] 7", "rm -rf build")
	top.AwaitText("Call the tool Bash")
	top.Type("\r")
	top.AwaitText("a1 host:approval since", "Coder asks to call the tool Bash", "  rm -rf build", "1. once")
	top.Type("\x1b")
	top.AwaitText(" waiting  ", "TOKENS")
	top.Type("a")
	top.AwaitText("allow a1 of r_", "? y or n")
	top.Type("n")
	top.AwaitText("reason to deny a1: █")
	top.Type("keep it")
	top.AwaitText("keep it█")
	top.Type("\r")
	top.AwaitText("denied")
	code, s := run.AwaitExit()
	if code != 0 || !strings.Contains(s.Text(), "[result] kept") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
	checkTerminal(t, run, run.Before, s)
	top.Type("q")
	checkRestored(t, top, top.Before, 0)
}
