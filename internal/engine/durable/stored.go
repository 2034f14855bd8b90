package durable

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Flags contains settings from the start record that are not needed to read the journal.
type Flags struct {
	Asks    bool            `json:"asks,omitempty"`
	Tools   bool            `json:"tools,omitempty"`
	Audited bool            `json:"audited,omitempty"`
	Mock    bool            `json:"mock,omitempty"`
	Root    string          `json:"root,omitempty"` // directory to which the manifest's paths are relative
	Park    bool            `json:"park,omitempty"`
	Wait    bool            `json:"wait,omitempty"`
	Sync    string          `json:"sync,omitempty"`
	Emit    string          `json:"emit,omitempty"`
	Given   json.RawMessage `json:"given,omitempty"`
	// Limit is the field of engine.Options.
	Limit string `json:"limit,omitempty"`
	// Continues describes the earlier run of which the run is the successor; nil if there is none.
	Continues *journal.Continues `json:"continues,omitempty"`
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
	adopted int    // number of changes of the program
	// Next is the run as which the run has continued; nil if it has not.
	Next *journal.Successor
}

// Open reads a run with its whole journal. The error is journal.ErrNoRun, journal.ErrDropped, a
// *journal.DamagedError, a *journal.NewerFormatError, or an error of the store.
func Open(run journal.Run) (*Stored, error) {
	h, err := readComplete(run)
	if err != nil {
		return nil, err
	}
	return readStored(run, h)
}

// readComplete reads a journal. It checks that no record is missing that was on the disk when an
// answer was written. A record may be missing if the journal is an older copy than the other files
// in the directory.
func readComplete(run journal.Run) (*journal.History, error) {
	for before := uint64(0); ; {
		h, err := run.Read()
		if err != nil {
			return nil, err
		}
		id, synced, err := lastSynced(run)
		if err != nil || synced <= h.N {
			return h, err
		}
		if h.N == before { // no process has appended records since the previous read
			return nil, &journal.DamagedError{Where: h.LastPart(), Why: fmt.Sprintf("it ends with record %d, but according to %s record %d was on the disk", h.N, journal.AnswerName(id), synced)}
		}
		before = h.N
	}
}

// lastSynced returns the highest number of a record that an answer lists as synced, and the id of
// its question.
func lastSynced(run journal.Run) (question string, synced uint64, err error) {
	answers, err := run.Answers()
	// damaged answers are ignored here; the process that accepts the answer reports the damage
	if _, damaged := errors.AsType[*journal.DamagedError](err); err != nil && !damaged {
		return "", 0, err
	}
	for id, a := range answers {
		if a.Synced > synced {
			question, synced = id, a.Synced
		}
	}
	return question, synced, nil
}

// Good is like Open. If the journal is damaged, it returns the records before the damage.
func Good(run journal.Run) (*Stored, error) {
	h, err := run.ReadUndamaged()
	if err != nil {
		return nil, err
	}
	return readStored(run, h)
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
		if r.RecordKind == journal.KAdopt {
			file, s.Sum = r.Name, r.Digest
			s.adopted++
		}
	}
	var err error
	if s.Next, err = s.readSuccessor(); err != nil {
		return nil, err
	}
	s.Program, err = run.Program(file, s.Sum)
	return s, err
}

func badStart(member string, err error) error {
	return &journal.DamagedError{Where: "journal-000001.ndjson:1", Why: member + ": " + err.Error()}
}

// Code returns the exit code of the run, or nil if the run has not ended.
func (s *Stored) Code() *int {
	if last := s.History.Last(); last.RecordKind == journal.KFinish {
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
	w.Append(&journal.Record{RecordKind: journal.KAdopt, RareMembers: journal.RareMembers{Name: name}, RequestMembers: journal.RequestMembers{Digest: sum}})
	if err := errors.Join(w.Flush(journal.Synced), w.Close()); err != nil {
		return err
	}
	s.Program, s.Sum = program, sum
	s.adopted++
	return nil
}
