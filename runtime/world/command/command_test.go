package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestMain makes the test binary act as the command that the tests run. The first argument selects
// the action.
func TestMain(m *testing.M) {
	if os.Getenv("COMMAND_TEST") == "" {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "say":
		os.Stdout.WriteString("out é\n" + strings.Join(os.Args[2:], "|"))
		os.Stderr.WriteString("err\n")
		os.Exit(3)
	case "env":
		os.Stdout.WriteString(strings.Join([]string{os.Getenv("HOME"), os.Getenv("SECRET"), os.Getenv("GIVEN")}, ","))
	case "much":
		os.Stdout.WriteString(strings.Repeat("x", maxOutput) + "yy")
	case "binary":
		os.Stdout.WriteString("a\xffb")
	case "input":
		n, err := os.Stdin.Read(make([]byte, 1))
		os.Stdout.WriteString(errors.Join(err).Error() + strings.Repeat("!", n))
	case "stay":
		os.Stdout.WriteString("started")
		time.Sleep(time.Hour) // until the process is ended
	}
	os.Exit(0)
}

func runner(t *testing.T) (*Runner, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Pass: []string{"COMMAND_TEST", "GIVEN"},
		Environ: []string{"COMMAND_TEST=1", "HOME=/h", "SECRET=s", "GIVEN=g", "PATH=/nowhere"}}), self
}

func TestCommand(t *testing.T) {
	r, self := runner(t)
	for _, c := range []struct {
		args []string
		want effect.CommandOutput
	}{
		{[]string{"say", "a b", "$HOME"}, effect.CommandOutput{ExitCode: 3, Stdout: "out é\na b|$HOME", Stderr: "err\n"}},
		{[]string{"env"}, effect.CommandOutput{Stdout: "/h,,g"}},
		{[]string{"much"}, effect.CommandOutput{Stdout: strings.Repeat("x", maxOutput) + "\n… (2 more bytes)"}},
		{[]string{"binary"}, effect.CommandOutput{Stdout: "a\ufffdb"}},
		{[]string{"input"}, effect.CommandOutput{Stdout: "EOF"}},
	} {
		got, err := r.Perform(t.Context(), &effect.Command{Command: self, Args: c.args, Timeout: 60_000})
		if err != nil || *got.(*effect.CommandOutput) != c.want {
			t.Errorf("command %s: result %+v (error %v), want %+v", c.args[0], got, err, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r, _ := runner(t)
	for command, want := range map[string]string{
		"missing": "cannot run missing: it is not there",
		"/":       "cannot run /: it is a directory",
		plain:     "cannot run " + plain + ": it is not executable",
	} {
		_, err := r.Perform(t.Context(), &effect.Command{Command: command, Timeout: 60_000})
		var e *effect.Error
		if !errors.As(err, &e) || e.Kind != "ToolError" || e.Message != want || e.Fields["tool"] != "RunCommand" {
			t.Errorf("command %s: error %v, want %q", command, err, want)
		}
	}
	if _, err := r.Perform(t.Context(), &effect.Env{}); err == nil || err.Error() != "commands cannot perform env" {
		t.Error(err)
	}
}

func TestEndsInTime(t *testing.T) {
	r, self := runner(t)
	stay := &effect.Command{Command: self, Args: []string{"stay"}, Timeout: 50}
	if _, err := r.Perform(t.Context(), stay); err == nil || err.Error() != self+" did not finish within 50 ms" {
		t.Error(err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	stay.Timeout = 1 << 62
	if _, err := r.Perform(ctx, stay); err != stop {
		t.Error(err)
	}
}
