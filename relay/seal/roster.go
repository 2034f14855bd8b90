package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Position identifies a line of a roster and all lines before it.
type Position struct {
	N    int64  `json:"n"`
	Hash string `json:"hash"`
}

// Kinds of members.
const (
	Device = "device"
	Host   = "host"
)

// Roles of devices, as of users of the relay.
const (
	Viewer   = "viewer"
	Operator = "operator"
	Owner    = "owner"
)

// Pages of devices that are not the origin of a page.
const (
	PageCLI    = "cli"
	PageServer = "server"
)

// Member is a device or a host of an account: the body of a line add.
type Member struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	PublicKeys
	OwnSig string `json:"own_sig"`
	// The following are set by the owner that adds the member.
	User string `json:"user"`
	Role string `json:"role,omitempty"` // of a device
	Page string `json:"page,omitempty"` // of a device: PageCLI, PageServer, or an origin
}

// NewMember returns a member of an account with a signature by its own keys. The id of a host is
// its id at the relay; the id of a device is derived from its keys, and the argument is ignored.
func NewMember(k *Keys, account, kind, id string) Member {
	m := Member{Kind: kind, ID: id, PublicKeys: k.Public()}
	if kind == Device {
		m.ID = m.DeviceID()
	}
	m.OwnSig = k.signText(contextMember, m.own(account))
	return m
}

// own returns the text that a member signs itself.
func (m *Member) own(account string) []byte {
	return encode(struct {
		Account string `json:"account"`
		Kind    string `json:"kind"`
		ID      string `json:"id"`
		PublicKeys
	}{account, m.Kind, m.ID, m.PublicKeys})
}

// checkOwn validates the parts of a member that it has chosen itself.
func (m *Member) checkOwn(account string) error {
	if err := m.PublicKeys.check(); err != nil {
		return err
	}
	switch {
	case m.Kind != Device && m.Kind != Host:
		return refuse(BadMessage, "kind is %q; it must be device or host", m.Kind)
	case !idForm.MatchString(m.ID), m.Kind == Device && m.ID != m.DeviceID():
		return refuse(BadMessage, "the member's id %q is not that of its keys", m.ID)
	case !m.verifyText(contextMember, m.own(account), m.OwnSig):
		return refuse(BadSignature, "own_sig of %s is not by its sign_key", m.ID)
	}
	return nil
}

// check validates a member of an added line.
func (m *Member) check(account string) error {
	if err := m.checkOwn(account); err != nil {
		return err
	}
	if err := checkText("user", m.User); err != nil {
		return err
	}
	switch {
	case m.Kind == Host && (m.Role != "" || m.Page != ""):
		return refuse(BadMessage, "a host has no role and no page")
	case m.Kind == Host:
		return nil
	case !slices.Contains([]string{Viewer, Operator, Owner}, m.Role):
		return refuse(BadMessage, "role is %q; it must be viewer, operator or owner", m.Role)
	case m.Page != PageCLI && m.Page != PageServer && !originForm.MatchString(m.Page):
		return refuse(BadMessage, "page is %q; it must be cli, server or an origin", m.Page)
	}
	return nil
}

// line is a line of a roster.
type line struct {
	V       int64           `json:"v"`
	Account string          `json:"account"`
	N       int64           `json:"n"`
	Prev    string          `json:"prev"`
	At      string          `json:"at"`
	Kind    string          `json:"kind"`
	Body    json.RawMessage `json:"body"`
	By      string          `json:"by"`
	Sig     string          `json:"sig,omitempty"`
}

// Kinds of lines.
const (
	kindGenesis = "genesis"
	kindAdd     = "add"
	kindRemove  = "remove"
	kindPolicy  = "policy"
)

// ByRecovery is the signer of lines that are signed with the recovery keys.
const ByRecovery = "recovery"

type genesisBody struct {
	Suite    int64    `json:"suite"`
	Recovery recovery `json:"recovery"`
}

