package vm

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// UsageNative is the name of the native that returns what a task has used. Uses are counted only in
// programs that call it.
const UsageNative = "run.usage"

// uses counts what tasks use of models and hosts. A nil *uses counts nothing.
type uses struct {
	of    map[*task]*use
	meter effect.Meter
}

// use is what a task and the tasks that it has started have used.
type use struct {
	cost, in, out int64 // cost in units of 10⁻¹² US dollars, and tokens
	starter       *use  // use of the task that started the task; nil for none
	ended         bool
}

func newUses() *uses {
	return &uses{of: map[*task]*use{}}
}

// useOf returns the use of a live task.
func (u *uses) useOf(t *task) *use {
	x := u.of[t]
	if x == nil {
		x = &use{}
		u.of[t] = x
	}
	return x
}

// started notes that the task by has started t.
func (u *uses) started(t, by *task) {
	if u != nil {
		starter := u.useOf(by)
		starter.skipEnded()
		u.of[t] = &use{starter: starter}
	}
}

// end removes a task that has ended. From now on, the use of the tasks that it started counts for
// the task that started it.
func (u *uses) end(t *task) {
	if u == nil {
		return
	}
	if x := u.of[t]; x != nil {
		x.ended = true
		delete(u.of, t)
	}
}

// skipEnded replaces starters of x that have ended by those that started them.
func (x *use) skipEnded() {
	for x.starter != nil && x.starter.ended {
		x.starter = x.starter.starter
	}
}

// observed returns a function that counts the result of a request of t, and passes it to next,
// which may be nil. The result may arrive after the end of the task.
func (u *uses) observed(t *task, r effect.Request, next func(effect.Result, error)) func(effect.Result, error) {
	if u == nil {
		return next
	}
	of := u.useOf(t)
	return func(result effect.Result, err error) {
		u.meter.Add(r, result, err, func(more effect.Use) {
			for x := of; x != nil; x = x.starter {
				x.skipEnded()
				x.cost, x.in, x.out = x.cost+more.Cost, x.in+more.TokensIn, x.out+more.TokensOut
			}
		})
		if next != nil {
			next(result, err)
		}
	}
}

// Usage returns what the current task and the tasks that it has started have used of models and
// hosts: the cost in US dollars, and input and output tokens.
func (a *Args) Usage() (usd float64, in, out int64) {
	x := a.vm.uses.useOf(a.vm.sched.current)
	return float64(x.cost) / models.Dollar, x.in, x.out
}
