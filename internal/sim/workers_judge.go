package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/testkit/memory"
)

// infos describes all runs.
func (f *fleet) infos() (all []memory.Info) {
	for i, r := range f.plan.Runs {
		all = append(all, f.store.Info(r.id(i)))
	}
	return all
}

// judged executes a statement of a worker, and checks what it has changed.
func (f *fleet) judged(x *link, what string, do func()) {
	before, until := f.infos(), f.store.Lease(x.session)
	do()
	after := f.infos()
	f.mu.Lock()
	defer f.mu.Unlock()
	if what == "renew" && x.session != "" && !time.Now().Before(until) && f.store.Lease(x.session).After(until) {
		f.fail("J13", "%s has renewed a lease that had expired", x.name)
	}
	ended, owned, keys, mine := 0, 0, map[string]int{}, 0
	for i := range after {
		a, b := &before[i], &after[i]
		id := f.plan.Runs[i].id(i)
		if b.TransactionsOfOwners != a.TransactionsOfOwners && a.Owner != x.session {
			f.fail("J13", "%s has changed %s, which %s owns", x.name, id, f.workers.sessions[a.Owner])
		}
		if b.Epoch != a.Epoch {
			x.epochs[id] = b.Epoch
			if a.Owner != "" && a.IsLeased {
				f.fail("J13", "%s has claimed %s, whose owner %s has a lease", x.name, id, f.workers.sessions[a.Owner])
			}
		}
		if len(b.Questions) != len(a.Questions) {
			f.wake()
		}
		if x.session != "" && b.Owner == x.session {
			mine++
		}
		if isEnd(b.State) {
			ended++
		}
		if b.Queue == limited && b.Owner != "" {
			owned++
			keys[b.Key]++
		}
		if keys[b.Key] > 1 || owned > 2 {
			f.fail("J14", "%d runs of the queue are in progress, %d of them with the key %s", owned, keys[b.Key], b.Key)
		}
	}
	if mine > concurrency {
		f.fail("J14", "%s executes %d runs", x.name, mine)
	}
	if ended == len(after) {
		f.end()
	}
}

// acts checks that the owner of a run acts, and nothing else. A worker that was stopped immediately
// before it acts cannot know.
type acts struct {
	effect.Performer
	x     *workerProcess
	run   string
	epoch int64
}

func (a *acts) Perform(ctx context.Context, q effect.Request) (effect.Result, error) {
	class := effect.ClassOf(q)
	if !effect.Inline(q.Kind()) && !effect.IsNoWait(ctx) && class != effect.ClassRead && class != effect.ClassCut && !a.x.dead.Load() {
		f := a.x.f
		now := f.store.Info(a.run)
		f.mu.Lock()
		if now.Epoch != a.epoch && time.Since(a.x.paused) > 2*time.Millisecond {
			f.fail("J13", "%s begins %s of %s at epoch %d, although %s owns the run at epoch %d", a.x.name, describe(ctx, q), a.run, a.epoch, f.workers.sessions[now.Owner], now.Epoch)
		}
		f.mu.Unlock()
	}
	r, err := a.Performer.Perform(ctx, q)
	if now, ok := r.(*effect.Time); ok {
		a.x.f.mu.Lock()
		defer a.x.f.mu.Unlock()
		wrong := *now
		wrong.Unix += a.x.skew.Milliseconds()
		return &wrong, err
	}
	return r, err
}

// Start starts an effect that waits. It changes nothing outside.
func (a *acts) Start(ctx context.Context, q effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	s, ok := a.Performer.(effect.Starter)
	if !ok {
		return nil, false
	}
	return s.Start(ctx, q, done)
}

// judge compares what the runs have shown with what the world has seen.
func (f *fleet) judge() {
	received := f.server.received
	for i, r := range f.plan.Runs {
		id := r.id(i)
		x, run := f.store.Info(id), f.store.Run(id)
		out, _, _ := run.Out()
		_, verified := runs.Verify(run)
		f.mu.Lock()
		f.schedule.Work = r.Work
		f.server.received = slices.DeleteFunc(slices.Clone(received), func(q request) bool {
			_, name, _ := strings.Cut(q.name, "/")
			_, ok := r.Work.block(name)
			return !ok
		})
		if x.State != "finished" {
			f.fail("J11", "%s is %s: %s", id, x.State, x.Refusal)
		} else {
			f.judgeOutput(out)
		}
		if verified != nil {
			f.fail("J17", "`concerto runs verify %s` fails: %v", id, verified)
		}
		if x.Answers+len(x.Questions) > 0 {
			f.fail("J12", "the ended run %s has %d answers and %d questions", id, x.Answers, len(x.Questions))
		}
		f.judgeRequests()
		f.mu.Unlock()
	}
}

// answerAll lets people answer the open questions of all runs.
func (f *fleet) answerAll() {
	f.gate.pass(f.start("ann"), "reads the questions")
	var all []asked
	for i, r := range f.plan.Runs {
		id := r.id(i)
		for _, q := range f.store.Info(id).Questions {
			all = append(all, asked{id, q.ID, q.Channel, q.Payload, id + " " + q.ID})
		}
	}
	f.answerThese(all)
}

// clientRun is a run as the command of a person uses it.
type clientRun struct {
	journal.Run
	f *fleet
	p *process
}

// PutAnswer stores an answer. The response may be lost.
func (r *clientRun) PutAnswer(id string, a journal.Answer) error {
	name := r.f.gate.name(r.p, "stores the answer to "+r.Name()+" "+id)
	if !r.f.gate.passAs(r.p, name) {
		return errCut
	}
	err := r.Run.PutAnswer(id, a)
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	if r.f.lost[name] {
		return errCut
	}
	return err
}
