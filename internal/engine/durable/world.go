package durable

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/vm"
)

// Layer returns the layer that performs the run's effects with next.
func (r *Run) Layer(next effect.Performer) effect.Performer {
	r.print = func(q *effect.Emit, n int64) error {
		_, err := next.Perform(effect.WithOutput(context.Background(), n), q)
		return err
	}
	w := &world{r, next}
	r.mark = w.markOf
	return w
}

type world struct {
	run  *Run
	next effect.Performer
}

// Perform performs an effect after the journal contains everything on which the effect may depend.
func (w *world) Perform(ctx context.Context, q effect.Request) (effect.Result, error) {
	if effect.IsSideOutput(ctx) {
		return w.next.Perform(ctx, q)
	}
	switch q := q.(type) {
	case *effect.Emit:
		return nil, w.showLine(ctx, q.Channel, q.Payload, q)
	case *effect.Print:
		payload, err := printed(q)
		if err != nil {
			return nil, err
		}
		return nil, w.showLine(ctx, PrintChannel, payload, q)
	case *effect.Log:
		if !w.run.live {
			return nil, nil // an earlier process has logged the message
		}
	}
	if !tape.Recorded(q.Kind()) {
		return w.next.Perform(ctx, q)
	}
	if w.run.c.Trial {
		return nil, vm.ErrSuspended
	}
	if q.Kind() == effect.KindContinue {
		return w.run.carriedQuestions(), nil
	}
	f := w.run.flightOf(q)
	if f != nil {
		w.run.parking.beginFlush(f.e)
	}
	if err := w.flushBefore(ctx, q); err != nil {
		return nil, err
	}
	real, result, err := w.mapRequest(ctx, q, f)
	if real == nil {
		return result, err
	}
	if f != nil && f.repeated {
		if ok, result, err := w.recover(ctx, f, real); ok {
			return result, err
		}
	}
	if err := w.restorePrepared(ctx, q); err != nil {
		return nil, err
	}
	ctx = w.withKey(ctx, f, q)
	if f != nil && f.repeated {
		ctx = effect.WithRetry(ctx)
	}
	result, err = w.next.Perform(ctx, w.mapWithin(real))
	return w.mapResult(q, f, result, err)
}

// starts reports whether an effect is started without a waiting goroutine, if the performer can.
func starts(q effect.Request) bool {
	switch q.Kind() {
	case effect.KindSleep, effect.KindExchangeNext, effect.KindAwaitEmit, effect.KindAskHost:
		return true
	}
	return false
}

// Start starts an effect that waits; see effect.Starter.
func (w *world) Start(ctx context.Context, q effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	s, can := w.next.(effect.Starter)
	if !can {
		return nil, false
	}
	if !starts(q) {
		return nil, false
	}
	if q.Kind() == effect.KindAwaitEmit || q.Kind() == effect.KindAskHost {
		return w.askQuestion(ctx, s, q, done)
	}
	f := w.run.flightOf(q)
	real, result, err := w.mapRequest(ctx, q, f)
	switch {
	case errors.Is(err, vm.ErrSuspended): // the request stays pending
		return func() {}, true
	case real == nil:
		done(result, err)
		return func() {}, true
	}
	return s.Start(ctx, real, done)
}

// showLine outputs a line of the program.
func (w *world) showLine(ctx context.Context, channel string, payload []byte, q effect.Request) error {
	err := w.run.out.putOut(w.run, channel, payload, func(n int64) error {
		_, err := w.next.Perform(effect.WithOutput(ctx, n), q)
		return err
	})
	if err != nil { // the program could not handle this error, so the run is suspended
		w.run.Suspend(err)
		return vm.ErrSuspended
	}
	return nil
}

// flushBefore writes the journal before an effect that is visible outside the process.
func (w *world) flushBefore(ctx context.Context, q effect.Request) error {
	level, flushes := levelBefore(q)
	if w.run.c.Every && effect.ClassOf(q) == effect.ClassSettled { // the record by which a resumed run finds out whether it happened
		level = journal.Synced
	}
	if !flushes || w.run.flushJournal(level) == nil {
		return nil
	}
	if effect.Inline(q.Kind()) {
		return vm.ErrSuspended
	}
	return blocked(ctx)
}

// levelBefore returns how the journal must be flushed before an effect. flushes is false if it need
// not be.
func levelBefore(q effect.Request) (level journal.Level, flushes bool) {
	switch effect.ClassOf(q) {
	case effect.ClassRead, effect.ClassCut:
		return journal.Written, q.Kind() == effect.KindStreamOpen
	case effect.ClassOnce:
		return journal.Synced, true
	case effect.ClassWaits:
		if q.Kind() == effect.KindSleep || q.Kind() == effect.KindQueueWait {
			return journal.Written, true
		}
		return journal.Synced, true
	case effect.ClassKept:
		switch q := q.(type) {
		case *effect.ExchangeNext:
			return journal.Written, false
		case *effect.ExchangeReply:
			if !isApproval(q) {
				return journal.Written, true
			}
		case *effect.ExchangeClose:
			return journal.Written, true
		}
		return journal.Synced, true // after a power cut, no host receives a prompt or a message again
	}
	return journal.Written, true
}

