package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// Performer performs the effects of std::work. It is safe for concurrent use. Repeating an effect
// after an interruption is harmless, except for WorkRun.
type Performer struct {
	Store *Store
	Clock *clock.PausableClock // of the time limits of commands; nil means the system's clock
}

// Perform performs an effect on a workspace. An error that the program may catch is a GitError.
func (p *Performer) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	result, err := p.perform(ctx, r)
	if err == nil {
		return result, nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return nil, known.Program()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, ok := errors.AsType[*effect.UnperformedError](err); ok {
		return nil, err
	}
	return nil, effect.Errorf("GitError", "%v", err).With("code", string(OtherGit))
}

// Program returns the error as that of a program, a GitError.
func (e *Error) Program() *effect.Error {
	out := effect.Errorf("GitError", "%s", e.Error()).With("code", string(e.Code)).With("workspace", e.Workspace)
	if e.Command != nil {
		out.With("command", e.Command)
	}
	if e.ExitCode != nil {
		out.With("exit_code", int64(*e.ExitCode))
	}
	if e.Stderr != nil {
		out.With("stderr", *e.Stderr)
	}
	return out
}

func (p *Performer) perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	s := p.Store
	switch r := r.(type) {
	case *effect.WorkOpen:
		if r.Existing {
			return info(s.Use(ctx, r.Name))
		}
		return info(s.Open(ctx, r.Name, r.Base))
	case *effect.WorkList:
		return s.infos(ctx)
	case *effect.WorkRemove:
		err := s.Remove(ctx, r.Name, r.Force)
		if effect.IsRetry(ctx) && isMissing(err) {
			err = nil // the interrupted effect has removed it
		}
		return nil, err
	}
	name := ""
	switch r := r.(type) {
	case *effect.WorkDiff:
		name = r.Name
	case *effect.WorkCommit:
		name = r.Name
	case *effect.WorkRun:
		name = r.Name
	default:
		return nil, &effect.UnperformedError{Who: "workspaces", Kind: r.Kind()}
	}
	w, err := s.useAny(ctx, name)
	if err != nil {
		return nil, err
	}
	switch r := r.(type) {
	case *effect.WorkCommit:
		if w.Branch == "" {
			return nil, errorf(NoBranch, name, "the worktree of a gate has no branch on which to commit")
		}
		commit, err := w.Commit(ctx, r.Message, time.UnixMilli(r.Time), effect.IsRetry(ctx))
		return &effect.WorkCommitted{Commit: commit}, err
	case *effect.WorkRun:
		return p.run(ctx, w, r)
	}
	d, err := w.Diff(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(d)
	return &effect.WorkspaceDiff{Diff: text}, err
}

// info returns the description of a workspace.
func info(w *Workspace, err error) (effect.Result, error) {
	if err != nil {
		return nil, err
	}
	return w.Info(), nil
}

// Info returns the description of the workspace.
func (w *Workspace) Info() *effect.WorkspaceInfo {
	return &effect.WorkspaceInfo{Name: w.Name, Dir: w.Dir, Branch: w.Branch, Base: w.Base, Repo: w.store.place.From}
}

// infos returns the descriptions of all workspaces.
func (s *Store) infos(ctx context.Context) (effect.Result, error) {
	records, err := s.records(ctx)
	if err != nil {
		return nil, err
	}
	all := &effect.WorkspaceList{All: []effect.WorkspaceInfo{}}
	for _, r := range records {
		all.All = append(all.All, *s.of(r).Info())
	}
	return all, nil
}

// errLate means that a command has exceeded its time limit.
var errLate = errors.New("the time limit is exceeded")

// run runs a command of the program in a workspace.
func (p *Performer) run(ctx context.Context, w *Workspace, r *effect.WorkRun) (effect.Result, error) {
	limited, cancel := context.WithCancelCause(ctx)
	limit := p.Clock.AfterFunc(min(time.Duration(r.Timeout), 1<<62/time.Millisecond)*time.Millisecond, func() { cancel(errLate) })
	defer cancel(nil)
	defer limit.Stop()
	exit, output, err := w.store.command(limited, w.Dir, r.Command)
	if err == nil {
		return &effect.WorkOutput{ExitCode: int64(exit), Output: output}, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	why := "could not be started: " + procgroup.WhyNot(err)
	if errors.Is(err, errLate) {
		why = fmt.Sprintf("did not end within %g s", float64(r.Timeout)/1000)
	}
	e := errorf(OtherGit, w.Name, "%s in the workspace %s %s", strings.Join(r.Command, " "), w.Name, why)
	e.Command = r.Command
	if output != "" {
		e.Stderr = &output
	}
	return nil, e
}
