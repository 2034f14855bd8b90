package spool_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// account has the keys of a machine, and of the readers of its runs. It implements spool.Keys.
type account struct {
	name  string
	keys  *seal.Keys
	fresh seal.FreshKey

	mu       sync.Mutex
	epochs   []*seal.Epoch
	browsers []string // devices of the next epochs
	isAbsent bool     // the machine has left the account
	oldOnly  bool     // new runs are not sealed
	err      error    // the error of Sealing
	calls    int
	messages int
}

func newAccount(name string) *account {
	a := &account{name: name, keys: seal.NewKeys(), fresh: seal.NewFreshKey()}
	a.rotate()
	return a
}

// rotate begins an epoch.
func (a *account) rotate() {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := &seal.Epoch{Account: a.name, Host: "host_a", N: int64(len(a.epochs)) + 1}
	_, _ = rand.Read(e.Secret[:]) // it never fails
	e.Commands = map[string]seal.Key{}
	for i, id := range a.browsers {
		e.Commands[id] = seal.Key{byte(i), byte(e.N)}
	}
	a.epochs = append(a.epochs, e)
}

// set changes whether the machine is in the account, and the error of Sealing.
func (a *account) set(isAbsent bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.isAbsent, a.err = isAbsent, err
}

func (a *account) callCount() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls
}

// Sealing implements spool.Keys.
func (a *account) Sealing(n int) (*spool.Sealing, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls, a.messages = a.calls+1, a.messages+n
	if a.isAbsent || a.err != nil {
		return nil, a.err
	}
	e := *a.epochs[len(a.epochs)-1] // another pointer each time
	return &spool.Sealing{Epoch: &e, Keys: a.keys, Fresh: a.fresh.Token(time.Now()), Browsers: a.browsers, OldRunsOnly: a.oldOnly}, nil
}

// parse returns the sealed form of an event.
func parse(e *protocol.Envelope) (*seal.SealedEvent, error) {
	s := &seal.SealedEvent{Type: e.Type, TS: e.TS, Run: e.RunID, Seq: e.Seq}
	return s, s.Parse(e.Enc, e.Data)
}

// open returns the plaintext of a sealed event, and its key.
func (a *account) open(e *protocol.Envelope) (*seal.SealedEvent, *seal.RunKey, *seal.Event, error) {
	s, err := parse(e)
	if err != nil {
		return nil, nil, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Enc.Epoch > int64(len(a.epochs)) {
		return nil, nil, nil, fmt.Errorf("event %d has epoch %d", e.Seq, s.Enc.Epoch)
	}
	k := a.epochs[s.Enc.Epoch-1].RunKey(e.RunID)
	plain, err := k.Open(s)
	return s, k, plain, err
}

// reader is a device that follows the events of a sealed run.
type reader struct {
	a       *account
	chain   seal.Chain
	isAfter bool           // the last event was a gap in plaintext; the chain may begin again
	pending map[int64]bool // events that the next head must confirm
	heads   int
}

func newReader(a *account) *reader { return &reader{a: a, pending: map[int64]bool{}} }

// read returns the plaintext of the next event. It returns an error if the event does not follow
// the earlier ones, or a head does not confirm all of them.
func (r *reader) read(e *protocol.Envelope) (*protocol.Envelope, error) {
	if e.Enc == nil {
		gap, err := protocol.Decode[protocol.Gap](e)
		if err != nil || e.Type != protocol.RunGap || gap.Reason != "spool_lost" && gap.Reason != "store_lost" {
			return nil, fmt.Errorf("%s %d is not sealed: %s", e.Type, e.Seq, e.Data)
		}
		r.isAfter = true
		clear(r.pending) // the events before the loss may remain unconfirmed
		return e, nil
	}
	s, k, plain, err := r.a.open(e)
	if err != nil {
		return nil, fmt.Errorf("open %s %d: %w", e.Type, e.Seq, err)
	}
	chain, confirmed, err := k.Follow(r.chain, s, plain, r.a.keys.Public())
	var why *seal.Refusal
	if r.isAfter && errors.As(err, &why) && why.Code == seal.Reordered {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("follow %s %d: %w", plain.Type, e.Seq, err)
	}
	wasPartial := r.chain.Partial || r.isAfter
	r.chain, r.isAfter = chain, false
	switch plain.Type {
	case seal.TypeGap: // it also replaces the hash of the events before it
		clear(r.pending)
	case seal.TypeHead:
		r.heads++
		for seq := range r.pending {
			if !wasPartial && (seq < confirmed.From || seq > confirmed.To) {
				return nil, fmt.Errorf("head %d confirms %v, but not %d", e.Seq, confirmed, seq)
			}
		}
		clear(r.pending)
	default:
		r.pending[e.Seq] = true
	}
	return &protocol.Envelope{Type: plain.Type, TS: plain.TS, RunID: e.RunID, Seq: e.Seq, Data: plain.Data}, nil
}