// withKey adds the effect's key to the context of its performer.
func (w *world) withKey(ctx context.Context, f *inFlight, q effect.Request) context.Context {
	if f == nil || !effect.Lookup(q.Kind()).Keyed && !changesStore(q) {
		return ctx
	}
	return effect.WithKeysBefore(effect.WithKey(ctx, w.run.effectKey(f.e)), f.storesBefore)
}

// changesStore reports whether an effect changes a store in a file.
func changesStore(q effect.Request) bool {
	return effect.Lookup(q.Kind()).By == effect.Stores && effect.ClassOf(q) == effect.ClassSettled
}

// storeChanges contains the changes of stores that have begun and whose results the journal does
// not contain. Only the run's goroutine uses it.
type storeChanges map[int64]bool

// begin adds a change. The results of the changes before f.storesBefore are then in the journal.
func (s storeChanges) begin(f *inFlight, q effect.Request) {
	if changesStore(q) {
		s[f.e] = true
		f.storesBefore = slices.Min(slices.Collect(maps.Keys(s)))
	}
}

// mapRequest converts a request to the form of its performer. The performer's number replaces the
// number of an object. The remaining duration replaces the duration of a resumed timer. If the
// object was lost with an earlier process and cannot be reopened, mapRequest returns a nil request
// and the outcome for the program.
func (w *world) mapRequest(ctx context.Context, q effect.Request, f *inFlight) (effect.Request, effect.Result, error) {
	if s, ok := q.(*effect.Sleep); ok && f != nil && f.repeated {
		return &effect.Sleep{Milliseconds: max(f.expires-w.run.c.Writer.Time(), 0)}, nil, nil
	} else if ok {
		return s, nil, nil
	}
	n, ok := q.(effect.Numbered)
	if !ok || *n.Number() == 0 {
		return q, nil, nil
	}
	number, there := w.run.numbers.realNumber(q.Kind(), *n.Number())
	if !there && w.run.Err() != nil {
		return nil, nil, vm.ErrSuspended // the hosts may be alive, although this process does not reach them
	}
	if !there {
		handled, result, err := w.reopenObject(ctx, q)
		if !handled {
			return nil, result, err
		}
		number, _ = w.run.numbers.realNumber(q.Kind(), *n.Number())
	}
	copied := reflect.New(reflect.TypeOf(q).Elem())
	copied.Elem().Set(reflect.ValueOf(q).Elem())
	real := copied.Interface().(effect.Request)
	*real.(effect.Numbered).Number() = number
	return real, nil, nil
}

// mapWithin returns an opening with the performer's numbers of the exchanges that wait for it.
// Other requests remain as they are.
func (w *world) mapWithin(q effect.Request) effect.Request {
	open, ok := q.(*effect.ExchangeOpen)
	if !ok || len(open.Within) == 0 {
		return q
	}
	mapped := *open
	mapped.Within = nil
	for _, id := range open.Within {
		if real, there := w.run.numbers.realNumber(effect.KindExchangeNext, id); there {
			mapped.Within = append(mapped.Within, real)
		}
	}
	return &mapped
}

// mapResult converts a performer's result to the form of the program: its number and its time
// become those of the run.
func (w *world) mapResult(q effect.Request, f *inFlight, result effect.Result, err error) (effect.Result, error) {
	if now, ok := result.(*effect.Time); ok && err == nil {
		return w.run.clock.runTime(w.run, now), nil
	}
	n, ok := result.(effect.Numbered)
	if ok && err == nil && f != nil && *n.Number() != 0 {
		w.run.numbers.setReal(q.Kind(), f.e, *n.Number())
		*n.Number() = f.e
	}
	return result, err
}

// endedObjectResult returns the outcome of a request whose object was lost with an earlier process.
func endedObjectResult(q effect.Request) (effect.Result, error) {
	const was = "the run was interrupted while it was under way"
	switch q.Kind() {
	case effect.KindExchangeNext, effect.KindExchangeSteer, effect.KindExchangeContinue:
		return nil, effect.Errorf("HostError", "the host's process has exited: %s", was).With("code", "lost").With("recoverable", true)
	case effect.KindStreamNext:
		return nil, effect.Errorf("AgentError", "the model's stream has ended: %s", was).With("reason", "interrupted").With("retryable", true)
	case effect.KindMCPNext:
		return nil, effect.Errorf("ToolError", "the server of the call has exited: %s", was).With("reason", "failed")
	}
	return nil, nil
}

// isApproval reports whether a reply answers a host's request for approval.
func isApproval(q *effect.ExchangeReply) bool {
	return hostmsg.Lookup(q.InReplyTo).Form == hostmsg.YesNo
}
