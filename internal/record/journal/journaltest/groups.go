package journaltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// model is the expected content of a run.
type model struct {
	store *Store
	id    string
	w     journal.Writer
	// stored is what readers must receive. open is the group whose outcome is unknown. ahead was
	// added after it.
	stored, open, ahead addition
	isOpen              bool
	n                   int64 // number of effects so far
	steps               int
	unsynced            bool // an answer of a written record may still be stored
}

// addition is a part of a run's content.
type addition struct {
	effects  []int64
	out      []string
	consumed []string // questions that are answered by effects
	answers  []string // stored answers; only in model.stored
}

// plus returns the content after another addition.
func (a addition) plus(b addition) addition {
	return addition{
		effects: slices.Concat(a.effects, b.effects), out: slices.Concat(a.out, b.out), consumed: slices.Concat(a.consumed, b.consumed),
		answers: slices.DeleteFunc(slices.Clone(a.answers), func(id string) bool { return slices.Contains(b.consumed, id) }),
	}
}

// groups executes random operations on a run, and compares the run with a model after many of them.
func groups(t *testing.T, s *Store) {
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		m := &model{store: s, id: fmt.Sprint("r_", runs)}
		m.w = s.begin(t, m.id)
		defer func() { _ = m.w.Close() }() // a failed check leaves the run open
		actions := map[string]func(*rapid.T){
			"append": m.appendEffect, "out": m.addOut, "answer": m.putAnswer, "consume": m.consume, "flush": m.flush, "reopen": m.reopen, "": m.check,
		}
		if s.FailCommit != nil {
			actions["fail"] = m.fail
		}
		if s.Expire != nil {
			actions["expire"] = m.expire
		}
		t.Repeat(actions)
	})
}

// appendEffect appends one to five effects, some of them large.
func (m *model) appendEffect(t *rapid.T) {
	for range rapid.IntRange(1, 5).Draw(t, "effects") {
		m.n++
		r := did(m.n)
		if rapid.IntRange(0, 39).Draw(t, "large") == 0 {
			r.Result = fmt.Appendf(nil, `"%d%s"`, m.n, strings.Repeat("x", journal.BlobSize))
		}
		m.w.Append(r)
		m.ahead.effects = append(m.ahead.effects, m.n)
	}
}

func (m *model) addOut(t *rapid.T) {
	for range rapid.IntRange(1, 3).Draw(t, "lines") {
		line := outLine(len(m.stored.out) + len(m.open.out) + len(m.ahead.out) + 1)
		m.w.Out(line)
		m.ahead.out = append(m.ahead.out, line)
	}
}

func (m *model) putAnswer(t *rapid.T) {
	m.n++
	id := fmt.Sprint("q", m.n)
	must(t, m.store.Run(m.id).PutAnswer(id, answer(1)))
	m.stored.answers = append(m.stored.answers, id)
}

// consume appends the effect that a question waits for.
func (m *model) consume(t *rapid.T) {
	left := m.stored.plus(m.open).plus(m.ahead).answers
	if len(left) == 0 {
		t.Skip("no question is answered")
	}
	id := rapid.SampledFrom(left).Draw(t, "question")
	m.appendEffect(t)
	m.w.ConsumeAnswer(id)
	m.ahead.consumed = append(m.ahead.consumed, id)
}

func (m *model) flush(t *rapid.T) {
	level := journal.Written
	if rapid.IntRange(0, 9).Draw(t, "synced") == 0 {
		level = journal.Synced
	}
	m.flushAt(t, level)
}

func (m *model) flushAt(t *rapid.T, level journal.Level) {
	must(t, m.w.Flush(level))
	m.unsynced = level != journal.Synced && !m.store.IsWhole && (m.unsynced || len(m.open.plus(m.ahead).consumed) > 0)
	m.stored = m.stored.plus(m.open).plus(m.ahead)
	m.open, m.ahead, m.isOpen = addition{}, addition{}, false
}

