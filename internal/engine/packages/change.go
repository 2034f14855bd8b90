package packages

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// Addition is a package to add. Version is a tag, a commit or "".
type Addition struct{ Address, Version, Dir, Name string }

// SplitAddress separates ADDRESS@VERSION. An `@` of the user's name is part of the address.
func SplitAddress(text string) (address, version string) {
	at := strings.LastIndexByte(text, '@')
	slash := max(strings.LastIndexByte(text, '/'), strings.LastIndexByte(text, ':'))
	if at <= 0 || at < slash && !strings.Contains(text[at+1:], "/v") {
		return text, ""
	}
	if at < slash { // a tag with the directory of the package, such as @plan/v1.0.0
		if _, err := pkg.ParseAddress(text[:at]); err != nil {
			return text, ""
		}
	}
	return text[:at], text[at+1:]
}

// Add returns the manifest of the project with a further dependency.
func (r *Resolver) Add(ctx context.Context, add Addition) ([]byte, *manifest.Dependency, error) {
	if strings.HasPrefix(add.Address, ".") || path.IsAbs(add.Address) || filepath.IsAbs(add.Address) {
		return r.addPath(add)
	}
	address, err := pkg.ParseAddress(add.Address)
	if err != nil {
		return nil, nil, addressError(err)
	}
	if reason := pkg.CheckDir(add.Dir); reason != "" {
		return nil, nil, pkg.Errorf(pkg.Refused, "", "--dir %s: %s", add.Dir, reason)
	}
	d := &manifest.Dependency{Git: address.Text, Dir: add.Dir}
	ref := pkg.Ref{Git: address, Dir: add.Dir}
	switch v, isVersion := versionOf(add.Version, add.Dir); {
	case add.Version == "":
		highest, err := r.highest(ctx, address, add.Dir, "")
		if err != nil {
			return nil, nil, err
		}
		ref.Version = highest.Text
	case isVersion:
		ref.Version = v.Text
	case pkg.IsCommit(add.Version):
		ref.Version, ref.Commit, d.Commit = pkg.CommitVersion, add.Version, add.Version
	case strings.Trim(add.Version, "0123456789abcdef") == "" && len(add.Version) > 6:
		return nil, nil, pkg.Errorf(pkg.Refused, "`git rev-parse` prints the whole id", "%s is not a commit: its id has 40 or 64 hexadecimal digits", add.Version)
	default:
		all, err := r.Fetcher.tags(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		e := pkg.Errorf(pkg.Refused, "a branch is not a version; use a commit", "tag must be %s, not %s", pkg.TagOf("vN.N.N", add.Dir), add.Version)
		if near := missingTag(address, add.Version, add.Dir, all).(*pkg.Error); len(releases(all, add.Dir, true)) > 0 {
			e.Hint += "; " + near.Hint
		}
		return nil, nil, e
	}
	if d.Commit == "" {
		d.Tag, d.Version = pkg.TagOf(ref.Version, add.Dir), ref.Version
	}
	ref.Key = cmp.Or(add.Name, address.RepositoryName())
	if d.Name = add.Name; d.Name == "" {
		name, err := r.nameOf(ctx, &ref)
		if err != nil {
			return nil, nil, err
		}
		d.Name = name
	}
	text, err := r.insert(d)
	return text, d, err
}

// versionOf parses the version of a package in a directory: a tag, with or without the directory.
func versionOf(text, dir string) (pkg.Version, bool) {
	if v, ok := pkg.VersionOfTag(text, dir); ok {
		return v, true
	}
	return pkg.ParseVersion(text)
}

func addressError(err error) error {
	if errors.Is(err, pkg.ErrSecret) {
		return pkg.Errorf(pkg.Refused, "store the password with git's credential helper, and leave it out of the address", "the address contains a secret")
	}
	return pkg.Errorf(pkg.Refused, pkg.AddressForms, "%v", err)
}

// addPath returns the manifest with a package by path.
func (r *Resolver) addPath(add Addition) ([]byte, *manifest.Dependency, error) {
	if add.Version != "" || add.Dir != "" {
		return nil, nil, pkg.Errorf(pkg.Refused, "leave out --dir and the version", "a package by path has no version")
	}
	dir := add.Address
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.Fetcher.Dir, filepath.FromSlash(dir))
	}
	rel, err := filepath.Rel(r.Project.Root, dir)
	if err != nil {
		return nil, nil, pkg.Errorf(pkg.Refused, "", "%s is not reachable from %s", add.Address, r.Project.Root)
	}
	f, err := r.readFile(filepath.Join(dir, manifest.FileName))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, pkg.Errorf(pkg.Refused, "a package is a directory with a "+manifest.FileName+" and a lib.conc", "%s has no %s", add.Address, manifest.FileName)
		}
		return nil, nil, pkg.Errorf(pkg.Refused, "", "cannot read %s: %v", filepath.Join(add.Address, manifest.FileName), err)
	}
	m, found := manifest.ParsePackage(f)
	if found.HasErrors() {
		return nil, nil, &driver.DiagnosticsError{Found: found}
	}
	d := &manifest.Dependency{Path: filepath.ToSlash(rel)}
	if d.Name = add.Name; d.Name == "" {
		d.Name = moduleName(cmp.Or(m.Project.Name, filepath.Base(dir)))
	}
	if filepath.Clean(dir) == filepath.Clean(r.Project.Root) {
		return nil, nil, pkg.Errorf(pkg.Refused, "", "the project cannot require itself")
	}
	text, err := r.insert(d)
	return text, d, err
}

