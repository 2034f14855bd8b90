package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/proc"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// roles maps names to functions that the test binary runs when it is started as a tool's command.
var roles = map[string]func(args []string){
	// copies its input to its output
	"echo": func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
	// prints STDOUT and STDERR, and exits with CODE
	"say": func(args []string) {
		_, _ = io.WriteString(os.Stdout, args[0])
		_, _ = io.WriteString(os.Stderr, args[1])
		code, _ := strconv.Atoi(args[2])
		os.Exit(code)
	},
	"where": func([]string) {
		dir, _ := os.Getwd()
		env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, proc.Mark+"=") })
		_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"dir": dir, "env": env})
	},
	"hang": func([]string) { select {} },
	// Ignores SIGTERM, and so does its child. It starts the child after it has read its input,
	// which is written when the guard process knows the process group. Otherwise the guard could
	// not find the child after the test has killed the process that runs the command.
	"stubborn": func(args []string) {
		signal.Ignore(syscall.SIGTERM)
		_, _ = os.Stdin.Read(make([]byte, 1))
		child(args[0])
		select {}
	},
	// exits and leaves a child that holds its pipes open and ignores SIGTERM
	"leaves": func(args []string) {
		child(args[0])
		fmt.Print(`"left"`)
	},
	"child": func(args []string) {
		signal.Ignore(syscall.SIGTERM)
		if err := os.WriteFile(args[0]+".new", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			panic(err)
		}
		_ = os.Rename(args[0]+".new", args[0])
		select {}
	},
	"flood": func(args []string) {
		to := os.Stdout
		if args[0] == "stderr" {
			to = os.Stderr
		}
		for n, _ := strconv.Atoi(args[1]); n > 0; n-- {
			if _, err := io.WriteString(to, strings.Repeat("x", 99)+"\n"); err != nil {
				os.Exit(1)
			}
		}
		if to == os.Stderr {
			_, _ = io.WriteString(to, "the end\n")
			os.Exit(4)
		}
	},
	// calls a tool whose command is in its argument
	"calls": func(args []string) {
		var x Command
		if err := json.Unmarshal([]byte(args[0]), &x); err != nil {
			panic(err)
		}
		d, err := x.Definition(Spec{Name: "x"}, "")
		if err != nil {
			panic(err)
		}
		_, _ = d.Handler(context.Background(), []byte("{}"), &Context{running: &running{c: &Call{s: &Session{hooks: Hooks{World: ours()}}, e: &entry{def: d}}}})
	},
	"dies": func([]string) {
		fmt.Print(`{"success": tr`)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	},
}

// child starts a process in the role child and waits until that process has written its process ID
// to the file.
func child(file string) {
	c := exec.Command(os.Args[0], file)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = []string{"TOOL_ROLE=child"}
	if err := c.Start(); err != nil {
		panic(err)
	}
	if err := testproc.AwaitFile(file); err != nil {
		panic(err)
	}
}

