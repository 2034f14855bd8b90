package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/effect"
)

// shell is what a test scripts of commands: the outcomes of a command line's
// runs in turn.
type shell struct {
	outcomes map[string][]*ending
	given    map[*effect.Command]*ending // taken by runs that wait for their time
}

type ending struct {
	output  effect.CommandOutput
	err     string // it cannot be run
	delayMS int64
	raw     json.RawMessage
}

func newShell() shell {
	return shell{outcomes: map[string][]*ending{}, given: map[*effect.Command]*ending{}}
}

// lineOf is a command with its arguments, as a test names it.
func lineOf(r *effect.Command) string {
	return strings.Join(append([]string{r.Command}, r.Args...), " ")
}

// take gives the outcome of a run, nil when there is none. Asked again for the
// same run it gives the same.
func (s *shell) take(r *effect.Command) *ending {
	o, ok := s.given[r]
	if queue := s.outcomes[lineOf(r)]; !ok && len(queue) > 0 {
		o, s.outcomes[lineOf(r)] = queue[0], queue[1:]
		s.given[r] = o
	}
	return o
}

// mockCommand adds an outcome: a String is what it writes; a Map has stdout,
// stderr, exit_code, delay_ms, or error.
func (w *World) mockCommand(r *effect.MockCommand) error {
	what, o := "the outcome of "+r.Line, &ending{raw: r.Outcome}
	if s, ok := text(r.Outcome); ok {
		o.output.Stdout = s
		w.shell.outcomes[r.Line] = append(w.shell.outcomes[r.Line], o)
		return nil
	}
	if len(r.Outcome) == 0 || r.Outcome[0] != '{' {
		return bad("%s is neither a String nor a Map", what)
	}
	m, err := fields(what, r.Outcome, "stdout", "stderr", "exit_code", "delay_ms", "error")
	if err != nil {
		return err
	}
	for name, to := range map[string]any{"stdout": &o.output.Stdout, "stderr": &o.output.Stderr, "exit_code": &o.output.ExitCode,
		"delay_ms": &o.delayMS, "error": &o.err} {
		if v := m[name]; v != nil && json.Unmarshal(v, to) != nil {
			return bad("%s: `%s` cannot be %s", what, name, v)
		}
	}
	w.shell.outcomes[r.Line] = append(w.shell.outcomes[r.Line], o)
	return nil
}

// run gives the outcome of a command that the test runs.
func (w *World) run(ctx context.Context, r *effect.Command, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	o := w.shell.take(r)
	delete(w.shell.given, r)
	w.mu.Unlock()
	failed := func(format string, args ...any) error {
		return effect.Errorf("ToolError", format, args...).With("tool", "RunCommand")
	}
	switch {
	case o == nil && w.options.Live:
		return next.Perform(ctx, r)
	case o == nil:
		return nil, &Missing{What: "the command " + lineOf(r), Mock: fmt.Sprintf("mock_command(%q, …)", lineOf(r))}
	case o.err != "":
		return nil, failed("cannot run %s: %s", r.Command, o.err)
	case o.delayMS > r.Timeout:
		return nil, failed("%s has not ended within %d ms", r.Command, r.Timeout)
	}
	output := o.output
	return &output, nil
}

// pause is how long a run takes.
func (s *shell) pause(r *effect.Command) int64 {
	if o := s.take(r); o != nil {
		return min(o.delayMS, r.Timeout)
	}
	return 0
}

// leftovers says what was scripted and not used.
func (s *shell) leftovers() []string {
	var out []string
	for _, line := range slices.Sorted(maps.Keys(s.outcomes)) {
		if q := s.outcomes[line]; len(q) > 0 {
			out = append(out, fmt.Sprintf("mock_command(%q, …) has %s left that no run asked for; the next is %s", line, plural(len(q), "outcome"), q[0].raw))
		}
	}
	return out
}
