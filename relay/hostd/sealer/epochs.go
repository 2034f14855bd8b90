package sealer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// epochs are the epochs of the machine in its account, and their key records.
type epochs struct {
	Last seal.EpochPosition `json:"last"` // the newest key record
	All  []*seal.Epoch      `json:"epochs"`
	// Histories has the devices for which the server has a history, and the newest epoch then.
	Histories map[string]int64 `json:"histories"`

	records   map[int64][]byte // the key records by epoch; those of a lost state are missing
	published int64            // newest epoch of which the server has the key record; 0 if unknown
	messages  int64            // sealed in the present epoch
	current   bool             // this process has begun the newest epoch
	asked     int64            // the epoch in which DropSecrets has asked the server; 0 if in none
}

// loadEpochs loads the epochs and the key records. A record that was stored without its epoch is
// dropped: it was not published.
func (a *account) loadEpochs() error {
	e := &epochs{Histories: map[string]int64{}, records: map[int64][]byte{}}
	text, err := readFile(a.dir, epochsFile)
	if err != nil {
		return err
	}
	if text != nil {
		if err := json.Unmarshal(text, e); err != nil || e.Histories == nil {
			return fmt.Errorf("%s is damaged: restore it from a backup, or remove it, and older runs cannot be opened on new devices: %w", filepath.Join(a.dir, epochsFile), err)
		}
	}
	records, err := readFile(a.dir, recordsFile)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(records) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		var k seal.KeyRecord
		if err := json.Unmarshal(line, &k); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(a.dir, recordsFile), err)
		}
		// One that does not verify names a line of a roster that the user has not chosen. The
		// server refuses it, and the machine continues after it.
		if k.Epoch <= e.Last.N {
			e.records[k.Epoch] = line
		}
	}
	a.epochs = e
	return nil
}

// storeEpochs stores the key records and then the epochs.
func (a *account) storeEpochs() error {
	var records []byte
	for n := int64(1); n <= a.epochs.Last.N; n++ {
		if line, ok := a.epochs.records[n]; ok {
			records = append(append(records, line...), '\n')
		}
	}
	text, err := json.Marshal(a.epochs)
	if err != nil {
		return err
	}
	if err := a.write(recordsFile, records); err != nil {
		return err
	}
	return a.write(epochsFile, append(text, '\n'))
}

// begin creates an epoch, in which name is that of the machine. If it is not stored, the epochs
// remain unchanged.
func (a *account) begin(name string, now time.Time) error {
	names := map[string]string{}
	if name != "" {
		names[a.machine] = name
	}
	last := a.continued()
	e, record, err := a.roster.NewEpoch(a.machine, a.keys, last, names, now)
	if err != nil {
		return err
	}
	k, err := a.roster.VerifyKeyRecord(record, a.machine, last)
	if err != nil {
		return err
	}
	if a.unstored {
		if err := a.storeRoster(); err != nil {
			return err
		}
	}
	next := *a.epochs
	next.Last, next.All, next.messages, next.current = k.Position(), append(slices.Clone(next.All), e), 0, true
	next.All = withoutOldCommands(next.All, now)
	before := a.epochs
	a.epochs = &next
	next.records[k.Epoch] = record
	if err := a.storeEpochs(); err != nil {
		delete(next.records, k.Epoch)
		a.epochs = before
		return err
	}
	return nil
}

// continued returns the number of the newest key record, and the hash and line of the newest one
// that the roster permits: others name lines of a list that the user has rejected, and a device
// with the chosen list refuses them.
func (a *account) continued() seal.EpochPosition {
	last := a.epochs.Last
	for n := last.N; n > 0; n-- {
		k, err := a.roster.VerifyKeyRecord(a.epochs.records[n], a.machine, seal.EpochPosition{})
		if err == nil {
			return seal.EpochPosition{N: last.N, Hash: k.Position().Hash, Roster: k.Roster.N}
		}
	}
	return seal.EpochPosition{N: last.N}
}

// withoutOldCommands returns the epochs without the command keys that no command may use any more.
func withoutOldCommands(all []*seal.Epoch, now time.Time) []*seal.Epoch {
	for i, e := range all {
		if _, err := seal.CommandEpoch(all, e.N, now); err != nil && e.Commands != nil {
			old := *e
			old.Commands = nil
			all[i] = &old
		}
	}
	return all
}

// Sealing implements spool.Keys. It begins an epoch if the present one must end.
func (s *Sealer) Sealing(n int) (*spool.Sealing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account
	switch {
	case a == nil && s.o.Required:
		return nil, errors.New("the events of runs must be sealed, and this machine has no account: run concerto-relay seal init, or restart hostd with --sealed=off")
	case a == nil:
		return nil, nil
	}
	isNew, err := s.renewEpoch(a)
	if err != nil {
		return nil, err
	}
	if isNew {
		s.Follow() // publishes the key record
	}
	a.epochs.messages += int64(n)
	e := a.epochs.present()
	return &spool.Sealing{Epoch: e, Keys: a.keys, Fresh: a.fresh.Token(s.o.Now()), Browsers: a.browsersOf(e), OldRunsOnly: !s.o.SealEvents}, nil
}

