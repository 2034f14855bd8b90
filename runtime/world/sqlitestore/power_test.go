package sqlitestore

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// machine is a simulated machine on which one process after the other uses stores.
type machine struct {
	disk    *simdisk.Disk
	process *simdisk.OnlyProcess
	stores  *Stores
}

// start ends the process, if there is one, and starts another one.
func (m *machine) start() {
	if m.stores != nil {
		_ = m.stores.Close() // the process is dead
	}
	m.process = new(simdisk.OnlyProcess)
	v := m.disk.View(m.process)
	m.stores = New(Options{Dir: "/work", Disk: v.At, VFS: v.VFS()})
}

// perform performs a request with a key in the process, and again after each crash.
func (m *machine) perform(t *testing.T, key string, r effect.Request) (effect.Result, error) {
	t.Helper()
	for {
		result, err := m.stores.Perform(effect.WithKey(t.Context(), key), r)
		if !m.process.IsDead() {
			return result, err
		}
		m.start()
	}
}

// count adds 1 to an entry three times and closes the stores. It returns an error if an addition is
// lost or doubled.
func (m *machine) count(t *testing.T) error {
	t.Helper()
	m.start()
	for i := 1; i <= 3; i++ {
		r, err := m.perform(t, fmt.Sprint("r_1-", i), &effect.StoreAdd{Store: at("hashmap"), Key: []byte(`"n"`), By: []byte("1")})
		if err != nil {
			return err
		}
		if n := string(r.(*effect.StoreEntries).Entries[1].Value); n != fmt.Sprint(i) {
			return fmt.Errorf("addition %d returns %s", i, n)
		}
	}
	if err := m.stores.Close(); err != nil && !m.process.IsDead() {
		return err
	}
	m.start()
	r, err := m.perform(t, "", &effect.StoreRead{Store: at("hashmap"), Keys: []json.RawMessage{[]byte(`"n"`)}})
	if err != nil {
		return err
	}
	if n := string(r.(*effect.StoreEntries).Entries[0].Value); n != "3" {
		return fmt.Errorf("after 3 additions the entry is %s", n)
	}
	return m.stores.Close()
}

// TestCrashes kills the process of a store, or cuts the power, at each operation of the disk from
// the creation of the file to its end. Each addition must happen once.
func TestCrashes(t *testing.T) {
	scratch := t.TempDir()
	play := func(o simdisk.Options) (*machine, error) {
		o.Scratch = scratch
		m := &machine{disk: simdisk.New(o)}
		defer m.disk.Close()
		m.disk.MkdirAll("/work")
		return m, m.count(t)
	}
	straight, err := play(simdisk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	total, names := 0, straight.disk.Operations()
	for outcome := range simdisk.Outcome(simdisk.Outcomes) {
		for i, name := range names {
			for seed := range uint64(4) {
				if seed > 0 && outcome < simdisk.PowerPart {
					break // without a choice of what remains
				}
				if total++; !randtest.Sampled(total) {
					continue
				}
				_, err := play(simdisk.Options{Seed: seed, Faults: []simdisk.Fault{{At: i + 1, Outcome: outcome}}})
				if err != nil {
					t.Errorf("%s at operation %d (%s), seed %d: %v", outcome, i+1, name, seed, err)
				}
			}
		}
	}
	t.Logf("%d operations, %d schedules", len(names), total)
}

// TestTwoProcesses lets two processes use a store in turn, of which one is killed at each of its
// operations. The other one must see each addition once.
func TestTwoProcesses(t *testing.T) {
	for crash := 1; ; crash++ {
		d := simdisk.New(simdisk.Options{Scratch: t.TempDir(), Faults: []simdisk.Fault{{At: 60 + crash}}})
		d.MkdirAll("/work")
		first, second := &machine{disk: d}, &machine{disk: d}
		first.start()
		second.start()
		for i := 1; i <= 8; i++ {
			m := []*machine{first, second}[i%2]
			r, err := m.perform(t, fmt.Sprint("r_1-", i), &effect.StoreAdd{Store: at("hashmap"), Key: []byte(`"n"`), By: []byte("1")})
			if err != nil {
				t.Fatalf("crash at operation %d (%s), addition %d: %v", 60+crash, d.Died(), i, err)
			}
			if n := string(r.(*effect.StoreEntries).Entries[1].Value); n != fmt.Sprint(i) {
				t.Errorf("crash at operation %d (%s): addition %d returns %s", 60+crash, d.Died(), i, n)
			}
		}
		_ = first.stores.Close()  // the schedule has ended
		_ = second.stores.Close() // the same
		d.Close()
		if d.Died() == "" {
			if crash < 20 {
				t.Errorf("only %d operations were interrupted", crash-1)
			}
			return
		}
	}
}
