package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/testkit/testterm"
)

// onTerminal runs a command line on a new terminal. files is an archive with the files of the
// working directory. A file that ends in .host is a script for testhost, as in TestScripts.
func onTerminal(t *testing.T, files string, width, height int, change func(*exec.Cmd), args ...string) (*testterm.Running, string) {
	t.Helper()
	dir := t.TempDir()
	bin := t.TempDir()
	for _, name := range []string{"concerto", "testhost"} { // TestMain is each of them by its name
		if err := os.Symlink(os.Args[0], filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range txtar.Parse([]byte(files)).Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeManifest(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "concerto"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "TERM=xterm-256color", "NO_COLOR=1", "CONCERTO_PROGRESS=")
	if change != nil {
		change(cmd)
	}
	r := testterm.Start(t, cmd, width, height)
	t.Cleanup(func() {
		if err := leftovers(dir); err != nil {
			t.Error(err)
		}
	})
	return r, dir
}

// releaseHost creates the file that a host's script waits for.
func releaseHost(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
		t.Fatal(err)
	}
}

// checkTerminal checks that a finished run has restored the terminal, and has removed everything
// from the screen except its text.
func checkTerminal(t *testing.T, r *testterm.Running, before syscall.Termios, s testterm.State) {
	t.Helper()
	if r.Modes() != before {
		t.Error("the terminal's settings were not restored")
	}
	if s.Hidden || s.Style != "" || len(s.Odd) > 0 || s.X != 0 {
		t.Errorf("the terminal was not restored: cursor hidden %v, style %q, unexpected sequences %v, cursor in column %d", s.Hidden, s.Style, s.Odd, s.X)
	}
	if s.Y != len(s.Rows) {
		t.Errorf("the cursor is in row %d, want the row after the %d rows of text", s.Y, len(s.Rows))
	}
	if strings.ContainsAny(s.Text(), "●▸") {
		t.Errorf("a line of the view was not removed:\n%s", s.Text())
	}
}

const working = `
-- Concerto.toml --
[hosts.coder]
command = "testhost"
args = ["coder.host"]
message_types = ["question", "progress"]
-- main.conc --
host Coder { connector: "coder", output_format: "json" }
fn main() {
  println("begins");
  let r = listen Coder.execute("go") {
    "question" => |q: HostQuestion| { println("asked"); "tabs" },
    "progress" => |p| {},
  };
  emit("result", r?.text);
}
-- coder.host --
read
< {"type":"progress","message":"Bash: go test ./…","percent":62}
await one
stderr a line of the host's
await two
< {"type":"question","id":1,"question":"Tabs?"}
read
await three
< {"type":"result","text":"kept","usage":{"tokens_in":10000,"tokens_out":2000},"cost_usd":0.04}
`

// TestLive checks the view of a run on a terminal. The activity of hosts is drawn at the bottom,
// and output appears above it. At the end one summary line remains.
func TestLive(t *testing.T) {
	r, dir := onTerminal(t, working, 60, 12, nil, "run", "main.conc")
	before := r.Before
	s := r.AwaitText("● Coder  ██████░░░░ 62%  Bash: go test ./…  ", "▸ main  listens to Coder  ", "begins")
	if s.Rows[0] != "begins" {
		t.Errorf("rows of the screen = %q, want the first row begins", s.Rows)
	}
	releaseHost(t, dir, "one")
	r.AwaitState("the log above the view, and the cursor at the start of the view", func(s testterm.State) bool {
		return len(s.Rows) == 4 && s.Rows[1] == "Coder: a line of the host's" && strings.HasPrefix(s.Rows[3], "● Coder  ██████░░░░ 62%") && s.Y == 2 && s.X == 0
	})
	releaseHost(t, dir, "two")
	r.AwaitState("the printed line above the view", func(s testterm.State) bool { return len(s.Rows) == 5 && s.Rows[2] == "asked" })
	releaseHost(t, dir, "three")
	code, s := r.AwaitExit()
	checkTerminal(t, r, before, s)
	last := s.Rows[len(s.Rows)-1]
	if code != 0 || !strings.HasPrefix(last, "done in ") || !strings.HasSuffix(last, " · 1 exchange · 1 question · 12k tokens · $0.04") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
	if rest := s.Rows[:len(s.Rows)-1]; rest[len(rest)-1] != "[result] kept" {
		t.Errorf("rows above the summary = %q, want the last row [result] kept", rest)
	}
}

// TestLiveEnds checks that the terminal is restored in each way in which a run can end.
func TestLiveEnds(t *testing.T) {
	const end = `
-- Concerto.toml --
[hosts.coder]
command = "testhost"
args = ["coder.host"]
-- main.conc --
host Coder { connector: "coder", output_format: "json" }
fn main() {
  println("begins");
  println(Coder.execute("go")?);
}
-- panics.conc --
host Coder { connector: "coder", output_format: "json" }
fn main() {
  let t = wait();
  while !std::fs::exists("boom") { std::time::sleep(10); }
  let xs: Array<Int> = [];
  println(xs[3]);
  println(t.await);
}
async fn wait() -> String { Coder.execute("go").unwrap_or("") }
-- coder.host --
read
< {"type":"progress","message":"works"}
await never
`
	for name, c := range map[string]struct {
		program string
		act     func(r *testterm.Running, dir string)
		code    int
		last    string
	}{
		"ctrl-c":  {"main.conc", func(r *testterm.Running, _ string) { r.Type("\x03") }, 130, "concerto: interrupted"},
		"sigterm": {"main.conc", func(r *testterm.Running, _ string) { r.Signal(syscall.SIGTERM) }, 130, "concerto: interrupted"},
		"panic":   {"panics.conc", func(_ *testterm.Running, dir string) { releaseHost(t, dir, "boom") }, 1, "  = in main at panics.conc:6:14"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := onTerminal(t, end, 70, 20, nil, "run", c.program)
			before := r.Before
			r.AwaitText("● Coder  works  ")
			c.act(r, dir)
			code, s := r.AwaitExit()
			checkTerminal(t, r, before, s)
			if code != c.code || s.Rows[len(s.Rows)-1] != c.last {
				t.Errorf("exit code %d, screen:\n%s", code, s.Text())
			}
			if n := strings.Count(s.Text(), " · 1 exchange"); n != 1 {
				t.Errorf("the screen contains %d summaries, want 1:\n%s", n, s.Text())
			}
		})
	}
}