// browsersOf returns the devices that have keys of an epoch and can receive push messages: those
// with a page. Only the server knows which of them have a subscription.
func (a *account) browsersOf(e *seal.Epoch) (ids []string) {
	for _, m := range a.roster.Members() {
		if _, ok := e.Commands[m.ID]; ok && m.Page != seal.PageCLI {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// renewEpoch begins an epoch if the present one must end, or there is none. The caller holds mu.
func (s *Sealer) renewEpoch(a *account) (isNew bool, err error) {
	now := s.o.Now()
	present := a.epochs.present()
	if _, isMember := a.roster.Member(a.machine); !isMember { // the devices refuse its key records, and a device that was removed, too, has the old keys
		return false, fmt.Errorf("this machine was removed from account %s, and cannot seal events: run concerto-relay seal leave, and restart hostd", a.id())
	}
	if err := a.dropEnded(now); err != nil {
		return false, err
	}
	if present != nil && a.epochs.current && !present.MustEnd(a.roster, a.epochs.messages, now) {
		return false, nil
	}
	if err := a.begin(s.o.Name, now); err != nil {
		return false, fmt.Errorf("begin an epoch: %w", err)
	}
	return true, nil
}

// present returns the newest epoch of which the machine has the keys, or nil.
func (e *epochs) present() *seal.Epoch {
	if len(e.All) == 0 {
		return nil
	}
	return e.All[len(e.All)-1]
}

// Rotate begins an epoch, and a new key of the tokens, so that all earlier statements are refused.
// It ends all shares: those of a backup may have ended since, and do not have the guests that the
// machine has accepted since.
func (s *Sealer) Rotate() (Status, error) {
	s.mu.Lock()
	err := s.rotate()
	s.mu.Unlock()
	if err != nil {
		return Status{}, err
	}
	s.Follow()
	return s.Status(), nil
}

func (s *Sealer) rotate() error {
	a := s.account
	if a == nil {
		return errors.New("the machine has no account: run concerto-relay seal init")
	}
	fresh := seal.NewFreshKey()
	if err := a.write(freshFile, base64.RawURLEncoding.AppendEncode(nil, fresh[:])); err != nil {
		return err
	}
	a.fresh = fresh
	if err := a.setShares(nil); err != nil {
		return err
	}
	return a.begin(s.o.Name, s.o.Now())
}

// SyncKeys reads the newest key records at the server, which a restored machine may not have. It
// begins an epoch if the present one must end, so that devices can send commands before the first
// event, and publishes the key records that the server does not have.
func (s *Sealer) SyncKeys(ctx context.Context) error {
	s.mu.Lock()
	a := s.account
	if a == nil || s.o.Server == nil {
		s.mu.Unlock()
		return nil
	}
	id, isNew := a.id(), a.epochs.published == 0
	s.mu.Unlock()
	server, err := s.o.Server(ctx)
	if err == nil && isNew {
		err = s.readKeys(ctx, server, a, id)
	}
	if err == nil {
		err = s.renewEpochOf(a)
	}
	if err != nil {
		return err
	}
	return errors.Join(s.publishKeys(ctx, server, a, id), s.publishHistories(ctx, server, a, id), s.publishShares(ctx, server, a, id))
}

// renewEpochOf begins an epoch of an account if the present one must end.
func (s *Sealer) renewEpochOf(a *account) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account != a {
		return errReloaded
	}
	if a.fork != "" {
		return nil
	}
	_, err := s.renewEpoch(a)
	return err
}

// readKeys finds the newest key record of the machine at the server.
func (s *Sealer) readKeys(ctx context.Context, server Server, a *account, id string) error {
	s.mu.Lock()
	last := a.epochs.Last.N
	s.mu.Unlock()
	for back := int64(1); ; back *= 2 { // the server usually has the last record
		after := max(last-back, 0)
		text, err := server.KeyRecords(ctx, id, s.o.MachineID, after)
		if errors.Is(err, machineapi.ErrUnknownAccount) {
			return nil // there is none
		}
		if err != nil {
			return err
		}
		if len(text) > 0 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.adoptKeys(a, text)
		}
		if after == 0 {
			return nil
		}
	}
}

// adoptKeys continues the key records at the server if this machine was restored from a backup and
// has signed them before. The caller holds mu.
func (s *Sealer) adoptKeys(a *account, text []byte) error {
	if s.account != a {
		return errReloaded
	}
	next := *a.epochs
	known := seal.EpochPosition{}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		k, err := a.roster.VerifyKeyRecord(line, a.machine, known)
		if err != nil {
			return fmt.Errorf("the server sent an invalid key record: %w", err)
		}
		known = k.Position()
		if known == next.Last || bytes.Equal(next.records[k.Epoch], line) {
			next.records[k.Epoch] = bytes.Clone(line)
			continue
		}
		// The secrets of this machine's own epochs with these numbers remain: it has sealed events
		// with them, which it can open.
		s.o.Log.Warn("the server has a key record that this machine does not have: it was restored from a backup, and continues after that record", "epoch", k.Epoch)
		next.records[k.Epoch] = bytes.Clone(line)
		if known.N >= next.Last.N {
			next.Last, next.current = known, false
		}
	}
	next.published = known.N
	isNew := next.Last != a.epochs.Last
	a.epochs = &next
	if isNew {
		return a.storeEpochs()
	}
	return nil
}

