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
)

// power is a spool whose power is cut repeatedly. It records what the spool has reported as
// committed.
type power struct {
	*testing.T
	last  atomic.Int64 // last committed sequence number
	acked int64        // last sequence number acknowledged by the server
	epoch int64
}

// after checks the state after a power cut. Unacknowledged events, the offset and note of the last
// event, and results must remain if they were committed.
func (p *power) after(dir string) error {
	last := p.last.Load()
	s, err := spool.Open(ctx, filepath.Join(dir, "spool.db"), spool.Options{})
	if err != nil {
		return fmt.Errorf("open the spool: %w", err)
	}
	defer s.Close()
	r, _ := s.Run("run_a")
	if r.Last < last || r.Offset != r.Last*10 || r.Acked > p.acked || s.Epoch() <= p.epoch {
		return fmt.Errorf("committed = %d, acknowledged = %d, run = %+v, epoch = %d after %d", last, p.acked, r, s.Epoch(), p.epoch)
	}
	for i, e := range next(p, s, "run_a", r.Acked, 1000) {
		if want := r.Acked + int64(i) + 1; e.Seq != want || !strings.HasPrefix(textOf(p, e), fmt.Sprintf("%d ", want)) {
			return fmt.Errorf("got seq %d, want %d", e.Seq, want)
		}
	}
	note, err := s.Note(ctx, "run_a", "input", "last")
	if err != nil || r.Last > 0 && string(note) != fmt.Sprint(r.Last) {
		return fmt.Errorf("note = %s, want %d (%v)", note, r.Last, err)
	}
	if all, err := s.Results(ctx, 0); err != nil || int64(len(all)) != r.Last {
		return fmt.Errorf("results = %d, want %d (%v)", len(all), r.Last, err)
	}
	return nil
}

// TestPowerCut cuts the power at syncs and after commits. Any unsynced data may be lost. Each
// commit must be stored completely, and the file must be valid.
func TestPowerCut(t *testing.T) {
	p := &power{T: t}
	cuts := powercut.Test(t, "cut-spool", 7, p.after)
	s, err := spool.Open(ctx, filepath.Join(t.TempDir(), "spool.db"), spool.Options{VFS: "cut-spool"})
	if err != nil {
		t.Fatal(err)
	}
	p.epoch = s.Epoch()
	cuts.On = true
	text := strings.Repeat("x", 32<<10-10)
	const last = 200
	for seq := int64(1); seq <= last; seq++ {
		off := seq * 10
		got, err := s.Commit(ctx, spool.Change{Run: "run_a", Offset: &off, Events: []spool.Event{output(fmt.Sprintf("%d %s", seq, text))},
			Notes:   []spool.Note{{Kind: "input", Key: "last", Data: []byte(fmt.Sprint(seq))}},
			Results: []spool.Result{{Run: "run_a", CommandDone: protocol.CommandDone{ID: fmt.Sprint("in", seq), Kind: "input", State: "applied"}}}})
		if err != nil || got != seq {
			t.Fatal(got, err)
		}
		p.last.Store(seq)
		if seq%25 == 0 {
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