type removeBody struct {
	ID string `json:"id"`
}

// membership is the time in which a member belongs to an account.
type membership struct {
	Member
	from  int64 // line that adds it
	until int64 // line that removes it, or 0
}

// isMember reports whether the member belongs to the account as of line n.
func (m *membership) isMember(n int64) bool { return m.from <= n && (m.until == 0 || m.until > n) }

// Roster is the verified list of an account's members. It is safe for concurrent use as long as no
// method that appends a line runs.
type Roster struct {
	account  string
	lines    [][]byte
	hashes   []string
	times    []time.Time
	recovery recovery
	members  []membership
	policy   Policy
}

// ParseRoster verifies a roster of which known is the newest position that the caller has verified
// before, or the zero Position. If account is not "", the roster must be that account's. Its error
// is a *Refusal, with RosterFork if the text does not continue the known roster.
func ParseRoster(text []byte, account string, known Position) (*Roster, error) {
	r := &Roster{}
	if err := r.AppendLines(text); err != nil {
		return nil, err
	}
	if len(r.lines) == 0 {
		return nil, refuse(BadMessage, "the roster is empty")
	}
	if account != "" && account != r.account {
		return nil, refuse(WrongRequest, "the roster is that of account %s, not of %s", r.account, account)
	}
	if known != (Position{}) && !r.has(known) {
		return nil, refuse(RosterFork, "the roster has %d lines, and another or no line %d than the one known", len(r.lines), known.N)
	}
	return r, nil
}

// Account returns the account's id.
func (r *Roster) Account() string { return r.account }

// Text returns the lines, each with a line feed.
func (r *Roster) Text() []byte { return append(bytes.Join(r.lines, []byte("\n")), '\n') }

// Head returns the position of the last line.
func (r *Roster) Head() Position {
	return Position{int64(len(r.lines)), r.hashes[len(r.hashes)-1]}
}

func (r *Roster) has(p Position) bool {
	return p.N > 0 && p.N <= int64(len(r.hashes)) && r.hashes[p.N-1] == p.Hash
}

// CommonLines returns the number of lines that two rosters have in common.
func (r *Roster) CommonLines(other *Roster) int64 {
	n := 0
	for n < min(len(r.hashes), len(other.hashes)) && r.hashes[n] == other.hashes[n] {
		n++
	}
	return int64(n)
}

// Members returns the present members in the order in which they were added.
func (r *Roster) Members() []Member {
	var all []Member
	for _, m := range r.members {
		if m.until == 0 {
			all = append(all, m.Member)
		}
	}
	return all
}

// Member returns a present member.
func (r *Roster) Member(id string) (Member, bool) { return r.memberAt(id, int64(len(r.lines))) }

// memberAt returns a member as of line n.
func (r *Roster) memberAt(id string, n int64) (Member, bool) {
	for _, m := range r.members {
		if m.ID == id && m.isMember(n) {
			return m.Member, true
		}
	}
	return Member{}, false
}

// Policy returns the account's policy.
func (r *Roster) Policy() Policy { return r.policy }

// HostKeys returns the public keys of a host, which may have been removed: those of its runs' heads
// and beats.
func (r *Roster) HostKeys(id string) (PublicKeys, bool) {
	for _, m := range slices.Backward(r.members) {
		if m.ID == id && m.Kind == Host {
			return m.PublicKeys, true
		}
	}
	return PublicKeys{}, false
}

// RecoveryKeys opens the recovery keys. Its error is a *Refusal, with WrongCode for another code.
func (r *Roster) RecoveryKeys(c RecoveryCode) (*Keys, error) { return r.recovery.open(c) }

// AppendLines is Append for each line of a text. It stops at the first line that is invalid, after
// it has appended those before it.
func (r *Roster) AppendLines(text []byte) error {
	for l := range bytes.Lines(text) {
		if err := r.Append(bytes.TrimSuffix(l, []byte("\n"))); err != nil {
			return err
		}
	}
	return nil
}

