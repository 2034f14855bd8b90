package merge

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// Run configures Queue.Run.
type Run struct {
	Resolve Resolve         // nil for none
	Watch   bool            // wait for further changes until Closed is closed
	Closed  <-chan struct{} // may be nil
	// Token identifies the run, or is "". With Again, an earlier process has begun it: what it has
	// done is reported, too.
	Token string
	Again bool
	Observer
}

// Observer receives the events of a run, one at a time. Each function may be nil.
type Observer struct {
	Gate     func(GateEvent)
	Landed   func(commit string, changes []*Change)
	Proposed func(*Change)
	Failed   func(*Change)
	Progress func(effect.QueueState)
}

// Report is the result of a run. Blocked changes depend on one that is not merged.
type Report struct {
	Queue   string    `json:"queue"`
	Into    string    `json:"into"`
	Merged  []*Change `json:"merged"`
	Failed  []*Change `json:"failed"`
	Blocked []*Change `json:"blocked"`
	Gates   int       `json:"gates"`

	BlockedBy map[string]string `json:"-"` // the ids of what blocked changes depend on
}

// watchPause is the time between two searches for new changes.
const watchPause = 200 * time.Millisecond

// runner runs a queue. Its methods are called by one goroutine.
type runner struct {
	q    *Queue
	o    Run
	gate *gate

	report   Report
	queued   int
	moves    int             // how often the target has moved since the last landing
	fixing   map[string]bool // changes that are being resolved
	resolved chan resolution
}

// Run merges changes until nothing is left to try. The report contains what was done until an
// error, which is a *GateFailed with OnTarget, a *workspace.Error, an error that wraps ErrFile, or
// that of ctx.
func (q *Queue) Run(ctx context.Context, o Run) (*Report, error) {
	r := &runner{q: q, o: o, fixing: map[string]bool{}, resolved: make(chan resolution)}
	r.report = Report{Queue: q.rules.name, Into: q.rules.Into, Merged: []*Change{}, Failed: []*Change{}, Blocked: []*Change{}, BlockedBy: map[string]string{}}
	if q.check == nil {
		if err := q.rules.checkGate(); err != nil {
			return &r.report, err
		}
	}
	unlock, err := q.lock()
	if err != nil {
		return &r.report, err
	}
	defer unlock()
	d, err := q.database()
	if err != nil {
		return &r.report, err
	}
	r.gate = &gate{m: q.m, rules: &q.rules, file: d, check: q.check, green: map[string]bool{}, event: o.Gate}
	fixes, stop := context.WithCancel(ctx)
	defer r.endFixes(stop)
	if err := q.recover(ctx, r); err != nil {
		return &r.report, err
	}
	if err := q.tidyPins(ctx); err != nil {
		return &r.report, err
	}
	if o.Token != "" && o.Again {
		if err := r.reportEarlier(ctx); err != nil {
			return &r.report, err
		}
	}
	err = r.loop(ctx, fixes)
	r.report.Gates = r.gate.ran
	if err != nil {
		return &r.report, err
	}
	return &r.report, r.listBlocked(ctx)
}

// reportEarlier reports what an earlier process of the run has done, and this one has not.
func (r *runner) reportEarlier(ctx context.Context) error {
	all, err := r.q.List(ctx)
	if err != nil {
		return err
	}
	var landed []string // commits, in the order of the list
	groups := map[string][]*Change{}
	for _, c := range all {
		isKnown := func(x *Change) bool { return x.ID == c.ID }
		switch {
		case c.run != r.o.Token || slices.ContainsFunc(r.report.Merged, isKnown) || slices.ContainsFunc(r.report.Failed, isKnown):
		case c.State == Merged && c.Merged != nil:
			if groups[*c.Merged] == nil {
				landed = append(landed, *c.Merged)
			}
			groups[*c.Merged] = append(groups[*c.Merged], c)
		case c.State == Proposed && r.o.Proposed != nil:
			r.o.Proposed(c)
		case c.State.HasFailed() && c.State != Dropped:
			r.reportFailed(c)
		}
	}
	for _, commit := range landed {
		r.reportLanded(commit, groups[commit])
	}
	return nil
}

func (r *runner) reportFailed(c *Change) {
	r.report.Failed = append(r.report.Failed, c)
	if r.o.Failed != nil {
		r.o.Failed(c)
	}
}

func (r *runner) reportLanded(commit string, changes []*Change) {
	r.report.Merged = append(r.report.Merged, changes...)
	if r.o.Landed != nil {
		r.o.Landed(commit, changes)
	}
}

// endFixes waits until no function resolves a problem.
func (r *runner) endFixes(stop func()) {
	stop()
	for len(r.fixing) > 0 {
		x := <-r.resolved
		delete(r.fixing, x.change.ID)
	}
}

// loop merges until nothing is left to try.
func (r *runner) loop(ctx, fixes context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		tried, err := r.round(ctx, fixes)
		switch {
		case errors.Is(err, errMoved):
			if r.moves++; r.moves == maxRestarts {
				return busyTarget(&r.q.rules)
			}
		case errors.Is(err, errChanged): // the batch is built again
		case err != nil:
			return err
		case !tried:
			if more, err := r.wait(ctx); err != nil || !more {
				return err
			}
		}
	}
}

