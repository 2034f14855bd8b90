package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jsonschema"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// grace is the maximum wait for a handler to return after its call has ended.
const grace = time.Second

// ErrUnavailable is wrapped by the error of a handler that could not be reached. The outcome of the
// call is then unavailable instead of failed.
var ErrUnavailable = errors.New("the tool is not reachable")

// Causes with which the context of a handler is cancelled.
var (
	errTimeout = errors.New("timed out")
	errIdle    = errors.New("no progress")
	errOver    = errors.New("the call has ended")
)

// Run calls the handler within its limits and validates its output against the schema. It returns
// at most a second after ctx ends. For a call that was refused, or whose answer contains a result,
// it does not call the handler.
func (c *Call) Run(ctx context.Context) Ended {
	switch {
	case c.refused != nil:
		e := c.endWith(Result{Error: c.refused.why}, c.refused.outcome, false, 0)
		e.Stop = c.refused.stop
		return e
	case c.respond != nil:
		return c.endWith(Result{Success: true, Output: c.respond}, OutcomeOK, false, 0)
	case !c.s.registerCall():
		return c.endWith(Failure("%s was not called: %v", c.qualifiedName(), ErrClosed), OutcomeUnavailable, false, 0)
	}
	defer c.s.busy.Done()
	if ctx.Err() != nil {
		return c.endWith(Failure("%s", c.cancelled(context.Cause(ctx))), OutcomeCancelled, false, 0)
	}
	if most := c.s.hooks.MaxCalls; c.s.begun.Add(1) > most && most > 0 {
		c.overBudget()
		return c.endWith(Failure("%s", c.refused.why), OutcomeLimit, false, 0)
	}
	if e, ok := c.endInTest(); ok {
		return e
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	defer context.AfterFunc(c.s.ctx, func() { cancel(ErrClosed) })()
	handler, err := c.s.handlerOf(ctx, c.e)
	if err != nil {
		return c.unavailable(ctx, err)
	}
	free, err := c.awaitTurn(ctx)
	if err != nil {
		return c.unavailable(ctx, err)
	}
	defer free()
	e := c.runHandler(ctx, cancel, handler)
	c.e.stats.addCall(e.Duration, e.Outcome != OutcomeOK)
	return e
}

// unavailable returns the end of a call whose handler could not be created.
func (c *Call) unavailable(ctx context.Context, err error) Ended {
	if ctx.Err() != nil {
		return c.endWith(Failure("%s", c.cancelled(context.Cause(ctx))), OutcomeCancelled, false, 0)
	}
	return c.endWith(Failure("%v", err), OutcomeUnavailable, false, 0)
}

func (c *Call) cancelled(why error) string {
	if why == nil || why == context.Canceled {
		return fmt.Sprintf("tool '%s' was cancelled", c.qualifiedName())
	}
	return fmt.Sprintf("tool '%s' was cancelled: %v", c.qualifiedName(), why)
}

// awaitTurn waits until no other call of a sequential tool runs in the session. free ends the turn.
func (c *Call) awaitTurn(ctx context.Context) (free func(), err error) {
	if !c.e.def.Sequential {
		return func() {}, nil
	}
	c.s.mu.Lock()
	turn := c.s.turns[c.e]
	if turn == nil {
		if c.s.turns == nil {
			c.s.turns = map[*entry]chan struct{}{}
		}
		turn = make(chan struct{}, 1)
		c.s.turns[c.e] = turn
	}
	c.s.mu.Unlock()
	return acquirePlace(ctx, turn)
}

// acquirePlace waits until places has room and puts an element into it. free removes the element.
func acquirePlace(ctx context.Context, places chan struct{}) (free func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answer is the result or error of a handler.
type answer struct {
	result Result
	err    error
	late   bool
}

// runHandler runs the handler within its timeout, which includes the wait for MaxConcurrent.
func (c *Call) runHandler(ctx context.Context, cancel context.CancelCauseFunc, h Handler) Ended {
	clock := c.s.hooks.Clock
	began := clock.Now()
	defer clock.AfterFunc(c.e.def.Timeout, func() { cancel(errTimeout) }).Stop()
	if c.e.slots != nil {
		free, err := acquirePlace(ctx, c.e.slots)
		if err != nil {
			return c.cancelledEnd(ctx, false, clock.Now().Sub(began))
		}
		defer free()
	}
	r := newRunning(c, ctx, cancel)
	a, ended := c.callHandler(ctx, r, h)
	c.lacks = r.endReports()
	took := clock.Now().Sub(began)
	switch {
	case !ended:
		c.s.log("warn", fmt.Sprintf("tool '%s' is still running after its call %s has ended: its result will be dropped", c.qualifiedName(), c.ask.CallID))
		return c.cancelledEnd(ctx, true, took)
	case a.late:
		return c.cancelledEnd(ctx, true, took)
	}
	return c.answeredEnd(a, took)
}

// callHandler calls the handler, in a new goroutine unless the handler is prompt. ended reports
// whether the call had ended without waiting for the handler's answer.
func (c *Call) callHandler(ctx context.Context, r *running, h Handler) (a answer, ended bool) {
	ask := func() (a answer) {
		a.err = c.guarded(func() (err error) {
			a.result, err = h(r.ctx, json.RawMessage(c.args), r.context())
			return err
		})
		a.late = ctx.Err() != nil
		return a
	}
	if c.e.def.prompt {
		return ask(), true
	}
	done := make(chan answer, 1)
	go func() { done <- ask() }()
	return awaitAnswer(ctx, done, grace+c.e.def.grace)
}

// awaitAnswer waits until the handler answers. After the call has ended, it waits a little longer
// for the answer.
func awaitAnswer(ctx context.Context, done chan answer, more time.Duration) (a answer, ended bool) {
	select {
	case a = <-done:
		return a, true
	case <-ctx.Done():
	}
	t := time.NewTimer(more)
	defer t.Stop()
	select {
	case a = <-done:
		return a, true
	case <-t.C:
		return answer{}, false
	}
}

// guarded calls f and converts a panic to an error. It writes the stack to the log.
func (c *Call) guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.s.log("error", fmt.Sprintf("tool '%s' panicked: %v\n%s", c.qualifiedName(), p, debug.Stack()))
			err = fmt.Errorf("tool '%s' panicked: %v", c.qualifiedName(), p)
		}
	}()
	return f()
}

