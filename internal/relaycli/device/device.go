// Package device stores the device that this command line is in an account (relay/seal), and signs
// the commands that it sends to machines of the account.
//
// # Files
//
// The files are in STATE/seal/cli, where STATE is the state directory of hostd. Only this user can
// read them. The directory exists also without hostd: a laptop can be a device and no host.
//
//	keys.json      the device's keys (seal.Keys); the command line is a device if it exists
//	roster.ndjson  the roster that this device has verified
//	counters.json  the counters of the statements, stored before a statement is sent
//	keyring.json   the keys of the epochs of hosts, and their newest key records
//	names.json     names of members that were added here; the roster has none
//	lock           locked while one of the files is changed
package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/seal"
)

// Names of the files.
const (
	keysFile     = "keys.json"
	rosterFile   = "roster.ndjson"
	countersFile = "counters.json"
	keyringFile  = "keyring.json"
	namesFile    = "names.json"
	lockName     = "lock"
)

// Device is the device of this command line.
type Device struct {
	ID     string
	Keys   *seal.Keys
	Roster *seal.Roster // the newest verified one
	dir    string
}

func dirOf(state string) string { return filepath.Join(sealer.Dir(state), "cli") }

// Load reads the device in the state directory of hostd. It returns nil if there is none.
func Load(state string) (*Device, error) {
	d := &Device{dir: dirOf(state)}
	file := filepath.Join(d.dir, keysFile)
	text, err := userfile.ReadPrivate(file, userfile.MaxSecret)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		d.Keys, err = seal.ParseKeys(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read the keys of this command line (%s): %w", file, err)
	}
	d.ID = d.Keys.Public().DeviceID()
	file = filepath.Join(d.dir, rosterFile)
	if text, err = userfile.Read(file, userfile.MaxText); err == nil {
		d.Roster, err = seal.ParseRoster(text, "", seal.Position{})
	}
	if err != nil {
		return nil, fmt.Errorf("read the roster of this command line from %s: %w", file, err)
	}
	return d, nil
}

// Create stores a device that is a member of a roster. It replaces an earlier one.
func Create(state string, k *seal.Keys, r *seal.Roster) (*Device, error) {
	d := &Device{ID: k.Public().DeviceID(), Keys: k, Roster: r, dir: dirOf(state)}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of this device: %w", err)
	}
	err := d.locked(func() error {
		if err := d.write(countersFile, []byte("{}\n")); err != nil { // the counters of a new key begin again
			return err
		}
		if err := d.write(rosterFile, r.Text()); err != nil {
			return err
		}
		return d.write(keysFile, k.Marshal())
	})
	return d, err
}

// IsMember reports whether the roster has this device.
func (d *Device) IsMember() bool {
	m, ok := d.Roster.Member(d.ID)
	return ok && m.PublicKeys == d.Keys.Public()
}

// Extend appends lines of the server to the roster and stores it. Its error is a *seal.Refusal with
// the code RosterFork if the server has another roster.
func (d *Device) Extend(text []byte) error {
	return d.locked(func() error {
		n := d.Roster.Head().N
		err := d.Roster.AppendLines(text)
		if d.Roster.Head().N == n {
			return err
		}
		return errors.Join(err, d.write(rosterFile, d.Roster.Text()))
	})
}

// SetRoster replaces the roster by another one that the user has chosen after a fork.
func (d *Device) SetRoster(r *seal.Roster) error {
	return d.locked(func() error {
		if err := d.rereadRecords(r.CommonLines(d.Roster)); err != nil {
			return err
		}
		d.Roster = r
		return d.write(rosterFile, r.Text())
	})
}

// Names returns the known names of members by their ids.
func (d *Device) Names() (map[string]string, error) {
	names := map[string]string{}
	return names, d.readJSON(namesFile, &names)
}

// SetName stores the name of a member, or removes it if name is "".
func (d *Device) SetName(id, name string) error {
	return d.locked(func() error {
		names, err := d.Names()
		if err != nil {
			return err
		}
		if names[id] = name; name == "" {
			delete(names, id)
		}
		return d.writeJSON(namesFile, names)
	})
}

// counters are the counters of the statements that this device has signed.
type counters struct {
	Hosts  map[string]int64            `json:"hosts"`  // the last counter of each host
	Inputs map[string]map[string]int64 `json:"inputs"` // that of the last input or keys, by host and run
}

// maxInputs is the maximum number of runs of a host in the counters. Those with the oldest inputs
// are forgotten.
const maxInputs = 256

// next returns the counter of the next statement to a host, and stores it. For an input to a run it
// also returns the counter of the previous one.
func (d *Device) next(host, run string, isInput bool) (counter, after int64, err error) {
	err = d.changeCounters(func(c *counters) {
		c.Hosts[host]++
		counter = c.Hosts[host]
		if isInput {
			after = c.inputsOf(host)[run]
			c.inputsOf(host)[run] = counter
		}
	})
	return counter, after, err
}

// setInput stores the counter of the last input to a run that the host has accepted.
func (d *Device) setInput(host, run string, counter int64) error {
	return d.changeCounters(func(c *counters) { c.inputsOf(host)[run] = counter })
}

func (c *counters) inputsOf(host string) map[string]int64 {
	if c.Inputs[host] == nil {
		c.Inputs[host] = map[string]int64{}
	}
	return c.Inputs[host]
}

func (d *Device) changeCounters(change func(*counters)) error {
	return d.locked(func() error {
		c := counters{Hosts: map[string]int64{}, Inputs: map[string]map[string]int64{}}
		if err := d.readJSON(countersFile, &c); err != nil {
			return err
		}
		change(&c)
		for _, of := range c.Inputs {
			for len(of) > maxInputs {
				delete(of, oldest(of))
			}
		}
		return d.writeJSON(countersFile, c)
	})
}

// oldest returns the run with the smallest counter.
func oldest(of map[string]int64) (run string) {
	for id, n := range of {
		if run == "" || n < of[run] {
			run = id
		}
	}
	return run
}

const (
	lockTimeout = 5 * time.Second
	lockPause   = 5 * time.Millisecond
)

// locked calls do while no other process changes the files.
func (d *Device) locked(do func() error) error {
	unlock, err := lockfile.Lock(filepath.Join(d.dir, lockName))
	for end := time.Now().Add(lockTimeout); errors.Is(err, lockfile.ErrHeld) && time.Now().Before(end); {
		time.Sleep(lockPause) // the holder writes a small file
		unlock, err = lockfile.Lock(filepath.Join(d.dir, lockName))
	}
	if err != nil {
		return fmt.Errorf("lock the files of this device: %w", err)
	}
	return errors.Join(do(), unlock())
}

func (d *Device) write(name string, text []byte) error {
	if err := userfile.ReplacePrivate(filepath.Join(d.dir, name), text); err != nil {
		return fmt.Errorf("store this device: %w", err)
	}
	return nil
}

// readJSON reads a file into v, which remains unchanged if the file does not exist.
func (d *Device) readJSON(name string, v any) error {
	text, err := userfile.Read(filepath.Join(d.dir, name), userfile.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(d.dir, name), err)
	}
	return nil
}

func (d *Device) writeJSON(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return d.write(name, append(text, '\n'))
}
