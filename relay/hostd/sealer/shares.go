package sealer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// share is a share of runs. Those who have its link receive the keys of the runs in each epoch
// until it ends.
type share struct {
	ID        string    `json:"id"`
	Key       seal.Key  `json:"key"`
	Runs      []string  `json:"runs"`
	From      int64     `json:"from"`         // the first epoch
	By        string    `json:"by,omitempty"` // device that has made it; "" if an older version stored it
	Expires   time.Time `json:"expires"`
	Published int64     `json:"published,omitempty"` // the newest epoch of which the server has the keys
	// The following are those of an approver's link.
	GuestKey *seal.Key       `json:"guest_key,omitempty"` // nil for a viewer's link
	Grant    json.RawMessage `json:"grant,omitempty"`
	Guest    *seal.Guest     `json:"guest,omitempty"` // nil until the link was used
}

// maxShares is the maximum number of shares of a machine at a time.
const maxShares = 100

// maxClockDifference is the maximum time by which the grant of a share may end before the share:
// the device that has signed it has another clock than the machine.
const maxClockDifference = time.Minute

func (x *share) describe() protocol.Share {
	d := protocol.Share{ShareID: x.ID, Runs: x.Runs, ExpiresAt: protocol.Timestamp(x.Expires), Role: seal.Viewer}
	if x.GuestKey != nil {
		d.Role = seal.Approver
	}
	if x.Guest != nil {
		d.Guest = x.Guest.ID()
	}
	return d
}

func (a *account) loadShares() error {
	text, err := readFile(a.dir, sharesFile)
	if err == nil && text != nil {
		if err = json.Unmarshal(text, &a.shares); err != nil {
			err = fmt.Errorf("%s is damaged: remove it, which ends all shares: %w", filepath.Join(a.dir, sharesFile), err)
		}
	}
	return err
}

// setShares stores shares. Without an error, they are those of the account.
func (a *account) setShares(next []*share) error {
	text, err := json.Marshal(next)
	if err == nil {
		err = a.write(sharesFile, append(text, '\n'))
	}
	if err == nil {
		a.shares = next
	}
	return err
}

// remove removes the shares for which is returns true. Another epoch begins then, so that their
// links do not open later events.
func (a *account) remove(is func(*share) bool) error {
	next := slices.DeleteFunc(slices.Clone(a.shares), is)
	if len(next) == len(a.shares) {
		return nil
	}
	if err := a.setShares(next); err != nil {
		return err
	}
	a.epochs.current = false
	return nil
}

// dropEnded removes the shares that have expired, and those of removed devices: whoever has such a
// device knows their links.
func (a *account) dropEnded(now time.Time) error {
	return a.remove(func(x *share) bool {
		_, isMember := a.roster.Member(x.By)
		return !now.Before(x.Expires) || x.By != "" && !isMember
	})
}

// StartShare shares runs of this machine with those who have a link, for a device, and publishes
// their keys. The share ends when the device is removed.
func (s *Sealer) StartShare(ctx context.Context, q protocol.ShareStart, device string) (protocol.Share, error) {
	x := &share{ID: q.ShareID, Runs: q.Runs, By: device, From: 1, Expires: s.o.Now().Add(time.Duration(q.TTLS) * time.Second).UTC()}
	if err := x.Key.UnmarshalText([]byte(q.Key)); err != nil || len(q.Runs) == 0 {
		return protocol.Share{}, refuse(seal.BadMessage, "key must have 32 bytes in base64url, and runs at least one run")
	}
	if q.Guest != "" || q.Grant != nil {
		x.GuestKey, x.Grant = &seal.Key{}, q.Grant
		if err := x.GuestKey.UnmarshalText([]byte(q.Guest)); err != nil {
			return protocol.Share{}, refuse(seal.BadMessage, "guest must have 32 bytes in base64url")
		}
	}
	if err := s.addShare(x, q.From == "now"); err != nil {
		return protocol.Share{}, err
	}
	if err := s.SyncKeys(ctx); err != nil {
		_, ended := s.EndShare(x.ID)
		return protocol.Share{}, fmt.Errorf("publish the keys of the share, which has ended: %w", errors.Join(err, ended))
	}
	return x.describe(), nil
}

func (s *Sealer) addShare(x *share, fromNow bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account
	switch {
	case a == nil:
		return errNoShares
	case !strings.HasPrefix(x.ID, "s_"): // the guest's commands have it in the place of a device's id
		return refuse(seal.BadMessage, "the share_id %s is not derived from a secret", x.ID)
	case slices.ContainsFunc(a.shares, func(other *share) bool { return other.ID == x.ID }):
		return refuse(seal.Replayed, "the share %s exists", x.ID)
	case len(a.shares) >= maxShares:
		return refuse(seal.BadMessage, "the machine has %d shares: end one (concerto-relay share end)", maxShares)
	}
	if x.GuestKey != nil {
		g, err := a.roster.VerifyGrant(x.Grant)
		if err != nil {
			return err
		}
		if g.Share != x.ID || g.Host != a.machine || !slices.Equal(g.Runs, x.Runs) {
			return refuse(seal.WrongRequest, "the grant is for the share %s of host %s, or for other runs", g.Share, g.Host)
		}
		until, err := time.Parse(time.RFC3339, g.Expires)
		if err != nil {
			return err
		}
		if late := x.Expires.Sub(until); late > maxClockDifference {
			return refuse(seal.Stale, "the clock of the device that signed the grant shows %v less than that of this machine: set the clocks, and make the link again", late.Round(time.Second))
		} else if late > 0 {
			x.Expires = until
		}
	}
	if fromNow {
		a.epochs.current = false
	}
	if _, err := s.renewEpoch(a); err != nil {
		return err
	}
	if fromNow {
		x.From = a.epochs.Last.N
	}
	return a.setShares(append(slices.Clone(a.shares), x))
}