// publishKeys sends the server the key records that it does not have, oldest first.
func (s *Sealer) publishKeys(ctx context.Context, server Server, a *account, id string) error {
	for {
		s.mu.Lock()
		n, last := a.epochs.published+1, a.epochs.Last.N
		for n <= last && a.epochs.records[n] == nil {
			n++
		}
		record := a.epochs.records[n]
		s.mu.Unlock()
		if n > last {
			return nil
		}
		err := server.PublishKeys(ctx, id, record)
		var f *machineapi.Error
		if errors.As(err, &f) && (f.Code == protocol.Code(seal.OldEpoch) || f.Code == protocol.RosterConflict && n < last) {
			err = nil // the server has a later one, or one that continues another roster
		}
		if err != nil {
			return fmt.Errorf("publish the key record of epoch %d: %w", n, err)
		}
		s.mu.Lock()
		a.epochs.published = max(a.epochs.published, n)
		s.mu.Unlock()
	}
}

// publishHistories sends the server a history for each device that was added after the machine's
// first epoch.
func (s *Sealer) publishHistories(ctx context.Context, server Server, a *account, id string) error {
	failed := map[string]error{}
	for {
		s.mu.Lock()
		device, history, err := a.nextHistory(failed)
		last := a.epochs.Last.N
		s.mu.Unlock()
		if err != nil || device == "" {
			return errors.Join(append(slices.Collect(maps.Values(failed)), err)...)
		}
		if err := server.PublishHistory(ctx, id, s.o.MachineID, device, history); err != nil {
			failed[device] = fmt.Errorf("publish the older keys for %s: %w", device, err)
			continue
		}
		if err := s.noteHistory(a, device, last); err != nil {
			return err
		}
	}
}

// noteHistory stores that the server has a history for a device.
func (s *Sealer) noteHistory(a *account, device string, last int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account != a {
		return errReloaded
	}
	a.epochs.Histories[device] = last
	return a.storeEpochs()
}

// errReloaded means that the files of the account were read again in the meantime.
var errReloaded = errors.New("the account has changed: its keys are published again soon")

// nextHistory returns a device that needs a history, and is not in failed, and the history. The
// newest epoch has a key record for all devices; if it does not, the next epoch follows soon.
func (a *account) nextHistory(failed map[string]error) (device string, history []byte, err error) {
	present := a.epochs.present()
	if present == nil {
		return "", nil, nil
	}
	for _, m := range a.roster.Members() {
		if _, done := a.epochs.Histories[m.ID]; done || failed[m.ID] != nil || m.Kind != seal.Device || present.Commands[m.ID] == (seal.Key{}) {
			continue
		}
		older := slices.DeleteFunc(slices.Clone(a.epochs.All), func(e *seal.Epoch) bool { return e.Commands[m.ID] != (seal.Key{}) })
		if len(older) == 0 {
			continue // the device has all key records
		}
		history, err = a.roster.NewHistory(a.machine, a.keys, m.ID, older)
		return m.ID, history, err
	}
	return "", nil, nil
}

// OpenEvent replaces the data of a sealed event of this machine with those that were sealed. Other
// events remain as they are.
func (s *Sealer) OpenEvent(e *protocol.Envelope) error {
	if e.Enc == nil {
		return nil
	}
	sealed := &seal.SealedEvent{Type: e.Type, TS: e.TS, Run: e.RunID, Seq: e.Seq}
	if err := sealed.Parse(e.Enc, e.Data); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account == nil {
		return refuse(seal.OldEpoch, "the machine has no account")
	}
	err := error(refuse(seal.OldEpoch, "the machine has no keys of epoch %d", sealed.Enc.Epoch))
	for _, x := range s.account.epochs.All { // after a restored backup there can be two with a number
		if x.N != sealed.Enc.Epoch {
			continue
		}
		var plain *seal.Event
		if plain, err = x.RunKey(e.RunID).Open(sealed); err == nil {
			e.Type, e.Enc, e.Data = plain.Type, nil, plain.Data
			return nil
		}
	}
	return err
}
