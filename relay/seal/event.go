package seal

import (
	"crypto/cipher"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/jcs"
)

// Types of events that this package reads itself, and the visible type of hidden ones.
const (
	TypeSealed = "run.sealed"
	TypeHead   = "run.head"
	TypeGap    = "run.gap"
)

// visibleType is a type of events that the server sees.
type visibleType struct {
	id       string // member of the data that the server sees, too, or ""
	needHead bool   // the commit of the event must also have a head
}

var visibleTypes = map[string]visibleType{
	"run.started":              {},
	"run.output":               {},
	"run.input":                {id: "input_id"},
	"run.permission_requested": {id: "request_id", needHead: true},
	"run.permission_resolved":  {id: "request_id", needHead: true},
	"run.exited":               {needHead: true},
	TypeGap:                    {},
}

// VisibleType returns the type with which the server sees an event.
func VisibleType(typ string) string {
	if _, ok := visibleTypes[typ]; ok {
		return typ
	}
	return TypeSealed
}

// NeedsHead reports whether the commit of an event must also have a head.
func NeedsHead(typ string) bool { return visibleTypes[typ].needHead }

// Event is the plaintext of an event.
type Event struct {
	Type string          `json:"type"`
	TS   string          `json:"ts"`   // as in rosters, with milliseconds
	Data json.RawMessage `json:"data"` // an object
}

// SealedEvent is an event as the server has it.
type SealedEvent struct {
	Type string // of VisibleType
	TS   string
	Run  string
	Seq  int64
	Enc  Enc
	Data SealedData
}

// Enc is the member enc of an event.
type Enc struct {
	V     int64 `json:"v"`
	Epoch int64 `json:"epoch"`
}

// EncOf returns the member enc of what is sealed in an epoch.
func EncOf(epoch int64) json.RawMessage { return fmt.Appendf(nil, `{"epoch":%d,"v":1}`, epoch) }

// SealedData is the data of a sealed event.
type SealedData struct {
	CT        string          `json:"ct"`
	Prev      string          `json:"prev"`           // tag of the run's preceding event, or ""
	From      int64           `json:"from,omitempty"` // of a run.gap: first sequence number that it replaces
	RequestID string          `json:"request_id,omitempty"`
	InputID   string          `json:"input_id,omitempty"`
	Push      json.RawMessage `json:"push,omitempty"` // of SealPush; the server removes it
}

var typeForm = newForm(`^[a-z0-9_.]{1,64}$`)

// Parse reads the members enc and data of a frame into e, whose other fields the caller has set.
// The error is a *Refusal.
func (e *SealedEvent) Parse(enc, data []byte) error {
	if err := decodeForm(enc, &e.Enc, maxText); err != nil {
		return err
	}
	if err := decodeForm(data, &e.Data, maxFrame); err != nil {
		return err
	}
	return e.check()
}

// check validates the form.
func (e *SealedEvent) check() error {
	d := e.Data
	switch {
	case e.Enc.V != 1:
		return refuse(Unsupported, "the event is sealed with version %d", e.Enc.V)
	case e.Enc.Epoch < 1 || e.Enc.Epoch > maxInt || e.Seq < 1 || e.Seq > maxInt:
		return refuse(BadMessage, "epoch is %d and seq is %d", e.Enc.Epoch, e.Seq)
	case !typeForm.MatchString(e.Type) || !idForm.MatchString(e.Run):
		return refuse(BadMessage, "type is %q and run is %q", e.Type, e.Run)
	case d.RequestID != "" && !idForm.MatchString(d.RequestID), d.InputID != "" && !idForm.MatchString(d.InputID):
		return refuse(BadMessage, "request_id is %q and input_id is %q", d.RequestID, d.InputID)
	case (e.Type == TypeGap) != (d.From != 0) || d.From < 0 || d.From > e.Seq:
		return refuse(BadMessage, "from of %s %d is %d", e.Type, e.Seq, d.From)
	case decodeSealed(d.CT) == nil || d.Prev != "" && !isTag(d.Prev):
		return refuse(BadMessage, "ct or prev has the wrong form")
	}
	return nil
}

