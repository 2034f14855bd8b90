package packages

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/engine/packages/uses"
)

// SourceOf returns the directory in the cache with the source of a changed package, or "".
func (to *Resolution) SourceOf(cache pkgcache.Cache, c Change) string {
	for _, l := range to.Lock.Packages {
		if l.Git != c.Git || l.Dir != c.Dir || l.Revision() != *c.To {
			continue
		}
		if dir, err := cache.PackageDir(l.Hash); err == nil {
			return dir
		}
	}
	return ""
}

// graph returns the graph of the project by its lock file.
func (r *Resolver) graph() (*pkg.Graph, error) {
	p := r.Project
	if p.LockErr != nil {
		return nil, p.LockErr
	}
	if p.lockText == nil && slices.ContainsFunc(p.Manifest.Dependencies, func(d *manifest.Dependency) bool { return d.Path == "" }) {
		return nil, &pkg.OutOfLineError{Message: pkg.LockFile + " is missing"}
	}
	reader := &driver.Reader{Read: r.readFile}
	g, err := p.Lock.Build(driver.Requirements(p.Manifest, p.Root), p.Root, reader.ByPath)
	if err == nil && reader.List.HasErrors() {
		err = &driver.DiagnosticsError{Found: reader.List}
	}
	if err != nil {
		return nil, refusal(err)
	}
	return g, nil
}

// Locked returns the packages of the lock file with their files. It fetches those that are missing
// in the cache.
func (r *Resolver) Locked(ctx context.Context) (*Resolution, error) {
	g, err := r.graph()
	if err != nil {
		return nil, err
	}
	out := &Resolution{Text: r.Project.Text(), Lock: r.Project.Lock, Graph: g, files: map[*pkg.Locked][]pkg.File{}}
	all := g.Repositories()
	read := make([][]pkg.File, len(all))
	err = each(len(all), func(i int) error {
		l := all[i].Locked
		files, _, err := r.Fetcher.Cache.Read(l.Hash)
		if err != nil {
			if err := r.Fetcher.restore(ctx, l, all[i].Name()); err != nil {
				return err
			}
			files, _, err = r.Fetcher.Cache.Read(l.Hash)
		}
		if err == nil && pkg.Hash(files) != l.Hash {
			return pkg.Modified(all[i].Name(), l.Hash, pkg.Hash(files), pkg.RepairHint)
		}
		read[i] = files
		return err
	})
	for i, p := range all {
		out.files[p.Locked] = read[i]
	}
	return out, err
}

// Status is the state of a package after it was verified.
type Status string

// The states.
const (
	OK       Status = "ok"
	Modified Status = "changed" // the files or the uses differ from the lock file
	Missing  Status = "missing" // the cache or the vendor directory does not contain the package
	Moved    Status = "moved"   // the tag names another commit
)

// Verified is a package with its state. Expected and Found are hashes, lists of uses, or commits.
type Verified struct {
	Git      string `json:"git"`
	Version  string `json:"version"`
	Status   Status `json:"status"`
	Expected string `json:"expected"`
	Found    string `json:"found"`

	Name string `json:"-"`
}

// Verify compares the files and the uses of all packages with the lock file. With repair, it
// fetches changed and missing packages again. With remote, it compares the tags with the
// repositories.
func (r *Resolver) Verify(ctx context.Context, repair, remote bool) ([]Verified, error) {
	g, err := r.graph()
	if err != nil {
		return nil, err
	}
	all := g.Repositories()
	out := make([]Verified, len(all))
	vendor := pkgcache.Vendored(r.Project.Root)
	err = each(len(all), func(i int) (err error) {
		out[i], err = r.verify(ctx, all[i], vendor, repair, remote)
		return err
	})
	if err != nil {
		return nil, err
	}
	if repair && vendor != "" && slices.ContainsFunc(out, func(v Verified) bool { return v.Status != OK }) {
		to, err := r.Locked(ctx)
		if err == nil {
			err = r.Project.Vendor(to)
		}
		if err != nil {
			return nil, err
		}
		return r.Verify(ctx, false, remote)
	}
	if !slices.ContainsFunc(out, func(v Verified) bool { return v.Status == Modified || v.Status == Missing }) && len(all) > 0 {
		found, err := Uses(r.Project, r.Project.Text(), r.Project.Lock, r.Fetcher.Cache)
		if err != nil && vendor == "" {
			return nil, err
		}
		for i, p := range all {
			if now := uses.Uses(found[p.Locked]); err == nil && !slices.Equal(now, pkg.NormalizeUses(p.Locked.Uses)) {
				out[i].Status, out[i].Expected, out[i].Found = Modified, shownUses(p.Locked.Uses), shownUses(now)
			}
		}
	}
	return out, nil
}

func shownUses(all []pkg.Use) string {
	texts := make([]string, len(all))
	for i, u := range all {
		texts[i] = string(u)
	}
	return "uses " + strings.Join(texts, ", ")
}

func (r *Resolver) verify(ctx context.Context, p *pkg.Package, vendor string, repair, remote bool) (Verified, error) {
	l := p.Locked
	v := Verified{Git: l.Git, Version: l.Revision(), Status: OK, Expected: l.Hash, Name: p.Name()}
	var files []pkg.File
	var err error
	if vendor == "" {
		files, _, err = r.Fetcher.Cache.Read(l.Hash)
	} else {
		files, err = pkgcache.ReadTree(filepath.Join(vendor, filepath.FromSlash(pkgcache.VendorName(l))))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.Status = Missing
	case err != nil:
		return v, pkg.Errorf(pkg.Unavailable, "", "cannot read %s: %v", p.Name(), err)
	default:
		if v.Found = pkg.Hash(files); v.Found != l.Hash {
			v.Status = Modified
		}
	}
	if v.Status != OK && repair && vendor == "" {
		if err := r.Fetcher.restore(ctx, l, p.Name()); err != nil {
			return v, err
		}
		v.Status, v.Found = OK, l.Hash
	}
	if v.Status != OK || !remote || l.Version == pkg.CommitVersion {
		return v, nil
	}
	all, err := r.Fetcher.tags(ctx, l.Address())
	if err != nil {
		return v, err
	}
	v.Expected, v.Found = l.Commit, ""
	for _, t := range all {
		if t.name == pkg.TagOf(l.Version, l.Dir) {
			v.Found = t.commit
		}
	}
	if v.Found != v.Expected {
		v.Status = Moved
	}
	return v, nil
}

// Why returns the graph of the project by its lock file, and with places the uses of the packages
// with their places in the source.
func (r *Resolver) Why(ctx context.Context, places bool) (*pkg.Graph, map[*pkg.Locked][]uses.Found, error) {
	g, err := r.graph()
	if err != nil || !places || len(r.Project.Lock.Packages) == 0 {
		return g, nil, err
	}
	if _, err := r.Locked(ctx); err != nil {
		return nil, nil, err
	}
	found, err := Uses(r.Project, r.Project.Text(), r.Project.Lock, r.Fetcher.Cache)
	return g, found, err
}
