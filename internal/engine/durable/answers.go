package durable

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Question is a request that waits for an answer.
type Question struct {
	E       int64
	ID      string // "q" and the effect's number; for the outcome of an effect, "u" and its number
	Channel string
	Payload []byte // JSON; nil if there is no payload
}

// openQuestion is a question of this process that has no answer so far.
type openQuestion struct {
	Question
	schema []byte                // JSON Schema of the answer; nil if any value is possible
	answer func(*journal.Answer) // completes the question; only the first call has an effect
	show   func() error          // prints the question if another process answers it first; nil if the question is already printed
	waits  bool                  // no handler in this process answers the question, so only another process can
}

// askQuestion starts an awaited emit or a request of a host as a question. This process or another
// one can answer it. stop withdraws the question.
func (w *world) askQuestion(ctx context.Context, s effect.Starter, q effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	f := w.run.flightOf(q)
	var earlier *effect.CarriedQuestion
	if f.begin != nil {
		earlier = w.run.carried.take(f.begin)
		w.run.listQuestion(f.e, questionOf(f.begin), earlier)
	}
	// An answer to the earlier question that is stored after the following read is passed on by the
	// command that stores it, which finds this question in the journal.
	if w.run.flushJournal(journal.Synced) != nil || w.run.takeAnswer(f.e, earlier) != nil { // the run is being suspended
		return func() { done(nil, context.Canceled) }, true
	}
	x := &openQuestion{Question: Question{E: f.e, ID: journal.QuestionID(f.e)}}
	a, emits := q.(*effect.AwaitEmit)
	if emits {
		x.Channel, x.Payload, x.schema = a.Channel, w.run.clean(a.Payload), a.Schema
		if a.Misfit == "" && !f.repeated {
			x.show = func() error {
				return w.run.out.putOut(w.run, a.Channel, a.Payload, func(n int64) error {
					return w.run.print(&effect.Emit{Channel: a.Channel, Payload: a.Payload, From: a.From}, n)
				})
			}
		}
	} else if h, ok := q.(*effect.AskHost); ok {
		x.Channel, x.Payload = hostmsg.Lookup(h.Type).Channel, w.run.clean(h.Message)
	}
	stop = w.startQuestion(ctx, x, done, func(done func(effect.Result, error)) (func(), bool) {
		if !emits || a.Misfit != "" {
			return s.Start(ctx, q, done)
		}
		if f.repeated {
			return s.Start(effect.WithSent(ctx), q, done)
		}
		var end func()
		ok := false
		err := w.run.out.putOut(w.run, a.Channel, a.Payload, func(n int64) error {
			end, ok = s.Start(effect.WithOutput(ctx, n), q, done)
			return nil
		})
		if err != nil {
			return func() {}, false
		}
		return end, ok
	})
	return stop, true
}

// startQuestion registers a question. It calls start to ask the question in this process, unless
// another process has already answered it.
func (w *world) startQuestion(ctx context.Context, x *openQuestion, done func(effect.Result, error), start func(func(effect.Result, error)) (func(), bool)) (stop func()) {
	var once sync.Once
	i := &w.run.parking
	i.mu.Lock()
	i.asked[x.E], i.hasAsked = x.ID, true
	i.mu.Unlock()
	finish := func(result effect.Result, err error) {
		once.Do(func() {
			i.mu.Lock()
			delete(i.questions, x.E)
			i.mu.Unlock()
			done(result, err)
		})
	}
	if a, err := storedAnswer(w.run, x); err == nil && a != nil { // another process has already answered the question
		if x.show != nil {
			if err := x.show(); err != nil {
				w.run.Suspend(err)
				return func() { done(nil, context.Canceled) }
			}
		}
		done(answerResult(x.Channel, a))
		return func() {}
	}
	ended := make(chan struct{})
	var end func()
	x.answer = func(a *journal.Answer) {
		once.Do(func() {
			i.mu.Lock()
			delete(i.questions, x.E)
			i.mu.Unlock()
			<-ended
			if end != nil {
				end()
			}
			done(answerResult(x.Channel, a))
		})
	}
	i.mu.Lock()
	i.questions[x.E] = x
	i.mu.Unlock()
	end, ok := start(func(result effect.Result, err error) {
		if e := programError(err); e != nil && e.Fields["reason"] == "no_listener" && (w.run.c.Asking.Park || w.run.c.Asking.Wait) {
			i.mu.Lock()
			x.waits = true
			i.parkIfIdle()
			i.mu.Unlock()
			return
		}
		finish(result, err)
	})
	close(ended)
	if !ok {
		return func() { finish(nil, context.Canceled) }
	}
	return func() {
		end()
		finish(nil, context.Canceled)
	}
}

// storedAnswer returns the answer of another process to a question, or nil. It removes an answer
// that is not a value of the question's type, for example one in a file that was written by hand,
// so that the question can be answered again.
func storedAnswer(r *Run, x *openQuestion) (*journal.Answer, error) {
	a, err := r.c.Stored.Answer(x.ID)
	if err != nil || a == nil || a.Refuse != nil {
		return a, err
	}
	invalid := schema.CheckAnswer(a.Value, x.schema)
	if invalid == nil {
		return a, nil
	}
	r.c.Remark(fmt.Sprintf("removed the answer to %s, which is not valid: %v; answer again", x.ID, invalid))
	return nil, r.c.Stored.DropAnswer(x.ID)
}

// answerResult returns the result of an awaited emit for an answer of another process.
func answerResult(channel string, a *journal.Answer) (effect.Result, error) {
	if a.Refuse != nil {
		return nil, effect.Errorf("EmitError", "%s", *a.Refuse).With("channel", channel).With("reason", "refused").Decided(effect.ByAnswer, a.By, nil)
	}
	return &effect.Answer{Value: a.Value, By: effect.ByAnswer, Name: a.By}, nil
}

// ApplyAnswers completes the open questions that other processes have answered, in their order.
func (r *Run) ApplyAnswers() {
	i := &r.parking
	i.mu.Lock()
	questions := maps.Clone(i.questions)
	i.mu.Unlock()
	for _, e := range slices.Sorted(maps.Keys(questions)) {
		x := questions[e]
		a, err := storedAnswer(r, x)
		if err != nil {
			r.Suspend(err)
			return
		}
		if a != nil {
			x.answer(a)
		}
	}
}

// listQuestion adds the question about effect e to the open questions, if the store lists them.
// earlier is the question that it repeats; nil if there is none.
func (r *Run) listQuestion(e int64, q ShownQuestion, earlier *effect.CarriedQuestion) {
	w, ok := r.c.Writer.(journal.QuestionWriter)
	if !ok {
		return
	}
	since := r.c.Writer.Time()
	if earlier != nil {
		since = earlier.Since
	}
	r.parking.mu.Lock()
	r.parking.listed[e] = q.ID
	r.parking.mu.Unlock()
	w.Ask(journal.Question{ID: q.ID, Channel: q.Channel, Payload: q.Payload, Type: q.Type, Schema: q.schema, Since: since})
}

// carry leaves the answer to the question of effect e to the run's successor.
func (i *parking) carry(e int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.asked, e)
}

// markJournaled must be called after the result of effect e was appended to the journal. An answer
// to the question of that effect is then no longer needed, also one that another process has stored
// since the question ended in another way.
func (i *parking) markJournaled(e int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if id, ok := i.listed[e]; ok {
		delete(i.listed, e)
		i.run.c.Writer.(journal.QuestionWriter).EndQuestion(id)
	}
	if id, ok := i.asked[e]; ok {
		delete(i.asked, e)
		i.run.c.Writer.ConsumeAnswer(id)
	}
}
