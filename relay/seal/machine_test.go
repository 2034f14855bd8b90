package seal

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// machine is an account with a host that seals runs, while devices are added and removed.
type machine struct {
	*world
	r       *rand.Rand
	clock   time.Time
	epochs  []*Epoch // of the host, oldest first
	records [][]byte
	last    EpochPosition
	devices map[string]*machineDevice // by id
	runs    map[string]*machineRun
	nonces  map[string]bool // of each key
	written int
}

type machineDevice struct {
	keys   *Keys
	active bool
	owner  bool
	known  EpochPosition
	epochs map[int64]*Epoch // secrets that it has or had
	left   int              // number of events that were written before it was removed
}

type machineRun struct {
	*recorder
	plain map[int64]string // data by seq
	order map[int64]int    // value of machine.written at which an event was written
	used  map[int64]bool   // numbers of its epochs
}

func newMachine(t *testing.T, seed uint64) *machine {
	m := &machine{world: newWorld(t), r: rand.New(rand.NewPCG(seed, 9)), clock: now,
		devices: map[string]*machineDevice{}, runs: map[string]*machineRun{}, nonces: map[string]bool{}}
	for _, d := range m.roster.devicesAt(m.roster.Head().N) {
		for name, id := range m.ids {
			if id == d.ID {
				m.devices[id] = &machineDevice{keys: m.keys[name], active: true, owner: d.Role == Owner, epochs: map[int64]*Epoch{}}
			}
		}
	}
	return m
}

// ids returns the ids of active or removed devices, in order.
func (m *machine) idsOf(active bool) (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(m.devices)) {
		if m.devices[id].active == active {
			ids = append(ids, id)
		}
	}
	return ids
}

// owner returns an active owner's device.
func (m *machine) owner() (string, *Keys) {
	ids := slices.DeleteFunc(m.idsOf(true), func(id string) bool { return !m.devices[id].owner })
	id := ids[m.r.IntN(len(ids))]
	return id, m.devices[id].keys
}

// use records the nonce of a sealed text under a key.
func (m *machine) use(key, ct string) {
	if nonce := key + " " + ct[:16]; m.nonces[nonce] {
		m.t.Errorf("the nonce of %s is used twice", nonce)
	} else {
		m.nonces[nonce] = true
	}
}

// startEpoch creates an epoch. Each active device opens its record, and no other one can.
func (m *machine) startEpoch() {
	e, text, err := m.roster.NewEpoch(hostID, m.keys["host"], m.last, map[string]string{hostID: "mbp"}, m.clock)
	if err != nil {
		m.t.Fatal(err)
	}
	var to []string
	for _, id := range m.idsOf(true) {
		d := m.devices[id]
		rec, err := m.roster.VerifyKeyRecord(text, hostID, d.known)
		if err != nil {
			m.t.Fatalf("%s, after %+v: %v", id, d.known, err)
		}
		own, err := rec.Open(id, d.keys)
		if err != nil || own.Secret != e.Secret || own.Commands[id] != e.Commands[id] || len(own.Commands) != 1 {
			m.t.Fatalf("%s opens another epoch: %v", id, err)
		}
		d.known, d.epochs[e.N] = rec.Position(), own
		to = append(to, id)
	}
	rec := m.keyRecord(text)
	has := slices.Sorted(maps.Keys(e.Commands))
	if len(rec.Wraps) != len(to)+1 || rec.Wraps[len(to)].To != ByRecovery || !slices.Equal(has, to) {
		m.t.Errorf("epoch %d has %d wraps and keys for %v; the active devices are %v", e.N, len(rec.Wraps), has, to)
	}
	for _, id := range m.idsOf(false) {
		if _, err := rec.Open(id, m.devices[id].keys); codeOf(m.t, err) != UnknownDevice {
			m.t.Errorf("a removed device opens epoch %d: %v", e.N, err)
		}
		for _, w := range rec.Wraps {
			if _, err := m.devices[id].keys.unwrap(w.wrapped, rec.aad(w.To)); codeOf(m.t, err) != BadSignature {
				m.t.Errorf("a removed device opens the wrap for %s: %v", w.To, err)
			}
		}
	}
	m.use(fmt.Sprint("names ", e.N), rec.Names)
	m.last = rec.Position()
	m.epochs, m.records = append(m.epochs, e), append(m.records, text)
}