// Append verifies a line, without its line feed, and appends it. A line that the roster already has
// is accepted. Its error is a *Refusal; the roster is then unchanged. It has RosterFork if the
// line belongs to another roster of the account, which must be reported to the user.
func (r *Roster) Append(text []byte) error {
	var l line
	if err := decode(text, &l); err != nil {
		return err
	}
	at, ok := parseTime(l.At)
	if !ok || l.V != 1 || l.N < 1 {
		return refuse(BadMessage, "v, n or at of a roster line has the wrong form")
	}
	if len(r.lines) == 0 {
		return r.begin(text, &l, at)
	}
	have := int64(len(r.lines))
	switch {
	case l.N > 1 && l.Account != r.account:
		return refuse(WrongRequest, "the line is for the account %q", l.Account)
	case l.N <= have && r.hashes[l.N-1] == hexsum.SHA256(text):
		return nil
	case l.N <= have, l.N == have+1 && l.Prev != r.hashes[have-1]:
		return refuse(RosterFork, "line %d belongs to another roster of the account", l.N)
	case l.N > have+1:
		return refuse(BadMessage, "line %d is missing", have+1)
	case at.Before(r.times[have-1]):
		return refuse(BadMessage, "the time of line %d is before that of the previous line", l.N)
	}
	if err := r.checkSigner(&l); err != nil {
		return err
	}
	if err := r.apply(&l); err != nil {
		return err
	}
	r.store(text, at)
	return nil
}

func (r *Roster) store(text []byte, at time.Time) {
	r.lines = append(r.lines, bytes.Clone(text))
	r.hashes = append(r.hashes, hexsum.SHA256(text))
	r.times = append(r.times, at)
}

// begin verifies the first line.
func (r *Roster) begin(text []byte, l *line, at time.Time) error {
	var b genesisBody
	if l.Kind != kindGenesis || l.N != 1 || l.Account != "" || l.Prev != "" || l.By != ByRecovery {
		return refuse(BadMessage, "the first line is no genesis")
	}
	if err := decode(l.Body, &b); err != nil {
		return err
	}
	if b.Suite != 1 {
		return refuse(Unsupported, "the roster uses suite %d", b.Suite)
	}
	if err := b.Recovery.check(); err != nil {
		return err
	}
	if decode64(b.Recovery.Private, privateSize) == nil {
		return refuse(BadMessage, "private of the recovery keys has the wrong form")
	}
	if !b.Recovery.verifyText(contextRoster, l.unsigned(), l.Sig) {
		return refuse(BadSignature, "the genesis is not signed by its recovery key")
	}
	sum := sha256.Sum256(text)
	r.account, r.recovery = "a_"+encode64(sum[:]), b.Recovery
	r.store(text, at)
	return nil
}

// unsigned returns the text that is signed.
func (l line) unsigned() []byte {
	l.Sig = ""
	return encode(l)
}

// checkSigner checks that an owner's device or the recovery key has signed the line.
func (r *Roster) checkSigner(l *line) error {
	keys := r.recovery.PublicKeys
	if l.By != ByRecovery {
		m, ok := r.Member(l.By)
		switch {
		case !ok:
			return refuse(UnknownDevice, "line %d is by %q, which is no member", l.N, l.By)
		case m.Role != Owner: // a host has no role
			return refuse(Forbidden, "line %d is by %s, which is no device of an owner", l.N, l.By)
		}
		keys = m.PublicKeys
	}
	if !keys.verifyText(contextRoster, l.unsigned(), l.Sig) {
		return refuse(BadSignature, "the signature of line %d is not by %s", l.N, l.By)
	}
	return nil
}