// fail flushes with a commit that fails.
func (m *model) fail(t *rapid.T) {
	next := m.open
	if !m.isOpen {
		next = m.ahead
	}
	if len(next.effects) == 0 && len(next.out) == 0 {
		t.Skip("the group is empty")
	}
	stored := rapid.Bool().Draw(t, "stored")
	m.store.FailCommit(stored)
	if err := m.w.Flush(journal.Written); err == nil || errors.Is(err, journal.ErrFenced) {
		t.Fatalf("Flush whose commit failed: error = %v", err)
	}
	if !m.isOpen {
		m.open, m.ahead, m.isOpen = m.ahead, addition{}, true
	}
	if stored {
		m.stored, m.open = m.stored.plus(m.open), addition{}
	}
}

// reopen closes the Writer, which loses everything that is not stored, and opens the run again.
func (m *model) reopen(t *rapid.T) {
	if m.unsynced {
		m.flushAt(t, journal.Synced)
	}
	must(t, m.w.Close())
	m.takeOver(t)
}

// expire opens the run while it has a Writer. That Writer must then fail.
func (m *model) expire(t *rapid.T) {
	m.store.Expire(m.id)
	old := m.w
	m.takeOver(t)
	m.n++
	old.Append(did(m.n))
	wantFenced(t, old)
}

func (m *model) takeOver(t *rapid.T) {
	w, h := m.store.reopen(t, m.id)
	m.w, m.open, m.ahead, m.isOpen = w, addition{}, addition{}, false
	if got := effects(h); !slices.Equal(got, m.stored.effects) {
		t.Fatalf("effects after Open = %v, want %v", got, m.stored.effects)
	}
	for _, x := range h.Records {
		if x.Blob == "" {
			continue
		}
		if text, err := m.store.Run(m.id).Blob(x.Blob); err != nil || !strings.HasPrefix(string(text), fmt.Sprintf(`"%dx`, x.Effect)) {
			t.Fatalf("blob of effect %d: %d bytes, error %v", x.Effect, len(text), err)
		}
	}
}

// check compares the stored run with the model, after every third operation.
func (m *model) check(t *rapid.T) {
	if m.steps++; m.steps%3 != 0 {
		return
	}
	m.store.wantEffects(t, m.id, m.stored.effects...)
	r := m.store.Run(m.id)
	if out, torn, err := r.Out(); err != nil || torn > 0 || !slices.Equal(out, m.stored.out) {
		t.Fatalf("output = %v, %d incomplete bytes, error %v; want %v", out, torn, err, m.stored.out)
	}
	answers, err := r.Answers()
	must(t, err)
	for _, id := range m.stored.answers {
		if answers[id] == nil {
			t.Fatalf("answers = %v, want %v", answers, m.stored.answers)
		}
	}
	if len(answers) != len(m.stored.answers) && !m.unsynced {
		t.Fatalf("answers = %v, want only %v", answers, m.stored.answers)
	}
}

// readers reads a run while groups are written. A group contains a record that consumes an answer,
// records of the same effect, a line of output and a large value.
func readers(t *testing.T, s *Store) {
	const rounds, members = 40, 8
	w := s.begin(t, "r_1")
	var flushed atomic.Int64
	var done atomic.Bool
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for last := false; !last; {
				last = done.Load()
				s.readOnce(t, flushed.Load(), members)
			}
		})
	}
	for n := range int64(rounds) {
		id := fmt.Sprint("q", n+1)
		must(t, s.Run("r_1").PutAnswer(id, answer(1)))
		for i := range members {
			r := did(n + 1)
			if i == 0 && n%8 == 0 {
				r.Result = fmt.Appendf(nil, `"%d%s"`, n, strings.Repeat("x", journal.BlobSize))
			}
			w.Append(r)
		}
		w.ConsumeAnswer(id)
		w.Out(outLine(int(n) + 1))
		must(t, w.Flush(journal.Written))
		flushed.Store(n + 1)
	}
	done.Store(true)
	all.Wait()
	s.wantOut(t, "r_1", rounds)
}

