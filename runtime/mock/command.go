package mock

import (
	"context"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// lineOf returns a command with its arguments in the form in which tests name it.
func lineOf(r *effect.Command) string {
	return strings.Join(append([]string{r.Command}, r.Args...), " ")
}

// mockCommand adds an outcome of a command. A String is the standard output of the command. A Map
// may contain stdout, stderr, exit_code, delay_ms and error.
func (w *World) mockCommand(r *effect.MockCommand) error {
	what, o := "the outcome of "+r.Line, &scripted[effect.CommandOutput]{raw: r.Outcome}
	if s, ok := parseString(r.Outcome); ok {
		o.result.Stdout = s
		w.shell.addOutcome(r.Line, o)
		return nil
	}
	_, err := o.parseOutcome(what, []string{"stdout", "stderr", "exit_code"},
		map[string]any{"stdout": &o.result.Stdout, "stderr": &o.result.Stderr, "exit_code": &o.result.ExitCode})
	if err != nil {
		return err
	}
	w.shell.addOutcome(r.Line, o)
	return nil
}

// runCommand returns the scripted outcome of a command.
func (w *World) runCommand(ctx context.Context, r *effect.Command, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	o := w.shell.finalOutcome(r)
	w.mu.Unlock()
	failed := func(format string, args ...any) error {
		return effect.Errorf("ToolError", format, args...).With("tool", "RunCommand")
	}
	switch {
	case o == nil:
		return w.performUnmocked(ctx, r, next, &Missing{What: "the command " + lineOf(r), Mock: fmt.Sprintf("mock_command(%q, …)", lineOf(r))})
	case o.err != "":
		return nil, failed("cannot run %s: %s", r.Command, o.err)
	case o.delayMS > r.Timeout:
		return nil, failed("%s did not finish within %d ms", r.Command, r.Timeout)
	}
	output := o.result
	return &output, nil
}

// runGate returns the scripted outcome of a command of a mock's gate. A mock works in no directory,
// so that there is no tree.
func (w *World) runGate(r *effect.ExchangeGate) (effect.Result, error) {
	if len(r.Command) == 0 {
		return &effect.GateOutput{Failure: r.Failure}, nil
	}
	command := &effect.Command{Command: r.Command[0], Args: r.Command[1:]}
	w.mu.Lock()
	o := w.shell.finalOutcome(command)
	w.mu.Unlock()
	switch {
	case o == nil:
		return nil, &Missing{What: "the command " + lineOf(command) + " of a gate", Mock: fmt.Sprintf("mock_command(%q, …)", lineOf(command))}
	case o.err != "":
		return &effect.GateOutput{Failure: r.Gate + " could not be started: " + o.err}, nil
	}
	out := &effect.GateOutput{Output: o.result.Stdout + o.result.Stderr, MS: o.delayMS}
	if o.result.ExitCode != 0 {
		out.Failure = fmt.Sprintf("%s exited with status %d", r.Gate, o.result.ExitCode)
	}
	return out, nil
}
