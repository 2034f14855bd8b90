package seal

// history has the secrets of earlier epochs for a device that was added later.
type history struct {
	V       int64   `json:"v"`
	Account string  `json:"account"`
	Host    string  `json:"host"`
	By      string  `json:"by"`
	To      string  `json:"to"`
	Epochs  []int64 `json:"epochs"`
	wrapped
	Sig string `json:"sig,omitempty"`
}

func (h *history) aad() []byte { return encode([]any{h.Account, h.Host, h.Epochs, h.To}) }

// NewHistory returns a text with the secrets of epochs of one host, oldest first, for a device. by
// and k are the id and keys of that host or, if it was lost, of an owner's device. The error is a
// *Refusal.
func (r *Roster) NewHistory(by string, k *Keys, to string, epochs []*Epoch) ([]byte, error) {
	m, ok := r.Member(to)
	if !ok || m.Kind != Device || len(epochs) == 0 {
		return nil, refuse(UnknownDevice, "%q is no device of the account, or there are no epochs", to)
	}
	h := history{V: 1, Account: r.account, Host: epochs[0].Host, By: by, To: to}
	var secrets []byte
	for _, e := range epochs {
		if e.Account != h.Account || e.Host != h.Host {
			return nil, refuse(WrongRequest, "epoch %d is of host %s of account %s", e.N, e.Host, e.Account)
		}
		h.Epochs, secrets = append(h.Epochs, e.N), append(secrets, e.Secret[:]...)
	}
	h.wrapped = wrap(m.Seal, h.aad(), secrets)
	h.Sig = k.signText(contextHistory, encode(h))
	text := encode(h)
	_, err := r.verifyHistory(text, h.Host, to)
	return text, err
}

// VerifyHistory verifies a history of a host for the device with the id to. The error is a
// *Refusal.
func (r *Roster) VerifyHistory(text []byte, host, to string) error {
	_, err := r.verifyHistory(text, host, to)
	return err
}

func (r *Roster) verifyHistory(text []byte, host, to string) (*history, error) {
	h := &history{}
	if err := decodeUpTo(text, h, maxRecord); err != nil {
		return nil, err
	}
	by, ok := r.Member(h.By)
	switch {
	case h.V != 1:
		return nil, refuse(Unsupported, "the history has version %d", h.V)
	case h.Account != r.account || h.Host != host || h.To != to:
		return nil, refuse(WrongRequest, "the history is of host %s of account %s for %s", h.Host, h.Account, h.To)
	case !ok:
		return nil, refuse(UnknownDevice, "the history is by %q, which is no member", h.By)
	case by.Role != Owner && (by.Kind != Host || h.By != host): // a host has no role
		return nil, refuse(Forbidden, "the history is by %s, which is neither its host nor an owner's device", h.By)
	case !by.verifyText(contextHistory, withoutSig(text), h.Sig):
		return nil, refuse(BadSignature, "the signature of the history is not by %s", h.By)
	case len(h.Epochs) == 0 || !h.hasSize(len(h.Epochs)*len(Key{})):
		return nil, refuse(BadMessage, "the history does not have a secret for each of one or more epochs")
	}
	last := int64(0)
	for _, n := range h.Epochs {
		if n <= last || n > maxInt {
			return nil, refuse(BadMessage, "the epochs of the history are not in ascending order")
		}
		last = n
	}
	return h, nil
}

// OpenHistory returns the epochs of a host, without command keys, that a history has for the device
// with the id to. The error is a *Refusal.
func (r *Roster) OpenHistory(text []byte, host, to string, k *Keys) ([]*Epoch, error) {
	h, err := r.verifyHistory(text, host, to)
	if err != nil {
		return nil, err
	}
	secrets, err := k.unwrap(h.wrapped, h.aad())
	if err != nil {
		return nil, err
	}
	epochs := make([]*Epoch, len(h.Epochs))
	for i, n := range h.Epochs {
		epochs[i] = &Epoch{Account: h.Account, Host: h.Host, N: n, Secret: Key(secrets[i*len(Key{}):])}
	}
	return epochs, nil
}
