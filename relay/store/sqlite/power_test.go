package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/powercut"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// power is a store whose power is cut again and again, and what it has said is stored.
type power struct {
	*testing.T
	disk   *powercut.Disk
	chance *rand.Rand
	cuts   int
	acked  int64 // run_a up to here
	inputs int   // that were accepted
}

// after cuts the power now, and sees that all is there that the store has said is.
func (p *power) after() error {
	dir := p.TempDir()
	if err := p.disk.Cut(dir, p.chance); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "relay.db"))
	if err != nil {
		return fmt.Errorf("open it: %w", err)
	}
	defer s.Close()
	all, err := s.Events(ctx, "run_a", 0, 100_000)
	if err != nil || int64(len(all)) < p.acked {
		return fmt.Errorf("%d are acknowledged, %d there (%v)", p.acked, len(all), err)
	}
	for i, e := range all {
		if e.Seq != int64(i)+1 || !strings.HasPrefix(string(e.Data), fmt.Sprintf(`{"stream":"stdout","text":"%d `, e.Seq)) {
			return fmt.Errorf("%d stands where %d should: %.60s", e.Seq, i+1, e.Data)
		}
	}
	if prefixes, err := s.Prefixes(ctx, "host_a", []string{"run_a"}); err != nil || prefixes["run_a"] != int64(len(all)) {
		return fmt.Errorf("%v of %d (%v)", prefixes, len(all), err)
	}
	for i := range p.inputs {
		if c, err := s.Command(ctx, "run_a", store.InputCommand, fmt.Sprintf("in%d", i)); err != nil || c.State != "accepted" {
			return fmt.Errorf("input %d of %d: %+v (%v)", i, p.inputs, c, err)
		}
	}
	return nil
}

// cut cuts the power now. It may be called in any goroutine.
func (p *power) cut() {
	p.cuts++
	if err := p.after(); err != nil {
		p.Errorf("cut %d: %v", p.cuts, err)
	}
}

// TestPowerCut: whatever of what was not synced is lost, at a sync or behind an ack, all that was
// acknowledged is there, and the file is whole.
func TestPowerCut(t *testing.T) {
	p := &power{T: t, chance: rand.New(rand.NewPCG(5, 6))}
	syncs, writing := 0, false
	p.disk = powercut.New("cut-store", func() {
		if syncs++; writing && syncs%17 == 0 {
			p.cut()
		}
	})
	ctx := context.Background()
	s, err := sqlite.OpenOn(ctx, "cut-store", filepath.Join(t.TempDir(), "relay.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddHost(ctx, store.Host{ID: "host_a"}); err != nil {
		t.Fatal(err)
	}
	gen, err := s.TakeOver(ctx, "host_a", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	w := s.NewWriter(nil)
	writing = true
	text := strings.Repeat("x", 24<<10) // so that the log is carried over to the file, more than once
	const last = 200
	for seq := int64(1); seq <= last; seq++ {
		e := event(gen, seq)
		e.Envelope.Data = json.RawMessage(fmt.Sprintf(`{"stream":"stdout","text":"%d %s"}`, seq, text))
		heard := make(chan struct{})
		w.Write(ctx, e, func(told store.Written) {
			defer close(heard)
			if told.Err != nil || told.Refused != "" || told.Prefix != seq {
				t.Errorf("%+v", told)
			}
			if p.acked = told.Prefix; seq%25 == 5 {
				p.cut()
			}
		})
		<-heard
		if seq%25 == 0 {
			c := store.Command{RunID: "run_a", Kind: store.InputCommand, ID: fmt.Sprintf("in%d", p.inputs), SHA256: "x", Payload: []byte(`{"type":"` + protocol.RunSendInput + `"}`), Created: 1, Expires: 1 << 50}
			if _, fresh, err := s.Accept(ctx, c); err != nil || !fresh {
				t.Fatal(fresh, err)
			}
			p.inputs++
			p.cut()
		}
	}
	w.Close()
	writing = false
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	p.cut()
	if p.cuts < 25 || p.acked != last {
		t.Errorf("%d cuts, %d acknowledged", p.cuts, p.acked)
	}
}