// write seals events of a run, in a new epoch if one is required.
func (m *machine) write() {
	if len(m.epochs) == 0 || m.epochs[len(m.epochs)-1].MustEnd(m.roster, int64(m.written), m.clock) {
		m.startEpoch()
	}
	e := m.epochs[len(m.epochs)-1]
	id := fmt.Sprint("run_", m.r.IntN(4))
	if m.runs[id] == nil {
		m.runs[id] = &machineRun{m.newRecorder(e, id), map[int64]string{}, map[int64]int{}, map[int64]bool{}}
	}
	run := m.runs[id]
	run.key = e.RunKey(id)
	run.used[e.N] = true
	before := len(run.events)
	typ := []string{"run.output", "run.output", "run.emit", "run.permission_requested"}[m.r.IntN(4)]
	run.write(typ, fmt.Sprintf(`{"n":%d,"request_id":"req_%d"}`, m.written, m.written))
	if m.r.IntN(4) == 0 {
		run.head()
	}
	for i, frame := range run.events[before:] {
		m.noteEvent(e, run, frame, i == 0)
	}
	if m.r.IntN(6) == 0 && typ == "run.output" {
		run.drop(run.events[before].Seq, run.events[before].Seq)
		m.noteEvent(e, run, run.events[before], false)
		delete(run.plain, run.events[before].Seq)
	}
}

// noteEvent records the nonce and the data of an event.
func (m *machine) noteEvent(e *Epoch, run *machineRun, frame vectorEvent, isOwn bool) {
	var d SealedData
	if err := json.Unmarshal(frame.Data, &d); err != nil {
		m.t.Fatal(err)
	}
	m.use(fmt.Sprint(e.N, " ", frame.Run), d.CT)
	if isOwn {
		run.plain[frame.Seq] = fmt.Sprintf(`{"n":%d,"request_id":"req_%d"}`, m.written, m.written)
		m.written++
	}
	run.order[frame.Seq] = m.written
}

// addDevice adds a device. The host, or an owner's device, wraps the secrets of all stored runs.
func (m *machine) addDevice() {
	k := NewKeys()
	d := NewMember(k, m.roster.Account(), Device, "")
	d.User, d.Role, d.Page = "bob", []string{Viewer, Operator, Owner}[m.r.IntN(3)], PageCLI
	by, keys := m.owner()
	m.append(m.roster.AddMember(by, keys, d, m.clock))
	added := &machineDevice{keys: k, active: true, owner: d.Role == Owner, epochs: map[int64]*Epoch{}}
	var stored []*Epoch
	for _, e := range m.epochs {
		if slices.ContainsFunc(slices.Collect(maps.Values(m.runs)), func(r *machineRun) bool { return r.used[e.N] }) {
			stored = append(stored, e)
		}
	}
	m.devices[d.ID] = added
	if len(stored) == 0 {
		return
	}
	by, keys = hostID, m.keys["host"]
	if m.r.IntN(3) == 0 { // as if the host was lost
		by, keys = m.owner()
		if m.devices[by] == added {
			by, keys = hostID, m.keys["host"]
		}
	}
	text, err := m.roster.NewHistory(by, keys, d.ID, stored)
	if err != nil {
		m.t.Fatal(err)
	}
	epochs, err := m.roster.OpenHistory(text, hostID, d.ID, k)
	if err != nil || len(epochs) != len(stored) {
		m.t.Fatalf("%d epochs: %v", len(epochs), err)
	}
	for i, e := range epochs {
		if e.N != stored[i].N || e.Secret != stored[i].Secret || e.Commands != nil {
			m.t.Errorf("the history has another epoch %d", e.N)
		}
		added.epochs[e.N] = e
	}
	for _, id := range m.idsOf(false) {
		if _, err := m.roster.OpenHistory(text, hostID, d.ID, m.devices[id].keys); codeOf(m.t, err) != BadSignature {
			m.t.Errorf("a removed device opens a history: %v", err)
		}
	}
}

func (m *machine) removeDevice() {
	by, keys := m.owner()
	ids := slices.DeleteFunc(m.idsOf(true), func(id string) bool { return id == by })
	if len(ids) == 0 {
		return
	}
	id := ids[m.r.IntN(len(ids))]
	m.append(m.roster.RemoveMember(by, keys, id, m.clock))
	m.devices[id].active, m.devices[id].left = false, m.written
}

// deleteRun deletes a run, and the secrets that no other run needs.
func (m *machine) deleteRun() {
	ids := slices.Sorted(maps.Keys(m.runs))
	if len(ids) == 0 {
		return
	}
	delete(m.runs, ids[m.r.IntN(len(ids))])
}

