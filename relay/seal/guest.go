package seal

import (
	"crypto/hmac"
	"encoding/json"
	"slices"
	"time"
)

// Approver is the role of guests, who decide requests and do nothing else.
const Approver = "approver"

// Grant permits a guest, the browser that first uses the link of a share, to decide the requests of
// its runs. An owner's device signs it.
type Grant struct {
	V       int64    `json:"v"`       // set by NewGrant
	Account string   `json:"account"` // set by NewGrant
	Host    string   `json:"host"`
	Share   string   `json:"share"` // id of the share
	Runs    []string `json:"runs"`
	Page    string   `json:"page"` // PageServer, or the origin of the link's page
	At      string   `json:"at"`   // set by NewGrant
	Expires string   `json:"expires"`
	Roster  Position `json:"roster"` // set by NewGrant
	By      string   `json:"by"`     // set by NewGrant
	Sig     string   `json:"sig,omitempty"`
}

// Guest identifies a guest next to its statement. In a command it has sign_key and mac; the host
// replaces mac with grant and sig, for the ledger.
type Guest struct {
	Sign  string          `json:"sign_key"`
	MAC   string          `json:"mac,omitempty"`
	Grant json.RawMessage `json:"grant,omitempty"`
	Sig   string          `json:"sig,omitempty"`
}

// ID returns the id of the guest, which its statements name as their device.
func (g *Guest) ID() string { return PublicKeys{Sign: g.Sign}.DeviceID() }

// own returns the text that mac and sig cover.
func (g *Guest) own(account, host, share string) []byte {
	return encode([]string{account, host, share, g.Sign})
}

// GuestKey returns the key of guests of the share whose link has the secret k. A host receives it,
// and not the secret.
func (k Key) GuestKey() Key { return k.derive(contextGuest) }

// guestCommand returns the command key of the guest in an epoch. k is a GuestKey.
func (k Key) guestCommand(epoch int64) Key { return k.derive(contextGuest, epoch) }

// NewGrant returns a grant in JSON, signed by an owner's device with the keys k, until a time. The
// error is a *Refusal.
func (r *Roster) NewGrant(k *Keys, g Grant, now, until time.Time) ([]byte, error) {
	g.V, g.Account, g.At, g.Expires, g.Roster, g.By, g.Sig = 1, r.account, formatTime(now), formatTime(until), r.Head(), k.Public().DeviceID(), ""
	g.Sig = k.signText(contextGrant, encode(g))
	text := encode(g)
	_, err := r.VerifyGrant(text)
	return text, err
}

// VerifyGrant verifies a grant. The error is a *Refusal.
func (r *Roster) VerifyGrant(text []byte) (*Grant, error) {
	g, _, err := r.readGrant(text)
	return g, err
}

// readGrant returns a verified grant, and the member that has signed it.
func (r *Roster) readGrant(text []byte) (*Grant, Member, error) {
	g := &Grant{}
	text, err := canonical(text)
	if err == nil {
		err = decode(text, g)
	}
	if err != nil {
		return nil, Member{}, err
	}
	at, ok := parseTime(g.At)
	until, ok2 := parseTime(g.Expires)
	m, isMember := r.memberAt(g.By, g.Roster.N)
	switch {
	case g.V != 1:
		err = refuse(Unsupported, "the grant has version %d", g.V)
	case !ok || !ok2 || !until.After(at) || !idForm.MatchString(g.Share), len(g.Runs) == 0 || len(g.Runs) > maxShared,
		slices.ContainsFunc(g.Runs, func(run string) bool { return !idForm.MatchString(run) }), g.Page != PageServer && !originForm.MatchString(g.Page):
		err = refuse(BadMessage, "at, expires, share, runs or page of the grant has the wrong form")
	case g.Account != r.account:
		err = refuse(WrongRequest, "the grant is for the account %q", g.Account)
	case !r.has(g.Roster):
		f := refuse(RosterFork, "the roster has another or no line %d", g.Roster.N)
		f.Retry = g.Roster.N > r.Head().N
		err = f
	case !isMember || r.wasRemoved(m, at):
		err = refuse(UnknownDevice, "the grant is by %q, which was no device of the account", g.By)
	case m.Role != Owner:
		err = refuse(Forbidden, "the grant is by %s, which is no device of an owner", g.By)
	case !m.verifyText(contextGrant, withoutSig(text), g.Sig):
		err = refuse(BadSignature, "the signature of the grant is not by %s", g.By)
	}
	return g, m, err
}

// SealGuestCommand seals a command of a guest that has the keys g, in an epoch of a host. share is
// the id of the share, and guest its GuestKey. The error is a *Refusal.
func SealGuestCommand(e *Epoch, guest Key, share string, k *Keys, c Command) (*SealedCommand, error) {
	s, _, err := c.read()
	if err != nil {
		return nil, err
	}
	c.Guest = &Guest{Sign: k.Public().Sign}
	c.Guest.MAC = encode64(hmacInContext(guest[:], contextGuest, c.Guest.own(e.Account, e.Host, share)))
	out := &SealedCommand{ID: s.ID, Device: share, Epoch: e.N}
	out.CT, err = sealText(guest.guestCommand(e.N).aead(), e.place("command", s.Run, s.Kind, out), encode(c))
	return out, err
}

