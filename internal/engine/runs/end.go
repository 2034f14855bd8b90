package runs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/budget/spent"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// stopWithin limits how long Stop waits for the run's process.
const stopWithin = 30 * time.Second

// Stop stops a run in a directory, or the newest successor of a run that has continued. If a
// process is running it, that process cancels it, and Stop waits for the process. The error is a
// *journal.HeldError if the process does not stop the run in time, a *Problem if the run has ended,
// or an error of durable.Open.
func Stop(ctx context.Context, dir string) error {
	d, err := newest(dir)
	if err != nil {
		return err
	}
	dir = d.Name()
	w, h, err := d.Open(nil, journal.Options{})
	if held := (*journal.HeldError)(nil); errors.As(err, &held) {
		if err := d.RequestStop(); err != nil {
			return err
		}
		for began := time.Now(); ctx.Err() == nil && time.Since(began) < stopWithin; {
			running, err := d.IsRunning()
			if err != nil {
				return err
			}
			if h, err := d.Read(); !running && err == nil && h.Continued() {
				return Stop(ctx, dir) // it has continued before it noticed the request
			}
			if !running {
				return nil
			}
			time.Sleep(20 * time.Millisecond)
		}
		return held
	}
	if err != nil {
		return err
	}
	if h.Continued() {
		return errors.Join(w.Close(), &Problem{"the run has continued, but its process ended before its successor began", "`concerto runs resume` begins it"})
	}
	if h.Last().K == journal.KFinish {
		return errors.Join(w.Close(), &Problem{Message: "the run has already ended"})
	}
	if err := keeper.EndAt(dir); err != nil {
		return errors.Join(err, w.Close())
	}
	return errors.Join(FinishStopped(w), Settle(ctx, d))
}

// newest returns the run in a directory, or the newest existing successor of a run that has
// continued.
func newest(dir string) (*rundir.Directory, error) {
	d := rundir.At(dir)
	for {
		s, err := durable.Open(d)
		if err != nil {
			return nil, err
		}
		next, err := s.Successor()
		if err != nil || next == nil {
			return d, err
		}
		successor := rundir.At(d.Sibling(next.Name).Name())
		if !successor.Begun() {
			return d, nil
		}
		d = successor
	}
}

// Settle ends what a run that has ended without a process of its own has left in its project: its
// reservations of the day's limits, the directories of its exchanges, and its locks.
func Settle(ctx context.Context, run journal.Run) error {
	s, err := durable.Open(run)
	if err != nil {
		return nil // nothing is known about the run
	}
	p, err := ir.Decode(s.Program)
	if err != nil {
		return nil
	}
	id, root := s.Start.Run, s.Flags.Root
	if file := p.Limits.DayFile; file != "" {
		if !filepath.IsAbs(file) {
			file = filepath.Join(root, file)
		}
		_, err = spent.Release(file, id, true, time.Now)
	}
	if root == "" {
		return err
	}
	conf, cerr := workspace.ParseConfig(p.Workspace)
	if cerr != nil {
		return errors.Join(err, cerr)
	}
	store := workspace.NewStore(workspace.Place{Root: root, From: conf.FromOf(root), Environ: os.Environ(), Worktrees: conf.Worktrees, Run: id})
	defer store.Close()
	return errors.Join(err, store.EndRun(ctx, id))
}

// FinishStopped ends a run that no process is running, and closes w.
func FinishStopped(w journal.Writer) error {
	code := 1
	w.Append(&journal.Record{K: journal.KStop})
	w.Append(&journal.Record{K: journal.KFinish, Rest: journal.Rest{Code: &code}})
	return errors.Join(w.Flush(journal.Synced), w.Close())
}

// Remove removes the directory of a run. The error is a *journal.HeldError if a process is running
// the run.
func Remove(ctx context.Context, dir string) error {
	d := rundir.At(dir)
	running, err := d.IsRunning()
	if err != nil {
		return err
	}
	if running {
		return d.Holder()
	}
	if !d.Begun() {
		return journal.ErrNoRun
	}
	if err := keeper.EndAt(dir); err != nil {
		return err
	}
	return errors.Join(Settle(ctx, d), os.RemoveAll(dir))
}

// Verified is the result of verifying a run.
type Verified struct {
	Records uint64 // number of stored records
	Torn    int    // number of bytes of an incomplete record at the end of the journal
	OutTorn int    // number of bytes of an incomplete line at the end of the output
}

// Verify checks the hash chain of a run's journal, its blobs and programs, its output and its
// pending answers. The error is a *journal.DamagedError, journal.ErrNoRun, or an error of the
// store.
func Verify(run journal.Run) (v Verified, err error) {
	s, err := durable.Open(run)
	if err != nil {
		return v, err
	}
	torn, err := tornOutput(s)
	return Verified{Records: s.History.N, Torn: s.History.Torn, OutTorn: torn}, err
}

// tornOutput checks the blobs, answers and output of a run. It returns the number of
// bytes of an incomplete line at the end of the output.
func tornOutput(s *durable.Stored) (outTorn int, err error) {
	for _, r := range s.History.Records {
		if r.Blob == "" {
			continue
		}
		if _, err := s.Run.Blob(r.Blob); err != nil {
			return 0, err
		}
	}
	if _, err := s.Run.Answers(); err != nil {
		return 0, err
	}
	return s.VerifyOut()
}

// Tape writes the run's tape to a writer. A tape can be replayed without the run.
func Tape(run journal.Run, to io.Writer) error {
	s, err := durable.Open(run)
	if err != nil {
		return err
	}
	return durable.Tape(s.Run, s.History, s.TapeFlags(), s.Flags.Emit, to)
}
