package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	Lock     *pkg.Lock // nil if there is no lock file, or LockErr is set
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
	p := &Project{Root: filepath.Dir(path)}
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
	if lock = pkg.LockFor(text, lock, pending); lock != nil {
		p.Lock, p.LockErr = pkg.ParseLock(lock)
		p.lockText = lock
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
	if p.Lock == nil {
		return nil
	}
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

// DiagnosticsError contains the errors of a manifest or of the code of packages.
type DiagnosticsError struct{ Found diag.List }

func (e *DiagnosticsError) Error() string {
	return fmt.Sprintf("%d errors", e.Found.Errors())
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
	files  []pkg.File
	commit string
	hash   string
	needs  []pkg.Requirement
}

// Resolve selects the versions that a manifest requires, fetches them and computes their uses. It
// changes neither the manifest nor the lock file.
func (r *Resolver) Resolve(ctx context.Context, text []byte) (*Resolution, error) {
	m, found := r.Project.parse(text)
	found.Append(driver.CheckKeys(m))
	if found.HasErrors() {
		return nil, &DiagnosticsError{found}
	}
	if r.contents == nil {
		r.contents = map[string]*content{}
	}
	reader := &driver.Reader{Read: r.readFile}
	root := driver.Requirements(m, r.Project.Root)
	refs, err := pkg.Select(root, reader.ByPath, func(all []pkg.Ref) ([][]pkg.Requirement, error) { return r.read(ctx, all) })
	if err == nil && reader.List.HasErrors() {
		err = &DiagnosticsError{reader.List}
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
		return nil, unusable(ref, "it has no "+manifest.FileName)
	}
	m, list := driver.PackageManifest(text, ref.String()+": ", ref.Git.IsLocal)
	if list.HasErrors() {
		return nil, &DiagnosticsError{list}
	}
	if reason := driver.CheckRelease(m); reason != "" {
		return nil, unusable(ref, reason)
	}
	c.needs = driver.Requirements(m, "")
	if name := moduleName(m.Project.Name); name != "" {
		r.Fetcher.Cache.Note(name, pkgcache.Known{Git: ref.Git.Text, Dir: ref.Dir, Version: ref.Version})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.contents[key] = c
	return c, nil
}

func unusable(r *pkg.Ref, reason string) error {
	return pkg.Errorf(pkg.Refused, "the package must be corrected, or require another version of it", "%s cannot be used: %s", r.String(), reason)
}

func (r *Resolver) load(ctx context.Context, ref *pkg.Ref, c *content) error {
	locked := r.locked(ref)
	if locked != nil {
		if files, _, err := r.Fetcher.Cache.Read(locked.Hash); err == nil && pkg.Hash(files) == locked.Hash {
			c.files, c.commit, c.hash = files, locked.Commit, locked.Hash
			return nil
		}
	}
	w := want{ref.String(), ref.Git, ref.Dir, ref.Version, ref.Commit}
	if locked != nil {
		w.commit = locked.Commit
	}
	got, err := r.Fetcher.fetch(ctx, w)
	if err != nil {
		return err
	}
	hash := pkg.Hash(got.files)
	switch {
	case locked == nil:
	case got.commit != locked.Commit:
		return moved(w.tag(), ref.Git, locked.Commit, got.commit)
	case hash != locked.Hash:
		return pkg.Errorf(pkg.Changed, "restore "+pkg.LockFile+" from version control, or ask the owner of the repository",
			"%s serves other content than %s expects for %s: expected %s, found %s", ref.Git.Text, pkg.LockFile, w.name, locked.Hash, hash)
	}
	c.files, c.commit, c.hash = got.files, got.commit, hash
	_, err = r.Fetcher.Cache.Write(got.files)
	return err
}

// locked returns the entry of the lock file for exactly this version, or nil.
func (r *Resolver) locked(ref *pkg.Ref) *pkg.Locked {
	if r.Project.Lock == nil {
		return nil
	}
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
		return nil, &DiagnosticsError{list}
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

// Changes returns the differences between the lock file of the project and a resolution.
func (p *Project) Changes(to *Resolution) []Change {
	names := map[*pkg.Locked]string{}
	for _, x := range to.Graph.All {
		if x.Locked != nil {
			names[x.Locked] = x.Key
		}
	}
	out := []Change{}
	kept := map[*pkg.Locked]bool{}
	for _, l := range to.Lock.Packages {
		before := p.Locked(l)
		c := Change{Name: names[l], Git: l.Git, Dir: l.Dir, To: version(l)}
		var had []pkg.Use
		if before != nil {
			kept[before], had, c.From = true, before.Uses, version(before)
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
	if p.Lock != nil {
		old := p.keys()
		for _, l := range p.Lock.Packages {
			if !kept[l] {
				out = append(out, Change{Name: old[l], Git: l.Git, Dir: l.Dir, From: version(l), NewUses: []pkg.Use{}})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// version returns the version of a package in the lock file, or its commit.
func version(l *pkg.Locked) *string {
	v := l.Version
	if v == pkg.CommitVersion {
		v = l.Commit
	}
	return &v
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