// OpenGuestCommand opens a command that was sealed for the share whose GuestKey is guest. It is
// otherwise like OpenCommand.
func (e *Epoch) OpenGuestCommand(guest Key, run, kind string, s *SealedCommand) (Command, error) {
	if err := e.checkCommand(s); err != nil {
		return Command{}, err
	}
	c, err := e.openWith(guest.guestCommand(e.N), run, kind, s)
	if err != nil {
		return c, err
	}
	g := c.Guest
	switch {
	case g == nil || g.Grant != nil || g.Sig != "" || (PublicKeys{Sign: g.Sign}).verifier() == nil:
		err = refuse(BadMessage, "the command has no guest, or one in another form")
	case !hmac.Equal(decode64(g.MAC, secretSize), hmacInContext(guest[:], contextGuest, g.own(e.Account, e.Host, s.Device))):
		err = refuse(BadSignature, "mac of the guest is not by the key of its link")
	case c.DeviceOf() != g.ID():
		err = refuse(WrongRequest, "the statement is not by the guest %s", g.ID())
	}
	return c, err
}

// Admit returns the guest of a command whose mac was checked, for the ledger: with the grant, and a
// signature by the keys k of the host. The error is a *Refusal.
func (g *Guest) Admit(r *Roster, k *Keys, grant json.RawMessage) (*Guest, error) {
	terms, err := r.VerifyGrant(grant)
	if err != nil {
		return nil, err
	}
	return &Guest{Sign: g.Sign, Grant: grant, Sig: k.signText(contextGuest, g.own(terms.Account, terms.Host, terms.Share))}, nil
}

// guestOf returns the guest of a command as a member. Its error is a *Refusal if its grant does not
// permit the statement at a time.
func (r *Roster) guestOf(s *Statement, g *Guest, now time.Time) (Member, *Grant, error) {
	grant, by, err := r.readGrant(g.Grant)
	if err != nil {
		return Member{}, nil, err
	}
	m := Member{Kind: Device, ID: g.ID(), PublicKeys: PublicKeys{Sign: g.Sign}, User: "guest of " + by.User, Role: Approver, Page: grant.Page}
	until, _ := parseTime(grant.Expires)
	switch {
	case s.Device != m.ID:
		err = refuse(UnknownDevice, "the statement is by %q, and the guest is %s", s.Device, m.ID)
	case s.Host != grant.Host || !slices.Contains(grant.Runs, s.Run) || s.Kind != KindDecide || s.Scope != "once":
		err = refuse(Forbidden, "the link permits to decide single requests of its runs, and nothing else")
	case r.wasRemoved(by, now):
		err = refuse(UnknownDevice, "the device that has made the link was removed")
	case !now.Before(until):
		err = refuse(UnknownDevice, "the link has expired")
	}
	return m, grant, err
}

// liveGuest is guestOf for a command. It uses the present members, because the signer of a line of
// the roster chooses its time, and it refuses what would not verify in a ledger.
func (r *Roster) liveGuest(s *Statement, g *Guest, now time.Time) (Member, error) {
	m, grant, err := r.guestOf(s, g, now)
	if err != nil {
		return m, err
	}
	_, isMember := r.Member(grant.By)
	host, _ := r.Member(s.Host)
	then, _ := r.memberAt(s.Host, s.Roster.N)
	switch {
	case !isMember:
		err = refuse(UnknownDevice, "the device that has made the link was removed")
	case then != host:
		err = refuse(UnknownDevice, "%q was no host of the account at line %d of the roster", s.Host, s.Roster.N)
	case slices.ContainsFunc(r.members, func(other membership) bool { return other.Sign == m.Sign }):
		err = refuse(UnknownDevice, "the guest %s has the key of a member", m.ID)
	}
	return m, err
}

// verifyGuest verifies the guest of a decision in a ledger.
func (r *Roster) verifyGuest(s *Statement, g *Guest, at time.Time) (Member, error) {
	m, grant, err := r.guestOf(s, g, at)
	if err != nil {
		return m, err
	}
	host, ok := r.memberAt(s.Host, s.Roster.N)
	if !ok || host.Kind != Host || r.wasRemoved(host, at) {
		return m, refuse(UnknownDevice, "%q was no host of the account", s.Host)
	}
	if g.MAC != "" || !host.verifyText(contextGuest, g.own(r.account, s.Host, grant.Share), g.Sig) {
		return m, refuse(BadSignature, "%s has not signed that %s is the guest of its link", s.Host, m.ID)
	}
	return m, nil
}
