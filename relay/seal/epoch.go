package seal

import (
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Limits of an epoch.
const (
	maxEpochAge      = 24 * time.Hour
	maxEpochMessages = 1 << 30
	commandKeyAge    = 24 * time.Hour // after the end of the epoch
)

// EpochPosition identifies a key record of a host and all its earlier ones.
type EpochPosition struct {
	N      int64  `json:"n"`      // number of the epoch, from 1
	Hash   string `json:"hash"`   // of the key record
	Roster int64  `json:"roster"` // line of the roster that the record names
}

// Epoch has the keys of an epoch, as its host and its members store them in a file that only the
// user can read. It is safe for concurrent use while it is not changed.
type Epoch struct {
	Account string `json:"account"`
	Host    string `json:"host"`
	N       int64  `json:"epoch"`
	Secret  Key    `json:"secret"`
	// Commands has the command keys by device: on the host those of all devices, on a device its
	// own. It is empty for an epoch that was opened with the recovery keys or is part of a history.
	Commands map[string]Key `json:"commands,omitempty"`
	// The following are those of the key record. They are empty for an epoch of a history.
	At     string `json:"at,omitempty"`
	Roster int64  `json:"roster,omitempty"` // line of the roster
}

// KeyRecord is a signed record with the wrapped keys of an epoch.
type KeyRecord struct {
	V       int64     `json:"v"`
	Account string    `json:"account"`
	Host    string    `json:"host"`
	Epoch   int64     `json:"epoch"`
	Roster  Position  `json:"roster"`
	Prev    string    `json:"prev"` // hash of the record that it continues, or "" if there is none
	At      string    `json:"at"`
	Wraps   []KeyWrap `json:"wraps"`
	Names   string    `json:"names"`
	Sig     string    `json:"sig,omitempty"`
}

// KeyWrap has the keys of an epoch for one member.
type KeyWrap struct {
	To string `json:"to"` // id of a device, or ByRecovery
	wrapped
}

// aad returns the additional data of a wrap.
func (k *KeyRecord) aad(to string) []byte {
	return encode([]any{k.Account, k.Host, k.Epoch, k.Roster.N, to})
}

// devicesAt returns the devices as of line n, in the order in which they were added.
func (r *Roster) devicesAt(n int64) (all []Member) {
	for _, m := range r.members {
		if m.Kind == Device && m.isMember(n) {
			all = append(all, m.Member)
		}
	}
	return all
}

// NewEpoch creates an epoch of a host for the present devices of the roster, and its key record.
// last is the position of the host's newest record, or zero; the host also reads it from the
// server, because a restored backup may have an older one. If that record names a list of members
// that the user has rejected, last has its number, and the hash and line of the newest record that
// the roster permits. names has the names of members by id. The error is a *Refusal.
func (r *Roster) NewEpoch(host string, k *Keys, last EpochPosition, names map[string]string, now time.Time) (*Epoch, []byte, error) {
	e := &Epoch{Account: r.account, Host: host, N: last.N + 1, Secret: Key(randomBytes(32)), Commands: map[string]Key{}, At: formatTime(now)}
	rec := KeyRecord{V: 1, Account: r.account, Host: host, Epoch: e.N, Roster: r.Head(), Prev: last.Hash, At: e.At}
	e.Roster = rec.Roster.N
	for _, m := range r.devicesAt(rec.Roster.N) {
		key := Key(randomBytes(32))
		e.Commands[m.ID] = key
		rec.Wraps = append(rec.Wraps, KeyWrap{m.ID, wrap(m.Seal, rec.aad(m.ID), slices.Concat(e.Secret[:], key[:]))})
	}
	rec.Wraps = append(rec.Wraps, KeyWrap{ByRecovery, wrap(r.recovery.Seal, rec.aad(ByRecovery), e.Secret[:])})
	if names == nil {
		names = map[string]string{}
	}
	var err error
	if rec.Names, err = sealText(e.Secret.derive(contextNames).aead(), place("names", e.Account, e.Host, e.N), encode(names)); err != nil {
		return nil, nil, err
	}
	if _, err := rec.OpenNames(e); err != nil {
		return nil, nil, err
	}
	rec.Sig = k.signText(contextEpoch, encode(rec))
	text := encode(rec)
	_, err = r.VerifyKeyRecord(text, host, last)
	return e, text, err
}

// Position returns the position of a verified record.
func (k *KeyRecord) Position() EpochPosition {
	return EpochPosition{k.Epoch, hexsum.SHA256(encode(k)), k.Roster.N}
}

// VerifyKeyRecord verifies a key record of a host. known is the position of the host's newest
// record that the caller has verified, or zero. The error is a *Refusal: OldEpoch for an earlier
// epoch, and RosterFork for a record that differs from the known one, does not continue it, or
// names an earlier line of the roster. It has Retry if earlier records, or lines of the roster, are
// missing. The number of an epoch may be greater by more than one: those between have records of a
// list of members that the user has rejected.
func (r *Roster) VerifyKeyRecord(text []byte, host string, known EpochPosition) (*KeyRecord, error) {
	k := &KeyRecord{}
	if err := decodeUpTo(text, k, maxRecord); err != nil {
		return nil, err
	}
	at, isTime := parseTime(k.At)
	switch {
	case k.V != 1:
		return nil, refuse(Unsupported, "the key record has version %d", k.V)
	case !isTime, k.Epoch < 1, k.Epoch > maxInt, k.Epoch == 1 && k.Prev != "", k.Prev != "" && !hashForm.MatchString(k.Prev):
		return nil, refuse(BadMessage, "epoch, prev or at of the key record has the wrong form")
	case k.Account != r.account || k.Host != host:
		return nil, refuse(WrongRequest, "the key record is by host %s of account %s", k.Host, k.Account)
	case !r.has(k.Roster):
		f := refuse(RosterFork, "the roster has another or no line %d", k.Roster.N)
		f.Retry = k.Roster.N > r.Head().N
		return nil, f
	}
	m, ok := r.memberAt(host, k.Roster.N)
	switch {
	case !ok || m.Kind != Host || r.wasRemoved(m, at):
		return nil, refuse(UnknownDevice, "%s was no host of the account at line %d of the roster, or was removed before %s", host, k.Roster.N, k.At)
	case !m.verifyText(contextEpoch, withoutSig(text), k.Sig):
		return nil, refuse(BadSignature, "the signature of the key record is not by %s", host)
	}
	if err := k.checkWraps(r); err != nil {
		return nil, err
	}
	if err := k.checkOrder(known); err != nil {
		return nil, err
	}
	return k, nil
}

// checkWraps checks that the record has a wrap for each device at its line of the roster, and for
// the recovery key, and no other.
func (k *KeyRecord) checkWraps(r *Roster) error {
	to := append(r.devicesAt(k.Roster.N), Member{ID: ByRecovery})
	if !slices.EqualFunc(k.Wraps, to, func(w KeyWrap, m Member) bool { return w.To == m.ID }) {
		return refuse(UnknownDevice, "the wraps are not those of the devices at line %d of the roster, in their order", k.Roster.N)
	}
	for _, w := range k.Wraps {
		size := 2 * len(Key{})
		if w.To == ByRecovery {
			size = len(Key{})
		}
		if !w.hasSize(size) {
			return refuse(BadMessage, "the wrap for %s has the wrong form", w.To)
		}
	}
	if decodeSealed(k.Names) == nil {
		return refuse(BadMessage, "names has the wrong form")
	}
	return nil
}

// checkOrder checks that the record continues the known ones.
func (k *KeyRecord) checkOrder(known EpochPosition) error {
	switch {
	case known.N == 0 || k.Position() == known:
		return nil
	case k.Epoch < known.N:
		return refuse(OldEpoch, "the key record is for epoch %d; the newest known is %d", k.Epoch, known.N)
	case k.Epoch == known.N || k.Epoch == known.N+1 && k.Prev != known.Hash:
		return refuse(RosterFork, "%s has signed two key records of epoch %d", k.Host, known.N)
	case k.Prev != known.Hash:
		f := refuse(RosterFork, "a key record between epochs %d and %d is missing", known.N, k.Epoch)
		f.Retry = true
		return f
	case k.Roster.N < known.Roster:
		return refuse(RosterFork, "the key record is for line %d of the roster, the previous one for line %d", k.Roster.N, known.Roster)
	}
	return nil
}

// Open returns the keys that a verified record has for the device with the id to, or for the
// recovery keys if to is ByRecovery. The error is a *Refusal.
func (k *KeyRecord) Open(to string, keys *Keys) (*Epoch, error) {
	i := slices.IndexFunc(k.Wraps, func(w KeyWrap) bool { return w.To == to })
	if i < 0 {
		return nil, refuse(UnknownDevice, "epoch %d of %s has no keys for %s", k.Epoch, k.Host, to)
	}
	text, err := keys.unwrap(k.Wraps[i].wrapped, k.aad(to))
	if err != nil {
		return nil, err
	}
	e := &Epoch{Account: k.Account, Host: k.Host, N: k.Epoch, Secret: Key(text), At: k.At, Roster: k.Roster.N}
	if to != ByRecovery {
		e.Commands = map[string]Key{to: Key(text[len(e.Secret):])}
	}
	return e, nil
}

// OpenNames returns the names of members by id. The error is a *Refusal.
func (k *KeyRecord) OpenNames(e *Epoch) (map[string]string, error) {
	text, err := openText(e.Secret.derive(contextNames).aead(), place("names", k.Account, k.Host, k.Epoch), k.Names)
	if err != nil {
		return nil, err
	}
	var names map[string]string
	if err := decodeUpTo(text, &names, maxRecord); err != nil {
		return nil, err
	}
	if names == nil {
		return nil, refuse(BadMessage, "names is no object")
	}
	for id, name := range names {
		if !idForm.MatchString(id) {
			return nil, refuse(BadMessage, "%q is no id", id)
		}
		if err := checkText("name", name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// MustEnd reports whether the host must create another epoch before it seals another message: a
// device was added or removed, or the epoch has reached its age or its number of messages. The host
// also creates an epoch when it starts. A device that was added and removed in the same epoch may
// have its secret from a history.
func (e *Epoch) MustEnd(r *Roster, messages int64, now time.Time) bool {
	at, _ := parseTime(e.At)
	return messages >= maxEpochMessages || now.Sub(at) >= maxEpochAge ||
		slices.ContainsFunc(r.members, func(m membership) bool { return m.Kind == Device && max(m.from, m.until) > e.Roster })
}

// CommandEpoch returns the epoch n for a command. epochs are those of the host, oldest first; each
// ended when the next one began. The error is a *Refusal with OldEpoch if the epoch is unknown, or
// ended 24 hours ago or earlier; the host then deletes its command keys.
func CommandEpoch(epochs []*Epoch, n int64, now time.Time) (*Epoch, error) {
	i := slices.IndexFunc(epochs, func(e *Epoch) bool { return e.N == n })
	if i >= 0 && i+1 < len(epochs) {
		if end, _ := parseTime(epochs[i+1].At); now.Sub(end) >= commandKeyAge {
			i = -1
		}
	}
	if i < 0 {
		return nil, refuse(OldEpoch, "epoch %d is unknown, or ended more than 24 hours ago", n)
	}
	return epochs[i], nil
}