// moduleName returns the name of a project as the name of a module.
func moduleName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// nameOf returns the name of the project in a package's manifest, as the name of a module.
func (r *Resolver) nameOf(ctx context.Context, ref *pkg.Ref) (string, error) {
	c, err := r.content(ctx, ref)
	if err != nil {
		return "", err
	}
	base := ref.Git.RepositoryName()
	if ref.Dir != "" {
		base = path.Base(ref.Dir)
	}
	return cmp.Or(c.name, moduleName(base)), nil
}

// insert returns the manifest with a dependency, which replaces one for the same package.
func (r *Resolver) insert(d *manifest.Dependency) ([]byte, error) {
	list := driver.CheckKeys(&manifest.Manifest{File: r.Project.Manifest.File, Dependencies: []*manifest.Dependency{d}})
	if list.HasErrors() {
		return nil, pkg.Errorf(pkg.Refused, "choose another with --name NAME", "%s", list.Sorted()[0].Message)
	}
	text := r.Project.Text()
	for _, old := range r.Project.Manifest.Dependencies {
		if old.Name != d.Name {
			continue
		}
		was, is := old.Requirement(), d.Requirement()
		switch {
		case old.Line() == d.Line():
			return text, nil
		case was.ID() == is.ID() && old.Path == "" && d.Path == "" && d.Tag != "":
			return manifest.SetVersion(text, old, "tag", d.Tag)
		case was.ID() == is.ID() && old.Path == "" && d.Path == "":
			return manifest.SetVersion(text, old, "commit", d.Commit)
		}
		return nil, pkg.Errorf(pkg.Refused, "choose another name with --name NAME, or run `concerto remove "+d.Name+"` first", "[dependencies] already has the entry `%s`", d.Name)
	}
	out, err := manifest.AddDependency(text, d)
	if err != nil {
		return nil, pkg.Errorf(pkg.Refused, "", "%v", err)
	}
	return out, nil
}

// highest returns the highest release of a package, with a major if that is not "".
func (r *Resolver) highest(ctx context.Context, address pkg.Address, dir, major string) (pkg.Version, error) {
	all, err := r.Fetcher.tags(ctx, address)
	if err != nil {
		return pkg.Version{}, err
	}
	for _, v := range slices.Backward(releases(all, dir, false)) {
		if major == "" || v.Major() == major {
			return v, nil
		}
	}
	hint := "a release is a tag " + pkg.TagOf("vN.N.N", dir) + "; or add a commit: `concerto add " + address.Text + "@COMMIT`"
	if pre := releases(all, dir, true); len(pre) > 0 {
		hint = "it has only pre-releases; add one with `concerto add " + address.Text + "@" + pkg.TagOf(pre[len(pre)-1].Text, dir) + "`"
	}
	return pkg.Version{}, pkg.Errorf(pkg.Refused, hint, "%s has no release", pkg.JoinDir(address.Text, dir))
}

