package merge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// Performer performs the effects of merges. It is safe for concurrent use. The caller must call
// Close.
type Performer struct {
	Merges *Merges

	mu     sync.Mutex
	lastID int64
	open   map[int64]*session
	ended  sync.WaitGroup
	closed bool
}

// Close stops all merges, and waits until they have ended.
func (p *Performer) Close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.open {
		s.cancel(context.Canceled)
	}
	p.mu.Unlock()
	p.ended.Wait()
	p.Merges.Close()
}

// Perform performs an effect. An error that the program may catch is a GitError, a MergeConflict or
// a GateFailed.
func (p *Performer) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	result, err := p.perform(ctx, r)
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, ProgramError(err)
}

func (p *Performer) perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.MergeOpen:
		return p.begin(ctx, r)
	case *effect.MergeNext:
		return p.next(ctx, r)
	case *effect.MergeReply:
		if s := p.session(r.ID); s != nil {
			s.answer(r)
		}
		return nil, nil
	case *effect.MergeClose:
		if s := p.session(r.ID); s != nil {
			s.cancel(context.Canceled)
			p.remove(r.ID)
		}
		return nil, nil
	case *effect.MergeFinish:
		return nil, p.finish(r.Queue)
	case *effect.MergeFind:
		q, err := p.Merges.Queue(r.Queue)
		if err != nil {
			return nil, err
		}
		return &effect.MergeQueueInfo{Name: q.Name(), Into: q.Into()}, nil
	case *effect.MergeSubmit:
		return p.submit(ctx, r)
	case *effect.MergeList:
		return p.list(ctx, r)
	}
	return nil, &effect.UnperformedError{Who: "merges", Kind: r.Kind()}
}

func (p *Performer) submit(ctx context.Context, r *effect.MergeSubmit) (effect.Result, error) {
	q, err := p.Merges.Queue(r.Queue)
	if err != nil {
		return nil, err
	}
	w, err := p.Merges.o.Store.Use(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	id, err := q.Submit(ctx, w, Submission{ID: r.ID, Title: r.Title, After: r.After, Priority: int(r.Priority)})
	return &effect.MergeSubmitted{ID: id}, err
}

func (p *Performer) list(ctx context.Context, r *effect.MergeList) (effect.Result, error) {
	q, err := p.Merges.Queue(r.Queue)
	if err != nil {
		return nil, err
	}
	all, err := q.List(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(append([]*Change{}, all...))
	return &effect.MergeChanges{Changes: text}, err
}

// begin starts a merge. It continues after the effect, and ends with Close.
func (p *Performer) begin(ctx context.Context, r *effect.MergeOpen) (effect.Result, error) {
	key, again := effect.KeyOf(ctx), effect.IsRetry(ctx)
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s := &session{request: r, cancel: cancel, more: make(chan struct{}, 1), waiting: map[int64]chan *effect.MergeReply{}, finished: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		cancel(nil)
		return nil, errors.New("the run has ended")
	}
	p.lastID++
	if p.open == nil {
		p.open = map[int64]*session{}
	}
	p.open[p.lastID] = s
	p.ended.Go(func() {
		defer cancel(nil)
		result, err := p.merge(running, s, key, again)
		s.end(result, err)
	})
	return &effect.MergeOpened{ID: p.lastID}, nil
}

// merge merges until nothing is left to do, and returns the report or the result.
func (p *Performer) merge(ctx context.Context, s *session, key string, again bool) (any, error) {
	r := s.request
	if r.Queue != "" {
		q, err := p.Merges.Queue(r.Queue)
		if err != nil {
			return nil, err
		}
		o := Run{Watch: r.Watch, Closed: s.finished, Token: key, Again: again}
		o.Gate, o.Progress = s.gated, s.progressed
		o.Landed = func(commit string, changes []*Change) { s.landed(q.Name(), q.Into(), commit, ids(changes)) }
		o.Failed = func(c *Change) { s.failed(q.Name(), c) }
		if r.Resolve {
			o.Resolve = s.resolve
		}
		return q.Run(ctx, o)
	}
	w, err := p.Merges.o.Store.Use(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	o := Single{Into: r.Into, Title: r.Title, At: time.UnixMilli(r.Time), Event: s.gated}
	if r.Gate {
		o.Gate = func(ctx context.Context, w *workspace.Workspace) error { return s.check(ctx, p.Merges.o.Store, w) }
	}
	done, err := p.Merges.Merge(ctx, w, o)
	if err == nil && !done.Proposed && (done.landed || again) {
		s.landed(p.Merges.o.rulesFor(r.Into).name, r.Into, done.Commit, done.Changes)
	}
	if err != nil {
		return nil, err
	}
	return struct {
		*Result
		Proposed bool    `json:"proposed"`
		URL      *string `json:"url"`
	}{done, done.Proposed, done.URL}, nil
}

func ids(changes []*Change) []string {
	all := make([]string, len(changes))
	for i, c := range changes {
		all[i] = c.ID
	}
	return all
}

func (p *Performer) session(id int64) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open[id]
}

func (p *Performer) remove(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, id)
}

// next waits for the next event of a merge.
func (p *Performer) next(ctx context.Context, r *effect.MergeNext) (effect.Result, error) {
	s := p.session(r.ID)
	if s == nil {
		return nil, fmt.Errorf("no merge %d is in progress", r.ID)
	}
	e, err := s.next(ctx)
	if err != nil && ctx.Err() == nil || e != nil && e.Kind == effect.MergeEnd {
		p.remove(r.ID)
	}
	return e, err
}

// finish lets the runs that watch a queue end.
func (p *Performer) finish(queue string) error {
	if _, err := p.Merges.Queue(queue); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.open {
		if s.request.Queue == queue {
			s.finishOnce.Do(func() { close(s.finished) })
		}
	}
	return nil
}

// ProgramError converts an error of workspaces or merges to that of a program, an *effect.Error.
func ProgramError(err error) error {
	var conflict *Conflict
	var red *GateFailed
	var git *workspace.Error
	switch {
	case errors.As(err, &conflict):
		return effect.Errorf("MergeConflict", "%v", err).With("workspace", conflict.Workspace).With("into", conflict.Into).With("paths", conflict.Paths)
	case errors.As(err, &red):
		e := effect.Errorf("GateFailed", "%v", err).With("workspace", red.Workspace).With("into", red.Into).With("output", red.Output).With("on_target", red.OnTarget).With("command", append([]string{}, red.Command...))
		if red.ExitCode != nil {
			e.With("exit_code", int64(*red.ExitCode))
		}
		return e
	case errors.As(err, &git):
		return git.Program()
	case errors.Is(err, ErrUnknown):
		return effect.Errorf("GitError", "%v", err).With("code", string(workspace.BadName))
	case errors.As(err, new(*effect.UnperformedError)):
		return err
	}
	return effect.Errorf("GitError", "%v", err).With("code", string(workspace.OtherGit))
}
