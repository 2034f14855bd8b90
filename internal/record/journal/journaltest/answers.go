package journaltest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// answer returns an answer of the nth person.
func answer(n int) journal.Answer {
	return journal.Answer{Value: fmt.Appendf(nil, "%d", n), By: fmt.Sprint("person ", n), At: int64(n), Synced: 1}
}

// answers answers questions twice, and consumes one answer.
func answers(t *testing.T, s *Store) {
	w := s.begin(t, "r_1")
	other := s.Run("r_1") // the process that answers
	no := "no"
	refusal := journal.Answer{Refuse: &no, By: "Bob", At: 5}
	if a, err := other.Answer("q7"); a != nil || err != nil || journal.IsAnswered(other, "q7") {
		t.Errorf("Answer before PutAnswer = %+v, error %v", a, err)
	}
	must(t, other.PutAnswer("q7", answer(1)), other.PutAnswer("u8", refusal))
	err := other.PutAnswer("q7", answer(2))
	if first, ok := errors.AsType[*journal.AnsweredError](err); !ok || *first != (journal.AnsweredError{By: "person 1", At: 1}) {
		t.Errorf("second PutAnswer: error = %v, want an AnsweredError with the first answer", err)
	}
	a, err := s.Run("r_1").Answer("q7")
	if err != nil || a == nil || string(a.Value) != "1" || a.By != "person 1" || a.At != 1 || a.Synced != 1 || a.Refuse != nil {
		t.Errorf("Answer = %+v, error %v; want the first answer", a, err)
	}
	all, err := s.Run("r_1").Answers()
	if err != nil || len(all) != 2 || all["q7"] == nil || all["u8"] == nil || *all["u8"].Refuse != "no" {
		t.Errorf("Answers = %v, error %v", all, err)
	}
	w.Append(did(7))
	w.ConsumeAnswer("q7")
	if !journal.IsAnswered(s.Run("r_1"), "q7") {
		t.Error("ConsumeAnswer removed the answer before Flush wrote the record")
	}
	must(t, w.Flush(journal.Synced))
	s.wantEffects(t, "r_1", 7)
	if journal.IsAnswered(s.Run("r_1"), "q7") || !journal.IsAnswered(s.Run("r_1"), "u8") {
		t.Error("Flush did not remove exactly the consumed answer")
	}
	w.ConsumeAnswer("u8") // its record is written already
	must(t, w.Flush(journal.Synced))
	if journal.IsAnswered(s.Run("r_1"), "u8") {
		t.Error("Flush without records did not remove the consumed answer")
	}
	must(t, other.PutAnswer("q9", answer(1)), other.DropAnswer("q9"), other.DropAnswer("q9"), other.PutAnswer("q9", answer(2)))
	must(t, other.PutAnswer("q10", journal.Answer{Value: []byte("1"), By: "Bob"}))
	if a, err := s.Run("r_1").Answer("q10"); err != nil || a == nil || a.At == 0 {
		t.Errorf("Answer = %+v, error %v; want the time at which it was stored", a, err)
	}
	if a, err := s.Run("r_1").Answer("q9"); err != nil || cmp.Or(a, &journal.Answer{}).By != "person 2" {
		t.Errorf("Answer after DropAnswer and PutAnswer = %+v, error %v", a, err)
	}
}

// answersRace answers a question 200 times concurrently. One answer must win.
func answersRace(t *testing.T, s *Store) {
	s.begin(t, "r_1")
	errs := race(200, func(n int) error { return s.Run("r_1").PutAnswer("q1", answer(n)) })
	a, err := s.Run("r_1").Answer("q1")
	if err != nil || a == nil {
		t.Fatalf("Answer = %+v, error %v", a, err)
	}
	for n, err := range errs {
		first, answered := errors.AsType[*journal.AnsweredError](err)
		switch won := answer(n).By == a.By; {
		case won && err != nil:
			t.Errorf("answer %d is stored, but PutAnswer returned %v", n, err)
		case !won && (!answered || first.By != a.By || first.At != a.At):
			t.Errorf("answer %d is not stored, but PutAnswer returned %+v", n, err)
		}
	}
}

// race calls f n times concurrently and returns its results.
func race(n int, f func(n int) error) []error {
	errs := make([]error, n)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-begin
			errs[i] = f(i)
		})
	}
	close(begin)
	all.Wait()
	return errs
}

// stop requests twice that the run stops.
func stop(t *testing.T, s *Store) {
	w := s.begin(t, "r_1")
	s.begin(t, "r_2")
	if s.Run("r_1").IsStopRequested() {
		t.Error("IsStopRequested before RequestStop = true")
	}
	must(t, s.Run("r_1").RequestStop(), s.Run("r_1").RequestStop())
	if !s.Run("r_1").IsStopRequested() || s.Run("r_2").IsStopRequested() {
		t.Error("RequestStop did not request the stop of exactly its run")
	}
	must(t, w.Close())
}

// watch waits for an answer and for a request to stop, which another process stores.
func watch(t *testing.T, s *Store) {
	w := s.begin(t, "r_1")
	defer func() { must(t, w.Close()) }()
	other := s.Run("r_1") // the process that answers
	mine := s.Run("r_1")
	for _, x := range []struct {
		name   string
		change func() error
		isSeen func() bool
	}{
		{"answer", func() error { return other.PutAnswer("q1", answer(1)) }, func() bool { return journal.IsAnswered(mine, "q1") }},
		{"stop", other.RequestStop, mine.IsStopRequested},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{}, 1)
		var watching sync.WaitGroup
		watching.Go(func() {
			mine.Watch(ctx, func() {
				if x.isSeen() {
					cancel()
				}
				select {
				case started <- struct{}{}:
				default:
				}
			})
		})
		<-started // Watch reports the later change, also if it has just reported that there is none
		must(t, x.change())
		watching.Wait() // a watch that misses the change ends with the test's time limit
		if !x.isSeen() {
			t.Errorf("Watch ended before the %s was stored", x.name)
		}
	}
}