func TestMain(m *testing.M) {
	if play := roles[os.Getenv("TOOL_ROLE")]; play != nil {
		time.AfterFunc(time.Minute, func() { os.Exit(99) })
		play(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// plays returns a command that runs this test binary in a role.
func plays(role string, args ...string) Command {
	return Command{Run: append([]string{os.Args[0]}, args...), Env: map[string]string{"TOOL_ROLE": role, "GORACE": "atexit_sleep_ms=0"}}
}

func defined(t *testing.T, x Command, s Spec) Definition {
	t.Helper()
	if s.Name == "" {
		s.Name = "x"
	}
	d, err := x.Definition(s, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ran calls the tool of a command and returns how the call ended.
func ran(t *testing.T, x Command, args string, c Context, h Hooks) Ended {
	t.Helper()
	s := opened(t, registered(t, defined(t, x, Spec{})), c, h)
	return s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(args), Caller: "Clerk", Route: RouteAgent})
}

// TestCommandInput checks that a command receives one line of JSON that describes its call.
func TestCommandInput(t *testing.T) {
	dir := t.TempDir()
	e := ran(t, plays("echo"), `{"a": [1, "ü"]}`, Context{SessionID: "s", Cwd: dir, Environment: map[string]string{"A": "1"}, Metadata: map[string]any{"user": "ada"}}, Hooks{})
	want := `{"input":{"a":[1,"ü"]},"context":{"session_id":"s","cwd":"` + dir + `","environment":{"A":"1"},"metadata":{"user":"ada"},"call_id":"s-1","tool":"x","version":1,"by":"Clerk","route":"agent"}}`
	if !e.Result.Success || string(e.Result.Output) != want {
		t.Errorf("error %q, output %s\nwant %s", e.Result.Error, e.Result.Output, want)
	}
	x := plays("echo")
	x.Answer = AnswerText
	e = ran(t, x, `{}`, Context{SessionID: "s", Cwd: dir}, Hooks{})
	text, failed := e.Text()
	if failed || strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "}}\n") || !strings.Contains(text, `"environment":{},"metadata":{}`) {
		t.Errorf("text = %q, want one line with empty environment and metadata", text)
	}
}

// TestCommandAnswers checks how the output and the exit code of a command determine the result of
// the call.
func TestCommandAnswers(t *testing.T) {
	long := strings.Repeat("ü", 199) + "é"
	for _, c := range []struct {
		answer, stdout, stderr, code string
		outcome                      Outcome
		want                         string // the expected Result; a final "*" matches any text
	}{
		{"", ` {"rows": [1, 2], "big": 9007199254740993} ` + "\n", "noise", "0", OutcomeOK, `true {"rows":[1,2],"big":9007199254740993} `},
		{"json", `"</b> ü"`, "", "0", OutcomeOK, `true "</b> ü" `},
		{"json", `null`, "", "0", OutcomeOK, `true null `},
		{"json", `{"success": true, "output": {"a": 1}, "metadata": {"m": 1}}`, "", "0", OutcomeOK, `true {"a":1}  m`},
		{"json", `{"success": false, "error": "no rows"}`, "", "0", OutcomeFailed, `false  no rows`},
		{"json", `{"success": false, "output": [1]}`, "", "0", OutcomeFailed, `false [1] `},
		{"json", `{"success": false}`, "", "0", OutcomeFailed, `false  failed without an error message`},
		{"json", `{"success": "yes"}`, "", "0", OutcomeOK, `true {"success":"yes"} `},
		{"json", `{"success": true, "error": 7}`, "", "0", OutcomeFailed, `false  returned an invalid result: *`},
		{"json", ``, "why", "0", OutcomeFailed, `false  returned no JSON: `},
		{"json", `{"a":1} {"b":2}`, "", "0", OutcomeFailed, `false  returned no JSON: {"a":1} {"b":2}`},
		{"json", long, "", "0", OutcomeFailed, `false  returned no JSON: ` + long},
		{"json", long + "xyz", "", "0", OutcomeFailed, `false  returned no JSON: ` + long + `…`},
		{"json", "\"\xff\"", "", "0", OutcomeFailed, "false  returned no JSON: \"\ufffd\""},
		{"text", "two\nlines \n", "", "0", OutcomeOK, `true "two\nlines \n" `},
		{"text", "", "", "0", OutcomeOK, `true "" `},
		{"text", "a\xffb", "", "0", OutcomeOK, "true \"a\ufffdb\" "},
		{"json", `{"rows": 1}`, "it went\nwrong \n", "3", OutcomeFailed, "false  exited with 3: it went\nwrong"},
		{"json", ``, "", "3", OutcomeFailed, `false  exited with 3`},
		{"json", `{"success": false, "error": "no rows", "output": [1]}`, "noise", "3", OutcomeFailed, `false [1] no rows`},
		{"json", `{"success": true, "output": 1}`, "noise", "3", OutcomeFailed, `false 1 exited with 3: noise`},
		{"text", `{"success": false, "error": "no rows"}`, "noise", "255", OutcomeFailed, `false  exited with 255: noise`},
	} {
		x := plays("say", c.stdout, c.stderr, c.code)
		x.Answer = c.answer
		e := ran(t, x, `{}`, Context{SessionID: "s"}, Hooks{})
		got := fmt.Sprintf("%v %s %s", e.Result.Success, e.Result.Output, e.Result.Error)
		if e.Result.Metadata["m"] != nil {
			got += " m"
		}
		want, begins := strings.CutSuffix(c.want, "*")
		if e.Outcome != c.outcome || got != want && !(begins && strings.HasPrefix(got, want)) {
			t.Errorf("answer %s, stdout %q: outcome %s with\n%q, want %s with\n%q", c.answer, c.stdout, e.Outcome, got, c.outcome, c.want)
		}
	}
}

// TestCommandSurroundings checks the environment and the directory of a command. The environment
// consists of the variables that hosts receive, the variables in pass_env, and the command's
// variables. The directory is that of the session.
func TestCommandSurroundings(t *testing.T) {
	dir := t.TempDir()
	dir, _ = filepath.EvalSymlinks(dir)
	x := plays("where")
	x.PassEnv = []string{"GIVEN", "OF_SESSION", "KEY"}
	x.Env["OWN"], x.Env["LANG"] = "own", "x"
	w := World{Environ: []string{"HOME=/h", "LANG=de", "SECRET=s", "KEY=k", "LC_KEY=k2", "GIVEN=g", "OF_SESSION=run"}, Keys: map[string]bool{"KEY": true, "LC_KEY": true}}
	var reached []string
	w.Refused = func(owner string, r Reach) string {
		reached = append(reached, fmt.Sprint(owner, " ", filepath.Base(r.Command), r.Env))
		return ""
	}
	e := ran(t, x, `{}`, Context{Cwd: dir, Environment: map[string]string{"OF_SESSION": "session", "OTHER": "o"}}, Hooks{World: w})
	want := `{"dir":"` + dir + `","env":["GIVEN=g","GORACE=atexit_sleep_ms=0","HOME=/h","KEY=k","LANG=x","OF_SESSION=session","OWN=own","TOOL_ROLE=where"]}`
	if string(e.Result.Output) != want {
		t.Errorf("error %q, output %s\nwant %s", e.Result.Error, e.Result.Output, want)
	}
	if want := []string{"go " + filepath.Base(os.Args[0]) + "[GIVEN KEY]"}; !slices.Equal(reached, want) {
		t.Errorf("checked commands and variables = %q, want %q", reached, want)
	}
}

// TestCommandCannotRun checks the error of a call whose command cannot be started.
func TestCommandCannotRun(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "started")
	if err := os.WriteFile(filepath.Join(dir, "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refuse := func(string, Reach) string { return "running it is not permitted" }
	for _, c := range []struct {
		run  []string
		more func(*Command, *World)
		want string
	}{
		{[]string{"touch", mark}, func(x *Command, _ *World) { x.PassEnv = []string{"A", "MISSING"} }, "environment variable MISSING is not set: it is listed in pass_env"},
		{[]string{"touch", mark}, func(x *Command, _ *World) { x.Cwd = "none" }, "cannot run touch in " + filepath.Join(dir, "none") + ": no such file or directory"},
		{[]string{"touch", mark}, func(x *Command, _ *World) { x.Cwd = "plain" }, "cannot run touch in " + filepath.Join(dir, "plain") + ": it is not a directory"},
		{[]string{"touch", mark}, func(_ *Command, w *World) { w.Refused = refuse }, "running it is not permitted"},
		{[]string{"no-such-command"}, nil, "cannot run no-such-command: it is not there"},
		{[]string{"./none"}, nil, "cannot run ./none: it is not there"},
		{[]string{"./plain"}, nil, "cannot run ./plain: it is not executable"},
		{[]string{"/"}, nil, "cannot run /: it is a directory"},
	} {
		x, w := Command{Run: c.run}, World{Environ: []string{"A=1", "PATH=" + os.Getenv("PATH")}}
		if c.more != nil {
			c.more(&x, &w)
		}
		d, err := x.Definition(Spec{Name: "x"}, dir)
		if err != nil {
			t.Fatal(err)
		}
		e := opened(t, registered(t, d), Context{}, Hooks{World: w}).Do(context.Background(), Ask{Name: "x"})
		if e.Outcome != OutcomeFailed || e.Result.Error != c.want {
			t.Errorf("outcome %s with error %q, want a failure with %q", e.Outcome, e.Result.Error, c.want)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a command was started")
	}
}

// TestCommandPaths checks that a relative command is resolved against the definition's directory,
// that a script runs without a shell, and that arguments are passed unchanged.
func TestCommandPaths(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\nprintf '%s|' \"$@\"; pwd\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := Command{Run: []string{"./tool", "$HOME", "a b", "*"}, Cwd: "in", Answer: AnswerText}.Definition(Spec{Name: "x"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	r := opened(t, registered(t, d), Context{Cwd: "/"}, Hooks{}).Call(context.Background(), "x", nil)
	if text, _ := r.Text(); text != "$HOME|a b|*|"+filepath.Join(dir, "in")+"\n" {
		t.Errorf("text = %q, want the unchanged arguments and the directory", text)
	}
}

// TestCommandDefinition checks that all errors in a definition are reported with their positions.
func TestCommandDefinition(t *testing.T) {
	_, err := Command{PassEnv: []string{"A=b", "", "A*"}, Env: map[string]string{"A": "\x00"}, Answer: "yaml", MaxOutput: -1}.Definition(Spec{Name: "x"}, "")
	want := `tool 'x': /command/run: must contain a command
tool 'x': /command/pass_env/0: must be the name of an environment variable, not "A=b"
tool 'x': /command/pass_env/1: must be the name of an environment variable, not ""
tool 'x': /command/pass_env/2: must be the name of an environment variable, not "A*"
tool 'x': /command/env/A: must not contain NUL
tool 'x': /command/answer: must be one of json, text, lines, not "yaml"
tool 'x': /command/max_output: must be 1 or more, not -1`
	var of *DefinitionError
	if err == nil || err.Error() != want || !errors.As(err, &of) || of.Pointer != "/command/run" {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
	var x Command
	if err := json.Unmarshal([]byte(`{"run": ["a"], "pass_env": ["B"], "env": {"K": "V"}, "cwd": "d", "answer": "text", "max_output": 7}`), &x); err != nil ||
		fmt.Sprint(x) != fmt.Sprint(Command{[]string{"a"}, []string{"B"}, map[string]string{"K": "V"}, "d", "text", 7, nil}) {
		t.Errorf("decoded command = %+v (error %v)", x, err)
	}
	if err := json.Unmarshal([]byte(`{"run": ["a"], "shell": true}`), &x); err == nil {
		t.Error("a definition with an unknown member was accepted")
	}
}

// TestCommandFloods lets a command write too much. Its output is limited, and a command that
// exceeds the limit is ended.
func TestCommandFloods(t *testing.T) {
	x := plays("flood", "stdout", "100000000")
	x.MaxOutput = 1000
	if e := ran(t, x, `{}`, Context{}, Hooks{}); e.Outcome != OutcomeFailed || e.Result.Error != "returned more than 1000 bytes (max_output)" {
		t.Errorf("outcome %s with error %q, want a failure because of max_output", e.Outcome, e.Result.Error)
	}
	x = plays("flood", "stdout", "10")
	x.MaxOutput, x.Answer = 1000, AnswerText
	if e := ran(t, x, `{}`, Context{}, Hooks{}); e.Outcome != OutcomeOK || len(e.Result.Output) != 1000+2+10 {
		t.Errorf("outcome %s with error %q and %d bytes, want 1012 bytes", e.Outcome, e.Result.Error, len(e.Result.Output))
	}
	var logged []string
	h := Hooks{World: World{Stderr: func(tool, line string) { logged = append(logged, tool+" "+line) }}}
	e := ran(t, plays("flood", "stderr", "20000"), `{}`, Context{}, h)
	if n := len(e.Result.Error); !strings.HasPrefix(e.Result.Error, "exited with 4: xxx") || !strings.HasSuffix(e.Result.Error, "xxx\nthe end") || n > 64<<10+20 || n < 64<<10-200 {
		t.Errorf("error of %d bytes: %.40s…%s; want the end of standard error", n, e.Result.Error, e.Result.Error[max(n-20, 0):])
	}
	last := logged[len(logged)-1]
	if logged[0] != "x "+strings.Repeat("x", 99) || !strings.HasPrefix(last, "x … ") || !strings.HasSuffix(last, " lines dropped") {
		t.Errorf("first logged line %q, last %q; want a line of standard error and the number of dropped lines", logged[0], last)
	}
}

// TestCommandDies kills a command while it writes. Incomplete output must not count as an answer.
func TestCommandDies(t *testing.T) {
	if e := ran(t, plays("dies"), `{}`, Context{}, Hooks{}); e.Outcome != OutcomeFailed || e.Result.Error != "exited with 137 (killed)" {
		t.Errorf("outcome %s with error %q, want exit code 137", e.Outcome, e.Result.Error)
	}
}

// TestCommandLeaves runs a command that exits and leaves a child that holds its pipes open. The
// call must not wait for the child, and the child must not outlive the call.
func TestCommandLeaves(t *testing.T) {
	file := filepath.Join(t.TempDir(), "child")
	e := ran(t, plays("leaves", file), `{}`, Context{}, Hooks{})
	if e.Outcome != OutcomeOK || string(e.Result.Output) != `"left"` {
		t.Errorf("outcome %s, error %q, output %s; want the output \"left\"", e.Outcome, e.Result.Error, e.Result.Output)
	}
	ended(t, file)
}

// ended checks that the process whose ID is in the file has exited.
func ended(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	// The process was killed, but its last thread may take a moment to exit.
	if left, err := testproc.AwaitExit(2*time.Minute, pid); err != nil || len(left) > 0 {
		t.Errorf("process %v is still running (error %v)", left, err)
	}
}

// TestCommandHangs runs commands that do not exit. After its timeout, a command and its children
// receive SIGTERM and later SIGKILL. A cancelled command is ended in the same way.
func TestCommandHangs(t *testing.T) {
	t.Run("timeout", func(t *testing.T) {
		t.Parallel()
		s := opened(t, registered(t, defined(t, plays("hang"), Spec{Timeout: 0.05})), Context{}, Hooks{})
		if e := s.Do(context.Background(), Ask{Name: "x"}); e.Outcome != OutcomeTimeout || e.Result.Error != "tool 'x' timed out after 0.05 s" {
			t.Errorf("outcome %s with error %q, want the timeout after 0.05 s", e.Outcome, e.Result.Error)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "child")
		var rec recorder
		s := opened(t, registered(t, defined(t, plays("stubborn", file), Spec{})), Context{}, rec.hooks())
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() {
			if err := testproc.AwaitFile(file); err != nil {
				t.Error(err)
			}
			cancel(errors.New("enough"))
		}()
		e := s.Do(ctx, Ask{Name: "x"})
		if e.Outcome != OutcomeCancelled || e.Result.Error != "tool 'x' was cancelled: enough" || e.Duration < commandGrace {
			t.Errorf("outcome %s with error %q after %s, want a cancellation after commandGrace", e.Outcome, e.Result.Error, e.Duration)
		}
		if len(rec.logs) > 0 {
			t.Errorf("log = %q, want nothing", rec.logs)
		}
		ended(t, file)
	})
}

// TestCommandKilled kills the process that runs a command. The command must not outlive it.
func TestCommandKilled(t *testing.T) {
	off := false
	for name, x := range map[string]Command{"plain": plays("stubborn"), "confined": {Run: []string{os.Args[0]}, Env: map[string]string{"TOOL_ROLE": "stubborn"}, Sandbox: &Sandbox{Net: &off, Settings: sandbox.Settings{Missing: sandbox.MissingWarn}}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "child")
			x.Run = append(x.Run, file)
			text, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command(os.Args[0], string(text))
			c.Env = append(os.Environ(), "TOOL_ROLE=calls")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, file)
			leader := proc.Read(fileNumber(t, file)).Parent
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait()
			if left, err := testproc.AwaitExit(2*time.Minute, leader, fileNumber(t, file)); err != nil || len(left) > 0 {
				t.Errorf("processes %v are still running (error %v)", left, err)
			}
		})
	}
}

// TestCommandDoesNotRead checks that a command that does not read its input does not block the
// call.
func TestCommandDoesNotRead(t *testing.T) {
	big, err := json.Marshal(map[string]string{"a": strings.Repeat("x", 4<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if e := ran(t, plays("say", "1", "", "0"), string(big), Context{}, Hooks{}); string(e.Result.Output) != "1" {
		t.Errorf("outcome %s with error %q, want output 1", e.Outcome, e.Result.Error)
	}
	x := plays("echo")
	x.MaxOutput = 8 << 20
	if e := ran(t, x, string(big), Context{}, Hooks{}); !bytes.Contains(e.Result.Output, big[1:len(big)-1]) {
		t.Errorf("outcome %s with error %.300s, want the whole input as output", e.Outcome, e.Result.Error)
	}
}