// TestTemplateFails runs a template whose agent is not installed or not logged in. The command must
// print the reason exactly once, with live and with plain progress.
func TestTemplateFails(t *testing.T) {
	const loggedOut = `
-- agent --
#!/bin/sh
case "$*" in *--version*) echo "2.1.100 (Claude Code)"; exit;; esac
read line
echo '{"type":"system","subtype":"init","session_id":"s","tools":[],"model":"m"}'
echo '{"type":"result","subtype":"success","is_error":true,"result":"Please run /login","session_id":"s"}'
`
	for name, c := range map[string]struct{ command, reason string }{
		"not there":     {"no-such-agent", "command 'no-such-agent' not found"},
		"not logged in": {"../agent", "Please run /login"},
	} {
		for _, form := range []string{"auto", "plain"} {
			t.Run(name+", "+form, func(t *testing.T) {
				r, _ := onTerminal(t, loggedOut, 200, 20, func(run *exec.Cmd) {
					made := exec.Command(run.Path, "init", "p", "--template", "claude-code")
					made.Dir, made.Env = run.Dir, run.Env
					if out, err := made.CombinedOutput(); err != nil {
						t.Fatalf("concerto init: %v\n%s", err, out)
					}
					manifest := filepath.Join(run.Dir, "p", "Concerto.toml")
					all, err := os.ReadFile(manifest)
					if err != nil {
						t.Fatal(err)
					}
					text := strings.Replace(string(all), `command = "concerto"`, `command = "`+c.command+`"`, 1)
					text = strings.Replace(text, `args = ["host", "replay", "talk.wire"]`, "", 1)
					if err := errors.Join(os.WriteFile(manifest, []byte(text), 0o666), os.Chmod(filepath.Join(run.Dir, "agent"), 0o777)); err != nil {
						t.Fatal(err)
					}
				}, "run", "--progress", form, "-C", "p")
				code, s := r.AwaitExit()
				if code != 1 || strings.Count(s.Text(), c.reason) != 1 || !strings.Contains(s.Text(), "error: HostError: ") {
					t.Errorf("exit code %d, screen:\n%s", code, s.Text())
				}
			})
		}
	}
}

