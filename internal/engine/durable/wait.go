package durable

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Asking says what becomes of a question that nobody answers.
type Asking struct {
	Park bool // it waits; and when the run waits for nothing else, it is parked
	Wait bool // it waits, and the run stays
	Here bool // somebody is asked by whoever runs the run
}

const (
	lookEvery   = 100 * time.Millisecond // for answers that other processes give
	parkAfter   = time.Second            // of waiting for nothing but answers and times
	parkNotNear = 10_000                 // ms: a timer that is due sooner is waited for
)

// Parked is why a run is suspended that waits for answers and times alone.
type Parked struct {
	Questions []Question
	Timers    []journal.Wait
}

func (e *Parked) Error() string {
	return fmt.Sprintf("the run waits for %d answers and %d timers", len(e.Questions), len(e.Timers))
}

func (e *Parked) waits() []journal.Wait {
	all := slices.Clone(e.Timers)
	for _, q := range e.Questions {
		all = append(all, journal.Wait{E: q.E, ID: q.ID})
	}
	slices.SortFunc(all, func(a, b journal.Wait) int { return int(a.E - b.E) })
	return all
}

// idleness is what the run waits for.
type idleness struct {
	run *Run

	mu        sync.Mutex
	under     map[int64]effect.Request // effects under way
	due       map[int64]int64          // of timers
	questions map[int64]*asked
	open      map[int64]int // what hosts have asked and is not answered, by exchange
	still     bool          // no task can go on
	moves     int64
	resumed   int64            // moves when the past was over; what has not moved since has nothing new
	answered  map[int64]string // questions that others have answered
	taken     []string         // those whose answers are among the records
	looking   bool
}

func (i *idleness) init(r *Run) {
	*i = idleness{run: r, under: map[int64]effect.Request{}, due: map[int64]int64{}, questions: map[int64]*asked{}, open: map[int64]int{}, answered: map[int64]string{}}
}

// began and ended follow what is under way.
func (i *idleness) began(f *flight, q effect.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.moves++
	i.still = false
	if effect.Inline(q.Kind()) {
		return
	}
	i.under[f.e] = q
	if f.due > 0 {
		i.due[f.e] = f.due
	}
}

// caughtUp is told that the past is over.
func (i *idleness) caughtUp() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.resumed = i.moves
}

// instead has an effect under way wait for what became of another one, f, until back is called.
func (i *idleness) instead(about, f *flight, open effect.Request) (back func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if about == nil || i.under[about.e] == nil {
		return func() {}
	}
	q := i.under[about.e]
	delete(i.under, about.e)
	i.under[f.e] = open
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.under, f.e)
		i.under[about.e] = q
		i.moves++
	}
}

// stands is told that the run itself waits for what became of an effect.
func (i *idleness) stands(f *flight, q effect.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.under[f.e], i.still = q, true
}

func (i *idleness) ended(e int64, q effect.Request, result effect.Result, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.moves++
	i.still = false
	delete(i.under, e)
	delete(i.due, e)
	switch q := q.(type) {
	case *effect.ExchangeNext:
		if m, ok := result.(*effect.ExchangeMessages); ok && err == nil {
			for n := range m.Messages {
				if x := hostmsg.Of(m.Messages[n].Type); x.Waits() && !m.Messages[n].Decided {
					i.open[q.ID]++
				}
			}
		}
	case *effect.ExchangeReply:
		i.open[q.ID]--
	}
}

// Waits is told that no task can go on.
func (r recorder) Waits() {
	_ = r.flush(journal.Written) // an error suspends the run
	r.out.noteLater(r.Run)
	i := &r.idle
	i.mu.Lock()
	defer i.mu.Unlock()
	i.still = true
	i.consider()
}

// consider has the run parked when it is seen to wait for nothing else. The caller holds mu.
func (i *idleness) consider() {
	if !i.still || !i.run.c.Asking.Park || !i.parkable() {
		return
	}
	if i.moves == i.resumed && i.run.c.History != nil {
		i.run.Suspend(i.parked()) // nothing is new
		return
	}
	moves := i.moves
	time.AfterFunc(parkAfter, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.moves == moves && i.still && i.parkable() {
			i.run.Suspend(i.parked())
		}
	})
}

// asked is what hosts have asked and is not answered, by exchange.
func (i *idleness) asked() map[int64]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := map[int64]int{}
	for of, n := range i.open {
		if n != 0 {
			all[of] = n
		}
	}
	return all
}

// parkable says whether everything under way waits for an answer that nobody here gives, or for
// a time that is far.
func (i *idleness) parkable() bool {
	if len(i.under) == 0 {
		return false
	}
	for _, x := range i.questions {
		if a, err := i.run.c.Dir.Given(x.ID); err != nil || a != nil {
			return false // it is about to be taken
		}
	}
	now := i.run.c.Writer.Time()
	for e, q := range i.under {
		switch q := q.(type) {
		case *effect.Sleep:
			if i.due[e] <= now+parkNotNear {
				return false
			}
		case *effect.ExchangeNext:
			if i.open[q.ID] <= 0 {
				return false
			}
		default:
			if x := i.questions[e]; x == nil || !x.waits {
				return false
			}
		}
	}
	return true
}

func (i *idleness) parked() *Parked {
	p := &Parked{}
	for _, x := range i.questions {
		p.Questions = append(p.Questions, x.Question)
	}
	slices.SortFunc(p.Questions, func(a, b Question) int { return int(a.E - b.E) })
	for e, due := range i.due {
		p.Timers = append(p.Timers, journal.Wait{E: e, Due: due})
	}
	return p
}
