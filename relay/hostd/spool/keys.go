package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// ErrAccount is the error for events of a sealed run that the machine cannot seal, because it has
// left the run's account. Match it with errors.Is.
var ErrAccount = errors.New("the events of the run cannot be sealed")

// Keys has the keys by which the events of runs are sealed.
type Keys interface {
	// Sealing returns the keys for the next n messages, or nil if the machine has no account. It is
	// called in a commit and must not use the spool.
	Sealing(n int) (*Sealing, error)
}

// Sealing has the keys of the present epoch.
type Sealing struct {
	Epoch *seal.Epoch
	Keys  *seal.Keys // of the host
	Fresh string     // token for a head
	// Browsers has the devices of the epoch that can receive push messages.
	Browsers []string
	// OldRunsOnly means that runs that begin now are not sealed.
	OldRunsOnly bool
}

// refusal is the error of one job, which changes nothing. The other jobs of the transaction are
// committed.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// isRefusal reports whether an error concerns only one job, so that the other jobs of the
// transaction can be committed.
func isRefusal(err error) bool {
	var r refusal
	return errors.Is(err, ErrEnded) || errors.As(err, &r)
}

// minReserved is the minimum number of messages for which a batch requests keys.
const minReserved = 64

// nextKeys returns the keys for one message, or nil if the machine has no account. Its error is a
// refusal.
func (b *batch) nextKeys() (*Sealing, error) {
	if b.s.keys == nil {
		return nil, nil
	}
	if b.reserved == 0 {
		n := max(b.messages, minReserved)
		keys, err := b.s.keys.Sealing(n)
		if err != nil {
			return nil, refusal{fmt.Errorf("the keys of events are not available: %w", err)}
		}
		b.sealing, b.reserved = keys, n
	}
	b.reserved--
	return b.sealing, nil
}

// keysFor returns the keys for one message of a run that is sealed for an account. Its error is a
// refusal.
func (b *batch) keysFor(id, account string) (*Sealing, error) {
	k, err := b.nextKeys()
	switch {
	case err != nil:
		return nil, err
	case k == nil:
		return nil, refusal{fmt.Errorf("%w: the run %s is sealed for account %s, and this machine has no account", ErrAccount, id, account)}
	case k.Epoch.Account != account:
		return nil, refusal{fmt.Errorf("%w: the run %s is sealed for account %s, and this machine is in account %s", ErrAccount, id, account, k.Epoch.Account)}
	}
	return k, nil
}

// runKeys has the keys of runs in one epoch, because deriving one takes longer than sealing an
// event. Only the writer uses it.
type runKeys struct {
	of   seal.Epoch // account, host, number and secret of the epoch
	keys map[string]*seal.RunKey
}

// get returns the key of a run in an epoch.
func (c *runKeys) get(e *seal.Epoch, run string) *seal.RunKey {
	if c.keys == nil || e.N != c.of.N || e.Account != c.of.Account || e.Host != c.of.Host || e.Secret != c.of.Secret {
		c.of = seal.Epoch{Account: e.Account, Host: e.Host, N: e.N, Secret: e.Secret}
		c.keys = map[string]*seal.RunKey{}
	}
	k := c.keys[run]
	if k == nil {
		k = e.RunKey(run)
		c.keys[run] = k
	}
	return k
}

// isSealed reports whether the events of the run are sealed when they are committed. Those of an
// adopted run are sealed when their sequence numbers are known.
func (st *state) isSealed() bool { return st.account != "" && !st.adopted }

// restartChain begins the run's chain again after an event that is not sealed.
func (st *state) restartChain(seq int64) {
	st.covered, st.headAt, st.ackedTag = seq, time.Time{}, ""
	st.chain = seal.Chain{}
	if st.account != "" {
		st.chain = seal.Chain{Seq: seq, From: seq + 1}
	}
}

// putSealed changes a row to its sealed form. after is the chain with the event.
func (r *row) putSealed(e *seal.SealedEvent, after seal.Chain) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	chain, err := json.Marshal(after)
	if err != nil {
		return err
	}
	r.typ, r.ts, r.data, r.epoch, r.chain = e.Type, e.TS, data, e.Enc.Epoch, string(chain)
	r.size = sizeOf(r.typ, r.data)
	return nil
}

// parseChain returns a stored chain. "" is that of an event that is not sealed.
func parseChain(text string) (c seal.Chain, err error) {
	if text == "" {
		return c, nil
	}
	err = json.Unmarshal([]byte(text), &c)
	return c, err
}

// refuseEvent returns the error for an event that package seal has refused.
func refuseEvent(id string, r *row, err error) error {
	why := &protocol.Refusal{Code: protocol.BadMessage, Why: err.Error()}
	if !fitsSealed(r.typ, r.ts, r.data) {
		why = tooLarge(r.typ, len(r.data), seal.MaxPlaintext)
	}
	return refusal{fmt.Errorf("spool %s of %s: %w", r.typ, id, why)}
}
