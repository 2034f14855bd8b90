package seal

import (
	"encoding/binary"
	"time"
)

// End is the last event of a run: Seq and Tag of its Chain.
type End struct {
	Seq int64  `json:"seq"`
	Tag string `json:"tag"`
}

// Beat is a host's signed message with the ends of its runs. It is sent live, and not stored.
type Beat struct {
	V       int64          `json:"v"`
	Account string         `json:"account"`
	Host    string         `json:"host"`
	Ends    map[string]End `json:"ends"` // by run
	Fresh   string         `json:"fresh"`
	Sig     string         `json:"sig,omitempty"`
}

// maxBeat is the maximum size of a beat, in bytes.
const maxBeat = 256 << 10

// NewBeat returns a beat. keys are the host's, and fresh is a token of its FreshKey. The error is a
// *Refusal, for example if there are too many runs for one beat.
func NewBeat(keys *Keys, account, host string, ends map[string]End, fresh string) ([]byte, error) {
	b := Beat{V: 1, Account: account, Host: host, Ends: ends, Fresh: fresh}
	b.Sig = keys.signText(contextBeat, encode(b))
	text := encode(b)
	_, err := ReadBeat(text, account, host, keys.Public(), time.Time{})
	return text, err
}

// ReadBeat verifies a beat of a host with the given keys. after is the time of the newest beat that
// the caller has verified, or zero. The error is a *Refusal, with Replayed if this one is not
// newer.
func ReadBeat(text []byte, account, host string, keys PublicKeys, after time.Time) (*Beat, error) {
	b := &Beat{}
	if err := decodeUpTo(text, b, maxBeat); err != nil {
		return nil, err
	}
	switch {
	case b.V != 1:
		return nil, refuse(Unsupported, "the beat has version %d", b.V)
	case b.Ends == nil || decode64(b.Fresh, freshSize) == nil:
		return nil, refuse(BadMessage, "ends or fresh of the beat has the wrong form")
	case b.Account != account || b.Host != host:
		return nil, refuse(WrongRequest, "the beat is by host %s of account %s", b.Host, b.Account)
	case !keys.verifyText(contextBeat, withoutSig(text), b.Sig):
		return nil, refuse(BadSignature, "the beat is not by host %s", host)
	case !FreshTime(b.Fresh).After(after):
		return nil, refuse(Replayed, "the beat is not newer than %s", formatTime(after))
	}
	for run, end := range b.Ends {
		if !idForm.MatchString(run) || end.Seq < 1 || end.Seq > maxInt || !isTag(end.Tag) {
			return nil, refuse(BadMessage, "the end of run %q has the wrong form", run)
		}
	}
	return b, nil
}

// FreshTime returns the host's time in the token of a verified head or beat.
func FreshTime(token string) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(decode64(token, freshSize))))
}

// Check compares the end of a run with the chain of a device that has read all its events so far.
// It returns a *Refusal with Reordered if the server withholds or has changed events. They may also
// still be on their way, so the caller waits before it reports that.
func (b *Beat) Check(run string, c Chain) error {
	if end, ok := b.Ends[run]; ok && (c.Seq < end.Seq || c.Seq == end.Seq && c.Tag != end.Tag) {
		return refuse(Reordered, "the host has sealed event %d of run %s, the server sent %d", end.Seq, run, c.Seq)
	}
	return nil
}