// apply validates a line's body and changes the members.
func (r *Roster) apply(l *line) error {
	switch l.Kind {
	case kindAdd:
		var m Member
		if err := decode(l.Body, &m); err != nil {
			return err
		}
		return r.add(m, l.N)
	case kindRemove:
		var b removeBody
		if err := decode(l.Body, &b); err != nil {
			return err
		}
		for i := range r.members {
			if m := &r.members[i]; m.ID == b.ID && m.until == 0 {
				m.until = l.N
				return nil
			}
		}
		return refuse(UnknownDevice, "%q, which line %d removes, is no member", b.ID, l.N)
	case kindPolicy:
		var p Policy
		if err := decode(l.Body, &p); err != nil {
			return err
		}
		if err := p.check(); err != nil {
			return err
		}
		r.policy = p
		return nil
	case kindGenesis:
		return refuse(BadMessage, "line %d is another genesis", l.N)
	}
	return refuse(Unsupported, "line %d has the kind %q: update concerto-relay", l.N, l.Kind)
}

func (r *Roster) add(m Member, n int64) error {
	if err := m.check(r.account); err != nil {
		return err
	}
	used := []string{r.recovery.Sign, r.recovery.Seal}
	for _, other := range r.members {
		if other.ID == m.ID && other.until == 0 {
			return refuse(BadMessage, "%s is already a member", m.ID)
		}
		used = append(used, other.Sign, other.Seal)
	}
	if slices.Contains(used, m.Sign) || slices.Contains(used, m.Seal) {
		return refuse(BadMessage, "a key of %s was used before", m.ID)
	}
	r.members = append(r.members, membership{Member: m, from: n})
	return nil
}

// NewAccount creates a roster with a first line, and returns it with the recovery keys, by which
// the first members are signed. They are then discarded; the code opens them again.
func NewAccount(c RecoveryCode, now time.Time) (*Roster, *Keys) {
	k := NewKeys()
	l := line{V: 1, N: 1, At: formatTime(now), Kind: kindGenesis, By: ByRecovery,
		Body: encode(genesisBody{1, encryptRecovery(k, c)})}
	r := &Roster{}
	if err := r.Append(l.sign(k)); err != nil {
		panic("seal: create an account: " + err.Error())
	}
	return r, k
}

// sign returns the line with its signature.
func (l line) sign(k *Keys) []byte {
	l.Sig = k.signText(contextRoster, encode(l))
	return encode(l)
}

// AddMember returns a line that adds a member, whose user, role and page the caller has set. by and
// k are the id and the keys of an owner's device, or ByRecovery and the recovery keys. Its error is
// a *Refusal. The roster is unchanged: the caller publishes the line and then calls Append.
func (r *Roster) AddMember(by string, k *Keys, m Member, now time.Time) ([]byte, error) {
	return r.newLine(by, k, kindAdd, m, now)
}

// RemoveMember returns a line that removes a member. It is otherwise like AddMember.
func (r *Roster) RemoveMember(by string, k *Keys, id string, now time.Time) ([]byte, error) {
	return r.newLine(by, k, kindRemove, removeBody{id}, now)
}

// SetPolicy returns a line with a policy, which replaces the previous one. It is otherwise like
// AddMember.
func (r *Roster) SetPolicy(by string, k *Keys, p Policy, now time.Time) ([]byte, error) {
	return r.newLine(by, k, kindPolicy, p, now)
}

func (r *Roster) newLine(by string, k *Keys, kind string, body any, now time.Time) ([]byte, error) {
	if last := r.times[len(r.times)-1]; now.Before(last) {
		now = last // another member's clock is fast
	}
	l := line{V: 1, Account: r.account, N: int64(len(r.lines)) + 1, Prev: r.Head().Hash, At: formatTime(now), Kind: kind, Body: encode(body), By: by}
	text := l.sign(k)
	after := *r
	after.lines, after.hashes, after.times = slices.Clip(r.lines), slices.Clip(r.hashes), slices.Clip(r.times)
	after.members = slices.Clone(r.members)
	return text, after.Append(text)
}
