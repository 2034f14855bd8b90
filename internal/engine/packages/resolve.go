package packages

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/engine/packages/uses"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Project is a project with its manifest and its lock file as they are on disk.
type Project struct {
	Root     string
	Manifest *manifest.Manifest
	Lock     *pkg.Lock // empty if there is no lock file, or LockErr is set
	LockErr  error     // error in the lock file
	Found    diag.List // findings in the manifest
	lockText []byte    // text of the lock file, or nil
	shown    string    // directory of the manifest as the user sees it; "" for the working directory
}

// Open reads the project of the nearest manifest in dir or a directory above it.
func Open(dir string) (*Project, error) {
	path, found := manifest.Locate(dir, func(p string) bool { info, err := os.Stat(p); return err == nil && !info.IsDir() })
	if !found {
		return nil, pkg.Errorf(pkg.Refused, "run `concerto init`, or create one with [project]", "no %s in this directory or its parents", manifest.FileName)
	}
	p := &Project{Root: filepath.Dir(path), Lock: &pkg.Lock{}}
	if rel, err := filepath.Rel(dir, p.Root); err == nil && rel != "." {
		p.shown = filepath.ToSlash(rel) + "/"
	}
	text, err := userfile.Read(path, userfile.MaxText)
	if err != nil {
		return nil, pkg.Errorf(pkg.Refused, "", "cannot read %s: %v", p.shown+manifest.FileName, err)
	}
	p.Manifest, p.Found = p.parse(text)
	lock, err := userfile.Read(filepath.Join(p.Root, pkg.LockFile), userfile.MaxText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.LockErr = pkg.Errorf(pkg.Refused, "", "cannot read %s: %v", p.shown+pkg.LockFile, err)
		return p, nil
	}
	pending, _ := userfile.Read(filepath.Join(p.Root, pkg.PendingFile), userfile.MaxText) // usually there is none
	if p.lockText = pkg.LockFor(text, lock, pending); p.lockText != nil {
		if l, err := pkg.ParseLock(p.lockText); err != nil {
			p.LockErr = err
		} else {
			p.Lock = l
		}
	}
	return p, nil
}

func (p *Project) parse(text []byte) (*manifest.Manifest, diag.List) {
	return manifest.Parse(source.NewFile(p.shown+manifest.FileName, text))
}

// Text returns the text of the manifest.
func (p *Project) Text() []byte { return p.Manifest.File.Original() }

// Locked returns the package of the lock file that an ID and a major identify, or nil. A commit is
// the same package as any version of it.
func (p *Project) Locked(r *pkg.Locked) *pkg.Locked {
	for _, l := range p.Lock.Packages {
		if l.ID() != r.ID() {
			continue
		}
		v, isVersion := pkg.ParseVersion(l.Version)
		w, wants := pkg.ParseVersion(r.Version)
		if !isVersion || !wants || v.Major() == w.Major() {
			return l
		}
	}
	return nil
}

// Resolution is the result of selecting the versions of all packages.
type Resolution struct {
	Text  []byte // manifest
	Lock  *pkg.Lock
	Graph *pkg.Graph
	Uses  map[*pkg.Locked][]uses.Found
	files map[*pkg.Locked][]pkg.File
}

// Resolver selects the versions of packages.
type Resolver struct {
	Fetcher *Fetcher
	Project *Project

	mu       sync.Mutex
	contents map[string]*content // by the name and the version of a package
}

// content is a package that the resolver has read.
type content struct {
	fetched
	name  string // name of the package's project as the name of a module, or ""
	needs []pkg.Requirement
}

// Resolve selects the versions that a manifest requires, fetches them and computes their uses. It
// changes neither the manifest nor the lock file.
func (r *Resolver) Resolve(ctx context.Context, text []byte) (*Resolution, error) {
	m, found := r.Project.parse(text)
	found.Append(driver.CheckKeys(m))
	if found.HasErrors() {
		return nil, &driver.DiagnosticsError{Found: found}
	}
	reader := &driver.Reader{Read: r.readFile}
	root := driver.Requirements(m, r.Project.Root)
	refs, err := pkg.Select(root, reader.ByPath, func(all []pkg.Ref) ([][]pkg.Requirement, error) { return r.read(ctx, all) })
	if err == nil && reader.List.HasErrors() {
		err = &driver.DiagnosticsError{Found: reader.List}
	}
	if err != nil {
		return nil, refusal(err)
	}
	out := &Resolution{Text: text, Lock: &pkg.Lock{}, Uses: map[*pkg.Locked][]uses.Found{}, files: map[*pkg.Locked][]pkg.File{}}
	for _, ref := range refs {
		c := r.contents[contentKey(&ref)]
		l := pkg.NewLocked(ref, c.commit, c.hash, c.needs, nil)
		out.Lock.Packages = append(out.Lock.Packages, l)
		out.files[l] = c.files
	}
	if out.Graph, err = out.Lock.Build(root, r.Project.Root, reader.ByPath); err != nil {
		return nil, refusal(err)
	}
	return out, r.addUses(out)
}