// Remove returns the manifest without dependencies.
func (r *Resolver) Remove(names []string) ([]byte, error) {
	text := r.Project.Text()
	for _, name := range names {
		m, _ := r.Project.parse(text)
		i := slices.IndexFunc(m.Dependencies, func(d *manifest.Dependency) bool { return d.Name == name })
		if i < 0 {
			return nil, r.unknown(name)
		}
		var err error
		if text, err = manifest.RemoveDependency(text, m.Dependencies[i]); err != nil {
			return nil, pkg.Errorf(pkg.Refused, "", "%v", err)
		}
	}
	return text, nil
}

func (r *Resolver) unknown(name string) error {
	var names []string
	for _, d := range r.Project.Manifest.Dependencies {
		names = append(names, d.Name)
	}
	hint := "[dependencies] is empty"
	if len(names) > 0 {
		hint = "[dependencies] has " + strings.Join(names, ", ")
	}
	return pkg.Errorf(pkg.Refused, hint, "[dependencies] has no entry `%s`", name)
}

// NewMajor is a newer major of a dependency.
type NewMajor struct{ Name, Git, Tag string }

// Update returns the manifest with the highest release of the major of each dependency, or of those
// with the given names. It reports newer majors.
func (r *Resolver) Update(ctx context.Context, names []string) ([]byte, []NewMajor, error) {
	text, deps := r.Project.Text(), r.Project.Manifest.Dependencies
	for _, name := range names {
		if !slices.ContainsFunc(deps, func(d *manifest.Dependency) bool { return d.Name == name }) {
			return nil, nil, r.unknown(name)
		}
	}
	var wanted []*manifest.Dependency
	for _, d := range deps {
		if d.Tag != "" && d.Path == "" && (len(names) == 0 || slices.Contains(names, d.Name)) {
			wanted = append(wanted, d)
		}
	}
	found := make([][]tag, len(wanted))
	err := each(len(wanted), func(i int) (err error) {
		q := wanted[i].Requirement()
		found[i], err = r.Fetcher.tags(ctx, q.Git)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var majors []NewMajor
	for i, d := range wanted {
		q := d.Requirement()
		if err := r.checkTags(&q, found[i]); err != nil {
			return nil, nil, err
		}
		all := releases(found[i], d.Dir, false)
		best := q.Version
		for _, v := range all {
			if v.Major() == best.Major() && v.Compare(best) > 0 {
				best = v
			}
		}
		if len(all) > 0 && all[len(all)-1].Major() != best.Major() && all[len(all)-1].Compare(best) > 0 {
			majors = append(majors, NewMajor{d.Name, d.Git, pkg.TagOf(all[len(all)-1].Text, d.Dir)})
		}
		if best.Text == q.Version.Text {
			continue
		}
		m, _ := r.Project.parse(text) // the positions change with each edit
		now := m.Dependencies[slices.IndexFunc(m.Dependencies, func(x *manifest.Dependency) bool { return x.Name == d.Name })]
		if text, err = manifest.SetVersion(text, now, "tag", pkg.TagOf(best.Text, d.Dir)); err != nil {
			return nil, nil, pkg.Errorf(pkg.Refused, "", "%v", err)
		}
	}
	return text, majors, nil
}

// checkTags reports a tag of a locked version that names another commit than the lock file.
func (r *Resolver) checkTags(q *pkg.Requirement, all []tag) error {
	for _, l := range r.Project.Lock.Packages {
		if l.ID() != q.ID() || l.Version == pkg.CommitVersion {
			continue
		}
		name := pkg.TagOf(l.Version, l.Dir)
		for _, t := range all {
			if t.name == name && t.commit != l.Commit {
				return moved(name, q.Git, l.Commit, t.commit)
			}
		}
	}
	return nil
}

// Write writes the manifest and the lock file, and the vendor directory if there is one. It does
// not write a file whose content stays the same.
func (p *Project) Write(to *Resolution) error {
	lock := to.Lock.Encode()
	vendored := pkgcache.Vendored(p.Root) != ""
	if vendored { // until the files are replaced, it has the packages of both lock files
		if err := p.addVendored(to); err != nil {
			return err
		}
	}
	var prepared [][2]string // temporary files and what they replace
	defer func() {
		for _, f := range prepared {
			_ = os.Remove(f[0]) // it remains only after an error
		}
	}()
	for _, f := range []struct {
		name string
		text []byte
	}{{pkg.LockFile, lock}, {manifest.FileName, to.Text}} {
		temporary, err := prepare(filepath.Join(p.Root, f.name), f.text)
		if err != nil {
			return pkg.Errorf(pkg.Unavailable, "", "cannot write %s: %v", p.shown+f.name, err)
		}
		if temporary != "" {
			prepared = append(prepared, [2]string{temporary, filepath.Join(p.Root, f.name)})
		}
	}
	pending := filepath.Join(p.Root, pkg.PendingFile)
	if len(prepared) > 1 {
		if err := userfile.Replace(pending, pkg.EncodePending(to.Text, p.lockText, lock), 0o644); err != nil {
			return pkg.Errorf(pkg.Unavailable, "", "cannot write %s: %v", p.shown+pkg.PendingFile, err)
		}
	}
	for _, f := range prepared {
		if err := userfile.Rename(f[0], f[1]); err != nil {
			return pkg.Errorf(pkg.Unavailable, "", "cannot write %s: %v", p.shown+filepath.Base(f[1]), err)
		}
	}
	_ = os.Remove(pending) // a file that remains describes the state on disk
	if vendored {
		return p.Vendor(to)
	}
	return nil
}

// addVendored copies the packages that the vendor directory does not contain.
func (p *Project) addVendored(to *Resolution) error {
	for _, l := range to.Lock.Packages {
		dir := filepath.Join(p.Root, pkgcache.VendorDir, filepath.FromSlash(pkgcache.VendorName(l)))
		if _, err := os.Lstat(dir); err == nil {
			continue
		}
		temporary, err := os.MkdirTemp(p.Root, ".vendor-*")
		if err == nil {
			err = errors.Join(pkgcache.WriteTree(temporary, to.files[l]), os.Chmod(temporary, 0o755), os.MkdirAll(filepath.Dir(dir), 0o755))
		}
		if err == nil {
			err = os.Rename(temporary, dir)
		}
		if err != nil {
			_ = os.RemoveAll(temporary) // the first error is reported
			return pkg.Errorf(pkg.Unavailable, "", "cannot write %s: %v", p.shown+pkgcache.VendorDir, err)
		}
	}
	return nil
}

// prepare writes the new text of a file next to it. It returns "" if the file has this text.
func prepare(path string, text []byte) (temporary string, err error) {
	perm := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
		if old, err := os.ReadFile(path); err == nil && string(old) == string(text) {
			return "", nil
		}
		if perm&0o200 == 0 {
			return "", errors.New("it is read-only")
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".concerto-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(perm), f.Sync(), f.Close())
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is reported
		return "", err
	}
	return f.Name(), nil
}

// Vendor replaces the vendor directory by copies of the packages.
func (p *Project) Vendor(to *Resolution) error {
	dir := filepath.Join(p.Root, pkgcache.VendorDir)
	unwritable := func(err error) error {
		return pkg.Errorf(pkg.Unavailable, "", "cannot write %s: %v", p.shown+pkgcache.VendorDir, err)
	}
	if _, err := os.Lstat(dir); err == nil && pkgcache.Vendored(p.Root) == "" {
		return pkg.Errorf(pkg.Refused, "rename it, or remove it", "%s was not created by concerto", p.shown+pkgcache.VendorDir)
	}
	temporary, err := os.MkdirTemp(p.Root, ".vendor-*")
	if err != nil {
		return unwritable(err)
	}
	defer func() { _ = os.RemoveAll(temporary) }() // a leftover is reported by version control
	fresh := filepath.Join(temporary, "new")
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return unwritable(err)
	}
	for _, l := range to.Lock.Packages {
		target := filepath.Join(fresh, filepath.FromSlash(pkgcache.VendorName(l)))
		if err := os.MkdirAll(target, 0o755); err != nil {
			return unwritable(err)
		}
		if err := pkgcache.WriteTree(target, to.files[l]); err != nil {
			return unwritable(err)
		}
	}
	if err := os.WriteFile(filepath.Join(fresh, pkg.LockFile), to.Lock.Encode(), 0o644); err != nil {
		return unwritable(err)
	}
	if err := os.Rename(dir, filepath.Join(temporary, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return unwritable(err)
	}
	return nil
}
