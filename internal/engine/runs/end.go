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

// stopWithin is how long a run has to end that is asked to.
const stopWithin = 30 * time.Second

// Stop ends a run: one that a process runs is cancelled by that process, and waited for. The
// error is a *journal.Held when it does not end, a *Problem when it has ended, or one of
// durable.Open.
func Stop(ctx context.Context, dir string) error {
	d := journal.At(dir)
	w, h, err := d.Open(journal.Options{})
	if held := (*journal.Held)(nil); errors.As(err, &held) {
		if err := d.AskToStop(); err != nil {
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
		return errors.Join(w.Close(), &Problem{Message: "the run has ended already"})
	}
	if err := keeper.EndAt(dir); err != nil {
		return errors.Join(err, w.Close())
	}
	code := 1
	w.Append(&journal.Record{K: journal.KStop})
	w.Append(&journal.Record{K: journal.KFinish, Rest: journal.Rest{Code: &code}})
	return errors.Join(w.Flush(journal.Synced), w.Close())
}

// Remove removes a run's directory. The error is a *journal.Held when a process runs it.
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

// Verified is what was found when a run was verified.
type Verified struct {
	Records uint64 // that are kept
	Before  uint64 // that are not
	Torn    int    // bytes at the end
	OutTorn int    // bytes at the end of the output
}

// Verify reads a run's whole chain, its blobs and programs, its output, the answers that it has not taken, and where
// the beginning of its history is not kept, the snapshots that it goes on from. The error is a *journal.Damaged, journal.ErrNoRun, or one of the files.
func Verify(dir string) (v Verified, err error) {
	for {
		s, err := durable.Open(dir)
		if err != nil {
			return v, err
		}
		torn, err := verify(s)
		head := s.History.Head
		if now, rerr := durable.Open(dir); err != nil && rerr == nil && now.History.Head.After(head) {
			continue // what it names was dropped meanwhile
		}
		v = Verified{Records: s.History.N, Torn: s.History.Torn, OutTorn: torn}
		if head != nil {
			v.Before = head.S
			v.Records -= head.S
		}
		return v, err
	}
}

// verify returns how many bytes at the end of the output are no line.
func verify(s *durable.Stored) (outTorn int, err error) {
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

// Tape makes a tape of a run, which Replay plays.
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
