package sealer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// Names of the files.
const (
	rosterFile  = "roster.ndjson"
	keysFile    = "keys.json"
	freshFile   = "fresh.key"
	devicesFile = "devices.json"
	forkFile    = "fork.json"
	epochsFile  = "epochs.json"
	recordsFile = "keys.ndjson"
	sharesFile  = "shares.json"
)

// account is the account of the machine.
type account struct {
	dir, machine string
	roster       *seal.Roster
	keys         *seal.Keys
	fresh        seal.FreshKey
	devices      map[string]*device
	epochs       *epochs
	shares       []*share // oldest first
	unstored     bool     // the file does not have the last lines of the roster
	fork         string   // why all commands are refused; "" if they are not
}

// device is the stored state of a device.
type device struct {
	State  seal.DeviceState `json:"state"`
	Recent []accepted       `json:"recent,omitempty"` // the last accepted statements, oldest first
}

// accepted identifies an accepted statement.
type accepted struct {
	Counter int64  `json:"counter"`
	SHA256  string `json:"sha256"`
}

// maxRecent is the maximum number of accepted statements of a device that are remembered. The
// server sends commands again whose results it has not received.
const maxRecent = 64

// storedFork is the content of fork.json.
type storedFork struct {
	At  string `json:"at"`
	Why string `json:"why"`
}

// loadAccount loads the account in a directory. It returns nil if there is none.
func loadAccount(dir, machine string) (*account, error) {
	text, err := readFile(dir, rosterFile)
	if text == nil || err != nil {
		return nil, err
	}
	a := &account{dir: dir, machine: machine, devices: map[string]*device{}}
	if a.roster, err = seal.ParseRoster(text, "", seal.Position{}); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, rosterFile), err)
	}
	if err := a.loadKeys(); err != nil {
		return nil, err
	}
	if err := a.loadFresh(); err != nil {
		return nil, err
	}
	if text, err = readFile(dir, devicesFile); err == nil && text != nil {
		err = json.Unmarshal(text, &a.devices)
	}
	if err != nil || a.devices == nil {
		return nil, fmt.Errorf("%s is damaged: remove %s, which refuses all statements that are signed, and restart hostd: %w", filepath.Join(dir, devicesFile), filepath.Join(dir, freshFile), err)
	}
	if err := errors.Join(a.loadEpochs(), a.loadShares()); err != nil {
		return nil, err
	}
	a.fork, err = readFork(dir)
	return a, err
}

// readFork returns why all commands are refused, or "" if they are not.
func readFork(dir string) (string, error) {
	text, err := readFile(dir, forkFile)
	if err != nil || text == nil {
		return "", err
	}
	var f storedFork
	if err := json.Unmarshal(text, &f); err != nil || f.Why == "" {
		return "fork.json is damaged", nil
	}
	return f.Why, nil
}

func (a *account) loadKeys() error {
	file := filepath.Join(a.dir, keysFile)
	text, err := readFile(a.dir, keysFile)
	switch {
	case err != nil:
		return err
	case text == nil:
		return fmt.Errorf("%s is missing, but the machine has an account: restore it, or remove %s", file, a.dir)
	}
	if a.keys, err = seal.ParseKeys(text); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if m, ok := a.roster.Member(a.machine); ok && m.PublicKeys != a.keys.Public() {
		return fmt.Errorf("%s has other keys than the member %s of the roster", file, a.machine)
	}
	return nil
}

// loadFresh loads the key of the tokens, or creates it.
func (a *account) loadFresh() error {
	text, err := readFile(a.dir, freshFile)
	if err != nil {
		return err
	}
	if text == nil {
		a.fresh = seal.NewFreshKey()
		return a.write(freshFile, base64.RawURLEncoding.AppendEncode(nil, a.fresh[:]))
	}
	key, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil || len(key) != len(a.fresh) {
		return fmt.Errorf("%s is damaged: remove it, which refuses all statements that are signed", filepath.Join(a.dir, freshFile))
	}
	copy(a.fresh[:], key)
	return nil
}

// readFile returns the content of a file, or nil if it does not exist.
func readFile(dir, name string) ([]byte, error) {
	text, err := userfile.ReadPrivate(filepath.Join(dir, name), userfile.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the account: %w", err)
	}
	return text, nil
}

// write replaces a file. It returns when the file is on the disk.
func (a *account) write(name string, text []byte) error {
	if err := userfile.ReplacePrivate(filepath.Join(a.dir, name), text); err != nil {
		return fmt.Errorf("store the account: %w", err)
	}
	return nil
}

func (a *account) id() string {
	if a == nil {
		return ""
	}
	return a.roster.Account()
}

func (a *account) position() *protocol.RosterPosition {
	head := a.roster.Head()
	return &protocol.RosterPosition{N: head.N, Hash: head.Hash}
}

// adopt continues the roster of the account before a reload if it is longer, because hostd may have
// read lines of the server that the command line does not have. It also continues the epochs.
func (a *account) adopt(was *account) error {
	if a.id() != was.id() {
		return nil
	}
	a.epochs = was.epochs
	continues := func(x, y *account) bool {
		_, err := seal.ParseRoster(x.roster.Text(), x.id(), y.roster.Head())
		return err == nil
	}
	switch {
	case continues(a, was):
	case continues(was, a):
		a.roster = was.roster
		return a.write(rosterFile, a.roster.Text())
	default: // the user has chosen another list, whose members need other keys
		next := *a.epochs
		next.current = false
		a.epochs = &next
	}
	return nil
}

// storeRoster stores the roster.
func (a *account) storeRoster() error {
	err := a.write(rosterFile, a.roster.Text())
	a.unstored = err != nil
	return err
}

// setFork stores that there are two rosters.
func (a *account) setFork(why string, now time.Time) error {
	a.fork = why
	text, err := json.Marshal(storedFork{now.UTC().Format(time.RFC3339), why})
	if err != nil {
		return err
	}
	return a.write(forkFile, append(text, '\n'))
}

// accept stores that a statement of a device is accepted. When it returns nil, the statement is not
// accepted another time, even after a crash. The server does not send keys and sizes again.
func (a *account) accept(id string, state seal.DeviceState, s *seal.Statement, sum string) error {
	was := a.devices[id]
	d := &device{State: state}
	if was != nil {
		d.Recent = slices.Clone(was.Recent[max(0, len(was.Recent)-maxRecent+1):])
	}
	if s.Kind != seal.KindKeys && s.Kind != seal.KindResize {
		d.Recent = append(d.Recent, accepted{s.Counter, sum})
	}
	a.devices[id] = d
	err := a.storeDevices()
	if err == nil {
		return nil
	}
	if a.devices[id] = was; was == nil {
		delete(a.devices, id)
	}
	return err
}

func (a *account) storeDevices() error {
	text, err := json.Marshal(a.devices)
	if err != nil {
		return err
	}
	return a.write(devicesFile, append(text, '\n'))
}

// state returns the state of a device, and whether it has sent the statement before.
func (a *account) state(id, sum string) (seal.DeviceState, bool) {
	d := a.devices[id]
	if d == nil {
		return seal.DeviceState{}, false
	}
	return d.State, slices.ContainsFunc(d.Recent, func(one accepted) bool { return one.SHA256 == sum })
}

// dropRemoved deletes the states of devices that are no members any more.
func (a *account) dropRemoved() error {
	n := len(a.devices)
	for id := range a.devices {
		if _, ok := a.roster.Member(id); !ok && !a.isGuest(id) {
			delete(a.devices, id)
		}
	}
	if len(a.devices) == n {
		return nil
	}
	return a.storeDevices()
}
