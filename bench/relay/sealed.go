package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// sealing has the keys of a machine, which its devices have, too. It implements spool.Keys.
type sealing struct {
	epoch *seal.Epoch
	keys  *seal.Keys
	fresh seal.FreshKey
}

func newSealing() *sealing {
	s := &sealing{epoch: &seal.Epoch{Account: "a_bench", Host: "host_bench", N: 1}, keys: seal.NewKeys(), fresh: seal.NewFreshKey()}
	_, _ = rand.Read(s.epoch.Secret[:]) // it never fails
	return s
}

// Sealing implements spool.Keys.
func (s *sealing) Sealing(int) (*spool.Sealing, error) {
	return &spool.Sealing{Epoch: s.epoch, Keys: s.keys, Fresh: s.fresh.Token(time.Now())}, nil
}

// sealEvent replaces an event of a host with what hostd sends of it. A head follows each second.
func (h *host) sealEvent(e protocol.Envelope) (out []protocol.Envelope, err error) {
	key := h.seals.epoch.RunKey(h.run)
	add := func(s *seal.SealedEvent, c seal.Chain, err error) error {
		if err != nil {
			return err
		}
		h.chain, h.seq = c, s.Seq
		data, err := json.Marshal(s.Data)
		out = append(out, protocol.Envelope{Type: s.Type, TS: s.TS, RunID: h.run, Seq: s.Seq, Enc: seal.EncOf(s.Enc.Epoch), Data: data})
		return err
	}
	if err := add(key.Seal(seal.Event{Type: e.Type, TS: e.TS, Data: e.Data}, h.chain)); err != nil {
		return nil, err
	}
	if now := time.Now(); now.Sub(h.head) >= seal.HeadInterval {
		h.head = now
		err = add(key.SealHead(h.seals.keys, h.chain, h.seals.fresh.Token(now), now))
	}
	return out, err
}

// reader opens the events of a run, as an app does.
type reader struct {
	seals *sealing
	chain seal.Chain
}

// open returns the frame of an event with what was sealed.
func (r *reader) open(frame []byte) ([]byte, error) {
	e, refused := protocol.Parse(frame)
	if refused != nil {
		return nil, refused
	}
	if e.Enc == nil {
		return frame, nil
	}
	s := &seal.SealedEvent{Type: e.Type, TS: e.TS, Run: e.RunID, Seq: e.Seq}
	if err := s.Parse(e.Enc, e.Data); err != nil {
		return nil, err
	}
	key := r.seals.epoch.RunKey(e.RunID)
	plain, err := key.Open(s)
	if err != nil {
		return nil, err
	}
	if r.chain, _, err = key.Follow(r.chain, s, plain, r.seals.keys.Public()); err != nil {
		return nil, err
	}
	return plain.Data, nil
}

// speak2 makes an app speak protocol 2, which sealed runs require.
func speak2(app *websocket.Conn) error {
	hello := protocol.New(protocol.Hello, time.Now(), protocol.HelloData{Protocol: protocol.Version, Agent: "bench/1"})
	if err := app.Write(context.Background(), websocket.MessageText, hello.Append(nil)); err != nil {
		return err
	}
	e := protocol.New(protocol.RunSubscribe, time.Now(), protocol.Subscribe{Rest: "live"})
	return app.Write(context.Background(), websocket.MessageText, e.Append(nil))
}

// sealedPaced measures the delay of events that a host seals and an app opens, and that of plain
// ones, in alternating parts.
func sealedPaced(rate int) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		if _, _, err := l.serve(); err != nil {
			return "", err
		}
		plain, sealed := &times{}, &times{}
		for range 4 {
			for to, s := range map[*times]*sealing{plain: nil, sealed: newSealing()} {
				part, err := l.paceTo(rate, 0, speak2, s)
				if err != nil {
					return "", err
				}
				to.all = append(to.all, part.all...)
			}
		}
		return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms (plain: %.2f, %.2f: %.2f, %.2f times)", sealed.quantile(0.5), sealed.quantile(0.99),
			plain.quantile(0.5), plain.quantile(0.99), sealed.quantile(0.5)/plain.quantile(0.5), sealed.quantile(0.99)/plain.quantile(0.99)), nil
	}
}

// sealedSpool measures the sealing of events in a spool by concurrent writers, the time until a
// server has them, and the sizes of the databases relative to those of plain events.
func sealedSpool(n int) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		if _, _, err := l.serve(); err != nil {
			return "", err
		}
		plain, err := l.storeMany("plain", n, nil)
		if err != nil {
			return "", err
		}
		sealed, err := l.storeMany("sealed", n, newSealing())
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("sealed %.0f/s, sent %.0f/s (plain: %.0f, %.0f); %.2f times the bytes in the spool", sealed.stored, sealed.sent, plain.stored, plain.sent, float64(sealed.bytes)/float64(plain.bytes)), nil
	}
}

// stored has the rates of events, and the size of the spool's database.
type stored struct {
	stored, sent float64
	bytes        int64
}

func (l *lab) storeMany(name string, n int, keys spool.Keys) (out stored, err error) {
	s, err := spool.Open(context.Background(), l.path(name+".db"), spool.Options{Max: 8 << 30, Keys: keys})
	if err != nil {
		return out, err
	}
	defer s.Close()
	const writers = 250
	if _, err := s.Append(context.Background(), "run_"+name, spool.Event{Type: protocol.RunStarted, Data: protocol.Started{Tool: "bench", Cwd: "/", Command: "bench"}}); err != nil {
		return out, err
	}
	begun := time.Now()
	var all sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		all.Go(func() {
			for i := range n / writers {
				e := spool.Event{Type: protocol.RunEmit, Data: protocol.Emit{Channel: "bench", Payload: fmt.Appendf(nil, `"%d of %d: a line of what an agent writes while it works"`, i, w)}}
				_, err := s.Append(context.Background(), "run_"+name, e)
				errs[w] = errors.Join(errs[w], err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return out, err
	}
	out.stored = float64(n) / time.Since(begun).Seconds()
	info, err := os.Stat(l.path(name + ".db"))
	if err != nil {
		return out, err
	}
	out.bytes = info.Size()
	took, err := l.send(s, n)
	out.sent = float64(n) / took.Seconds()
	return out, err
}
