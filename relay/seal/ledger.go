package seal

import "time"

// VerifyDecision verifies a decision of a ledger. at is the time of its record, and argsSHA256 the
// hash of the arguments of the call that was decided, or "" if there is none. The signer must be a
// member at the line of the roster that it names, and must not have been removed before at. It
// returns the statement, whose member Local is nil for a device, and the signer. Its error is a
// *Refusal.
func (r *Roster) VerifyDecision(d Signed, at time.Time, argsSHA256 string) (*Statement, Member, error) {
	s, text, err := d.read()
	if err != nil {
		return nil, Member{}, err
	}
	kind, id, context := Device, s.Device, contextCommand
	if s.Local != nil {
		kind, id, context = Host, s.Host, contextLocal
	}
	m, ok := r.memberAt(id, s.Roster.N)
	switch {
	case d.Guest != nil && s.Local != nil:
		err = refuse(WrongRequest, "the decision is local, and by a guest")
	case d.Guest != nil:
		ok = true
		m, err = r.verifyGuest(s, d.Guest, at)
	}
	switch {
	case err != nil:
	case !ok || m.Kind != kind:
		err = refuse(UnknownDevice, "%q was no %s of the account at line %d of the roster", id, kind, s.Roster.N)
	case m.Role == Viewer:
		err = refuse(Forbidden, "device %s had the role viewer", id)
	case r.wasRemoved(m, at):
		err = refuse(UnknownDevice, "%s was removed before %s", id, formatTime(at))
	case !r.has(s.Roster):
		err = refuse(RosterFork, "the roster has another or no line %d", s.Roster.N)
	case !m.verifyText(context, text, d.Sig):
		err = refuse(BadSignature, "the signature is not by %s", id)
	case s.Kind != KindDecide || s.Account != r.account:
		err = refuse(WrongRequest, "the statement is no decision, or for the account %s", s.Account)
	case s.ArgsSHA256 != argsSHA256:
		err = refuse(ArgsChanged, "the decision is for other arguments")
	}
	if err != nil {
		return nil, Member{}, err
	}
	return s, m, nil
}

// wasRemoved reports whether the member was removed before a time.
func (r *Roster) wasRemoved(m Member, at time.Time) bool {
	for _, other := range r.members {
		if other.Sign == m.Sign && other.until > 0 {
			return r.times[other.until-1].Before(at)
		}
	}
	return false
}