// TestLiveSizes checks that the view has the terminal's width and at most as many lines as fit.
// After resizing, the output above the view must still be visible.
func TestLiveSizes(t *testing.T) {
	randtest.RacedElsewhere(t) // so slow a process often writes lines that are wider than the terminal has become
	const many = `
-- Concerto.toml --
[hosts.coder]
command = "testhost"
args = ["coder.host"]
instances = 20
-- main.conc --
host CoderA { connector: "coder", output_format: "json" }
host CoderB { connector: "coder", output_format: "json" }
host CoderC { connector: "coder", output_format: "json" }
host CoderD { connector: "coder", output_format: "json" }
host CoderE { connector: "coder", output_format: "json" }
host CoderF { connector: "coder", output_format: "json" }
host CoderG { connector: "coder", output_format: "json" }
host CoderH { connector: "coder", output_format: "json" }
fn main() {
  std::log::info("first line, which stays");
  let all = parallel for coder in [CoderA, CoderB, CoderC, CoderD, CoderE, CoderF, CoderG, CoderH] { coder.execute("go").unwrap_or("") };
  std::log::info("${all.len()} ended");
}
-- coder.host --
read
< {"type":"progress","message":"日本語の長い説明 e\u0301 and more and more and more of it than there is room for"}
await go
< {"type":"result","text":"kept"}
`
	r, dir := onTerminal(t, many, 40, 8, nil, "run", "--emit", "none", "main.conc")
	before := r.Before
	// There are eight hosts, and the view may use six lines: two fewer than the terminal has.
	fits := func(width, lines int, more string) func(testterm.State) bool {
		return func(s testterm.State) bool {
			n := 0
			for _, row := range s.Rows {
				if strings.HasPrefix(row, "●") {
					n++
					if !strings.Contains(row, "日") || !strings.HasSuffix(row, "s") {
						return false
					}
				}
			}
			return n == lines && s.Rows[len(s.Rows)-1] == more
		}
	}
	r.AwaitState("lines for five hosts, and a line about three more", fits(40, 5, "… and 3 more"))
	for _, size := range [][2]int{{30, 8}, {50, 8}, {50, 6}, {50, 20}, {33, 7}} {
		r.Resize(size[0], size[1])
		lines, more := 8, ""
		if most := size[1] - 2; most < 8 {
			lines, more = most-1, "… and "+string(rune('0'+8-most+1))+" more"
		}
		s := r.AwaitState("the view in the new size", func(s testterm.State) bool {
			if more == "" {
				return strings.Count(strings.Join(s.Rows, "\n"), "●") == lines
			}
			return fits(size[0], lines, more)(s)
		})
		if !strings.HasPrefix(s.Text(), "info: first line, which stays") || strings.Count(s.Text(), "●") != lines {
			t.Errorf("screen after resizing to %v:\n%s", size, s.Text())
		}
	}
	r.Resize(40, 2) // no room for a line of the view
	r.AwaitState("a screen without the view", func(s testterm.State) bool { return !strings.Contains(s.Text(), "●") })
	r.Resize(70, 10)
	r.AwaitText("● Coder")
	releaseHost(t, dir, "go")
	code, s := r.AwaitExit()
	checkTerminal(t, r, before, s)
	if code != 0 || !strings.Contains(s.Text(), "8 exchanges") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
}

