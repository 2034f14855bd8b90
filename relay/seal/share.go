package seal

import "strconv"

// maxShared is the maximum number of runs in a share.
const maxShared = 100

// NewShareSecret returns a random secret of a link that shares runs. With it, the
// events of these runs can be opened.
func NewShareSecret() Key { return Key(randomBytes(len(Key{}))) }

// ShareID returns the id of the share whose link has the secret k.
func (k Key) ShareID() string {
	id := k.derive(contextShare)
	return "s_" + encode64(id[:16])
}

// ShareKey returns the key of the share whose link has the secret k. A host receives it, and not
// the secret.
func (k Key) ShareKey() Key { return k.derive(contextRead) }

// share has the keys of runs for those who have a link.
type share struct {
	V       int64  `json:"v"`
	Account string `json:"account"`
	Host    string `json:"host"`
	ID      string `json:"share"`
	CT      string `json:"ct"`
}

func (s *share) place() []byte { return place("share", s.Account, s.Host, s.ID) }

// Shared is what those who have the link of a share receive.
type Shared struct {
	SignKey string                    `json:"sign_key"`         // of the host, which signs heads
	Keys    map[string]map[string]Key `json:"keys"`             // of runs, by run and number of the epoch
	Roster  *Position                 `json:"roster,omitempty"` // of the host; nil for a viewer
}

// NewShare returns a share with the keys of runs in epochs of one host. k are the keys of the host,
// and key and id are those of the share. roster is nil for a viewer's link. The error is a
// *Refusal.
func NewShare(k *Keys, key Key, id string, runs []string, epochs []*Epoch, roster *Position) ([]byte, error) {
	if len(epochs) == 0 {
		return nil, refuse(BadMessage, "there are no epochs")
	}
	s := share{V: 1, Account: epochs[0].Account, Host: epochs[0].Host, ID: id}
	plain := Shared{k.Public().Sign, map[string]map[string]Key{}, roster}
	for _, run := range runs {
		plain.Keys[run] = map[string]Key{}
		for _, e := range epochs {
			plain.Keys[run][strconv.FormatInt(e.N, 10)] = e.Secret.derive(contextRun, run)
		}
	}
	var err error
	if s.CT, err = sealText(key.aead(), s.place(), encode(plain)); err != nil {
		return nil, err
	}
	text := encode(s)
	return text, CheckShare(text, s.Account, s.Host, id)
}

// CheckShare checks the form of a share of a host, for the server, which cannot open it. The error
// is a *Refusal.
func CheckShare(text []byte, account, host, id string) error {
	s, err := readShare(text)
	if err == nil && (s.Account != account || s.Host != host || s.ID != id) {
		err = refuse(WrongRequest, "the share is %s of host %s of account %s", s.ID, s.Host, s.Account)
	}
	return err
}

func readShare(text []byte) (*share, error) {
	s := &share{}
	if err := decodeUpTo(text, s, maxRecord); err != nil {
		return nil, err
	}
	if s.V != 1 {
		return nil, refuse(Unsupported, "the share has version %d", s.V)
	}
	if !idForm.MatchString(s.Account) || !idForm.MatchString(s.Host) || !idForm.MatchString(s.ID) || decodeSealed(s.CT) == nil {
		return nil, refuse(BadMessage, "account, host, share or ct of the share has the wrong form")
	}
	return s, nil
}

// OpenShare returns the account and the host of a share, and what it has for those who have its
// secret. The error is a *Refusal.
func OpenShare(text []byte, secret Key) (account, host string, out *Shared, err error) {
	s, err := readShare(text)
	if err != nil {
		return "", "", nil, err
	}
	if s.ID != secret.ShareID() {
		return "", "", nil, refuse(WrongRequest, "the share is %s", s.ID)
	}
	plain, err := openText(secret.ShareKey().aead(), s.place(), s.CT)
	if err != nil {
		return "", "", nil, err
	}
	out = &Shared{}
	if err := decodeUpTo(plain, out, maxRecord); err != nil {
		return "", "", nil, err
	}
	return s.Account, s.Host, out, out.check()
}

func (s *Shared) check() error {
	if (PublicKeys{Sign: s.SignKey}).verifier() == nil {
		return refuse(BadMessage, "sign_key is not a point of P-256 in base64url")
	}
	if len(s.Keys) == 0 || len(s.Keys) > maxShared {
		return refuse(BadMessage, "the share has %d runs", len(s.Keys))
	}
	if p := s.Roster; p != nil && (p.N < 1 || p.N > maxInt || !hashForm.MatchString(p.Hash)) {
		return refuse(BadMessage, "roster of the share has the wrong form")
	}
	for run, keys := range s.Keys {
		if !idForm.MatchString(run) || len(keys) == 0 {
			return refuse(BadMessage, "a run of the share has the wrong form")
		}
		for n := range keys {
			if v, err := strconv.ParseInt(n, 10, 64); err != nil || v < 1 || v > maxInt || strconv.FormatInt(v, 10) != n {
				return refuse(BadMessage, "%q is no number of an epoch", n)
			}
		}
	}
	return nil
}

// RunKey returns the key of a run's events in an epoch, or nil if the share does not have it.
func (s *Shared) RunKey(account, host, run string, epoch int64) *RunKey {
	key, ok := s.Keys[run][strconv.FormatInt(epoch, 10)]
	if !ok {
		return nil
	}
	return &RunKey{account, host, run, epoch, key.aead()}
}
