package spool_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/powercut"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// power is a spool whose power is cut repeatedly. It records what the spool has reported as
// committed.
type power struct {
	*testing.T
	account *account     // nil if the run is not sealed
	last    atomic.Int64 // number of the last committed event, without heads
	acked   int64        // last sequence number acknowledged by the server
	epoch   int64
}

// after checks the state after a power cut. Unacknowledged events, the offset and note of the last
// event, and results must remain if they were committed. Sealed events must continue each other.
func (p *power) after(dir string) error {
	last := p.last.Load()
	s, err := spool.Open(ctx, filepath.Join(dir, "spool.db"), spool.Options{})
	if err != nil {
		return fmt.Errorf("open the spool: %w", err)
	}
	defer s.Close()
	r, _ := s.Run("run_a")
	has := r.Offset / 10 // number of the last stored event
	if has < last || r.Acked > p.acked || s.Epoch() <= p.epoch {
		return fmt.Errorf("committed = %d, acknowledged = %d, run = %+v, epoch = %d after %d", last, p.acked, r, s.Epoch(), p.epoch)
	}
	all := next(p, s, "run_a", r.Acked, 1000)
	numbers, err := p.numbers(all)
	if err != nil {
		return err
	}
	for i, e := range all {
		if want := r.Acked + int64(i) + 1; e.Seq != want {
			return fmt.Errorf("got seq %d, want %d", e.Seq, want)
		}
	}
	for i, n := range numbers {
		if want := has - int64(len(numbers)-1-i); n != want {
			return fmt.Errorf("got event %d, want %d", n, want)
		}
	}
	note, err := s.Note(ctx, "run_a", "input", "last")
	if err != nil || has > 0 && string(note) != fmt.Sprint(has) {
		return fmt.Errorf("note = %s, want %d (%v)", note, has, err)
	}
	if all, err := s.Results(ctx, 0); err != nil || int64(len(all)) != has {
		return fmt.Errorf("results = %d, want %d (%v)", len(all), has, err)
	}
	return nil
}

// numbers returns the numbers of events, without heads.
func (p *power) numbers(all []protocol.Envelope) (numbers []int64, err error) {
	var r *reader
	for i := range all {
		e := &all[i]
		if p.account != nil {
			s, err := parse(e)
			if err != nil {
				return nil, err
			}
			if r == nil {
				r = newReader(p.account)
				r.chain = seal.StartAt(s)
			}
			if e, err = r.read(e); err != nil {
				return nil, err
			}
			if e.Type == seal.TypeHead {
				continue
			}
		}
		var n int64
		if _, err := fmt.Sscanf(textOf(p, *e), "%d ", &n); err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// TestPowerCut cuts the power at syncs and after commits. Any unsynced data may be lost. Each
// commit must be stored completely, and the file must be valid.
func TestPowerCut(t *testing.T) {
	testPowerCut(t, &power{T: t}, "cut-spool", spool.Options{})
}

// TestPowerCutSealed does the same with a sealed run.
func TestPowerCutSealed(t *testing.T) {
	a := newAccount("a_1")
	testPowerCut(t, &power{T: t, account: a}, "cut-sealed", spool.Options{Keys: a})
}

func testPowerCut(t *testing.T, p *power, vfs string, o spool.Options) {
	cuts := powercut.Test(t, vfs, 7, p.after)
	o.VFS = vfs
	s, err := spool.Open(ctx, filepath.Join(t.TempDir(), "spool.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	p.epoch = s.Epoch()
	cuts.On = true
	text := strings.Repeat("x", 32<<10-10)
	if p.account != nil {
		text = text[:2<<10] // opening events takes long
	}
	const last = 200
	for n := int64(1); n <= last; n++ {
		off := n * 10
		seq, err := s.Commit(ctx, spool.Change{Run: "run_a", Offset: &off, Events: []spool.Event{output(fmt.Sprintf("%d %s", n, text))},
			Notes:   []spool.Note{{Kind: "input", Key: "last", Data: []byte(fmt.Sprint(n))}},
			Results: []spool.Result{{Run: "run_a", CommandDone: protocol.CommandDone{ID: fmt.Sprint("in", n), Kind: "input", State: "applied"}}}})
		if err != nil || p.account == nil && seq != n {
			t.Fatal(seq, err)
		}
		p.last.Store(n)
		if n%25 == 0 {
			cuts.Cut()
			p.acked = seq - 10
			s.Ack("run_a", p.acked)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	cuts.On = false
	cuts.Cut()
	if cuts.N < 15 {
		t.Errorf("power cuts = %d, want at least 15", cuts.N)
	}
}