// TestLiveBug checks that concerto also restores the terminal after a panic of its own code.
func TestLiveBug(t *testing.T) {
	dir := t.TempDir()
	program := `host H { connector: "h" } fn main() { let x = await emit("c", 1); println(to_string(x)); H; }`
	for name, text := range map[string]string{"main.conc": program, "Concerto.toml": "[hosts.h]\ncommand = \"true\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	term := testterm.New(80, 50)
	returns := &crlf{term}
	a := &console.Console{Stdin: strings.NewReader(""), Stdout: returns, Stderr: returns, Dir: dir, TTY: console.TTY{In: true, Err: true, Out: true, ErrScreen: true,
		Size: func() (int, int) { return 80, 50 }, Raw: func() (func(), error) { return func() {}, nil }}}
	a.Questioner = panicking{func() {
		a.Bottom().Show(func(int, int) []screen.Line { return []screen.Line{{Mark: "●", Text: "drawn"}} })
		a.Bottom().Refresh()
		if !strings.Contains(term.State().Text(), "● drawn") {
			t.Error("the view was not drawn before the panic")
		}
	}}
	if code := run([]string{"run"}, a); code != console.ExitFailed {
		t.Errorf("exit code = %d, want console.ExitFailed", code)
	}
	if s := term.State(); strings.Contains(s.Text(), "●") || !strings.Contains(s.Text(), "on purpose") || s.X != 0 {
		t.Errorf("the screen was not restored:\n%s", s.Text())
	}
}

// crlf is a terminal that adds a carriage return to each newline.
type crlf struct{ w io.Writer }

func (x crlf) Write(b []byte) (int, error) {
	_, err := x.w.Write(bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")))
	return len(b), err
}

type panicking struct{ before func() }

func (p panicking) Ask(context.Context, string) (string, error) {
	p.before()
	panic("on purpose")
}

const unhandled = `
-- Concerto.toml --
[hosts.coder]
command = "testhost"
args = ["coder.host"]
[hosts.slow]
command = "testhost"
args = ["slow.host"]
[hosts.third]
command = "testhost"
args = ["third.host"]
[hosts.second]
command = "testhost"
args = ["second.host"]
-- main.conc --
host Coder { connector: "coder", output_format: "json" }
fn main() {
  let r = listen Coder.execute("go") { "progress" => |p| {} };
  println(match r { Ok(m) => to_string(m.text), Err(e) => e.message });
}
-- coder.host --
read
< {"type":"question","id":1,"question":"Tabs\u001b[2J?","options":["tabs",{"label":"spaces","description":"four of them"}]}
> {"type":"response","in_reply_to":"question","answer_to":1,"value":"spaces"}
< {"type":"question","id":2,"question":"Name?"}
> {"type":"response","in_reply_to":"question","answer_to":2,"value":"Zoë 日"}
< {"type":"question","id":3,"questions":[{"id":"a","question":"Which?","multi":true,"options":["x","y","z"]},{"question":"Why?"}]}
> {"type":"response","in_reply_to":"question","answer_to":3,"value":{"a":["x","z"],"Why?":"because"}}
< {"type":"approval","id":4,"description":"Bash: rm -rf build","tool":"Bash","kind":"execute","risk_level":"high","args":{"command":"rm -rf build"}}
> {"type":"response","in_reply_to":"approval","answer_to":4,"value":"yes"}
< {"type":"approval","id":5,"description":"two"}
> {"type":"response","in_reply_to":"approval","answer_to":5,"value":"session"}
< {"type":"approval","id":6,"description":"three","options":["once","always","deny"]}
> {"type":"response","in_reply_to":"approval","answer_to":6,"value":"always"}
< {"type":"approval","id":7,"description":"four"}
> {"type":"response","in_reply_to":"approval","answer_to":7,"value":"too much"}
< {"type":"approval","id":8,"description":"five"}
> {"type":"response","in_reply_to":"approval","answer_to":8,"value":{"decision":"deny","reason":"ok"}}
< {"type":"approval","id":9,"description":"six","args":{"command":"rm"}}
> {"type":"response","in_reply_to":"approval","answer_to":9,"value":{"decision":"allow","scope":"once","input":{"command":"ls"}}}
< {"type":"approval","id":10,"description":"seven"}
> {"type":"response","in_reply_to":"approval","answer_to":10,"value":"no"}
< {"type":"result","text":"kept"}
-- timed.conc --
host Slow { connector: slow, output_format: "json", question_timeout: 3 }
fn main() {
  let r = listen Slow.execute("go") { "progress" => |p| {} };
  println(match r { Ok(m) => to_string(m.text), Err(e) => e.message });
}
-- slow.host --
read
< {"type":"question","id":1,"question":"Quick?"}
> {"type":"response","in_reply_to":"question","answer_to":1,"error":"question timed out after 3 seconds"}
< {"type":"result","text":"on time"}
-- both.conc --
host Third { connector: third, output_format: "json" }
host Second { connector: second, output_format: "json" }
fn main() {
  let all = parallel for n in [1, 2] { if n == 1 { Second.execute("go").unwrap_or("") } else { Third.execute("go").unwrap_or("") } };
  println(to_string(all));
}
-- third.conc --
host Third { connector: third, output_format: "json" }
fn main() { let _ = Third.execute("go"); }
-- third.host --
read
< {"type":"question","id":1,"question":"Quick?"}
> {"type":"response","in_reply_to":"question","answer_to":1,"value":"now"}
< {"type":"result","text":"third"}
-- second.host --
read
< {"type":"question","id":1,"question":"First?"}
await taken
< {"type":"withdraw","id":1}
< {"type":"approval","id":2,"description":"Then this"}
> {"type":"response","in_reply_to":"approval","answer_to":2,"value":"yes"}
< {"type":"result","text":"withdrawn"}
`

// TestAsksAtTerminal checks that a host's request prompts the user on the terminal if the program
// has no handler for it.
func TestAsksAtTerminal(t *testing.T) {
	r, _ := onTerminal(t, unhandled, 60, 40, nil, "run", "-q", "main.conc")
	before := r.Before
	r.AwaitText("Coder asks: Tabs\\u{1b}[2J?\n  1) tabs\n  2) spaces: four of them\n1-2, or your own words\n>")
	r.Type("3\r")
	r.AwaitText("no option 3")
	r.Type("\x152\r")
	r.AwaitText("asks: Name?")
	r.Type("Zoe\x7fë 月\x7f日\r")
	r.AwaitText("asks (1 of 2): Which?", "separate several answers by commas")
	r.Type("1, z\r")
	r.AwaitText("asks (2 of 2): Why?")
	r.Type("because\r")
	r.AwaitText("Coder asks to run a command\n  rm -rf build\n  risk: high\n[a]llow once [s]ession a[l]ways [d]eny [e]dit [v]iew\n>")
	r.Type("perhaps\r")
	r.AwaitText("enter one of the letters in brackets")
	r.Type("a\r")
	r.AwaitText("requests approval: two\n[a]llow once [s]ession a[l]ways [d]eny [v]iew\n>") // nothing to edit
	r.Type("s\n")
	r.AwaitText("requests approval: three\n[a]llow once a[l]ways [d]eny [v]iew\n>") // as far as the host has them
	r.Type("s\r")
	r.AwaitText("enter one of the letters in brackets")
	r.Type("always\r")
	r.AwaitText("requests approval: four")
	r.Type("d\r")
	r.AwaitText("enter a reason for the host, or nothing\nreason>")
	r.Type("too much\r")
	r.AwaitText("requests approval: five")
	r.Type("d\rok\r") // typed ahead
	r.AwaitText("asks to run a command\n  rm\n  six")
	r.Type("e\r")
	r.AwaitText("input> {\"command\":\"rm\"}")
	r.Type("\x7f\r") // }
	r.AwaitText("not valid JSON")
	r.Type("\x1b[D\x7f\x7f\x1b[F\x7fls\"}\r")
	r.AwaitText("requests approval: seven")
	r.Type("d\r\r")
	code, s := r.AwaitExit()
	checkTerminal(t, r, before, s)
	if code != 0 || !strings.HasSuffix(s.Text(), "kept") || !strings.Contains(s.Text(), "Coder requests approval: four\n  denied: too much, at ") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
}

// TestAskHandlersAtTerminal checks that a handler `ask` prompts the user as if there were no
// handler. A replay must not prompt.
func TestAskHandlersAtTerminal(t *testing.T) {
	r, dir := onTerminal(t, askHandlers, 60, 20, nil, "run", "-q", "--record", "run.tape", "main.conc")
	before := r.Before
	r.AwaitText("Coder asks: Tabs?\n>")
	r.Type("no\r")
	r.AwaitText("Coder requests approval: rm\n[a]llow once")
	r.Type("a\r")
	code, s := r.AwaitExit()
	checkTerminal(t, r, before, s)
	if code != 0 || !strings.HasSuffix(s.Text(), "asked") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
	c := exec.Command(os.Args[0])
	c.Args, c.Dir = []string{"concerto", "runs", "replay", "run.tape"}, dir // TestMain is the command by its name
	out, err := c.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "asked\n") {
		t.Errorf("replay the run: %v\n%s", err, out)
	}
}

const askHandlers = `
-- Concerto.toml --
[hosts.coder]
command = "testhost"
args = ["coder.host"]
-- main.conc --
host Coder { connector: "coder", output_format: "json" }
fn main() {
  let r = listen Coder.execute("go") { "question" => ask, on "approval" => ask };
  println(r?.text);
}
-- coder.host --
read
< {"type":"question","id":1,"question":"Tabs?"}
> {"type":"response","in_reply_to":"question","answer_to":1,"value":"no"}
< {"type":"approval","id":2,"description":"rm"}
> {"type":"response","in_reply_to":"approval","answer_to":2,"value":"yes"}
< {"type":"result","text":"asked"}
`

// TestQuestionTimesOut checks that the prompt shows the remaining time of a question, and that the
// question expires.
func TestQuestionTimesOut(t *testing.T) {
	t.Parallel()
	r, _ := onTerminal(t, unhandled, 60, 20, nil, "run", "-q", "timed.conc")
	before := r.Before
	r.AwaitText("Slow asks: Quick?\n(", " s left) >")
	r.Type("no")
	r.AwaitState("a screen without the prompt", func(s testterm.State) bool { return !strings.Contains(s.Text(), "Quick?\n(") })
	code, s := r.AwaitExit()
	checkTerminal(t, r, before, s)
	if code != 0 || !strings.HasSuffix(s.Text(), "on time") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
}

// TestAsksInOrder checks several questions at the same time. Only one question is shown. When a
// host withdraws its question, the prompt disappears together with the typed input. With execute,
// the user is prompted before the default answer applies.
func TestAsksInOrder(t *testing.T) {
	r, dir := onTerminal(t, unhandled, 60, 20, nil, "run", "--emit", "none", "both.conc")
	before := r.Before
	r.AwaitText("(1 more waiting) >")
	first, other := "Second asks: First?", "Third asks: Quick?"
	if strings.Contains(r.State().Text(), first) {
		r.Type("no")
		r.AwaitText("> no")
		releaseHost(t, dir, "taken")
		r.AwaitState("the question of the other host", func(s testterm.State) bool {
			return strings.Contains(s.Text(), other) && !strings.Contains(s.Text(), first+"\n")
		})
		r.Type("now\r")
	} else { // the other host asked first
		r.Type("now\r")
		r.AwaitText(first)
		releaseHost(t, dir, "taken")
	}
	r.AwaitText("Second requests approval: Then this")
	r.Type("y\r")
	code, s := r.AwaitExit()
	checkTerminal(t, r, before, s)
	if code != 0 || !strings.Contains(s.Text(), "2 exchanges · 2 questions, 1 approval") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
}

// TestNoPrompt checks that a question remains unanswered with --no-input, or if stdin is not a
// terminal.
func TestNoPrompt(t *testing.T) {
	for name, c := range map[string]struct {
		args   string
		change func(*exec.Cmd)
	}{
		"no-input": {"run -q --no-input timed.conc", nil},
		"no stdin": {"run -q timed.conc", func(c *exec.Cmd) { c.Stdin = strings.NewReader("") }},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := onTerminal(t, unhandled, 60, 20, c.change, strings.Fields(c.args)...)
			code, s := r.AwaitExit()
			if code != 0 || strings.Contains(s.Text(), "asks") {
				t.Errorf("exit code %d, screen:\n%s", code, s.Text())
			}
			// The host's script fails because it received an unexpected answer.
			if err := os.Remove(filepath.Join(dir, "slow.host.fail")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAskingInterrupted checks that Ctrl-C ends the run while a prompt is open.
func TestAskingInterrupted(t *testing.T) {
	r, dir := onTerminal(t, unhandled, 60, 20, nil, "run", "main.conc")
	before := r.Before
	r.AwaitText("? Coder  Tabs", "2) spaces")
	r.Type("half an answer\x03")
	code, s := r.AwaitExit()
	// The host's script may have failed because it received no answer.
	if err := os.Remove(filepath.Join(dir, "coder.host.fail")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	checkTerminal(t, r, before, s)
	if code != console.ExitInterrupted || strings.Contains(s.Text(), "half an answer") || !strings.HasSuffix(s.Text(), "concerto: interrupted") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
}

// TestAsksOnDumbTerminal uses a terminal without cursor movement. Questions must be asked line by
// line, and the activity of hosts must be printed as permanent lines.
func TestAsksOnDumbTerminal(t *testing.T) {
	r, _ := onTerminal(t, unhandled, 70, 40, func(c *exec.Cmd) { c.Env = append(c.Env, "TERM=dumb") }, "run", "--emit", "none", "third.conc")
	r.AwaitText("Third asks: Quick?\n>")
	r.Type("now\n")
	r.AwaitText("host 'Third' receives an answer from the terminal: now")
	code, s := r.AwaitExit()
	if code != 0 || len(s.Odd) > 0 || strings.Contains(s.Text(), "●") || !strings.Contains(s.Text(), "host 'Third' starts\nhost 'Third' asks: Quick?") {
		t.Errorf("exit code %d, unexpected sequences %v, screen:\n%s", code, s.Odd, s.Text())
	}
}

// TestAsksForVendor replays a recorded conversation with a vendor's agent. If the user enters the
// recorded answers, the conversation must continue as recorded.
func TestAsksForVendor(t *testing.T) {
	recorded, err := os.ReadFile(filepath.Join("..", "..", "runtime", "host", "adapter", "testdata", "wire", "claude.wire"))
	if err != nil {
		t.Fatal(err)
	}
	files := `
-- Concerto.toml --
[hosts.coder]
transport = "claude-code"
command = "concerto"
args = ["host", "replay", "talk.wire"]
-- main.conc --
host Coder { connector: "coder", output_format: "json" }
fn main() {
  let r = listen Coder.execute("please work") { "progress" => |p| {}, "partial" => |p| {}, "log" => |l| {} };
  println(match r { Ok(m) => "it said: " + to_string(m.text), Err(e) => e.message });
}
-- talk.wire --
` + string(recorded)
	r, _ := onTerminal(t, files, 80, 30, nil, "run", "-q", "main.conc")
	before := r.Before
	r.AwaitText("Coder asks to run a command\n  touch made.txt\n  reason: make a file\n  risk: high\n[a]llow once [s]ession [d]eny [e]dit [v]iew\n>")
	r.Type("a\r")
	r.AwaitText("Coder asks: [Indent] Tabs or spaces?\n  1) Tabs: wide\n  2) Spaces: narrow\n1-2, or your own words\n>")
	r.Type("1\r")
	code, s := r.AwaitExit()
	checkTerminal(t, r, before, s)
	if code != 0 || !strings.Contains(s.Text(), "it said: ") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
}

// TestLiveStdout redirects stdout while the view is drawn on stderr. The file must contain only the
// output of the program.
func TestLiveStdout(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, dir := onTerminal(t, working, 60, 12, func(c *exec.Cmd) { c.Stdout, c.Stdin = file, strings.NewReader("") }, "run", "--emit", "ndjson", "main.conc")
	r.AwaitText("● Coder  ██████░░░░ 62%  Bash: go test ./…  ")
	for _, name := range []string{"one", "two", "three"} {
		releaseHost(t, dir, name)
	}
	code, s := r.AwaitExit()
	out, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if code != 0 || len(lines) != 5 || lines[4] != `{"channel":"result","payload":"kept"}` || strings.Contains(string(out), "\x1b") {
		t.Errorf("exit code %d, lines of stdout %q", code, lines)
	}
	if len(s.Rows) != 2 || s.Rows[0] != "Coder: a line of the host's" || !strings.HasPrefix(s.Rows[1], "done in ") {
		t.Errorf("rows of the screen = %q, want the host's line and the summary", s.Rows)
	}
}

// TestLiveEvents checks how the runtime's events appear on a terminal. They are printed in a
// readable form, or not at all if the view shows the same information. The program's own emits must
// not change.
func TestLiveEvents(t *testing.T) {
	const files = `
-- Concerto.toml --
[hosts.coder]
command = "testhost"
args = ["coder.host"]
message_types = ["progress", "telemetry"]
-- main.conc --
use std::run;
host Coder { connector: "coder", output_format: "json" }
pipeline P(x: Int) -> Int {
  stage one(x: Int) -> Result<Int, Error> {
    run::progress(3, 12, "a.md");
    let r = Coder.execute("go");
    emit("done", r?);
    emit("listen:start", "mine");
    emit("host:log", { mine: 1 });
    Ok(x)
  }
}
fn main() { P.run(1)?; }
@test fn fails() { P.run(1)?; assert(false); }
-- coder.host --
read
< {"type":"progress","message":"reading","percent":62}
< {"type":"log","level":"info","message":"a remark"}
await one
< {"type":"result","text":"kept"}
`
	own := []string{"[host:log] info: a remark", "[done] kept", "[listen:start] mine", `[host:log] {"mine":1}`}
	moved := []string{"[run:progress] 3 of 12 (25 %) a.md", "[host:progress] 62 % reading"}
	check := func(t *testing.T, want []string, args ...string) {
		t.Helper()
		r, dir := onTerminal(t, files, 90, 24, nil, append(args, "main.conc")...)
		releaseHost(t, dir, "one")
		_, s := r.AwaitExit()
		var got []string
		for _, row := range s.Rows {
			if row = strings.TrimSpace(row); strings.HasPrefix(row, "[") {
				got = append(got, row)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("concerto %v shows the events %q\nwant %q\nscreen:\n%s", args, got, want, s.Text())
		}
	}
	check(t, own, "run")
	check(t, append(moved, own...), "run", "--progress", "none")
	r, dir := onTerminal(t, files, 90, 24, nil, "run", "main.conc")
	r.AwaitText("▸ main  ██░░░░░░░░ 25%  3 of 12 a.md")
	releaseHost(t, dir, "one")
	r.AwaitExit()
}
