package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/engine/timetravel/view"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
)

// view shows a recorded run on the terminal, until the user quits or the context is cancelled.
func (cmd *inspectCommand) view(ctx context.Context, s *timetravel.Source, tape bool, signals *interrupt.Handler) (err error) {
	if !cmd.console.TTY.In || !cmd.console.TTY.Screen || cmd.console.TTY.Raw == nil {
		return console.Usage(fmt.Sprintf("print the effects with `concerto runs inspect %s --format ndjson`", cmd.name), "inspect requires a terminal")
	}
	r, problem := s.Play(ctx, 0)
	if r == nil {
		return problem
	}
	if cmd.at > int64(len(r.Effects)) {
		return cmd.noSuchEffect(r)
	}
	session := r.Look()
	defer session.Close()
	b, err := view.New(r, session, cmd.at, problem)
	if err != nil {
		return err
	}
	b.Name, b.Color = cmd.name, cmd.console.TTY.OutColor
	if !tape {
		b.Fork = func(effect int64, result json.RawMessage) string { return cmd.fork(r, effect, result) }
	}
	return interact(ctx, cmd.console, b, nil, signals)
}

// fork forks the run and returns a message that contains the fork's directory. Without a new
// result, the run is forked at the preceding effect, because the journal does not contain what the
// program printed.
func (cmd *inspectCommand) fork(r *timetravel.Recording, effect int64, result json.RawMessage) string {
	dir, err := locate.Directory(cmd.console, cmd.name)
	if err != nil {
		return fmt.Sprintf("use concerto runs fork %s --at %d", cmd.name, effect) // the run is in an engine
	}
	if len(result) == 0 {
		effect = r.LastStored(effect)
	}
	id := procgroup.NewID()
	to := filepath.Join(filepath.Dir(dir), id)
	change := durable.Change{Effect: effect}
	if len(result) > 0 {
		change.Result = result
	}
	if _, err := runs.Fork(rundir.At(dir), rundir.At(to), id, change); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("created the fork %s; resume with: concerto runs resume %s --as-started", cmd.console.Relative(to), cmd.console.Relative(to))
}
