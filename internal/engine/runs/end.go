package runs

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// stopWithin limits the wait for a run to stop.
const stopWithin = 30 * time.Second

// Stop stops a run: if a process is running it, that process cancels it, and Stop waits. The error
// is a *journal.HeldError if it does not stop, a *Problem if it has ended, or one of durable.Open.
func Stop(ctx context.Context, dir string) error {
	d := journal.At(dir)
	w, h, err := d.Open(journal.Options{})
	if held := (*journal.HeldError)(nil); errors.As(err, &held) {
		if err := d.RequestStop(); err != nil {
			return err
		}
		for began := time.Now(); ctx.Err() == nil && time.Since(began) < stopWithin; {
			if running, err := d.Running(); err != nil || !running {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
		return held
	}
	if err != nil {
		return err
	}
	if h.Last().K == journal.KFinish {
		return errors.Join(w.Close(), &Problem{Message: "the run has already ended"})
	}
	if err := keeper.EndAt(dir); err != nil {
		return errors.Join(err, w.Close())
	}
	code := 1
	w.Append(&journal.Record{K: journal.KStop})
	w.Append(&journal.Record{K: journal.KFinish, Rest: journal.Rest{Code: &code}})
	return errors.Join(w.Flush(journal.Synced), w.Close())
}

// Remove removes a run's directory. The error is a *journal.HeldError if a process is running it.
func Remove(dir string) error {
	d := journal.At(dir)
	running, err := d.Running()
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
	return os.RemoveAll(dir)
}

// Verified is the result of verifying a run.
type Verified struct {
	Records uint64 // existing records
	Before  uint64 // dropped records
	Torn    int    // incomplete bytes at the end
	OutTorn int    // incomplete bytes at the end of the output
}

// Verify reads a run's whole chain, its blobs and programs, its output, its pending answers, and,
// if the beginning of its history was dropped, the snapshots that it resumes from. The error is a
// *journal.DamagedError, journal.ErrNoRun, or one of the files.
func Verify(dir string) (v Verified, err error) {
	for {
		s, err := durable.Open(dir)
		if err != nil {
			return v, err
		}
		torn, err := tornOutput(s)
		head := s.History.Head
		if now, rerr := durable.Open(dir); err != nil && rerr == nil && now.History.Head.After(head) {
			continue // another process has removed it
		}
		v = Verified{Records: s.History.N, Torn: s.History.Torn, OutTorn: torn}
		if head != nil {
			v.Before = head.S
			v.Records -= head.S
		}
		return v, err
	}
}

// tornOutput returns how many bytes at the end of the output are an incomplete line.
func tornOutput(s *durable.Stored) (outTorn int, err error) {
	for _, r := range s.History.Records {
		if r.Blob == "" {
			continue
		}
		if _, err := s.Dir.Blob(r.Blob); err != nil {
			return 0, err
		}
	}
	if _, err := s.Dir.Answers(); err != nil {
		return 0, err
	}
	if outTorn, err = s.VerifyOut(); err != nil || s.History.Head == nil {
		return outTorn, err
	}
	_, err = durable.Latest(s.Dir.Path())
	return outTorn, err
}

// Tape writes a tape of a run, which Replay plays.
func Tape(dir string, to io.Writer) error {
	s, err := durable.Open(dir)
	if err == nil {
		err = s.Whole()
	}
	if err != nil {
		return err
	}
	return durable.Tape(s.Dir, s.History, s.TapeFlags(), s.Flags.Emit, to)
}
