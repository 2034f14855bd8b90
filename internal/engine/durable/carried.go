package durable

import (
	"errors"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// carried assigns the questions that were open in the earlier run to the questions of its successor
// with the same channel and payload, in the order in which both were asked.
type carried struct {
	from string // name of the earlier run in the store
	// questions that have no effect so far, by channel and payload
	waiting map[string][]effect.CarriedQuestion
	of      map[int64]*effect.CarriedQuestion // by effect
}

// newCarried returns the questions that a run has taken over, of which it has asked those in the
// records. c is nil if the run is no successor.
func newCarried(c *journal.Continues, records []*journal.Record) carried {
	if c == nil || len(c.Questions) == 0 {
		return carried{}
	}
	k := carried{from: c.Name, waiting: map[string][]effect.CarriedQuestion{}, of: map[int64]*effect.CarriedQuestion{}}
	for _, q := range c.Questions {
		key := q.Channel + "\n" + string(q.Payload)
		k.waiting[key] = append(k.waiting[key], q)
	}
	for _, r := range records {
		if r.RecordKind == journal.KBegin {
			k.take(r)
		}
	}
	return k
}

// take returns the earlier question that the question with a begin record repeats, or nil.
func (k *carried) take(begin *journal.Record) *effect.CarriedQuestion {
	if k.of == nil || begin.Kind != string(effect.KindAwaitEmit) {
		return nil
	}
	if c, asked := k.of[begin.Effect]; asked {
		return c
	}
	q := questionOf(begin)
	key := q.Channel + "\n" + string(q.Payload)
	var c *effect.CarriedQuestion
	if all := k.waiting[key]; len(all) > 0 {
		c, k.waiting[key] = &all[0], all[1:]
	}
	k.of[begin.Effect] = c
	return c
}

// CarriedAs returns the id of the question of a run that repeats a question of the run before it.
// ok is false if the run has not asked it.
func (s *Stored) CarriedAs(id string) (again string, ok bool) {
	for e, c := range newCarried(s.Flags.Continues, s.History.Records).of {
		if c != nil && c.ID == id {
			return journal.QuestionID(e), true
		}
	}
	return "", false
}

// carriedQuestions returns the questions that are open now, for the run's successor.
func (r *Run) carriedQuestions() *effect.Continued {
	c := &effect.Continued{}
	r.flights.mu.Lock()
	defer r.flights.mu.Unlock()
	var open []*journal.Record
	for q, f := range r.flights.all {
		if q.Kind() == effect.KindAwaitEmit && f.begin != nil {
			open = append(open, f.begin)
		}
	}
	slices.SortFunc(open, func(a, b *journal.Record) int { return int(a.Effect - b.Effect) })
	for _, begin := range open {
		q := questionOf(begin)
		since := begin.Time
		if earlier := r.carried.of[begin.Effect]; earlier != nil {
			since = earlier.Since
		}
		c.Questions = append(c.Questions, effect.CarriedQuestion{ID: q.ID, Channel: q.Channel, Payload: q.Payload, Since: since})
		r.parking.carry(begin.Effect)
	}
	return c
}

// takeAnswer stores the answer to an earlier question as that of effect e, which repeats it.
// earlier may be nil. An error suspends the run.
func (r *Run) takeAnswer(e int64, earlier *effect.CarriedQuestion) error {
	if earlier == nil {
		return nil
	}
	a, err := r.c.Stored.Sibling(r.carried.from).Answer(earlier.ID)
	if err == nil && a != nil {
		a.Synced, a.Seen, a.Sum = 0, 0, "" // describe the file in the other run
		err = r.c.Stored.PutAnswer(journal.QuestionID(e), *a)
	}
	if _, answered := errors.AsType[*journal.AnsweredError](err); answered || err == nil {
		return nil // an earlier process has stored it, or the question itself was answered
	}
	r.Suspend(&Unwritable{err})
	return err
}