// refusal returns an error of a graph as one that the user can correct.
func refusal(err error) error {
	var circle *pkg.CircleError
	var conflict *pkg.ConflictError
	switch {
	case errors.As(err, &circle):
		return pkg.Errorf(pkg.Refused, "one of them must not require the next", "%v", circle)
	case errors.As(err, &conflict):
		return pkg.Errorf(pkg.Refused, "", "%v", conflict)
	}
	return err
}

func (r *Resolver) readFile(path string) (*source.File, error) {
	text, err := userfile.Read(path, userfile.MaxText)
	if err != nil {
		return nil, err
	}
	shown := path
	if rel, err := filepath.Rel(r.Project.Root, path); err == nil {
		shown = rel
	}
	return source.NewFile(filepath.ToSlash(shown), text), nil
}

func contentKey(r *pkg.Ref) string {
	return r.Git.Key + "#" + r.Dir + " " + r.Version + " " + r.Commit
}

// read returns the requirements of packages, and fetches those that are not in the cache.
func (r *Resolver) read(ctx context.Context, all []pkg.Ref) ([][]pkg.Requirement, error) {
	out := make([][]pkg.Requirement, len(all))
	err := each(len(all), func(i int) error {
		c, err := r.content(ctx, &all[i])
		if err == nil {
			out[i] = c.needs
		}
		return err
	})
	return out, err
}