// command sends a command of an active device in its newest epoch.
func (m *machine) command() {
	ids := m.idsOf(true)
	id := ids[m.r.IntN(len(ids))]
	d := m.devices[id]
	if d.known.N == 0 {
		return
	}
	s := m.statement(KindRPC)
	s.Roster = m.roster.Head()
	cmd, err := s.Sign(d.keys, json.RawMessage(`{"rpc_type":"rpc.fs.read"}`), m.clock)
	if err != nil {
		m.t.Fatal(err)
	}
	sealed, err := d.epochs[d.known.N].SealCommand(cmd)
	if err != nil {
		m.t.Fatal(err)
	}
	m.use(fmt.Sprint("command ", sealed.Epoch, id), sealed.CT)
	e, err := CommandEpoch(m.epochs, sealed.Epoch, m.clock)
	if err != nil {
		if codeOf(m.t, err) != OldEpoch {
			m.t.Error(err)
		}
		return
	}
	if _, err := e.OpenCommand("run_1", KindRPC, sealed); err != nil {
		m.t.Error(err)
	}
	for _, other := range m.devices {
		if other == d {
			continue
		}
		for _, o := range other.epochs {
			for to := range o.Commands {
				forged := *o
				forged.N, forged.Commands = sealed.Epoch, map[string]Key{id: o.Commands[to]}
				if _, err := forged.OpenCommand("run_1", KindRPC, sealed); codeOf(m.t, err) != BadSignature {
					m.t.Errorf("another device opens a command: %v", err)
				}
			}
		}
	}
}

// check opens all stored runs with each active device, and later events with removed ones.
func (m *machine) check() {
	host, _ := m.roster.HostKeys(hostID)
	for _, id := range m.idsOf(true) {
		epochs := slices.Collect(maps.Values(m.devices[id].epochs))
		for name, run := range m.runs {
			c, _, plain, err := follow(Chain{}, run.events, epochs, host)
			c.From = run.chain.From // after a gap, the next head does not cover the events before it
			if err != nil || c != run.chain {
				m.t.Fatalf("%s reads %s to %+v, not %+v: %v", id, name, c, run.chain, err)
			}
			for i, e := range plain {
				if data := run.plain[run.events[i].Seq]; data != "" && data != string(e.Data) {
					m.t.Errorf("%s reads %s, not %s", id, e.Data, data)
				}
			}
		}
	}
	for _, id := range m.idsOf(false) {
		d := m.devices[id]
		for name, run := range m.runs {
			for _, frame := range run.events {
				if run.order[frame.Seq] <= d.left {
					continue
				}
				for _, own := range d.epochs {
					var s SealedEvent
					s.Type, s.TS, s.Run, s.Seq = frame.Type, frame.TS, frame.Run, frame.Seq
					if err := s.Parse(frame.Enc, frame.Data); err != nil {
						m.t.Fatal(err)
					}
					if _, err := own.RunKey(name).Open(&s); codeOf(m.t, err) != BadSignature {
						m.t.Errorf("the removed device %s opens event %d of %s: %v", id, s.Seq, name, err)
					}
				}
			}
		}
	}
}

// checkRecovery opens all stored runs with the recovery keys.
func (m *machine) checkRecovery() {
	keys, err := m.roster.RecoveryKeys(m.code)
	if err != nil {
		m.t.Fatal(err)
	}
	var known EpochPosition
	var epochs []*Epoch
	for _, text := range m.records {
		rec, err := m.roster.VerifyKeyRecord(text, hostID, known)
		if err != nil {
			m.t.Fatal(err)
		}
		e, err := rec.Open(ByRecovery, keys)
		if err != nil {
			m.t.Fatal(err)
		}
		known, epochs = rec.Position(), append(epochs, e)
	}
	host, _ := m.roster.HostKeys(hostID)
	for name, run := range m.runs {
		if _, _, _, err := follow(Chain{}, run.events, epochs, host); err != nil {
			m.t.Errorf("the recovery keys do not open %s: %v", name, err)
		}
	}
}

// TestKeySchedule adds and removes devices, starts epochs, and writes, drops and deletes events, in
// random orders.
func TestKeySchedule(t *testing.T) {
	seeds, steps := uint64(8), 60
	if randtest.Night() {
		seeds = 200
	}
	for seed := range seeds {
		cryptotest.SetGlobalRandom(t, seed)
		m := newMachine(t, seed)
		for range steps {
			m.clock = m.clock.Add(time.Minute)
			switch n := m.r.IntN(20); {
			case n < 10:
				m.write()
			case n < 12:
				m.addDevice()
			case n < 14:
				m.removeDevice()
			case n < 15 && len(m.epochs) > 0:
				m.startEpoch()
			case n < 16:
				m.clock = m.clock.Add(25 * time.Hour)
			case n < 17:
				m.deleteRun()
			case n < 19:
				m.command()
			default:
				m.check()
			}
		}
		m.write()
		m.check()
		m.checkRecovery()
		if m.written < 10 || len(m.epochs) < 5 || len(m.idsOf(false)) == 0 {
			t.Errorf("seed %d: %d events, %d epochs, %d removed devices", seed, m.written, len(m.epochs), len(m.idsOf(false)))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
