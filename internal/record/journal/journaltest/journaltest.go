// Package journaltest is the conformance suite of the stores of runs: it checks the guarantees of
// journal.Run and journal.Writer.
package journaltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Store is a store under test.
type Store struct {
	// Run returns the run with an id. Each call returns a new value, as another process would use.
	Run func(id string) journal.Run
	// IsWhole means that readers never receive a part of a group.
	IsWhole bool
	// Expire allows another process to open a run, without notifying its owner. nil means that a
	// run has an owner until the owner closes its Writer or exits.
	Expire func(id string)
	// FailCommit lets the next transaction of a Writer fail. stored means that the transaction is
	// stored nevertheless. nil means that the store has no transactions with unknown outcome.
	FailCommit func(stored bool)
}

// Test tests a store. open returns an empty store.
func Test(t *testing.T, open func(t *testing.T) *Store) {
	for _, x := range []struct {
		name string
		test func(t *testing.T, s *Store)
	}{
		{"create", create}, {"create races", createRaces}, {"records", records}, {"clock", clock}, {"blobs", blobs}, {"size", size},
		{"groups", groups}, {"readers", readers}, {"answers", answers}, {"answers race", answersRace}, {"stop", stop}, {"watch", watch},
		{"open", openRun}, {"opens race", opensRace}, {"programs", programs},
		{"ledger", ledger}, {"fenced", fenced}, {"unknown outcome", unknownOutcome}, {"unknown outcome, fenced", unknownThenFenced},
	} {
		t.Run(x.name, func(t *testing.T) { x.test(t, open(t)) })
	}
}

// program is the program of each run.
var program = []byte("{}")

// programSum is the SHA-256 of program.
const programSum = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

// start returns the content of a start record.
func start(run string) journal.Start {
	return journal.Start{Run: run, Program: "main.conc", IR: programSum, Engine: 1, Args: []string{}, Inputs: []byte("{}"), Session: []byte("{}"), Seed: "1", Flags: []byte("{}")}
}

// options returns options with a clock that counts its readings.
func options() journal.Options {
	n := int64(1_700_000_000_000)
	return journal.Options{Now: func() int64 { n++; return n }, Owner: journal.Owner{By: "process 1", Machine: "m1"}}
}

// did returns the record of an effect.
func did(e int64) *journal.Record {
	return &journal.Record{RecordKind: journal.KDid, Effect: e, Kind: "clock", ResultMembers: journal.ResultMembers{Result: fmt.Appendf(nil, `{"unix_ms":%d}`, e)}}
}

// outLine returns a line of output.
func outLine(n int) string { return fmt.Sprintf(`{"n":%d,"channel":"x"}`, n) }

