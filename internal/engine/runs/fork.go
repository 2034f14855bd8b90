package runs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Fork creates the new run to. It has the history of a run up to the effect of the change, and the
// changed result of that effect. The new run is not started. written lists the files that the
// effects in the history have written; Fork does not restore them. If the journal is damaged, the
// history ends before the damage. The error is a *durable.NoEffect, a *Problem if the change is
// invalid, or an error of durable.Open or of creating the run.
func Fork(run, to journal.Run, id string, c durable.Change) (written []string, err error) {
	s, err := durable.Good(run)
	if err != nil {
		return nil, err
	}
	records, err := durable.Forked(s.History, c, "fork of "+s.Start.Run, id)
	if none := (*durable.NoEffect)(nil); errors.As(err, &none) {
		return nil, err
	}
	if err != nil {
		return nil, &Problem{Message: err.Error()}
	}
	start := *s.Start
	start.Run, start.IR, start.Fork = id, s.Sum, c.Fork(s.Start.Run)
	machine, _ := os.Hostname() // used only in messages
	w, err := to.Create(start, s.Program, journal.Options{Owner: journal.Owner{By: "fork of " + s.Start.Run, Machine: machine}})
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if r.Blob != "" {
			text, err := s.Run.Blob(r.Blob)
			if err != nil {
				return nil, errors.Join(err, w.Close())
			}
			r.Blob, r.Result = "", text
		}
		w.Append(r)
		if r.Blob != "" { // does not retain large values in memory
			if err := w.Flush(journal.Written); err != nil {
				return nil, errors.Join(err, w.Close())
			}
		}
		if path := writtenBy(r); path != "" {
			written = append(written, path)
		}
	}
	return written, errors.Join(w.Flush(journal.Synced), w.Close())
}

// writtenBy returns the path of the file that an effect writes, or "" for other effects.
func writtenBy(r *journal.Record) string {
	if r.RecordKind != journal.KBegin {
		return ""
	}
	var path struct {
		Path  string `json:"path"`
		Store struct {
			File string `json:"file"`
		} `json:"store"`
	}
	if r.Class != "settled" || json.Unmarshal(r.Request, &path) != nil {
		return ""
	}
	if path.Path == "" {
		return filepath.ToSlash(path.Store.File)
	}
	return path.Path
}
