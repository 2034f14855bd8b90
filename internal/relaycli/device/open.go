package device

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// hostKeys are the keys of a host's epochs that this device has.
type hostKeys struct {
	Last   seal.EpochPosition `json:"last"` // the newest key record that was verified
	Epochs []*seal.Epoch      `json:"epochs"`
}

// Reader opens the sealed events of a host, and checks that none is missing or changed. It is safe
// for concurrent use.
type Reader struct {
	device *Device
	end    *connect.Endpoint // of the server
	host   string
	public seal.PublicKeys

	mu     sync.Mutex
	keys   *hostKeys
	chains map[string]seal.Chain // by run
	last   map[string]int64      // the last event of each run that the server sent
	beatAt time.Time             // the machine's time of its newest beat
}

// NewReader returns a reader for a host, or nil if this command line is no device of its account.
func NewReader(ctx context.Context, state string, server *connect.Endpoint, host string) (*Reader, error) {
	d, err := Load(state)
	if err != nil || d == nil {
		return nil, err
	}
	if err := d.refresh(ctx, server); err != nil {
		return nil, err
	}
	return d.newReader(server, host)
}

func (d *Device) newReader(server *connect.Endpoint, host string) (*Reader, error) {
	public, ok := d.Roster.HostKeys(host)
	if !ok {
		return nil, nil
	}
	r := &Reader{device: d, end: server, host: host, public: public, chains: map[string]seal.Chain{}, last: map[string]int64{}}
	all := map[string]*hostKeys{}
	if err := d.readJSON(keyringFile, &all); err != nil {
		return nil, err
	}
	if r.keys = all[host]; r.keys == nil {
		r.keys = &hostKeys{}
	}
	return r, nil
}

// Open replaces a sealed event with what was sealed. Its type is seal.TypeHead if only the check of
// other events needs it. The error is a *seal.Refusal if the server has changed it, or this device
// has no keys.
func (r *Reader) Open(ctx context.Context, e *protocol.Envelope) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _, err := r.open(ctx, e)
	return err
}

// Follow opens the next event of a run, from any one on. It returns the events that this one
// confirms. The error is a *seal.Refusal as that of Open. With the code Reordered, the event is
// opened, and events before it are missing or changed.
func (r *Reader) Follow(ctx context.Context, e *protocol.Envelope) (seal.Span, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	opened := *e
	s, key, err := r.open(ctx, &opened)
	if err != nil {
		return seal.Span{}, err
	}
	chain, known := r.chains[e.RunID]
	if !known {
		chain = seal.StartAt(s)
	}
	chain, confirmed, err := key.Follow(chain, s, &seal.Event{Type: opened.Type, TS: opened.TS, Data: opened.Data}, r.public)
	var why *seal.Refusal
	if err == nil || errors.As(err, &why) && why.Code == seal.Reordered {
		r.chains[e.RunID], *e = chain, opened
	}
	return confirmed, err
}

// open opens an event. It returns the sealed one, and the key of its run. The caller holds mu.
func (r *Reader) open(ctx context.Context, e *protocol.Envelope) (*seal.SealedEvent, *seal.RunKey, error) {
	r.last[e.RunID] = max(r.last[e.RunID], e.Seq)
	s := &seal.SealedEvent{Type: e.Type, TS: e.TS, Run: e.RunID, Seq: e.Seq}
	if err := s.Parse(e.Enc, e.Data); err != nil {
		return nil, nil, err
	}
	epoch, err := r.epoch(ctx, s.Enc.Epoch)
	if err != nil {
		return nil, nil, err
	}
	key := epoch.RunKey(e.RunID)
	plain, err := key.Open(s)
	if err != nil {
		return nil, nil, err
	}
	e.Type, e.Enc, e.Data = plain.Type, nil, plain.Data
	return s, key, nil
}

// Ends asks the machine for the last events of its runs. The error is a *seal.Refusal if the server
// has changed the response, or repeats an older one.
func (r *Reader) Ends(ctx context.Context) (map[string]seal.End, error) {
	_, b, err := r.beat(ctx)
	switch {
	case err != nil:
		return nil, err
	case b == nil:
		return nil, &seal.Refusal{Code: seal.BadMessage, Why: fmt.Sprintf("the server has removed what machine %s signs about its runs, or its hostd is older", console.DisplayText(r.host, 64))}
	}
	return b.Ends, nil
}

// beat asks the machine for a token of its time, and for its beat, which has the same token. The
// beat is nil if the machine seals no events.
func (r *Reader) beat(ctx context.Context) (fresh string, b *seal.Beat, err error) {
	var why *seal.Refusal
	for tries := 0; tries == 0 || tries == 1 && errors.As(err, &why) && why.Code == seal.Replayed; tries++ { // two beats may be of one millisecond
		info, failed := infoOf(ctx, r.end, r.host)
		if failed != nil || info.Beat == nil {
			return info.Fresh, nil, failed
		}
		b, err = r.verifyBeat(info.Beat)
	}
	if err != nil {
		return "", nil, fmt.Errorf("the server sent another message than machine %s has signed: %w", console.DisplayText(r.host, 64), err)
	}
	return b.Fresh, b, nil
}

