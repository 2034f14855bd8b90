package durable

import (
	"encoding/json"
	"io"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
)

// Tape writes the results in the journal of a run as a tape.
func Tape(stored journal.Run, h *journal.History, flags tape.Flags, emit string, to io.Writer) error {
	start := h.Start()
	header := tape.Header{Run: start.Run, Program: start.Program, IR: start.IR, Args: start.Args, Inputs: start.Inputs, Seed: start.Seed, Emit: emit, Flags: flags}
	var session tape.Session
	if err := json.Unmarshal(start.Session, &session); err != nil {
		return err
	}
	header.Session = &session
	w := tape.Write(to, header)
	begins := map[int64]*journal.Record{}
	for _, r := range h.Records {
		switch r.RecordKind {
		case journal.KBegin:
			if begins[r.Effect] == nil {
				begins[r.Effect] = r
			}
			continue
		case journal.KFinish:
			return w.End(*r.Code)
		case journal.KStop: // the run was ended while no process was running it
			return w.Flush()
		case journal.KEnd, journal.KDid, journal.KLines, journal.KPlace:
		default:
			continue
		}
		x, err := entryOf(stored, r, begins[r.Effect])
		if err != nil {
			return err
		}
		w.Entry(x)
	}
	return w.Flush()
}

// entryOf returns the entry of a tape for a record r with an effect's result. begin is the effect's
// begin record, or nil.
func entryOf(stored journal.Run, r, begin *journal.Record) (*tape.Entry, error) {
	x := &tape.Entry{E: r.Effect, Place: r.Place, Q: effect.Kind(r.Kind), Of: r.Of, R: r.Request, V: r.Result, Lines: r.Translated(), Decided: r.Decided, Sizes: r.Sizes, W: r.Moment}
	switch {
	case r.RecordKind == journal.KEnd && begin != nil:
		x.Q, x.R, x.Of = effect.Kind(begin.Kind), begin.Request, begin.Of
	case r.RecordKind == journal.KLines:
		x.Q = effect.KindExchangeNext
	}
	if r.Blob != "" {
		v, err := stored.Blob(r.Blob)
		if err != nil {
			return nil, err
		}
		x.V = v
	}
	if r.Err != nil {
		f, err := recordedFailure(r)
		if err != nil {
			return nil, err
		}
		x.Err = f
	}
	return x, nil
}