// cancelledEnd returns the end of a call whose ctx has ended.
func (c *Call) cancelledEnd(ctx context.Context, started bool, took time.Duration) Ended {
	switch why := context.Cause(ctx); why {
	case errTimeout:
		return c.endWith(Failure("tool '%s' timed out after %s s", c.qualifiedName(), formatSeconds(c.e.def.Timeout)), OutcomeTimeout, started, took)
	case errIdle:
		return c.endWith(Failure("tool '%s' timed out after %s s without progress", c.qualifiedName(), formatSeconds(c.e.def.IdleTimeout)), OutcomeTimeout, started, took)
	default:
		return c.endWith(Failure("%s", c.cancelled(why)), OutcomeCancelled, started, took)
	}
}

// answeredEnd returns the end of a call whose handler has answered.
func (c *Call) answeredEnd(a answer, took time.Duration) Ended {
	var args argumentsError
	if errors.As(a.err, &args) {
		return c.endWith(Failure("bad arguments for %s: %s", c.qualifiedName(), args.Error()), OutcomeArguments, true, took)
	}
	if errors.Is(a.err, ErrUnavailable) {
		return c.endWith(Failure("%v", a.err), OutcomeUnavailable, true, took)
	}
	if a.err != nil {
		return c.endWith(Result{Error: a.err.Error(), Metadata: c.metadata(a.result)}, OutcomeFailed, true, took)
	}
	r := a.result
	r.Metadata = c.metadata(r)
	if len(r.Output) == 0 {
		r.Output = nil
	}
	if why := c.badOutput(r); why != "" {
		return c.endWith(Result{Error: why, Metadata: r.Metadata}, OutcomeFailed, true, took)
	}
	if !r.Success {
		return c.endWith(r, OutcomeFailed, true, took)
	}
	return c.endWith(r, OutcomeOK, true, took)
}

// metadata returns the members of a result's metadata that can be encoded as JSON.
func (c *Call) metadata(r Result) map[string]any {
	if len(r.Metadata) == 0 {
		return nil
	}
	if _, err := jsonwrite.Encode(r.Metadata); err != nil {
		c.s.log("warn", fmt.Sprintf("the metadata of tool '%s' is ignored: %v", c.qualifiedName(), err))
		return nil
	}
	return r.Metadata
}

// badOutput returns the problem with the output, or "" if it is valid.
func (c *Call) badOutput(r Result) string {
	if r.Output != nil && !json.Valid(r.Output) {
		return fmt.Sprintf("tool '%s' returned an output that is not valid JSON", c.qualifiedName())
	}
	if c.e.output == nil || !r.Success {
		return ""
	}
	text := r.Output
	if text == nil {
		text = json.RawMessage("null")
	}
	v, err := jsonschema.Decode(text)
	if err != nil {
		return fmt.Sprintf("bad output of %s: %v", c.qualifiedName(), err)
	}
	if problems := c.e.output.Check(v); len(problems) > 0 {
		return fmt.Sprintf("bad output of %s: %s", c.qualifiedName(), jsonschema.FormatProblems(problems, mostProblems))
	}
	return ""
}