// verifyBeat verifies a beat, which must be newer than all before.
func (r *Reader) verifyBeat(text []byte) (*seal.Beat, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := seal.ReadBeat(text, r.device.Roster.Account(), r.host, r.public, r.beatAt)
	if err == nil {
		r.beatAt = seal.FreshTime(b.Fresh)
	}
	return b, err
}

// Last returns the sequence number of the last event of a run that the server sent.
func (r *Reader) Last(run string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[run]
}

// epoch returns the keys of an epoch. If it is unknown, it reads the newer key records at the
// server, and the history for this device.
func (r *Reader) epoch(ctx context.Context, n int64) (*seal.Epoch, error) {
	find := func() *seal.Epoch {
		if i := slices.IndexFunc(r.keys.Epochs, func(e *seal.Epoch) bool { return e.N == n }); i >= 0 {
			return r.keys.Epochs[i]
		}
		return nil
	}
	if e := find(); e != nil {
		return e, nil
	}
	if err := r.readKeys(ctx); err != nil {
		return nil, err
	}
	if e := find(); e != nil {
		return e, nil
	}
	if err := r.readHistory(ctx); err != nil {
		return nil, err
	}
	if e := find(); e != nil {
		return e, nil
	}
	return nil, &seal.Refusal{Code: seal.OldEpoch, Why: fmt.Sprintf("this device has no keys of epoch %d of machine %s: its older runs can be read when the machine is online", n, console.DisplayText(r.host, 64))}
}

// keysTimeout is the time for which a new device waits until the machine has made its keys.
const keysTimeout = 5 * time.Second

