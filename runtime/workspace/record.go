package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// States in a record.
const (
	creating = "creating" // the creation was interrupted, or is in progress
	ready    = "ready"
	removing = "removing"
)

// record is the metadata of a workspace, in the file NAME.json next to its worktree.
type record struct {
	Name     string            `json:"name"`
	Dir      string            `json:"dir"` // relative to the directory of all tasks
	Branch   string            `json:"branch,omitempty"`
	Base     string            `json:"base,omitempty"`
	Tree     string            `json:"tree,omitempty"`     // of a copy: hash of its original state
	Host     string            `json:"host,omitempty"`     // of an exchange with isolate
	Exchange string            `json:"exchange,omitempty"` // open exchange to which the directory belongs
	Session  string            `json:"session,omitempty"`
	Sessions map[string]string `json:"sessions,omitempty"` // conversations by host
	Run      string            `json:"run,omitempty"`
	Journal  string            `json:"journal,omitempty"` // directory of the run, if it is stored
	State    string            `json:"state,omitempty"`
	Created  string            `json:"created,omitempty"` // RFC 3339
}

// isCopy reports whether the directory is a copy of a host's working directory.
func (r *record) isCopy() bool { return r.Host != "" && r.Branch == "" }

// ErrDamaged means that the record of a workspace cannot be read.
var ErrDamaged = errors.New("the record of a workspace is damaged")

// recordSuffix and lockSuffix are the ends of the names of a workspace's files.
const (
	recordSuffix = ".json"
	lockSuffix   = ".lock"
)

var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// MaxName is the maximum length of a name.
const MaxName = 64

// IsName reports whether a text is a valid name of a workspace.
func IsName(text string) bool { return checkName(text) == nil }

// checkName returns an error for an invalid name of a workspace.
func checkName(name string) error {
	if validName().MatchString(name) && !strings.HasSuffix(name, ".") && !strings.HasSuffix(name, lockSuffix) && !strings.HasSuffix(name, recordSuffix) && !strings.Contains(name, "..") {
		return nil
	}
	return errorf(BadName, name, "invalid name of a workspace: %q", name).
		hint("use 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit, without '..', and not ending in '.', '.lock' or '.json'")
}

// read reads the record of a workspace. It returns nil if there is none.
func (p *Place) read(name string) (*record, error) {
	path := p.taskPath(name) + recordSuffix
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	r.Name = name
	if r.State == "" { // of an exchange with isolate
		r.State = ready
	}
	return r, nil
}

// write writes the record of a workspace. It replaces the file at once. Only the process that uses
// the workspace may call it, so a new file that an earlier process has left is overwritten.
func (p *Place) write(r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := p.taskPath(r.Name) + recordSuffix
	f, err := os.OpenFile(path+newSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+newSuffix, path)
}

// newSuffix is the end of the name of a record that is not complete.
const newSuffix = ".new"

// names returns the names of all workspaces in order.
func (p *Place) names() ([]string, error) {
	files, err := os.ReadDir(p.Tasks())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []string
	for _, f := range files { // in the order of names
		if name, ok := strings.CutSuffix(f.Name(), recordSuffix); ok && checkName(name) == nil {
			all = append(all, name)
		}
	}
	return all, err
}

// FindSession returns the name of the directory in which a conversation with a host took place, or
// "" if it does not remain.
func FindSession(host, session string, p Place) string {
	names, _ := p.names() // without a list there is none
	for _, name := range names {
		r, err := p.read(name)
		if err != nil || r == nil || r.Sessions[host] != session && (r.Host != host || r.Session != session) {
			continue
		}
		if info, err := os.Stat(p.dirOf(r)); err == nil && info.IsDir() {
			return name
		}
	}
	return ""
}

// dirOf returns the path of the working directory of a record.
func (p *Place) dirOf(r *record) string { return filepath.Join(p.Tasks(), filepath.FromSlash(r.Dir)) }

// SaveSession records that a conversation with a host took place in the directory.
func (d *Dir) SaveSession(host, session string) error {
	return d.update(func(r *record) {
		r.Host = host
		if r.Sessions == nil {
			r.Sessions = map[string]string{}
		}
		r.Sessions[host] = session
	})
}

// update changes the record of the directory.
func (d *Dir) update(change func(*record)) error {
	if d.release == nil {
		defer d.store.takeTurn(d.Name)() // hosts may work in the same workspace
	}
	r, err := d.place.read(d.Name)
	if err != nil {
		return err
	}
	if r == nil {
		return missing(d.Name)
	}
	change(r)
	return d.place.write(r)
}