// RunKey seals and opens the events of a run in an epoch. It is safe for concurrent use.
type RunKey struct {
	account, host, run string
	epoch              int64
	aead               cipher.AEAD
}

// RunKey returns the key of a run's events.
func (e *Epoch) RunKey(run string) *RunKey {
	return &RunKey{e.Account, e.Host, run, e.N, e.Secret.derive(contextRun, run).aead()}
}

// place returns the additional data of an event.
func (k *RunKey) place(e *SealedEvent) []byte {
	return place("event", k.account, k.host, e.Run, e.Seq, e.Type, e.Enc.Epoch, e.Data.RequestID, e.Data.InputID, e.Data.Prev)
}

// Seal seals an event that follows those of c, and returns the chain with it. For heads and gaps,
// use SealHead and SealGap. The error is a *Refusal.
func (k *RunKey) Seal(e Event, c Chain) (*SealedEvent, Chain, error) {
	s, err := k.sealAt(e, c.Seq+1, c.Tag)
	if err != nil {
		return nil, c, err
	}
	return s, k.extend(c, s), nil
}

// sealAt seals an event with a sequence number and the tag of the preceding event.
func (k *RunKey) sealAt(e Event, seq int64, prev string) (*SealedEvent, error) {
	var err error
	if e.Data, err = canonical(e.Data); err != nil {
		return nil, err
	}
	s, err := e.visible()
	if err != nil {
		return nil, err
	}
	s.Run, s.Seq, s.Enc, s.Data.Prev = k.run, seq, Enc{1, k.epoch}, prev
	if s.Data.CT, err = sealText(k.aead, k.place(s), e.encode()); err != nil {
		return nil, err
	}
	return s, s.check()
}

// encode returns the canonical form of an event whose data are canonical.
func (e *Event) encode() []byte {
	b := append(append(make([]byte, 0, len(e.Data)+128), `{"data":`...), e.Data...)
	b = jcs.AppendText(append(b, `,"ts":`...), e.TS)
	b = jcs.AppendText(append(b, `,"type":`...), e.Type)
	return append(b, '}')
}

// visible returns the members of a valid event that the server sees. Its data are canonical.
func (e *Event) visible() (*SealedEvent, error) {
	if _, ok := parseTime(e.TS); !ok || !typeForm.MatchString(e.Type) || len(e.Data) == 0 || e.Data[0] != '{' {
		return nil, refuse(BadMessage, "type, ts or data of the event has the wrong form")
	}
	s := &SealedEvent{Type: VisibleType(e.Type), TS: e.TS}
	id := visibleTypes[e.Type].id
	if id == "" && e.Type != TypeGap {
		return s, nil
	}
	var d map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return nil, refuse(BadMessage, "%s: %v", e.Type, err)
	}
	if e.Type == TypeGap {
		if err := json.Unmarshal(d["from"], &s.Data.From); err != nil || s.Data.From < 1 || s.Data.From > maxInt {
			return nil, refuse(BadMessage, "from of %s is missing or no sequence number", e.Type)
		}
		return s, nil
	}
	to := &s.Data.RequestID
	if id == "input_id" {
		to = &s.Data.InputID
	}
	if err := json.Unmarshal(d[id], to); err != nil || !idForm.MatchString(*to) {
		return nil, refuse(BadMessage, "%s of %s is missing or no id", id, e.Type)
	}
	return s, nil
}

// Open returns the plaintext of an event. It does not check its place in the chain: see Follow. The
// error is a *Refusal.
func (k *RunKey) Open(s *SealedEvent) (*Event, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	text, err := openText(k.aead, k.place(s), s.Data.CT)
	if err != nil {
		return nil, err
	}
	e := &Event{}
	if err := decodeLong(text, e); err != nil {
		return nil, err
	}
	v, err := e.visible()
	if err != nil {
		return nil, err
	}
	if v.Type != s.Type || v.TS != s.TS || v.Data.RequestID != s.Data.RequestID || v.Data.InputID != s.Data.InputID || v.Data.From != s.Data.From {
		return nil, refuse(BadSignature, "type, ts, request_id, input_id or from of the event differ from those sealed")
	}
	return e, nil
}
