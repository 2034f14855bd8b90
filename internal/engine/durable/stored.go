package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/vm"
)

// Flags contains settings from the start record that are not needed to read the journal.
type Flags struct {
	Asks    bool   `json:"asks,omitempty"`
	Tools   bool   `json:"tools,omitempty"`
	Audited bool   `json:"audited,omitempty"`
	Mock    bool   `json:"mock,omitempty"`
	Root    string `json:"root,omitempty"` // directory to which the manifest's paths are relative
	Park    bool   `json:"park,omitempty"`
	Wait    bool   `json:"wait,omitempty"`
	Sync    string `json:"sync,omitempty"`
	// SnapshotEvery and VerifySnapshots are the fields of concerto.Durable.
	SnapshotEvery   int             `json:"snapshot_every,omitempty"`
	VerifySnapshots bool            `json:"verify_snapshots,omitempty"`
	Emit            string          `json:"emit,omitempty"`
	Given           json.RawMessage `json:"given,omitempty"`
	// Limit is the field of engine.Options.
	Limit string `json:"limit,omitempty"`
}

// Stored is a run as it was read from its store.
type Stored struct {
	Run     journal.Run
	History *journal.History
	Start   *journal.Start
	Session tape.Session
	Flags   Flags
	Program []byte // compiled program that was adopted last
	Sum     string // SHA-256 of Program in hex
	// Snapshot is the snapshot from which the run is resumed, State is the run's part of it, and
	// After is the number of the last record before it. Without a snapshot they are zero, and the
	// run is replayed from its start.
	Snapshot []byte
	State    *State
	After    uint64
	adopted  int // number of changes of the program
	bad      []badSnapshot
}

// Open reads a run with its whole journal. The error is journal.ErrNoRun, a *journal.DamagedError,
// a *journal.NewerFormatError, or an error of the store.
func Open(run journal.Run) (*Stored, error) {
	h, err := readComplete(run, run.Read)
	if err != nil {
		return nil, err
	}
	return readStored(run, h)
}

// readComplete reads a journal. It checks that no record is missing that was on the disk when a
// snapshot or an answer was written. A record may be missing if the journal is an older copy than
// the other files in the directory.
func readComplete(run journal.Run, read func() (*journal.History, error)) (*journal.History, error) {
	for before := uint64(0); ; {
		h, err := read()
		if err != nil {
			return nil, err
		}
		name, synced, err := lastSynced(run, h.N)
		if err != nil || synced <= h.N {
			return h, err
		}
		if h.N == before { // no process has appended records since the previous read
			return nil, &journal.DamagedError{Where: h.LastPart(), Why: fmt.Sprintf("it ends with record %d, but according to %s record %d was on the disk", h.N, name, synced)}
		}
		before = h.N
	}
}

// lastSynced returns the highest number of a record that a snapshot or an answer lists as synced,
// and the name of that file. It skips snapshots up to record n, because they cannot list a missing
// record.
func lastSynced(run journal.Run, n uint64) (name string, synced uint64, err error) {
	snapshots, err := run.Snapshots()
	if err != nil {
		return "", 0, err
	}
	for _, at := range snapshots {
		if at <= n {
			break
		}
		// damaged snapshots are ignored
		if state, err := stateAt(run, at); err == nil && state.Synced > synced {
			name, synced = journal.SnapshotName(at), state.Synced
		}
	}
	answers, err := run.Answers()
	// damaged answers are ignored here; the process that accepts the answer reports the damage
	if _, damaged := errors.AsType[*journal.DamagedError](err); err != nil && !damaged {
		return "", 0, err
	}
	for id, a := range answers {
		if a.Synced > synced {
			name, synced = journal.AnswerName(id), a.Synced
		}
	}
	return name, synced, nil
}

// stateAt returns the run's part of the snapshot after a record.
func stateAt(run journal.Run, at uint64) (*State, error) {
	data, err := run.Snapshot(at)
	if err != nil {
		return nil, err
	}
	head, err := vm.ReadSnapshot(data)
	if err != nil {
		return nil, err
	}
	state := &State{}
	return state, json.Unmarshal(head.Runner, state)
}

// Good is like Open. If the journal is damaged, it returns the records before the damage.
func Good(run journal.Run) (*Stored, error) {
	h, err := run.ReadUndamaged()
	if err != nil {
		return nil, err
	}
	return readStored(run, h)
}

// Latest is like Open, but prepares the run for resuming. It reads the newest valid snapshot and
// only the records after it. The error may also be an *OtherEngine, or a *journal.DamagedError if
// there is no valid snapshot and the history is not complete.
func Latest(run journal.Run) (*Stored, error) { return latest(run, nil) }

// Earlier returns the run for resuming from an earlier point than s. why is the reason why the
// snapshot of s cannot be used.
func (s *Stored) Earlier(why *BadSnapshot) (*Stored, error) {
	return latest(s.Run, append(s.bad, badSnapshot{s.After, why.Err}))
}

func latest(run journal.Run, bad []badSnapshot) (*Stored, error) {
	all, err := run.Snapshots()
	if err != nil {
		return nil, err
	}
	for _, at := range all {
		if slices.ContainsFunc(bad, func(x badSnapshot) bool { return x.at == at }) {
			continue
		}
		s, err := from(run, at)
		if err == nil {
			s.bad = bad
			return s, nil
		}
		why, ok := errors.AsType[*BadSnapshot](err)
		if !ok {
			return nil, err
		}
		bad = append(bad, badSnapshot{at, why.Err})
	}
	s, err := Open(run)
	if err != nil {
		return nil, err
	}
	s.bad = bad
	if s.History.Head == nil || s.Code() != nil {
		return s, nil
	}
	for _, x := range bad {
		if other, ok := errors.AsType[*OtherEngine](x.why); ok {
			return nil, other
		}
	}
	return nil, unplayable(bad)
}

