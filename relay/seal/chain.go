package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// When a host seals a head, unless NeedsHead requires one earlier.
const (
	HeadEvents   = 256
	HeadInterval = time.Second
)

// Chain is the end of a run's events as the host has sealed them or a device has verified them. The
// zero value is that of a run without events. A host stores it with each event that it has not
// sent, because a gap may replace the event.
type Chain struct {
	Seq    int64  `json:"seq"`
	Tag    string `json:"tag"`    // of the last event; "" if there is none
	Head   string `json:"head"`   // hash of the last head's data; "" if there is none
	SHA256 string `json:"sha256"` // of the events from From on; "" if there is none
	From   int64  `json:"from"`   // first event that the next head covers; 0 means 1
	// Partial reports that the events from From on are not all known. The next head then confirms
	// none of them.
	Partial bool `json:"partial,omitempty"`
}

// StartAt returns the chain of a device that reads a run from the event s on.
func StartAt(s *SealedEvent) Chain {
	return Chain{Seq: s.Seq - 1, Tag: s.Data.Prev, Partial: s.Seq > 1}
}

// extend returns the chain with one more event. The hash includes the additional data: members of
// the account have the run's key, and can find other additional data for the same ct.
func (k *RunKey) extend(c Chain, s *SealedEvent) Chain {
	var before [sha256.Size]byte
	_, _ = hex.Decode(before[:], []byte(c.SHA256)) // "", or a hash that was computed or verified
	ct := decodeSealed(s.Data.CT)
	c.SHA256 = hexsum.SHA256(bytes.Join([][]byte{append(before[:], k.place(s)...), ct}, []byte("\n")))
	c.Seq, c.Tag = s.Seq, encode64(ct[len(ct)-tagSize:])
	return c
}

// afterHead returns the chain of which the head s, with the given data, is the last event.
func (k *RunKey) afterHead(s *SealedEvent, data []byte) Chain {
	return k.extend(Chain{Head: hexsum.SHA256(data), From: s.Seq}, s)
}

// mark is the data of run.head and run.gap: the host's signature over the end of its events. A head
// has Fresh, and is for the events since the previous head. A gap has From, Reason and Tag, and is
// in the place of events that the host has dropped.
type mark struct {
	From     int64  `json:"from,omitempty"`
	To       int64  `json:"to"`
	Reason   string `json:"reason,omitempty"`
	Tag      string `json:"tag,omitempty"`
	SHA256   string `json:"sha256"`
	PrevHead string `json:"prev_head"`
	Fresh    string `json:"fresh,omitempty"`
	Sig      string `json:"sig,omitempty"`
}

// seal signs and seals a mark. It returns its data, too.
func (k *RunKey) seal(keys *Keys, typ string, m mark, seq int64, prev string, now time.Time) (*SealedEvent, []byte, error) {
	if err := m.check(typ, seq); err != nil {
		return nil, nil, err
	}
	m.Sig = keys.signText(contextPrefix+typ, k.signed(encode(m)))
	data := encode(m)
	s, err := k.sealAt(Event{typ, formatTime(now), data}, seq, prev)
	return s, data, err
}

// signed returns the text that is signed: the place of a mark, and its data without sig.
func (k *RunKey) signed(data json.RawMessage) []byte {
	return encode([]any{k.account, k.host, k.run, data})
}

// SealHead seals a head that covers the events of c since the last head, and returns the chain with
// it. keys are the host's, and fresh is a token of its FreshKey. The error is a *Refusal.
func (k *RunKey) SealHead(keys *Keys, c Chain, fresh string, now time.Time) (*SealedEvent, Chain, error) {
	m := mark{To: c.Seq, SHA256: c.SHA256, PrevHead: c.Head, Fresh: fresh}
	s, data, err := k.seal(keys, TypeHead, m, c.Seq+1, c.Tag, now)
	if err != nil {
		return nil, c, err
	}
	return s, k.afterHead(s, data), nil
}