// readOnce reads the run of readers, of which least groups were flushed. A part of the run that is
// read later must not be older than a part that was read before.
func (s *Store) readOnce(t *testing.T, least int64, members int) {
	r := s.Run("r_1")
	answers, aerr := r.Answers()
	before, _, oerr := r.Out()
	h, err := r.Read()
	after, _, oerr2 := r.Out()
	if err := errors.Join(aerr, oerr, err, oerr2); err != nil {
		t.Error(err)
		return
	}
	all := effects(h)
	n := int64(len(all) / members) // number of whole groups
	if len(all)%members != 0 && s.IsWhole {
		t.Errorf("the journal has %d records of groups of %d", len(all), members)
	}
	if n < least || int64(len(before)) < least {
		t.Errorf("the journal has %d groups and the output %d lines, but %d were flushed", n, len(before), least)
	}
	if n < int64(len(before)) || s.IsWhole && int64(len(after)) < n {
		t.Errorf("the journal has %d groups; the output had %d lines before it was read, and %d after", n, len(before), len(after))
	}
	for e := int64(1); e <= least && s.IsWhole; e++ {
		if answers[fmt.Sprint("q", e)] != nil {
			t.Errorf("the answer to question %d is stored, although group %d was flushed", e, e)
		}
	}
	for i, x := range h.Records[1:] {
		if want := int64(i/members) + 1; x.Effect != want {
			t.Errorf("record %d belongs to group %d, want %d", x.Seq, x.Effect, want)
			return
		}
		if x.Blob != "" {
			if _, err := r.Blob(x.Blob); err != nil {
				t.Errorf("record %d names a blob that is not stored: %v", x.Seq, err)
			}
		}
	}
}

// ledger appends lines to the ledger and removes some of them, in groups whose outcome is unknown.
func ledger(t *testing.T, s *Store) {
	w := s.begin(t, "r_1")
	l, ok := w.(journal.LedgerWriter)
	if !ok {
		must(t, w.Close())
		t.Skip("the store does not contain the ledger")
	}
	want := func(l journal.LedgerWriter, want ...string) {
		t.Helper()
		got, err := l.Ledger()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("ledger = %q, error %v; want %q", got, err, want)
		}
	}
	want(l)
	l.AppendLedger("a")
	w.Append(did(1))
	l.AppendLedger("b")
	must(t, w.Flush(journal.Synced))
	l.AppendLedger("c") // a group of its own
	must(t, w.Flush(journal.Written))
	l.AppendLedger("d")
	want(l, "a", "b", "c", "d")
	must(t, w.Close()) // d is lost: it was not flushed
	w, _ = s.reopen(t, "r_1")
	l = w.(journal.LedgerWriter)
	want(l, "a", "b", "c")
	for _, stored := range []bool{false, true} {
		l.TruncateLedger(2)
		l.AppendLedger("e")
		l.TruncateLedger(1)
		l.AppendLedger("f")
		w.Append(did(2))
		s.FailCommit(stored)
		if err := w.Flush(journal.Synced); err == nil {
			t.Fatal("Flush did not return the error of the commit")
		}
		l.AppendLedger("g")
		must(t, w.Flush(journal.Synced))
		want(l, "a", "f", "g")
	}
	l.TruncateLedger(1)
	must(t, w.Flush(journal.Synced), w.Close())
	w, _ = s.reopen(t, "r_1")
	want(w.(journal.LedgerWriter), "a")
	s.Expire("r_1")
	other, _ := s.reopen(t, "r_1")
	w.(journal.LedgerWriter).AppendLedger("late")
	if err := w.Flush(journal.Synced); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("Flush of an earlier owner: error = %v, want ErrFenced", err)
	}
	want(other.(journal.LedgerWriter), "a")
	must(t, other.Close())
}
