package seal

import (
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// The messages by which a member is enrolled with six digits. Neither side can choose its reveal
// after it knows the other's, so a relay that replaces one is detected except with probability
// 1/1,000,000.
type (
	commitMessage struct {
		V       int64  `json:"v"`
		Session string `json:"session"`
		Side    string `json:"side"`
		Commit  string `json:"commit"`
	}
	addReveal struct {
		V       int64    `json:"v"`
		Session string   `json:"session"`
		Side    string   `json:"side"`
		Account string   `json:"account"`
		Roster  Position `json:"roster"`
		Nonce   string   `json:"nonce"`
	}
	joinReveal struct {
		V       int64  `json:"v"`
		Session string `json:"session"`
		Side    string `json:"side"`
		Kind    string `json:"kind"`
		ID      string `json:"id"`
		Name    string `json:"name"`
		PublicKeys
		Nonce string `json:"nonce"`
	}
	confirmMessage struct {
		V       int64  `json:"v"`
		Session string `json:"session"`
		Side    string `json:"side"`
		OwnSig  string `json:"own_sig"`
	}
)

// Sides of an enrolment.
const (
	sideAdd  = "add"
	sideJoin = "join"
)

const nonceSize = 32

// commitment is the part of an enrolment that both sides have.
type commitment struct {
	session, side string
	reveal        []byte // own
	peer          string // the commitment of the other side; "" before it was received
	digits        string // "" before both reveals are known
}

// Commit returns the first message of this side.
func (c *commitment) Commit() []byte {
	return encode(commitMessage{1, c.session, c.side, encode64(hashInContext(contextCommit, c.reveal))})
}

// Reveal accepts the first message of the other side and returns the second message of this side.
// It returns a *Refusal if the message is invalid, or if the other side has sent one before.
func (c *commitment) Reveal(commit []byte) ([]byte, error) {
	var m commitMessage
	if err := decode(commit, &m); err != nil {
		return nil, err
	}
	if err := c.checkPeer(m.V, m.Session, m.Side); err != nil {
		return nil, err
	}
	if c.peer != "" {
		return nil, refuse(WrongRequest, "the other side has sent two commitments")
	}
	if decode64(m.Commit, 32) == nil {
		return nil, refuse(BadMessage, "commit has the wrong form")
	}
	c.peer = m.Commit
	return c.reveal, nil
}

func (c *commitment) checkPeer(v int64, session, side string) error {
	switch {
	case v != 1:
		return refuse(Unsupported, "the message has version %d", v)
	case session != c.session || side == c.side || side != sideAdd && side != sideJoin:
		return refuse(WrongRequest, "the message is for another session or from the wrong side")
	}
	return nil
}

// checkReveal compares the reveal of the other side with its commitment.
func (c *commitment) checkReveal(reveal []byte, v int64, session, side, nonce string) error {
	if err := c.checkPeer(v, session, side); err != nil {
		return err
	}
	if decode64(nonce, nonceSize) == nil {
		return refuse(BadMessage, "nonce has the wrong form")
	}
	if encode64(hashInContext(contextCommit, reveal)) != c.peer {
		return refuse(BadSignature, "the reveal is not the one that the other side has committed to")
	}
	return nil
}

// setDigits derives the digits from both reveals.
func (c *commitment) setDigits(add, join []byte) {
	sum := hashInContext(contextDigits, encode([]json.RawMessage{add, join}))
	c.digits = fmt.Sprintf("%06d", binary.BigEndian.Uint64(sum)%1_000_000)
}

// Adder is the side of an enrolment by code that adds the new member.
type Adder struct {
	commitment
	account string
	member  Member
	name    string
	wrong   int
	entered bool // the user has typed the digits
}

// maxWrong is the number of wrong codes that ends an enrolment.
const maxWrong = 3

// NewAdder starts an enrolment in a session, whose id is from NewSession.
func NewAdder(session string, r *Roster) *Adder {
	reveal := encode(addReveal{1, session, sideAdd, r.Account(), r.Head(), encode64(randomBytes(nonceSize))})
	return &Adder{commitment: commitment{session: session, side: sideAdd, reveal: reveal}, account: r.Account()}
}

// Receive accepts the second message of the new member and returns its name and kind, which the
// user compares. Its error is a *Refusal.
func (a *Adder) Receive(reveal []byte) (name, kind string, err error) {
	var m joinReveal
	if err := decode(reveal, &m); err != nil {
		return "", "", err
	}
	if err := a.checkReveal(reveal, m.V, m.Session, m.Side, m.Nonce); err != nil {
		return "", "", err
	}
	if err := checkText("name", m.Name); err != nil {
		return "", "", err
	}
	a.setDigits(a.reveal, reveal)
	a.name, a.member = m.Name, Member{Kind: m.Kind, ID: m.ID, PublicKeys: m.PublicKeys}
	return m.Name, m.Kind, nil
}

// Enter accepts the digits that the user reads on the new member. It returns a *Refusal with
// WrongCode if they differ, and with Expired after three wrong codes.
func (a *Adder) Enter(digits string) error {
	switch {
	case a.wrong >= maxWrong:
		return refuse(Expired, "three wrong codes were typed: start again")
	case a.digits == "" || subtle.ConstantTimeCompare([]byte(digits), []byte(a.digits)) == 0:
		a.wrong++
		return refuse(WrongCode, "these are not the digits of the new device")
	}
	a.entered = true
	return nil
}

// Finish accepts the last message of the new member, and returns the member, whose user, role and
// page the caller sets. Its error is a *Refusal, with WrongCode before the digits were entered.
func (a *Adder) Finish(confirm []byte) (Member, error) {
	var m confirmMessage
	if err := decode(confirm, &m); err != nil {
		return Member{}, err
	}
	if err := a.checkPeer(m.V, m.Session, m.Side); err != nil {
		return Member{}, err
	}
	if !a.entered {
		return Member{}, refuse(WrongCode, "the digits were not entered")
	}
	a.member.OwnSig = m.OwnSig
	return a.member, a.member.checkOwn(a.account)
}

// Joiner is the new member's side of an enrolment by code.
type Joiner struct {
	commitment
	keys     *Keys
	kind, id string
	account  string
}

// NewJoiner starts an enrolment in the session that the other side has created. kind and id are as
// for NewMember; name is shown to the user on the other side.
func NewJoiner(session string, k *Keys, kind, id, name string) *Joiner {
	if kind == Device {
		id = k.Public().DeviceID()
	}
	reveal := encode(joinReveal{1, session, sideJoin, kind, id, name, k.Public(), encode64(randomBytes(nonceSize))})
	return &Joiner{commitment: commitment{session: session, side: sideJoin, reveal: reveal}, keys: k, kind: kind, id: id}
}

// Receive accepts the second message of the other side. It returns the digits, which the user types
// there, and the account with the position of its roster, which the caller verifies after the user
// has confirmed that the other side accepts the digits. Its error is a *Refusal.
func (j *Joiner) Receive(reveal []byte) (digits, account string, known Position, err error) {
	var m addReveal
	if err := decode(reveal, &m); err != nil {
		return "", "", known, err
	}
	if err := j.checkReveal(reveal, m.V, m.Session, m.Side, m.Nonce); err != nil {
		return "", "", known, err
	}
	if !idForm.MatchString(m.Account) || m.Roster.N < 1 || !hashForm.MatchString(m.Roster.Hash) {
		return "", "", known, refuse(BadMessage, "account or roster has the wrong form")
	}
	j.setDigits(reveal, j.reveal)
	j.account = m.Account
	return j.digits, m.Account, m.Roster, nil
}

// Confirm returns the last message of the new member. The caller sends it when the user has
// confirmed on the new member that the other side accepts the digits.
func (j *Joiner) Confirm() ([]byte, error) {
	if j.digits == "" {
		return nil, refuse(WrongRequest, "the other side has not revealed its account")
	}
	return encode(confirmMessage{1, j.session, sideJoin, NewMember(j.keys, j.account, j.kind, j.id).OwnSig}), nil
}
