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

// Asking configures what the run does about an unanswered question.
type Asking struct {
	Park bool // suspend the run when it waits only for answers and distant timers
	Wait bool // wait for the answer, without suspending the run
	Here bool // this process can ask the question, for example on its terminal
}

const (
	ParkAfter   = time.Second // time without progress before the run is parked
	parkNotNear = 10_000      // in milliseconds; the run is not parked if a timer expires earlier
)

// Parked is the reason for the suspension of a run that waits only for answers and distant timers.
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
		all = append(all, journal.Wait{Effect: q.E, ID: q.ID})
	}
	slices.SortFunc(all, func(a, b journal.Wait) int { return int(a.Effect - b.Effect) })
	return all
}

// parking tracks whether the run waits only for answers and distant timers.
type parking struct {
	run *Run

	mu               sync.Mutex
	running          map[int64]effect.Request // running effects by number
	unflushed        map[int64]bool           // running effects whose flush of the journal has not begun
	timers           map[int64]int64          // expiry of timers by effect, in Unix milliseconds
	questions        map[int64]*openQuestion
	open             map[int64][]string // IDs of unanswered requests of hosts by exchange
	isWaiting        bool               // no task of the program can continue
	progress         int64
	progressAtResume int64            // value of progress at the end of the replay; if equal, the program has made no progress since
	listed           map[int64]string // ids of the open questions that the store lists, by effect
	asked            map[int64]string // ids of the questions whose end is not in the journal, by effect
	hasAsked         bool             // this process has asked a question
}

func (i *parking) init(r *Run) {
	*i = parking{run: r, running: map[int64]effect.Request{}, unflushed: map[int64]bool{}, timers: map[int64]int64{}, questions: map[int64]*openQuestion{}, open: map[int64][]string{}, listed: map[int64]string{}, asked: map[int64]string{}}
}

// addEffect adds a running effect. removeEffect removes it.
func (i *parking) addEffect(f *inFlight, q effect.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.progress++
	i.isWaiting = false
	if effect.Inline(q.Kind()) {
		return
	}
	i.running[f.e] = q
	if _, flushes := levelBefore(q); flushes && begins(q) && !starts(q) && i.run.live {
		i.unflushed[f.e] = true
	}
	if f.expires > 0 {
		i.timers[f.e] = f.expires
	}
}

// beginFlush notes that an effect begins to flush the journal. The flush may not contain the
// records that are appended from now on.
func (i *parking) beginFlush(e int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.unflushed, e)
}

// willFlush reports whether an effect will flush all records that exist now.
func (i *parking) willFlush() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.unflushed) > 0
}

// caughtUp marks the end of the replay.
func (i *parking) caughtUp() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.progressAtResume = i.progress
}

// waitInstead replaces the running effect about by the effect f, whose outcome is in question,
// until back is called.
func (i *parking) waitInstead(about, f *inFlight, open effect.Request) (back func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if about == nil || i.running[about.e] == nil {
		return func() {}
	}
	q := i.running[about.e]
	delete(i.running, about.e)
	i.running[f.e] = open
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.running, f.e)
		i.running[about.e] = q
		i.progress++
	}
}

// waitForOutcome marks the run as waiting for a decision about the outcome of effect f.
func (i *parking) waitForOutcome(f *inFlight, q effect.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running[f.e], i.isWaiting = q, true
}

func (i *parking) removeEffect(e int64, q effect.Request, result effect.Result, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.progress++
	i.isWaiting = false
	delete(i.running, e)
	delete(i.unflushed, e)
	delete(i.timers, e)
	switch q := q.(type) {
	case *effect.ExchangeNext:
		if m, ok := result.(*effect.ExchangeMessages); ok && err == nil {
			for n := range m.Messages {
				i.noteMessage(q.ID, &m.Messages[n])
			}
		}
	case *effect.ExchangeReply:
		i.removeRequest(q.ID, q.AnswerTo)
	}
}

// noteMessage notes a message of a host, if it is a request or withdraws one. The caller must hold
// mu.
func (i *parking) noteMessage(exchange int64, m *effect.HostMessage) {
	switch x := hostmsg.Lookup(m.Type); {
	case x.Waits() && !m.Decided:
		i.open[exchange] = append(i.open[exchange], m.ID)
	case x.Role == hostmsg.Withdraws && !m.IsMoved():
		i.removeRequest(exchange, m.ID)
	}
}

// removeRequest removes a request that was answered or withdrawn. The caller must hold mu.
func (i *parking) removeRequest(exchange int64, id string) {
	if at := slices.Index(i.open[exchange], id); at >= 0 {
		i.open[exchange] = slices.Delete(i.open[exchange], at, at+1)
	}
}

// OnIdle handles that no task of the program can continue.
func (r recorder) OnIdle() {
	i := &r.parking
	if !i.willFlush() { // two transactions instead of one would make an effect slower
		_ = r.flushJournal(journal.Written) // ignored because an error suspends the run
	}
	r.out.noteLater(r.Run)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.isWaiting = true
	i.parkIfIdle()
}

// parkIfIdle parks the run if it waits only for answers and distant timers. The caller must hold
// mu.
func (i *parking) parkIfIdle() {
	if !i.isWaiting || !i.run.c.Asking.Park {
		return
	}
	parkable, err := i.parkable()
	if err == nil && !parkable {
		return
	}
	if err == nil && i.progress == i.progressAtResume && i.run.c.History != nil {
		i.run.Suspend(i.parkReason()) // nothing has happened since the replay, so there is no need to wait
		return
	}
	i.parkLater(i.progress)
}

// parkLater parks the run after a while if it has made no progress since then. progress is that of
// now.
func (i *parking) parkLater(progress int64) {
	after := ParkAfter
	if short := i.run.c.ParkAfter; short != nil {
		after = short()
	}
	time.AfterFunc(after, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.progress != progress || !i.isWaiting || i.run.Err() != nil {
			return
		}
		switch parkable, err := i.parkable(); {
		case err != nil:
			i.parkLater(progress) // the store may be available again
		case parkable:
			i.run.Suspend(i.parkReason())
		}
	})
}

// parkable reports whether every running effect waits for an answer that another process must
// write, or for a distant time. The error is that of the store, which must contain no answer.
func (i *parking) parkable() (bool, error) {
	if len(i.running) == 0 {
		return false, nil
	}
	for _, x := range i.questions {
		if a, err := storedAnswer(i.run, x); err != nil || a != nil {
			return false, err // if the answer exists, the run will continue
		}
	}
	now := i.run.c.Writer.Time()
	for e, q := range i.running {
		switch q := q.(type) {
		case *effect.Sleep:
			if i.timers[e] <= now+parkNotNear {
				return false, nil
			}
		case *effect.ExchangeNext:
			if len(i.open[q.ID]) == 0 {
				return false, nil
			}
		default:
			if x := i.questions[e]; x == nil || !x.waits {
				return false, nil
			}
		}
	}
	return true, nil
}

// parkReason returns what the run waits for.
func (i *parking) parkReason() *Parked {
	p := &Parked{}
	for _, x := range i.questions {
		p.Questions = append(p.Questions, x.Question)
	}
	slices.SortFunc(p.Questions, func(a, b Question) int { return int(a.E - b.E) })
	for e, at := range i.timers {
		p.Timers = append(p.Timers, journal.Wait{Effect: e, Due: at})
	}
	return p
}