// SealGap seals a gap in the place of the events from the sequence number from on. last is the
// chain after the last of them; none of them may be a head. prev is the tag of the event before
// them. Later events, which may already be sealed, continue last. The error is a *Refusal.
func (k *RunKey) SealGap(keys *Keys, from int64, prev, reason string, last Chain, now time.Time) (*SealedEvent, error) {
	m := mark{From: from, To: last.Seq, Reason: reason, Tag: last.Tag, SHA256: last.SHA256, PrevHead: last.Head}
	s, _, err := k.seal(keys, TypeGap, m, last.Seq, prev, now)
	return s, err
}

// check validates the form of a mark with the given type and sequence number.
func (m *mark) check(typ string, seq int64) error {
	isHead := typ == TypeHead
	if !hashForm.MatchString(m.SHA256) || m.PrevHead != "" && !hashForm.MatchString(m.PrevHead) ||
		isHead && (m.From != 0 || m.To != seq-1 || m.To < 1 || m.Reason+m.Tag != "" || decode64(m.Fresh, freshSize) == nil) ||
		!isHead && (m.From < 1 || m.From > m.To || m.To != seq || !typeForm.MatchString(m.Reason) || !isTag(m.Tag) || m.Fresh != "") {
		return refuse(BadMessage, "the data of %s %d have the wrong form", typ, seq)
	}
	return nil
}

// readMark verifies a mark at a sequence number.
func (k *RunKey) readMark(e *Event, seq int64, host PublicKeys) (m mark, err error) {
	if err := decode(e.Data, &m); err != nil {
		return m, err
	}
	if err := m.check(e.Type, seq); err != nil {
		return m, err
	}
	if !host.verifyText(contextPrefix+e.Type, k.signed(withoutSig(e.Data)), m.Sig) {
		return m, refuse(BadSignature, "%s %d is not by host %s", e.Type, seq, k.host)
	}
	return m, nil
}

// Span is a range of sequence numbers, both ends included. The zero value is empty.
type Span struct{ From, To int64 }

// Follow checks the place of an event e, which Open has returned for s. host has the public keys of
// the run's host. It returns the chain with the event, and the events that a head confirms. The
// error is a *Refusal. With Reordered, events before this one were changed or are missing; this one
// is part of the chain. The other refusals leave the chain unchanged: Replayed for an event that
// the chain has, BadSignature for a head or gap that the host did not sign, or a head of other
// events.
func (k *RunKey) Follow(c Chain, s *SealedEvent, e *Event, host PublicKeys) (Chain, Span, error) {
	var m mark
	first := s.Seq
	if e.Type == TypeHead || e.Type == TypeGap {
		var err error
		if m, err = k.readMark(e, s.Seq, host); err != nil {
			return c, Span{}, err
		}
	}
	if e.Type == TypeGap {
		first = m.From
	}
	if s.Seq <= c.Seq {
		return c, Span{}, refuse(Replayed, "event %d does not follow event %d", s.Seq, c.Seq)
	}
	before := c
	var err error
	if first > c.Seq+1 || first == c.Seq+1 && s.Data.Prev != c.Tag { // a gap may begin earlier
		before.Partial = true
		err = refuse(Reordered, "the server changed or withheld events %d to %d", min(c.Seq+1, first-1), first-1)
	}
	switch {
	case e.Type == TypeGap:
		return Chain{Seq: m.To, Tag: m.Tag, Head: m.PrevHead, SHA256: m.SHA256, From: m.To + 1}, Span{}, err
	case e.Type != TypeHead:
		return k.extend(before, s), Span{}, err
	case before.Partial:
		return k.afterHead(s, e.Data), Span{}, err
	case m.SHA256 != c.SHA256 || m.PrevHead != c.Head:
		return c, Span{}, refuse(BadSignature, "the head %d is of other events than %d to %d", s.Seq, c.From, m.To)
	}
	confirmed := Span{max(c.From, 1), m.To}
	if confirmed.From > confirmed.To { // there is only a gap before the head
		confirmed = Span{}
	}
	return k.afterHead(s, e.Data), confirmed, nil
}
