package durable

import (
	"encoding/json"
	"errors"
	"path/filepath"
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
		if r.K == journal.KBegin {
			k.take(r)
		}
	}
	return k
}

// take returns the earlier question that the question with a begin record repeats, or nil.
func (k *carried) take(begin *journal.Record) *effect.CarriedQuestion {
	if k.of == nil || begin.Q != string(effect.KindAwaitEmit) {
		return nil
	}
	if c, asked := k.of[begin.E]; asked {
		return c
	}
	q := questionOf(begin)
	key := q.Channel + "\n" + string(q.Payload)
	var c *effect.CarriedQuestion
	if all := k.waiting[key]; len(all) > 0 {
		c, k.waiting[key] = &all[0], all[1:]
	}
	k.of[begin.E] = c
	return c
}

// continuesOf returns what the start record of a run contains about the run before it, or nil.
func continuesOf(h *journal.History) *journal.Continues {
	var f Flags
	_ = json.Unmarshal(h.Start().Flags, &f) // readStored reports an error
	return f.Continues
}

// Successor returns the successor of a run that has continued as a new run, or nil.
func (s *Stored) Successor() (*journal.Successor, error) {
	if !s.History.Continued() {
		return nil, nil
	}
	var end *journal.Record
	for _, r := range s.History.Records {
		if r.Q == string(effect.KindContinue) {
			end = r
		}
	}
	if end == nil {
		return nil, &journal.DamagedError{Where: s.History.LastPart(), Why: "the run has continued, but the record of that is missing"}
	}
	var asked effect.Continue
	var taken effect.Continued
	value, err := end.V, error(nil)
	if end.Blob != "" {
		value, err = s.Run.Blob(end.Blob)
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(end.R, &asked), json.Unmarshal(value, &taken))
	}
	if err != nil {
		return nil, err
	}
	return Successor(s.Start.Run, filepath.Base(s.Run.Name()), s.Flags.Continues, asked.Inputs, taken.Questions), nil
}

// Successor returns the successor of a run with an id and a name in the store. continues is that of
// the run. inputs and questions are what the run passes on.
func Successor(run, name string, continues *journal.Continues, inputs json.RawMessage, questions []effect.CarriedQuestion) *journal.Successor {
	before := 0
	if continues != nil {
		before = continues.N
	}
	return &journal.Successor{Run: journal.SuccessorName(run, before), Name: journal.SuccessorName(name, before), Inputs: inputs,
		Continues: &journal.Continues{Run: run, Name: name, N: before + 1, Questions: questions}}
}

// CarriedAs returns the id of the question of a run that repeats a question of the run before it.
// ok is false if the run has not asked it.
func CarriedAs(h *journal.History, id string) (again string, ok bool) {
	for e, c := range newCarried(continuesOf(h), h.Records).of {
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
	slices.SortFunc(open, func(a, b *journal.Record) int { return int(a.E - b.E) })
	for _, begin := range open {
		q := questionOf(begin)
		since := begin.T
		if earlier := r.carried.of[begin.E]; earlier != nil {
			since = earlier.Since
		}
		c.Questions = append(c.Questions, effect.CarriedQuestion{ID: q.ID, Channel: q.Channel, Payload: q.Payload, Since: since})
	}
	return c
}

// takeOver stores the answer to the earlier question that a question repeats, if that was answered.
// It returns the time at which the earlier question was asked, or 0 without one.
func (r *Run) takeOver(begin *journal.Record) (since int64, err error) {
	c := r.carried.take(begin)
	if c == nil {
		return 0, nil
	}
	a, err := r.c.Stored.Sibling(r.carried.from).Answer(c.ID)
	if err != nil || a == nil {
		return c.Since, err
	}
	a.Synced, a.Sum = 0, "" // describe the file in the other run
	err = r.c.Stored.PutAnswer(journal.QuestionID(begin.E), *a)
	if _, answered := errors.AsType[*journal.AnsweredError](err); answered {
		err = nil // an earlier process has stored it, or the question itself was answered
	}
	return c.Since, err
}
