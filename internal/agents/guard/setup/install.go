package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// maxSettings is the maximum size of a settings file in bytes.
const maxSettings = 16 << 20

// Change is the change of one file. Before and After are nil if the file does not exist.
type Change struct {
	Path          string
	Before, After []byte
	base          []byte // content without an installation
	added         []string
}

// Installed is what was installed for an agent.
type Installed struct {
	Agent string        `json:"agent"`
	Level Level         `json:"level"`
	Dir   string        `json:"dir,omitempty"` // of the level Project
	Files []InstalledIn `json:"files"`
}

// InstalledIn is the part of an installation in one file.
type InstalledIn struct {
	Path    string   `json:"path"`
	Created bool     `json:"created,omitempty"` // the file did not exist
	Folders []string `json:"folders,omitempty"` // directories that did not exist, the innermost first
	Backup  string   `json:"backup,omitempty"`  // file with the content before
	SHA256  string   `json:"sha256"`            // of the content after
	Added   []string `json:"added"`             // the inserted texts
}

// userPolicy is the policy of a user who has none: it decides only where a project has [guard].
const userPolicy = `# The rules for agents that you start yourself. Those of a project apply in addition.
[guard]
default = "pass"
other = "pass"
`

// Plan returns the changes that install the hooks of an agent, without making them. An earlier
// installation at this level is replaced.
func (a *Agent) Plan(p *Place, l Level) ([]Change, error) {
	earlier, err := p.Installed()
	if err != nil {
		return nil, err
	}
	removed := map[string][]byte{}
	if i := slices.IndexFunc(earlier, a.is(p, l)); i >= 0 {
		changes, err := p.planRemoval(&earlier[i])
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if c.Path != p.policy() {
				removed[c.Path] = c.After
			}
		}
	}
	var out []Change
	files, err := a.settings(a, p, l)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		path, before, err := readSettings(f.path)
		if err != nil {
			return nil, err
		}
		from := before
		if text, ok := removed[path]; ok {
			from = text
		}
		after, added, err := f.edit(from)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, Change{path, before, after, from, added})
	}
	policy := p.policy()
	if _, err := os.Lstat(policy); l == User && errors.Is(err, fs.ErrNotExist) {
		out = append(out, Change{policy, nil, []byte(userPolicy), nil, []string{userPolicy}})
	}
	return out, nil
}

// is reports whether an installation is of the agent at a level.
func (a *Agent) is(p *Place, l Level) func(Installed) bool {
	return func(i Installed) bool { return i.Agent == a.Name && i.Level == l && (l != Project || i.Dir == p.Dir) }
}

// readSettings reads a file. It returns the path with links followed, and nil if the file does not
// exist.
func readSettings(path string) (string, []byte, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	text, err := userfile.Read(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	return path, text, err
}

// Install makes planned changes and records them. If one fails, those before it are undone.
func (a *Agent) Install(p *Place, l Level, changes []Change) (err error) {
	all, err := p.Installed()
	if err != nil {
		return err
	}
	var policy []InstalledIn         // of an earlier installation
	folders := map[string][]string{} // that it has created, by file
	for _, i := range all {
		if a.is(p, l)(i) {
			policy = slices.DeleteFunc(slices.Clone(i.Files), func(f InstalledIn) bool { return f.Path != p.policy() })
			for _, f := range i.Files {
				folders[f.Path] = f.Folders
			}
		}
	}
	all = slices.DeleteFunc(all, a.is(p, l))
	made := Installed{Agent: a.Name, Level: l, Files: []InstalledIn{}}
	if l == Project {
		made.Dir = p.Dir
	}
	for i, c := range changes {
		f := InstalledIn{Path: c.Path, Created: c.base == nil, Folders: append(missing(filepath.Dir(c.Path)), folders[c.Path]...), SHA256: sum(c.After), Added: c.added}
		if c.base != nil {
			f.Backup = filepath.Join(p.folderOfBackups(), fmt.Sprintf("%s-%s-%d-%s", a.Name, l, i, sum(c.base)[:12]))
			if err := writeFile(f.Backup, c.base, 0o600); err != nil {
				return err
			}
		}
		made.Files = append(made.Files, f)
	}
	made.Files = append(made.Files, policy...)
	// The record is there before the changes, so that a change that was interrupted can be removed.
	if err := p.record(append(all, made)); err != nil {
		return err
	}
	perm := fs.FileMode(0o600)
	if l == System {
		perm = 0o644 // other users' agents read it
	}
	for i, c := range changes {
		if err := c.make(perm); err != nil {
			for _, done := range changes[:i] {
				err = errors.Join(err, (&Change{Path: done.Path, Before: done.After, After: done.Before}).make(perm))
			}
			return errors.Join(err, p.record(all))
		}
	}
	return nil
}

// make makes a change, unless the file was changed since it was planned. perm are the permissions
// of a new file.
func (c *Change) make(perm fs.FileMode) error {
	_, now, err := readSettings(c.Path)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(now, c.Before) || (now == nil) != (c.Before == nil):
		return fmt.Errorf("%s was changed just now: try again", c.Path)
	case c.After == nil:
		return os.Remove(c.Path)
	}
	return writeFile(c.Path, c.After, perm)
}