// must fails the test if there is an error.
func must(t rapid.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// begin creates a run.
func (s *Store) begin(t rapid.TB, id string) journal.Writer {
	t.Helper()
	w, err := s.Run(id).Create(start(id), program, options())
	must(t, err)
	return w
}

// reopen opens a run whose history was not read before.
func (s *Store) reopen(t rapid.TB, id string) (journal.Writer, *journal.History) {
	t.Helper()
	w, h, err := s.Run(id).Open(nil, options())
	must(t, err)
	return w, h
}

// read reads a run.
func (s *Store) read(t rapid.TB, id string) *journal.History {
	t.Helper()
	h, err := s.Run(id).Read()
	must(t, err)
	return h
}

// effects returns the numbers of the effects in a history.
func effects(h *journal.History) (all []int64) {
	for _, r := range h.Records {
		if r.RecordKind == journal.KDid {
			all = append(all, r.Effect)
		}
	}
	return all
}

// wantEffects checks the effects of a stored run.
func (s *Store) wantEffects(t rapid.TB, id string, want ...int64) {
	t.Helper()
	if got := effects(s.read(t, id)); !slices.Equal(got, want) {
		t.Fatalf("stored effects = %v, want %v", got, want)
	}
}

// wantOut checks the number of lines of a run's output, which outLine has returned.
func (s *Store) wantOut(t rapid.TB, id string, n int) {
	t.Helper()
	want := []string{}
	for i := range n {
		want = append(want, outLine(i+1))
	}
	if got, torn, err := s.Run(id).Out(); err != nil || torn != 0 || !slices.Equal(got, want) {
		t.Fatalf("stored output = %v, %d incomplete bytes, error %v; want %d lines", got, torn, err, n)
	}
}

// create creates a run twice, and opens a run that does not exist.
func create(t *testing.T, s *Store) {
	if _, err := s.Run("r_1").Read(); !errors.Is(err, journal.ErrNoRun) {
		t.Errorf("Read before Create: error = %v, want ErrNoRun", err)
	}
	if _, _, err := s.Run("r_1").Open(nil, options()); !errors.Is(err, journal.ErrNoRun) {
		t.Errorf("Open before Create: error = %v, want ErrNoRun", err)
	}
	w := s.begin(t, "r_1")
	if running, err := s.Run("r_1").IsRunning(); !running || err != nil {
		t.Errorf("IsRunning after Create = %v, error %v", running, err)
	}
	h := s.read(t, "r_1")
	first := h.Start()
	if h.N != 1 || first == nil || first.Run != "r_1" || first.Format != journal.Format || h.Owner() != options().Owner.Numbered(1) {
		t.Errorf("history after Create = %+v, want one record with the start and owner 1", h)
	}
	must(t, w.Close())
	if running, err := s.Run("r_1").IsRunning(); running || err != nil {
		t.Errorf("IsRunning after Close = %v, error %v", running, err)
	}
	other := start("r_1")
	other.Seed = "2"
	_, err := s.Run("r_1").Create(other, program, options())
	if exists, ok := errors.AsType[*journal.ExistsError](err); !ok || exists.Run != "r_1" {
		t.Errorf("second Create: error = %v, want an ExistsError for r_1", err)
	}
	if got := s.read(t, "r_1"); got.Start().Seed != "1" || got.At() != h.At() {
		t.Errorf("history after the second Create = %+v, want the first one", got)
	}
	s.begin(t, "r_2")
	if s.read(t, "r_1").Start().Run != "r_1" {
		t.Error("another run has replaced the first one")
	}
}

// records checks the numbers, times and hashes of records, and reads the journal from each
// position.
func records(t *testing.T, s *Store) {
	w := s.begin(t, "r_1")
	for n := uint64(2); n <= 6; n++ {
		r := did(int64(n))
		if n == 5 {
			must(t, w.Flush(journal.Written))
			r = &journal.Record{RecordKind: journal.KSecret, RareMembers: journal.RareMembers{Name: "TOKEN", Check: "0123"}}
		}
		if got := w.Append(r); got != n {
			t.Errorf("Append of record %d returned %d", n, got)
		}
	}
	must(t, w.Flush(journal.Synced))
	h := s.read(t, "r_1")
	last := int64(0)
	for i, r := range h.Records {
		if r.Seq != uint64(i)+1 || r.Time < last {
			t.Errorf("record %d has number %d and time %d, after time %d", i+1, r.Seq, r.Time, last)
		}
		last = r.Time
	}
	at, bytes := w.At()
	if h.At() != at || h.Bytes != bytes || h.N != at.S || h.Last().Hash != at.H {
		t.Errorf("At() = %v, %d bytes; stored history ends at %v, %d bytes", at, bytes, h.At(), h.Bytes)
	}
	if w.Synced() != h.N {
		t.Errorf("Synced() = %d after a synced Flush of %d records", w.Synced(), h.N)
	}
	if good, err := s.Run("r_1").ReadUndamaged(); err != nil || good.At() != at || good.Damage != nil {
		t.Errorf("ReadUndamaged = %+v, error %v", good, err)
	}
}

// clock sets the clock back. The times of records must not decrease.
func clock(t *testing.T, s *Store) {
	now := int64(5000)
	o := options()
	o.Now = func() int64 { return now }
	w, err := s.Run("r_1").Create(start("r_1"), program, o)
	must(t, err)
	now = 9000
	w.Append(did(1))
	now = 7000
	w.Append(did(2))
	if got := w.Time(); got != 9000 {
		t.Errorf("Time() = %d after the clock was set back from 9000", got)
	}
	must(t, w.Flush(journal.Written), w.Close())
	now = 1000
	w, _, err = s.Run("r_1").Open(nil, o)
	must(t, err)
	w.Append(did(3))
	must(t, w.Flush(journal.Written))
	var times []int64
	for _, r := range s.read(t, "r_1").Records {
		times = append(times, r.Time)
	}
	if !slices.Equal(times, []int64{5000, 9000, 9000, 9000}) {
		t.Errorf("times of the records = %v", times)
	}
}

// blobs stores a large value outside its record, by the Flush that writes the record.
func blobs(t *testing.T, s *Store) {
	w := s.begin(t, "r_1")
	large := []byte(`"` + strings.Repeat("x", journal.BlobSize) + `"`)
	r := did(1)
	r.Result = slices.Clone(large)
	w.Append(r)
	if r.Blob == "" || r.Result != nil {
		t.Fatalf("record of a large value = %+v, want a blob", r)
	}
	if _, err := s.Run("r_1").Blob(r.Blob); !errors.As(err, new(*journal.DamagedError)) {
		t.Errorf("Blob before Flush: error = %v, want a DamagedError", err)
	}
	must(t, w.Flush(journal.Written))
	if text, err := s.Run("r_1").Blob(r.Blob); err != nil || !slices.Equal(text, large) {
		t.Errorf("Blob after Flush = %d bytes, error %v; want %d bytes", len(text), err, len(large))
	}
	if got := s.read(t, "r_1").Last(); got.Blob != r.Blob || got.Result != nil {
		t.Errorf("stored record = %+v, want the name of the blob", got)
	}
}

// size limits the size of the journal.
func size(t *testing.T, s *Store) {
	o := options()
	o.MaxBytes = 2000
	w, err := s.Run("r_1").Create(start("r_1"), program, o)
	must(t, err)
	w.Append(did(1))
	must(t, w.Flush(journal.Written))
	for e := range int64(30) {
		w.Append(did(e + 2))
	}
	for range 2 {
		if err := w.Flush(journal.Written); !errors.Is(err, journal.ErrFull) {
			t.Errorf("Flush of a journal that is too large: error = %v, want ErrFull", err)
		}
	}
	s.wantEffects(t, "r_1", 1)
}

// programs stores a second program.
func programs(t *testing.T, s *Store) {
	w := s.begin(t, "r_1")
	second, sum := []byte("[]"), "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
	must(t, w.PutProgram("program.2.conc-ir", second))
	for _, x := range []struct {
		name, sum string
		want      []byte
	}{{journal.ProgramFile, programSum, program}, {"program.2.conc-ir", sum, second}} {
		if got, err := s.Run("r_1").Program(x.name, x.sum); err != nil || !slices.Equal(got, x.want) {
			t.Errorf("Program(%s) = %s, error %v; want %s", x.name, got, err, x.want)
		}
	}
	if _, err := s.Run("r_1").Program(journal.ProgramFile, strings.Repeat("0", 64)); !errors.As(err, new(*journal.DamagedError)) {
		t.Errorf("Program with another hash: error = %v, want a DamagedError", err)
	}
}
