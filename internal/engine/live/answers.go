package live

import (
	"context"
	"errors"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Answers passes the answers of `concerto top` to a run. A terminal, a relay or another part of the
// process is asked at the same time, and the first answer is used.
type Answers struct {
	// Number returns the number of the effect of a request.
	Number func(effect.Request) (e int64, known bool)

	mu   sync.Mutex
	open map[int64]*question
}

// NewAnswers returns the Answers of a run. The caller must set Number before the run begins.
func NewAnswers() *Answers { return &Answers{open: map[int64]*question{}} }

// question is a request that waits for an answer in this process.
type question struct {
	request effect.Request
	answer  *effect.Answer
	stop    func() // withdraws the request elsewhere
}

// IsAnswered reports whether Answers can answer a request.
func IsAnswered(q effect.Request) bool {
	switch q.(type) {
	case *effect.AwaitEmit, *effect.AskHost:
		return true
	}
	return false
}

// Layer returns the layer that adds the answers to those of the next performer.
func (a *Answers) Layer(next effect.Performer) effect.Performer { return &answering{next, a} }

type answering struct {
	effect.Performer
	answers *Answers
}

// Perform implements effect.Performer.
func (a *answering) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if !IsAnswered(r) {
		return a.Performer.Perform(ctx, r)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	end := a.answers.begin(r, stop)
	result, err := a.Performer.Perform(ctx, r)
	return end(result, err)
}

// Start implements effect.Starter.
func (a *answering) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	s, can := a.Performer.(effect.Starter)
	if !can {
		return nil, false
	}
	if !IsAnswered(r) {
		return s.Start(ctx, r, done)
	}
	started := make(chan struct{})
	end := a.answers.begin(r, func() {
		<-started
		stop()
	})
	stop, ok = s.Start(ctx, r, func(result effect.Result, err error) { done(end(result, err)) })
	if !ok {
		_, _ = end(nil, nil)
		stop = func() {}
	}
	close(started)
	return stop, ok
}

// begin registers a request. stop withdraws it elsewhere. The result of end, which must be called
// with the result from elsewhere, is the one to use.
func (a *Answers) begin(r effect.Request, stop func()) (end func(effect.Result, error) (effect.Result, error)) {
	e, known := a.Number(r)
	if !known { // not a request of the program
		return func(result effect.Result, err error) (effect.Result, error) { return result, err }
	}
	q := &question{request: r, stop: stop}
	a.mu.Lock()
	a.open[e] = q
	a.mu.Unlock()
	return func(result effect.Result, err error) (effect.Result, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.open[e] == q {
			delete(a.open, e)
		}
		if q.answer != nil {
			return q.answer, nil
		}
		return result, err
	}
}

// errNotOpen means that no part of the process waits for the answer to a request.
var errNotOpen = errors.New("the request is no longer open, or a handler of the program answers it")

// give answers the request of an effect. by is the name of the user.
func (a *Answers) give(e int64, text, by string) error {
	a.mu.Lock()
	q := a.open[e]
	if q == nil || q.answer != nil {
		a.mu.Unlock()
		return errNotOpen
	}
	answer := &effect.Answer{Value: value.AppendString(nil, text), By: effect.ByAnswer, Name: by}
	if await, ok := q.request.(*effect.AwaitEmit); ok && await.Asks == nil && await.Channel != effect.ToolApproval {
		answer.Typed, answer.Repeatable = true, true
	}
	q.answer = answer
	a.mu.Unlock()
	q.stop()
	return nil
}