// awaitKeys reads the newest key records. If this device has no keys of the last one, because it
// was added later, it asks the machine, which then reads the list of members.
func (r *Reader) awaitKeys(ctx context.Context) error {
	for begun := time.Now(); ; {
		if err := r.readKeys(ctx); err != nil {
			return err
		}
		n := len(r.keys.Epochs)
		if n > 0 && r.keys.Epochs[n-1].N == r.keys.Last.N || time.Since(begun) >= keysTimeout {
			return nil
		}
		if _, err := infoOf(ctx, r.end, r.host); err != nil {
			return nil // the machine is offline: what needs the keys reports that they are missing
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readKeys reads the key records after the newest known one, and before them the lines of the
// roster that they may name.
func (r *Reader) readKeys(ctx context.Context) error {
	if err := r.device.refresh(ctx, r.end); err != nil {
		return err
	}
	text, err := stored(r.end.API().KeyRecords(ctx, r.device.Roster.Account(), r.host, r.keys.Last.N))
	if err != nil {
		return err
	}
	next := *r.keys
	next.Epochs = slices.Clone(next.Epochs)
	for line := range bytes.Lines(text) {
		k, err := r.device.Roster.VerifyKeyRecord(bytes.TrimSuffix(line, []byte("\n")), r.host, next.Last)
		if err != nil {
			return fmt.Errorf("the server sent an invalid key record of machine %s: %w", console.DisplayText(r.host, 64), err)
		}
		e, err := k.Open(r.device.ID, r.device.Keys)
		var why *seal.Refusal
		switch {
		case err == nil:
			next.Epochs = slices.DeleteFunc(next.Epochs, func(has *seal.Epoch) bool { return has.N == e.N && has.Secret == e.Secret })
			next.Epochs = append(next.Epochs, e)
		case errors.As(err, &why) && why.Code == seal.UnknownDevice: // of an epoch before this device was added
		default:
			return err
		}
		next.Last = k.Position()
	}
	return r.store(&next)
}

// readHistory reads the keys of the epochs before this device was added.
func (r *Reader) readHistory(ctx context.Context) error {
	text, err := stored(r.end.API().History(ctx, r.device.Roster.Account(), r.host, r.device.ID))
	text = bytes.TrimSuffix(text, []byte("\n"))
	if err != nil || len(text) == 0 {
		return err
	}
	older, err := r.device.Roster.OpenHistory(text, r.host, r.device.ID, r.device.Keys)
	if err != nil {
		return fmt.Errorf("the server sent an invalid history of machine %s: %w", console.DisplayText(r.host, 64), err)
	}
	next := *r.keys
	next.Epochs = slices.Clone(next.Epochs)
	for _, e := range older {
		if !slices.ContainsFunc(next.Epochs, func(has *seal.Epoch) bool { return has.N == e.N }) {
			next.Epochs = append(next.Epochs, e)
		}
	}
	slices.SortFunc(next.Epochs, func(a, b *seal.Epoch) int { return int(a.N - b.N) })
	return r.store(&next)
}

// store stores the keys of the host.
func (r *Reader) store(next *hostKeys) error {
	err := r.device.locked(func() error {
		all := map[string]*hostKeys{}
		if err := r.device.readJSON(keyringFile, &all); err != nil {
			return err
		}
		if has := all[r.host]; has != nil && has.Last.N > next.Last.N { // another process has read more
			next = has
			return nil
		}
		all[r.host] = next
		return r.device.writeJSON(keyringFile, all)
	})
	if err == nil {
		r.keys = next
	}
	return err
}

// sealCommand seals a signed command for the newest epoch.
func (r *Reader) sealCommand(typ, id string, c seal.Command) (*connect.Command, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.keys.Epochs)
	if n == 0 || r.keys.Epochs[n-1].N != r.keys.Last.N {
		return nil, console.Usage("try again when the machine is online, with a hostd of this version", "this command line has no keys of machine %s, and sends nothing that the server can read", console.DisplayText(r.host, 64))
	}
	e := r.keys.Epochs[n-1]
	sealed, err := e.SealCommand(c)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(sealed)
	if err != nil {
		return nil, err
	}
	if typ == protocol.RunApprove || typ == protocol.RunDeny {
		typ = protocol.RunDecide
	}
	return &connect.Command{Type: typ, ID: id, Enc: seal.EncOf(e.N), Data: data}, nil
}

// rereadRecords makes the readers read the key records of hosts again from the first one, if the
// newest names a line after the first n of the roster, which are those that another roster has too.
// The keys of their epochs remain. The caller holds the lock.
func (d *Device) rereadRecords(n int64) error {
	all := map[string]*hostKeys{}
	if err := d.readJSON(keyringFile, &all); err != nil {
		return err
	}
	for _, k := range all {
		if k.Last.Roster > n {
			k.Last = seal.EpochPosition{}
		}
	}
	return d.writeJSON(keyringFile, all)
}

// stored returns a text of the server, or nothing if it has none or is an older one.
func stored(text []byte, err error) ([]byte, error) {
	if errors.Is(err, machineapi.ErrUnknownAccount) || errors.Is(err, machineapi.ErrUnsupported) {
		return nil, nil
	}
	return text, err
}

// RecoverEpochs stores the keys of a host that its key records have for the recovery keys. It
// returns the number of epochs.
func (d *Device) RecoverEpochs(host string, records []byte, recovery *seal.Keys) (int, error) {
	keys := &hostKeys{}
	for line := range bytes.Lines(records) {
		k, err := d.Roster.VerifyKeyRecord(bytes.TrimSuffix(line, []byte("\n")), host, keys.Last)
		if err != nil {
			return 0, fmt.Errorf("the server sent an invalid key record of machine %s: %w", console.DisplayText(host, 64), err)
		}
		e, err := k.Open(seal.ByRecovery, recovery)
		if err != nil {
			return 0, err
		}
		keys.Last, keys.Epochs = k.Position(), append(keys.Epochs, e)
	}
	return len(keys.Epochs), (&Reader{device: d, host: host}).store(keys)
}

// ConfirmedLine returns the line of the roster that a host's newest key record at the server names,
// or 0 if there is none. The host signs its records: it knows the roster up to this line.
func (d *Device) ConfirmedLine(ctx context.Context, s *machineapi.Client, host string) (line int64, err error) {
	all := map[string]*hostKeys{}
	if err := d.readJSON(keyringFile, &all); err != nil {
		return 0, err
	}
	after := int64(0)
	if k := all[host]; k != nil {
		after = max(k.Last.N-1, 0)
	}
	text, err := s.KeyRecords(ctx, d.Roster.Account(), host, after)
	if errors.Is(err, machineapi.ErrUnknownAccount) {
		return 0, nil
	}
	for record := range bytes.Lines(text) {
		k, failed := d.Roster.VerifyKeyRecord(bytes.TrimSuffix(record, []byte("\n")), host, seal.EpochPosition{})
		if failed == nil { // another one names a list that the user has rejected
			line = max(line, k.Roster.N)
		}
	}
	return line, err
}

// Histories returns for each host of which this device has keys a history for another device.
func (d *Device) Histories(to string) (map[string][]byte, error) {
	all := map[string]*hostKeys{}
	if err := d.readJSON(keyringFile, &all); err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for host, keys := range all {
		if len(keys.Epochs) == 0 {
			continue
		}
		var err error
		if texts[host], err = d.Roster.NewHistory(d.ID, d.Keys, to, keys.Epochs); err != nil {
			return nil, err
		}
	}
	return texts, nil
}
