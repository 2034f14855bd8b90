package seal

import (
	"encoding/json"
	"unicode/utf8"
)

// pushSize is the size of the padded text of every body, in bytes.
const pushSize = 512

// Notice is the text of a notification.
type Notice struct {
	Summary string `json:"summary"`
	Title   string `json:"title"`
	TS      string `json:"ts"` // that of the event
}

// fitted returns the canonical form of a notice, whose summary and then title are shortened until
// it fits into a body.
func (n Notice) fitted() []byte {
	for _, text := range []*string{&n.Summary, &n.Title} {
		for len(encode(n)) >= pushSize && *text != "" {
			short := []rune(*text)
			if *text = string(short[:len(short)-1]); len(short) > 1 {
				*text = string(short[:len(short)-2]) + "…"
			}
		}
	}
	return encode(n)
}

// pushPlace returns the additional data of a body.
func (e *Epoch) pushPlace(device string, of *SealedEvent) []byte {
	return place("push", e.Account, e.Host, of.Run, e.N, of.Type, of.Data.RequestID, device)
}

// SealPush returns the member push of an event that was sealed in this epoch: a body with the
// notice for each of the devices. Without devices it returns nil. The error is a *Refusal.
func (e *Epoch) SealPush(of *SealedEvent, devices []string, n Notice) (json.RawMessage, error) {
	if len(devices) == 0 {
		return nil, nil
	}
	if _, ok := parseTime(n.TS); !ok || !utf8.ValidString(n.Title+n.Summary) {
		return nil, refuse(BadMessage, "ts, title or summary of a notice has the wrong form")
	}
	text, bodies := n.fitted(), make(map[string]string, len(devices))
	for _, id := range devices {
		key, err := e.commandKey(id)
		if err != nil {
			return nil, err
		}
		bodies[id] = encode64(key.derive(contextPush).aead().Seal(nil, nil, pad(text, pushSize), e.pushPlace(id, of)))
	}
	return encode(bodies), nil
}

// OpenPush opens the body for a device. of has the run, type and request_id of the event. The error
// is a *Refusal.
func (e *Epoch) OpenPush(of *SealedEvent, device, body string) (*Notice, error) {
	key, err := e.commandKey(device)
	if err != nil {
		return nil, err
	}
	text, err := openPadded(key.derive(contextPush).aead(), e.pushPlace(device, of), body, func(int) int { return pushSize })
	if err != nil {
		return nil, err
	}
	n := &Notice{}
	if err := decode(text, n); err != nil {
		return nil, err
	}
	if _, ok := parseTime(n.TS); !ok {
		return nil, refuse(BadMessage, "ts of a notice has the wrong form")
	}
	return n, nil
}