// content returns a package: from the cache if the lock file has its hash, else from its
// repository.
func (r *Resolver) content(ctx context.Context, ref *pkg.Ref) (*content, error) {
	key := contentKey(ref)
	r.mu.Lock()
	c := r.contents[key]
	r.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c = &content{}
	if err := r.load(ctx, ref, c); err != nil {
		return nil, err
	}
	text, found := fileNamed(c.files, manifest.FileName)
	if !found {
		return nil, pkg.Unusable(ref.String(), "it has no "+manifest.FileName)
	}
	m, list := driver.PackageManifest(text, ref.String()+": ", ref.Git.IsLocal)
	if list.HasErrors() {
		return nil, &driver.DiagnosticsError{Found: list}
	}
	if reason := driver.CheckRelease(m); reason != "" {
		return nil, pkg.Unusable(ref.String(), reason)
	}
	c.name, c.needs = moduleName(m.Project.Name), driver.Requirements(m, "")
	if c.name != "" {
		r.Fetcher.Cache.Note(c.name, pkgcache.Known{Git: ref.Git.Text, Dir: ref.Dir, Version: ref.Version})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.contents == nil {
		r.contents = map[string]*content{}
	}
	r.contents[key] = c
	return c, nil
}

func (r *Resolver) load(ctx context.Context, ref *pkg.Ref, c *content) error {
	w := want{ref.String(), ref.Git, ref.Dir, ref.Version, ref.Commit}
	locked := r.locked(ref)
	if locked != nil {
		w.commit = locked.Commit
		if files, _, err := r.Fetcher.Cache.Read(locked.Hash); err == nil && pkg.Hash(files) == locked.Hash {
			c.fetched = fetched{files, locked.Commit, locked.Hash}
			return nil
		}
	}
	got, err := r.Fetcher.store(ctx, w, locked)
	if err != nil {
		return err
	}
	c.fetched = *got
	return nil
}

// locked returns the entry of the lock file for exactly this version, or nil.
func (r *Resolver) locked(ref *pkg.Ref) *pkg.Locked {
	for _, l := range r.Project.Lock.Packages {
		if l.ID() == (pkg.ID{Git: ref.Git.Key, Dir: ref.Dir}) && l.Version == ref.Version && (ref.Commit == "" || ref.Commit == l.Commit) {
			return l
		}
	}
	return nil
}

func fileNamed(files []pkg.File, name string) ([]byte, bool) {
	i := slices.IndexFunc(files, func(f pkg.File) bool { return f.Name == name })
	if i < 0 {
		return nil, false
	}
	return files[i].Data, true
}

// addUses compiles the packages and adds their uses to the lock file.
func (r *Resolver) addUses(out *Resolution) error {
	found, err := Uses(r.Project, out.Text, out.Lock, r.Fetcher.Cache)
	if err != nil {
		return err
	}
	for _, l := range out.Lock.Packages {
		out.Uses[l] = found[l]
		l.Uses = uses.Uses(found[l])
	}
	return nil
}

// Uses compiles the packages of a lock file, without the project's own code, and returns what each
// may use.
func Uses(p *Project, text []byte, lock *pkg.Lock, cache pkgcache.Cache) (map[*pkg.Locked][]uses.Found, error) {
	in, err := driver.Load(driver.Request{Dir: p.Root, Inline: &driver.Inline{Name: "main" + driver.SourceExt}, Mock: true,
		Overlay: map[string][]byte{filepath.Join(p.Root, manifest.FileName): text}, Packages: driver.PackageSource{Lock: lock, Cache: cache}})
	if err != nil {
		return nil, err
	}
	found, list := driver.PackageUses(in)
	if list.HasErrors() {
		return nil, &driver.DiagnosticsError{Found: list}
	}
	out := map[*pkg.Locked][]uses.Found{}
	for p, all := range found {
		if p.Locked != nil {
			out[p.Locked] = all
		}
	}
	return out, nil
}

// Change is a difference between two lock files, or a package by path that is added or removed.
type Change struct {
	Name    string    `json:"name"`
	Git     string    `json:"git"`
	Dir     string    `json:"dir"`
	From    *string   `json:"from"` // nil for a new package
	To      *string   `json:"to"`   // nil for a removed package
	NewUses []pkg.Use `json:"new_uses"`

	Found []uses.Found `json:"-"` // the new uses with their places
}

// Changes returns the differences between the project and a resolution: those of the lock files,
// and then those of packages by path.
func (p *Project) Changes(to *Resolution) []Change {
	names := map[*pkg.Locked]string{}
	for _, x := range to.Graph.Repositories() {
		names[x.Locked] = x.Key
	}
	out := []Change{}
	kept := map[*pkg.Locked]bool{}
	for _, l := range to.Lock.Packages {
		before := p.Locked(l)
		c := Change{Name: names[l], Git: l.Git, Dir: l.Dir, To: new(l.Revision())}
		var had []pkg.Use
		if before != nil {
			kept[before], had, c.From = true, before.Uses, new(before.Revision())
		}
		c.NewUses = pkg.NewUses(had, l.Uses)
		for _, f := range to.Uses[l] {
			if slices.Contains(c.NewUses, f.Use) && !slices.ContainsFunc(c.Found, func(o uses.Found) bool { return o.Use == f.Use }) {
				c.Found = append(c.Found, f)
			}
		}
		if before == nil || *c.From != *c.To || before.Hash != l.Hash || len(c.NewUses) > 0 {
			out = append(out, c)
		}
	}
	old := p.keys()
	for _, l := range p.Lock.Packages {
		if !kept[l] {
			out = append(out, Change{Name: old[l], Git: l.Git, Dir: l.Dir, From: new(l.Revision()), NewUses: []pkg.Use{}})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return append(out, p.pathChanges(to)...)
}

// pathChanges returns the packages by path that the project requires newly, or no longer.
func (p *Project) pathChanges(to *Resolution) (out []Change) {
	m, _ := p.parse(to.Text)
	before, after := paths(p.Manifest), paths(m)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if path := after[name]; before[name] != path {
			c := Change{Name: name, To: &path, NewUses: []pkg.Use{}}
			if old, found := before[name]; found {
				c.From = &old
			}
			out = append(out, c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if path := before[name]; after[name] == "" {
			out = append(out, Change{Name: name, From: &path, NewUses: []pkg.Use{}})
		}
	}
	return out
}

// paths returns the paths of the packages by path that a manifest requires, by their names.
func paths(m *manifest.Manifest) map[string]string {
	out := map[string]string{}
	for _, d := range m.Dependencies {
		if d.Path != "" {
			out[d.Name] = d.Path
		}
	}
	return out
}

// keys returns the keys of the packages in the lock file: those of the manifest, else those in the
// needs of other packages.
func (p *Project) keys() map[*pkg.Locked]string {
	out := map[*pkg.Locked]string{}
	for _, l := range p.Lock.Packages {
		for _, d := range p.Manifest.Dependencies {
			if q := d.Requirement(); q.ID() == l.ID() {
				out[l] = d.Name
			}
		}
		for _, o := range p.Lock.Packages {
			for _, q := range o.Requirements() {
				if q.ID() == l.ID() && out[l] == "" {
					out[l] = q.Key
				}
			}
		}
		if out[l] == "" {
			out[l] = l.Address().RepositoryName()
		}
	}
	return out
}