var errNoShares = refuse(seal.Unsupported, "this machine has no account, and its runs are not sealed: share them with `concerto-relay token create --role viewer --runs RUN`")

// EndShare ends a share. Later events cannot be opened with its link.
func (s *Sealer) EndShare(id string) (protocol.Share, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account
	if a == nil {
		return protocol.Share{}, errNoShares
	}
	i := slices.IndexFunc(a.shares, func(x *share) bool { return x.ID == id })
	if i < 0 {
		return protocol.Share{}, refuse(seal.UnknownRequest, "the machine has no share %s, or it has ended", id)
	}
	ended := a.shares[i].describe()
	if err := a.remove(func(x *share) bool { return x.ID == id }); err != nil {
		return ended, err
	}
	_, err := s.renewEpoch(a)
	s.Follow() // publishes the key record
	return ended, err
}

// Shares returns the shares that have not ended.
func (s *Sealer) Shares() []protocol.Share {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []protocol.Share{}
	if s.account != nil {
		for _, x := range s.account.shares {
			if s.o.Now().Before(x.Expires) {
				all = append(all, x.describe())
			}
		}
	}
	return all
}

// publishShares sends the server the keys of new epochs for those who have links.
func (s *Sealer) publishShares(ctx context.Context, server Server, a *account, id string) error {
	for {
		s.mu.Lock()
		x, text, last, err := a.nextShare(s.account == a)
		s.mu.Unlock()
		if x == nil || err != nil {
			return err
		}
		if err := server.PublishShare(ctx, id, x.ID, text); err != nil {
			return fmt.Errorf("publish the keys of the share %s: %w", x.ID, err)
		}
		s.mu.Lock()
		if s.account == a {
			x.Published = last
			err = a.setShares(a.shares)
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// nextShare returns a share of which the server does not have the keys of the newest epoch, the
// text for the server, and this epoch. share is nil if there is none.
func (a *account) nextShare(isCurrent bool) (x *share, text []byte, last int64, err error) {
	if !isCurrent {
		return nil, nil, 0, nil
	}
	for _, x := range a.shares {
		var epochs []*seal.Epoch
		for _, e := range a.epochs.All {
			if e.N >= x.From {
				epochs = append(epochs, e)
			}
		}
		if n := len(epochs); n > 0 && epochs[n-1].N > x.Published {
			var head *seal.Position
			if x.GuestKey != nil {
				at := a.roster.Head()
				head = &at
			}
			text, err := seal.NewShare(a.keys, x.Key, x.ID, x.Runs, epochs, head)
			return x, text, epochs[n-1].N, err
		}
	}
	return nil, nil, 0, nil
}

// shareOf returns the share with an id that has a guest, or nil if there is none, or it has ended.
func (a *account) shareOf(id string, now time.Time) *share {
	i := slices.IndexFunc(a.shares, func(x *share) bool { return x.ID == id && x.GuestKey != nil && now.Before(x.Expires) })
	if i < 0 {
		return nil
	}
	return a.shares[i]
}

// isGuest reports whether a device is the guest of a share.
func (a *account) isGuest(device string) bool {
	return slices.ContainsFunc(a.shares, func(x *share) bool { return x.Guest != nil && x.Guest.ID() == device })
}

// openGuest opens the command of a guest, and sets the guest of the attempt. The caller holds mu.
func (a *account) openGuest(x *share, e *seal.Epoch, t *attempt, sealed *seal.SealedCommand) (seal.Command, error) {
	c, err := e.OpenGuestCommand(*x.GuestKey, t.envelope.Run, t.envelope.Kind, sealed)
	if err != nil {
		return c, err
	}
	if x.Guest != nil {
		t.envelope.Guest = x.Guest
		if x.Guest.Sign != c.Guest.Sign {
			return c, errBound
		}
	} else if t.envelope.Guest, err = c.Guest.Admit(a.roster, a.keys, x.Grant); err != nil {
		return c, err
	}
	c.Guest = t.envelope.Guest
	return c, nil
}

var errBound = refuse(seal.UnknownDevice, "another browser has used the link first: ask for a link of your own")

// bind stores the guest of a share, whose first command was accepted.
func (a *account) bind(id string, g *seal.Guest) error {
	next := slices.Clone(a.shares)
	i := slices.IndexFunc(next, func(x *share) bool { return x.ID == id })
	switch {
	case i < 0:
		return refuse(seal.UnknownDevice, "the link has ended")
	case next[i].Guest == nil:
		bound := *next[i]
		bound.Guest, next[i] = g, &bound
		return a.setShares(next)
	case next[i].Guest.Sign != g.Sign:
		return errBound
	}
	return nil
}