// wait waits for a resolution or a new change. It returns false if there is nothing to wait for.
func (r *runner) wait(ctx context.Context) (more bool, err error) {
	if !r.o.Watch && len(r.fixing) == 0 {
		return false, nil
	}
	pause := time.NewTimer(watchPause)
	defer pause.Stop()
	closed := r.o.Closed
	if len(r.fixing) > 0 {
		closed = nil
	}
	select {
	case x := <-r.resolved:
		return true, r.finishFix(ctx, x)
	case <-pause.C:
		return true, nil
	case <-closed:
		r.o.Watch = false // what was submitted before is still tried
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// round tries one batch. It returns false if there was nothing to try.
func (r *runner) round(ctx, fixes context.Context) (tried bool, err error) {
	for done := false; !done; {
		select {
		case x := <-r.resolved:
			if err := r.finishFix(ctx, x); err != nil {
				return false, err
			}
		default:
			done = true
		}
	}
	all, err := r.q.List(ctx)
	if err != nil {
		return false, err
	}
	candidates := slices.DeleteFunc(slices.Clone(all), func(c *Change) bool { return c.State != Queued })
	r.queued = len(candidates)
	r.showProgress(0, 0)
	candidates = slices.DeleteFunc(candidates, func(c *Change) bool { return r.fixing[c.ID] })
	if len(candidates) == 0 {
		return false, nil
	}
	builder, err := r.q.m.newBuilder(ctx, &r.q.rules, time.Now())
	if err != nil {
		return false, err
	}
	b := &batch{r: r, target: target{builder}, fixes: fixes}
	if _, err := b.target.checkFree(ctx); err != nil {
		return false, err
	}
	if b.old, b.local, err = b.target.tips(ctx); err != nil {
		return false, err
	}
	tried, err = b.fill(ctx, candidates, all)
	if err != nil || len(b.layers) == 0 {
		return tried, err
	}
	return true, b.try(ctx)
}

func (r *runner) showProgress(tested, of int) {
	if r.o.Progress != nil {
		r.o.Progress(effect.QueueState{Queued: r.queued, Tested: tested, Batch: of, Merged: len(r.report.Merged), Failed: len(r.report.Failed)})
	}
}

// isSatisfied reports whether everything that a change depends on is merged. chosen contains the
// changes of the batch.
func isSatisfied(ctx context.Context, b *builder, old string, c *Change, all []*Change, chosen map[string]bool) (bool, error) {
	blocker, err := blockerOf(ctx, b, old, c, all, chosen)
	return blocker == "", err
}

// blockerOf returns the id of the first change that a change depends on and that is not merged, or
// "".
func blockerOf(ctx context.Context, b *builder, old string, c *Change, all []*Change, chosen map[string]bool) (string, error) {
	for _, id := range c.After {
		i := slices.IndexFunc(all, func(x *Change) bool { return x.ID == id })
		if chosen[id] || i >= 0 && all[i].State == Merged {
			continue
		}
		if i >= 0 && all[i].State == Proposed {
			if has, err := b.contains(ctx, old, all[i].Commit); err != nil || has {
				if err != nil {
					return "", err
				}
				continue
			}
		}
		return id, nil
	}
	return "", nil
}

// listBlocked adds the changes that remain in the queue to the report.
func (r *runner) listBlocked(ctx context.Context) error {
	all, err := r.q.List(ctx)
	if err != nil || !slices.ContainsFunc(all, func(c *Change) bool { return c.State == Queued }) {
		return err
	}
	b, err := r.q.m.newBuilder(ctx, &r.q.rules, time.Now())
	if err != nil {
		return err
	}
	old, _, err := target{b}.tips(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.State != Queued {
			continue
		}
		by, err := blockerOf(ctx, b, old, c, all, nil)
		if err != nil {
			return err
		}
		if by != "" {
			r.report.Blocked = append(r.report.Blocked, c)
			r.report.BlockedBy[c.ID] = by
		}
	}
	return nil
}

// fail records the failure of a change, or passes it to be resolved.
func (r *runner) fail(ctx, fixes context.Context, c *Change, f failure) error {
	if r.o.Resolve != nil && c.fixes < maxFixes {
		return r.startFix(fixes, c, f)
	}
	return r.recordFailure(c, f)
}

// recordFailure records the failure of a change.
func (r *runner) recordFailure(c *Change, f failure) error {
	err := r.q.update([]*Change{c}, func(c *Change) {
		c.State, c.Message, c.Paths, c.ConflictsWith, c.run = f.state, f.message, f.paths, f.conflictsWith, r.o.Token
	})
	if errors.Is(err, errChanged) {
		return nil // it is tried again
	}
	if err != nil {
		return err
	}
	r.reportFailed(c)
	return nil
}

// failure describes why a change cannot be merged.
type failure struct {
	state                State
	message              string
	paths, conflictsWith []string
	output               string
}

// removeWorkspace removes a workspace, or none if name is "", whose commit was submitted.
func (q *Queue) removeWorkspace(ctx context.Context, name, commit string) {
	if name == "" || q.rules.RemoveWorkspace != nil && !*q.rules.RemoveWorkspace {
		return
	}
	if err := q.m.o.Store.RemoveContained(ctx, name, commit, q.rules.ref()); err != nil {
		q.m.o.Log("could not remove the workspace " + name + ": " + err.Error())
	}
}

// codeOf returns the code of an error of workspaces, or "".
func codeOf(err error) workspace.Code {
	if known, ok := errors.AsType[*workspace.Error](err); ok {
		return known.Code
	}
	return ""
}