// writeFile writes a file whose existing permissions stay.
func writeFile(path string, text []byte, perm fs.FileMode) error {
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return userfile.Replace(path, text, perm)
}

// missing returns the directories that do not exist, the innermost first.
func missing(dir string) (all []string) {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return all
		}
		all = append(all, dir)
		dir = filepath.Dir(dir)
	}
}

// policy returns the path of the user's policy.
func (p *Place) policy() string { return filepath.Join(p.Config, guard.FileName) }

// planRemoval returns the changes that remove an installation. The error is a *ChangedError if an
// installed text was changed since.
func (p *Place) planRemoval(i *Installed) (out []Change, err error) {
	for _, f := range slices.Backward(i.Files) {
		_, now, err := readSettings(f.Path)
		if err != nil {
			return nil, err
		}
		c := Change{Path: f.Path, Before: now}
		switch {
		case now == nil: // it was removed
			continue
		case sum(now) != f.SHA256:
			if f.Backup != "" {
				if before, err := os.ReadFile(f.Backup); err == nil && bytes.Equal(before, now) {
					continue // the installation was interrupted, or undone
				}
			}
			if c.After, err = remove(now, f.Added); err != nil {
				return nil, within(f.Path, err)
			}
		case !f.Created:
			if c.After, err = os.ReadFile(f.Backup); err != nil {
				return nil, err
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// within adds a path to an error.
func within(path string, err error) error {
	if changed := (*ChangedError)(nil); errors.As(err, &changed) {
		changed.Path = path
	}
	return err
}

// needsPolicy returns the index of an installation of another agent that needs the user's policy,
// or -1.
func needsPolicy(all []Installed, agent string) int {
	return slices.IndexFunc(all, func(i Installed) bool { return i.Level == User && i.Agent != agent })
}

// PlanRemoval returns what was installed for an agent at a level, or at any if it is "", and the
// changes that remove it.
func (a *Agent) PlanRemoval(p *Place, l Level) (of []Installed, changes []Change, err error) {
	all, err := p.Installed()
	if err != nil {
		return nil, nil, err
	}
	for _, i := range all {
		if i.Agent != a.Name || l != "" && !a.is(p, l)(i) {
			continue
		}
		rest := i
		if needsPolicy(all, a.Name) >= 0 {
			rest.Files = slices.DeleteFunc(slices.Clone(i.Files), func(f InstalledIn) bool { return f.Path == p.policy() })
		}
		more, err := p.planRemoval(&rest)
		if err != nil {
			return nil, nil, err
		}
		of, changes = append(of, i), append(changes, more...)
	}
	return of, changes, nil
}

// Uninstall makes changes of PlanRemoval, and removes the directories that were created.
func (a *Agent) Uninstall(p *Place, of []Installed, changes []Change) error {
	for _, c := range changes {
		if err := c.make(0o600); err != nil {
			return err
		}
	}
	var policy []InstalledIn
	for _, i := range of {
		for _, f := range i.Files {
			if f.Path == p.policy() {
				policy = append(policy, f)
			}
			for _, dir := range f.Folders {
				_ = os.Remove(dir) // it stays if it contains something else
			}
		}
	}
	all, err := p.Installed()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(i Installed) bool {
		return slices.ContainsFunc(of, func(x Installed) bool { return x.Agent == i.Agent && x.Level == i.Level && x.Dir == i.Dir })
	})
	if at := needsPolicy(all, a.Name); at >= 0 {
		all[at].Files = append(all[at].Files, policy...)
	}
	return p.record(all)
}

func (p *Place) recordFile() string      { return filepath.Join(p.State, "guard", "installed.json") }
func (p *Place) folderOfBackups() string { return filepath.Join(p.State, "guard", "backup") }

// Installed returns what is installed on this machine.
func (p *Place) Installed() (all []Installed, err error) {
	return all, readRecord(p.recordFile(), &all)
}

// readRecord reads a file in JSON. If the file does not exist, to stays as it is.
func readRecord(path string, to any) error {
	text, err := userfile.Read(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (p *Place) record(all []Installed) error {
	if len(all) == 0 {
		err := os.Remove(p.recordFile())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(p.recordFile(), append(text, '\n'), 0o600)
}

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}
