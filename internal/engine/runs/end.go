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
	s, err := durable.Newest(rundir.At(dir))
	if err != nil {
		return err
	}
	dir = s.Run.Name()
	d := rundir.At(dir)
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
			if !running {
				return stopNext(ctx, d)
			}
			time.Sleep(20 * time.Millisecond)
		}
		return held
	}
	if err != nil {
		return err
	}
	if s.Next != nil {
		return errors.Join(w.Close(), &Problem{"the run has continued, but its process ended before its successor began", "`concerto runs resume` begins it"})
	}
	if h.Last().RecordKind == journal.KFinish {
		return errors.Join(w.Close(), &Problem{Message: "the run has already ended"})
	}
	if err := keeper.EndAt(dir); err != nil {
		return errors.Join(err, w.Close())
	}
	return errors.Join(FinishStopped(w), Settle(ctx, d))
}

// stopNext stops the successor of a run that has continued before it noticed the request to stop.
func stopNext(ctx context.Context, d *rundir.Directory) error {
	s, err := durable.Open(d)
	if err != nil || s.Next == nil {
		return err
	}
	return Stop(ctx, d.Name())
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

// Clear ends what an ended run has left because its process was killed before it could do that: its
// hosts, and what Settle ends.
func Clear(ctx context.Context, dir string) error {
	d := rundir.At(dir)
	if running, err := d.IsRunning(); running || err != nil {
		return err
	}
	return errors.Join(keeper.EndAt(dir), Settle(ctx, d))
}

// FinishStopped ends a run that no process is running, and closes w.
func FinishStopped(w journal.Writer) error {
	code := 1
	w.Append(&journal.Record{RecordKind: journal.KStop})
	w.Append(&journal.Record{RecordKind: journal.KFinish, RareMembers: journal.RareMembers{Code: &code}})
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