// from reads the snapshot after a record, and the records after it. The error is a *BadSnapshot if
// the run cannot be resumed from this snapshot.
func from(run journal.Run, at uint64) (*Stored, error) {
	data, err := run.Snapshot(at)
	if err != nil {
		return nil, &BadSnapshot{err}
	}
	head, err := vm.ReadSnapshot(data)
	switch {
	case err != nil:
		return nil, &BadSnapshot{err}
	case head.Engine != tape.Engine:
		return nil, &BadSnapshot{&OtherEngine{head.Engine}}
	case uint64(head.S) != at:
		return nil, &BadSnapshot{fmt.Errorf("it belongs to record %d", head.S)}
	}
	state := &State{}
	if err := json.Unmarshal(head.Runner, state); err != nil {
		return nil, &BadSnapshot{err}
	}
	if err := state.unpack(); err != nil {
		return nil, &BadSnapshot{err}
	}
	h, err := readComplete(run, func() (*journal.History, error) { return run.ReadFrom(journal.From{S: at, H: head.H}) })
	if errors.Is(err, journal.ErrOtherRecord) {
		return nil, &BadSnapshot{err}
	}
	if err != nil {
		return nil, err
	}
	s, err := readStored(run, h)
	if err == nil && s.Sum != head.IR {
		return nil, &BadSnapshot{errors.New("it belongs to another program")}
	}
	if s != nil {
		s.State, s.Snapshot, s.After = state, data, at
	}
	return s, err
}

// NewestSnapshot returns a description of the newest complete snapshot, or nil if there is none.
func (s *Stored) NewestSnapshot() (*ShownSnapshot, error) {
	all, err := s.Run.Snapshots()
	if err != nil {
		return nil, err
	}
	for _, at := range all {
		data, err := s.Run.Snapshot(at)
		if err != nil {
			continue // another process has removed it, or it is not complete
		}
		if head, err := vm.ReadSnapshot(data); err == nil {
			return &ShownSnapshot{Effect: head.Counts.Effects, Bytes: int64(len(data)), MS: head.MS, Tasks: head.Counts.Tasks}, nil
		}
	}
	return nil, nil
}

// states returns the run's parts of all complete snapshots whose records the journal contains.
func (s *Stored) states() (all []*State, err error) {
	snapshots, err := s.Run.Snapshots()
	if err != nil {
		return nil, err
	}
	for _, at := range snapshots {
		data, err := s.Run.Snapshot(at)
		if err != nil {
			continue // the process of the run has removed it
		}
		head, err := vm.ReadSnapshot(data)
		if err != nil || !slices.ContainsFunc(s.History.Records, func(r *journal.Record) bool { return int64(r.S) == head.S && r.H == head.H }) {
			continue
		}
		state := &State{}
		if json.Unmarshal(head.Runner, state) == nil {
			all = append(all, state)
		}
	}
	return all, nil
}

// DropBad removes the snapshots from which the run could not be resumed.
func (s *Stored) DropBad(w journal.Writer) error {
	for _, x := range s.bad {
		if err := w.DropSnapshot(x.at); err != nil {
			return err
		}
	}
	return nil
}

func readStored(run journal.Run, h *journal.History) (*Stored, error) {
	s := &Stored{Run: run, History: h, Start: h.Start(), Sum: h.Start().IR}
	if err := json.Unmarshal(s.Start.Flags, &s.Flags); err != nil {
		return nil, badStart("flags", err)
	}
	if err := json.Unmarshal(s.Start.Session, &s.Session); err != nil {
		return nil, badStart("session", err)
	}
	file := journal.ProgramFile
	for _, r := range h.Records {
		if r.K == journal.KAdopt {
			file, s.Sum = r.Name, r.D
			s.adopted++
		}
	}
	var err error
	s.Program, err = run.Program(file, s.Sum)
	return s, err
}

func badStart(member string, err error) error {
	return &journal.DamagedError{Where: "journal-000001.ndjson:1", Why: member + ": " + err.Error()}
}

// Code returns the exit code of the run, or nil if the run has not ended.
func (s *Stored) Code() *int {
	if last := s.History.Last(); last.K == journal.KFinish {
		return last.Code
	}
	return nil
}

// TapeFlags returns the flags for a tape of the run.
func (s *Stored) TapeFlags() tape.Flags {
	return tape.Flags{Asks: s.Flags.Asks, Tools: s.Flags.Tools, Audited: s.Flags.Audited, Numbered: true}
}

// Adopt replaces the run's program for the rest of the run.
func (s *Stored) Adopt(program []byte) error {
	w, _, err := s.Run.Open(nil, journal.Options{})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("program.%d.conc-ir", s.adopted+2)
	if err := w.PutProgram(name, program); err != nil {
		return errors.Join(err, w.Close())
	}
	sum := hexsum.SHA256(program)
	w.Append(&journal.Record{K: journal.KAdopt, Rest: journal.Rest{Name: name}, Asked: journal.Asked{D: sum}})
	if err := errors.Join(w.Flush(journal.Synced), w.Close()); err != nil {
		return err
	}
	s.Program, s.Sum = program, sum
	s.adopted++
	return nil
}
