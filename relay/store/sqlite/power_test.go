package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/powercut"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

func event(gen, seq int64) store.Incoming {
	return store.Incoming{MachineID: "host_a", Gen: gen, At: 1, Envelope: &protocol.Envelope{Type: protocol.RunOutput, TS: "2025-01-01T00:00:00Z", RunID: "run_a", Seq: seq,
		Data: json.RawMessage(fmt.Sprintf(`{"stream":"stdout","text":"%d"}`, seq))}}
}

// power is a store whose power is cut repeatedly. It records what the store has reported as
// committed.
type power struct {
	*testing.T
	acked  int64 // sequence number up to which events of run_a are committed
	inputs int   // number of committed inputs
}

// checkAfterCut checks that after a power cut the store has every event it reported as committed.
func (p *power) after(dir string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "relay.db"))
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	defer s.Close()
	all, err := s.Events(ctx, "run_a", 0, 100_000)
	if err != nil || int64(len(all)) < p.acked {
		return fmt.Errorf("acknowledged events = %d, stored events = %d (%v)", p.acked, len(all), err)
	}
	for i, e := range all {
		if e.Seq != int64(i)+1 || !strings.HasPrefix(string(e.Data), fmt.Sprintf(`{"stream":"stdout","text":"%d `, e.Seq)) {
			return fmt.Errorf("got seq %d, want %d: %.60s", e.Seq, i+1, e.Data)
		}
	}
	if prefixes, err := s.Prefixes(ctx, "host_a", []string{"run_a"}); err != nil || prefixes["run_a"] != int64(len(all)) {
		return fmt.Errorf("prefixes = %v, stored events = %d (%v)", prefixes, len(all), err)
	}
	for i := range p.inputs {
		if c, err := s.Command(ctx, "run_a", store.InputCommand, fmt.Sprintf("in%d", i)); err != nil || c.State != "accepted" {
			return fmt.Errorf("input %d of %d: %+v (%v)", i, p.inputs, c, err)
		}
	}
	return nil
}

// TestPowerCut cuts the power at syncs and after acknowledgements. Any unsynced data may be lost.
// All acknowledged events must remain, and the file must be valid.
func TestPowerCut(t *testing.T) {
	p := &power{T: t}
	cuts := powercut.Test(t, "cut-store", 5, p.after)
	ctx := context.Background()
	s, err := sqlite.OpenOn(ctx, "cut-store", filepath.Join(t.TempDir(), "relay.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddMachine(ctx, store.Machine{ID: "host_a"}); err != nil {
		t.Fatal(err)
	}
	gen, err := s.TakeOver(ctx, store.Takeover{Machine: "host_a", At: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := s.NewWriter(nil, nil)
	cuts.On = true
	text := strings.Repeat("x", 24<<10) // large events, so that the log is checkpointed more than once
	const last = 200
	for seq := int64(1); seq <= last; seq++ {
		e := event(gen, seq)
		e.Envelope.Data = json.RawMessage(fmt.Sprintf(`{"stream":"stdout","text":"%d %s"}`, seq, text))
		done := make(chan struct{})
		w.Write(ctx, e, func(written store.Written) {
			defer close(done)
			if written.Err != nil || written.Refused != "" || written.Prefix != seq {
				t.Errorf("result of the write = %+v", written)
			}
			if p.acked = written.Prefix; seq%25 == 5 {
				cuts.Cut()
			}
		})
		<-done
		if seq%25 == 0 {
			c := store.Command{RunID: "run_a", Kind: store.InputCommand, ID: fmt.Sprintf("in%d", p.inputs), SHA256: "x", Payload: []byte(`{"type":"` + protocol.RunSendInput + `"}`), Created: 1, Expires: 1 << 50}
			if _, fresh, err := s.Accept(ctx, c); err != nil || !fresh {
				t.Fatal(fresh, err)
			}
			p.inputs++
			cuts.Cut()
		}
	}
	w.Close()
	cuts.On = false
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	cuts.Cut()
	if cuts.N < 25 || p.acked != last {
		t.Errorf("power cuts = %d, acknowledged events = %d", cuts.N, p.acked)
	}
}
