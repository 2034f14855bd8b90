//go:build !js

package driver

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/process/parallel"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// Requirements returns the dependencies of a manifest in a directory. The paths are absolute.
func Requirements(m *manifest.Manifest, dir string) []pkg.Requirement {
	out := make([]pkg.Requirement, 0, len(m.Dependencies))
	for _, d := range m.Dependencies {
		q := d.Requirement()
		if q.Path != "" {
			q.Path = filepath.Join(dir, filepath.FromSlash(q.Path))
		}
		out = append(out, q)
	}
	return out
}

// CheckKeys reports the keys of dependencies that cannot be names of modules.
func CheckKeys(m *manifest.Manifest) (l diag.List) {
	for _, d := range m.Dependencies {
		at := d.At[""].Key
		tokens, _, found := lexer.Lex(source.NewFile("", []byte(d.Name)))
		switch {
		case len(tokens) != 2 || found.Len() > 0 || tokens[0].Kind != lexer.Ident:
			x := diag.ManifestValue.At(at, "`%s` cannot be the name of a package", d.Name).In(m.File)
			if len(tokens) == 2 && tokens[0].Kind.IsKeyword() {
				x.Message = "`" + d.Name + "` cannot be the name of a package, because it is a keyword"
			}
			l.Add(x.Hint("choose a name such as `%s`, which `use` contains", strings.ReplaceAll(strings.Trim(d.Name, "-"), "-", "_")+"_lib"))
		case d.Name == "std" || slices.Contains(stdlib.Library().Modules(), d.Name):
			l.Add(diag.ManifestValue.At(at, "`%s` is the name of a module of std", d.Name).In(m.File).
				Hint("choose another name: the key of a dependency is only used in your own files"))
		}
	}
	return l
}

// Reader reads the manifests of a project's packages by path. The command that writes the lock file
// uses it too.
type Reader struct {
	Read  func(path string) (*source.File, error) // reads the file at an absolute path
	List  diag.List                               // findings in the manifests
	byDir map[string]*manifest.Manifest           // manifests by the directories of their packages
}

// ByPath returns the requirements of the package in a directory.
func (r *Reader) ByPath(dir string) ([]pkg.Requirement, error) {
	f, err := r.Read(filepath.Join(dir, manifest.FileName))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, pkg.Errorf(pkg.Refused, "the `path` of a dependency is the directory of a package, relative to the manifest that requires it",
				"%s has no %s", filepath.ToSlash(dir), manifest.FileName)
		}
		return nil, pkg.Errorf(pkg.Refused, "", "%v", err)
	}
	m, found := manifest.ParsePackage(f)
	r.List.Append(found)
	r.List.Append(CheckKeys(m))
	if r.byDir == nil {
		r.byDir = map[string]*manifest.Manifest{}
	}
	r.byDir[dir] = m
	return Requirements(m, dir), nil
}

// PackageManifest parses the manifest of a package of a repository, and reports what it must not
// contain. label begins the name of the file in messages.
func PackageManifest(text []byte, label string, isLocal bool) (*manifest.Manifest, diag.List) {
	m, found := manifest.ParsePackage(source.NewFile(label+manifest.FileName, text))
	found = errorsOf(found)
	found.Append(m.RefuseLocal(isLocal))
	found.Append(CheckKeys(m))
	return m, found
}

func errorsOf(all diag.List) diag.List {
	all.Remove(func(d *diag.Diagnostic) bool { return d.Severity() != diag.Error })
	return all
}

// CheckRelease returns the reason why this version of concerto cannot compile a package, or "".
func CheckRelease(m *manifest.Manifest) string {
	if m.Project.Concerto == "" {
		return ""
	}
	want, ok := pkg.ParseVersion("v" + m.Project.Concerto)
	have, known := pkg.ParseVersion("v" + strings.SplitN(Release, "-", 2)[0])
	switch {
	case !ok:
		return "`concerto` in [project] must be a version such as \"0.2.0\", not \"" + m.Project.Concerto + "\""
	case known && want.Compare(have) > 0:
		return "it requires concerto " + m.Project.Concerto + " or newer, and this is " + Release
	}
	return ""
}

// checkRelease reports that the project requires another version of concerto. Keys that this
// version does not know may then be correct.
func (in *Input) checkRelease() {
	m := in.Manifest
	reason := CheckRelease(m)
	if reason == "" {
		return
	}
	for _, d := range in.Diagnostics.Since(0) {
		if d.Info == diag.ManifestSyntax && d.File == m.File {
			d.Hint("concerto %s, which [project] requires, may have this key", m.Project.Concerto)
		}
	}
	in.Diagnostics.Add(diag.ManifestValue.At(m.Project.At["concerto"].Value, "the project cannot be compiled: %s", reason).In(m.File).
		Hint("install the version that the project requires, or correct `concerto`"))
}

// loadPackages finds the packages of the project and reads their files. Errors that the user can
// correct in the project are diagnostics; the others are *pkg.Error.
func (in *Input) loadPackages(from PackageSource) error {
	m := in.Manifest
	if m == nil {
		return nil
	}
	in.checkRelease()
	if len(m.Dependencies) == 0 {
		return nil
	}
	if in.packagesFailed = in.Diagnostics.HasErrors(); in.packagesFailed {
		return nil
	}
	defer func() {
		if in.packagesFailed = in.packagesFailed || in.Diagnostics.HasErrors(); in.packagesFailed {
			in.Graph, in.Packages = nil, nil
		}
	}()
	in.Diagnostics.Append(CheckKeys(m))
	if in.Diagnostics.HasErrors() {
		return nil
	}
	in.isLenient = from.Lock != nil
	lock, err := from.Lock, error(nil)
	if lock == nil {
		lock, err = in.readLock()
	}
	if err == nil {
		err = in.loadGraph(lock, from)
	}
	return in.reportPackageError(err)
}

// reportPackageError adds a diagnostic for an error that the user can correct, and returns any
// other.
func (in *Input) reportPackageError(err error) error {
	var lock *pkg.LockError
	var line *pkg.OutOfLineError
	var circle *pkg.CircleError
	var conflict *pkg.ConflictError
	var refused *pkg.Error
	m := in.Manifest
	at := m.Dependencies[0].At[""].Key
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lock):
		d := diag.PackageLock.At(source.Span{}, "%s", lock.Message).Hint("%s", lock.Hint)
		if f, err := in.readFile(filepath.Join(in.Root, pkg.LockFile)); err == nil && lock.Line > 0 {
			d.File, d.Span = f, source.Span{Start: f.LineStart(lock.Line), End: f.LineStart(lock.Line) + source.Pos(len(f.Line(lock.Line)))}
		} else {
			d.File, d.Span = m.File, at
		}
		in.Diagnostics.Add(d)
	case errors.As(err, &line):
		in.Diagnostics.Add(diag.PackageLock.At(in.namedDependency(line.Message), "%s", line.Message).In(m.File).Hint("run `concerto update --lock`"))
	case errors.As(err, &circle):
		in.Diagnostics.Add(diag.PackageUnusable.At(at, "%v", circle).In(m.File).Hint("one of them must not require the next"))
	case errors.As(err, &conflict):
		in.Diagnostics.Add(diag.ManifestConflict.At(at, "%v", conflict).In(m.File))
	case errors.As(err, &refused) && refused.Kind == pkg.Refused:
		in.Diagnostics.Add(diag.PackageUnusable.At(in.namedDependency(refused.Message), "%s", refused.Message).In(m.File).Hint("%s", refused.Hint))
	case in.parsed: // an editor shows every error, and checks the rest of the program
		in.packagesFailed = true
		in.Diagnostics.Add(diag.PackageUnusable.At(in.namedDependency(err.Error()), "%v", err).In(m.File))
	default:
		return err
	}
	return nil
}

// namedDependency returns the position of the dependency whose key a message contains as a word, or
// of the first one.
func (in *Input) namedDependency(message string) source.Span {
	for _, d := range in.Manifest.Dependencies {
		if slices.Contains(strings.Fields(message), d.Name) {
			return d.At[""].Key
		}
	}
	return in.Manifest.Dependencies[0].At[""].Key
}

// readLock reads concerto.lock. It is empty if there is none, which is an error for a package of a
// repository.
func (in *Input) readLock() (*pkg.Lock, error) {
	f, err := in.readFile(filepath.Join(in.Root, pkg.LockFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, pkg.Errorf(pkg.Refused, "", "%v", err)
	}
	var text, pending []byte
	if err == nil {
		text = f.Text
	}
	if p, err := in.readFile(filepath.Join(in.Root, pkg.PendingFile)); err == nil {
		pending = p.Text
	}
	switch text = pkg.LockFor(in.Manifest.File.Original(), text, pending); {
	case text != nil:
		return pkg.ParseLock(text)
	case slices.ContainsFunc(in.Manifest.Dependencies, func(d *manifest.Dependency) bool { return d.Path == "" }):
		return nil, &pkg.OutOfLineError{Message: pkg.LockFile + " is missing"}
	}
	return &pkg.Lock{}, nil
}

// loadGraph builds the graph of the packages, and reads and verifies their files.
func (in *Input) loadGraph(lock *pkg.Lock, from PackageSource) error {
	r := &Reader{Read: in.readFile}
	graph, err := lock.Build(Requirements(in.Manifest, in.Root), in.Root, r.ByPath)
	in.Diagnostics.Append(errorsOf(r.List))
	if err != nil {
		return err
	}
	in.Graph = graph
	all := graph.Sorted()
	for _, p := range all {
		in.Packages = append(in.Packages, &Package{Package: p, Dir: p.Path, Manifest: r.byDir[p.Path]})
	}
	vendor := ""
	if isInMemory := in.sources != nil && !in.parsed; from.Lock == nil && !isInMemory {
		vendor = pkgcache.Vendored(in.Root)
		marker := filepath.Join(in.Root, pkgcache.VendorDir, pkg.LockFile)
		in.seen(marker)
		in.reads.add(readFile, marker, yes(vendor != ""))
	}
	if err := in.readPackages(from, vendor); err != nil {
		return err
	}
	errs, lists := make([]error, len(in.Packages)), make([]diag.List, len(in.Packages))
	parallel.Do(len(in.Packages), 4, func(from, to int) {
		for i := from; i < to; i++ {
			lists[i], errs[i] = in.openPackage(in.Packages[i])
		}
	})
	for i, p := range in.Packages {
		if p.Locked != nil {
			in.reads.add(readPackage, p.Dir, p.Locked.Hash)
		}
		in.Diagnostics.Append(lists[i])
		if errs[i] != nil {
			return errs[i]
		}
		if p.Locked == nil {
			in.names[p.root.Name] = p.label() + p.lib
		}
	}
	return nil
}

// readPackages reads the files of the packages of repositories: from the directory vendor, or if it
// is "", from the cache. It fetches missing ones.
func (in *Input) readPackages(from PackageSource, vendor string) error {
	var repositories []*Package
	for _, p := range in.Packages {
		if p.Locked != nil && !in.previous.reuse(p) {
			repositories = append(repositories, p)
		}
	}
	missing, err := readAll(repositories, from.Cache, vendor)
	if err != nil || len(missing) == 0 {
		return err
	}
	if from.Fetch == nil {
		return pkg.Errorf(pkg.Unavailable, "run `concerto check` once, which fetches it", "%s is not in the cache", missing[0].Name())
	}
	wanted := make([]*pkg.Package, len(missing))
	for i, p := range missing {
		wanted[i] = p.Package
	}
	if err := from.Fetch(wanted); err != nil {
		return err
	}
	missing, err = readAll(missing, from.Cache, "")
	if err == nil && len(missing) > 0 {
		err = pkg.Errorf(pkg.Unavailable, "", "%s is not in the cache", missing[0].Name())
	}
	return err
}

// readAll reads packages, and returns those that are not in the cache.
func readAll(all []*Package, cache pkgcache.Cache, vendor string) (missing []*Package, err error) {
	errs := make([]error, len(all))
	parallel.Do(len(all), 4, func(from, to int) {
		for i := from; i < to; i++ {
			errs[i] = all[i].read(cache, vendor)
		}
	})
	for i, err := range errs {
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, all[i])
		} else if err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// read reads the files of a package and verifies their hash. The error is a *pkg.Error, or wraps
// fs.ErrNotExist.
func (p *Package) read(cache pkgcache.Cache, vendor string) (err error) {
	var files []pkg.File
	hint := pkg.RepairHint
	if vendor == "" {
		files, p.Dir, err = cache.Read(p.Locked.Hash)
	} else {
		hint = "run `concerto vendor`, which copies it again"
		p.Dir = filepath.Join(vendor, filepath.FromSlash(pkgcache.VendorName(p.Locked)))
		if files, err = pkgcache.ReadTree(p.Dir); errors.Is(err, fs.ErrNotExist) {
			return pkg.Errorf(pkg.Changed, hint, "%s is missing in %s", p.Name(), pkgcache.VendorDir)
		}
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return pkg.Errorf(pkg.Unavailable, "", "cannot read %s: %v", p.Name(), err)
	}
	if found := pkg.Hash(files); found != p.Locked.Hash {
		return pkg.Modified(p.Name(), p.Locked.Hash, found, hint)
	}
	p.files = make(map[string][]byte, len(files))
	for _, f := range files {
		p.files[f.Name] = f.Data
	}
	return nil
}

// findPackage returns the address of a package in the cache by the name of its project, and the fix
// that adds it to the manifest.
func (in *Input) findPackage(name string) (address string, fix diag.Fix, ok bool) {
	if in.Manifest == nil || in.Manifest.Project.Name == name {
		return "", fix, false
	}
	known, ok := in.cache.Known(name)
	if !ok {
		return "", fix, false
	}
	d := &manifest.Dependency{Name: name, Git: known.Git, Dir: known.Dir, Tag: pkg.TagOf(known.Version, known.Dir)}
	text := in.Manifest.File.Original()
	after, err := manifest.AddDependency(text, d)
	if err != nil {
		return "", fix, false
	}
	at := 0
	for at < len(text) && at < len(after) && text[at] == after[at] {
		at++
	}
	e := diag.Insert(source.Pos(at), string(after[at:at+len(after)-len(text)]))
	e.File = in.Manifest.File
	return pkg.JoinDir(known.Git, known.Dir), diag.Fix{Title: "Add `" + name + "` to " + manifest.FileName, Edits: []diag.Edit{e}}, true
}

// openPackage reads the manifest and the root module of a package. The list contains the findings
// in the manifest.
func (in *Input) openPackage(p *Package) (found diag.List, err error) {
	if p.Locked != nil && p.Manifest == nil {
		text, has := p.files[manifest.FileName]
		if !has {
			return found, pkg.Unusable(p.Name(), "it has no "+manifest.FileName)
		}
		label := strings.TrimSuffix(p.shownName(in, manifest.FileName), manifest.FileName)
		m, list := PackageManifest(text, label, p.Locked.Address().IsLocal)
		found, p.Manifest = list, m
		if !list.HasErrors() && !slices.Equal(pkg.NeedsOf(Requirements(m, "")), p.Locked.Needs) {
			return found, &pkg.OutOfLineError{Message: pkg.LockFile + " lists other requirements of " + p.Name() + " than its manifest"}
		}
	}
	if reason := CheckRelease(p.Manifest); reason != "" {
		return found, pkg.Unusable(p.Name(), reason)
	}
	p.lib = "lib" + SourceExt
	if lib := p.Manifest.Project.Lib; lib != "" {
		p.lib = filepath.ToSlash(filepath.Clean(filepath.FromSlash(lib)))
	}
	if !filepath.IsLocal(filepath.FromSlash(p.lib)) {
		return found, pkg.Unusable(p.Name(), "its `lib` is not a file of the package: "+p.lib)
	}
	if p.root == nil {
		if p.root, err = p.source(in, p.lib); err != nil {
			return found, pkg.Unusable(p.Name(), "it has no "+p.lib)
		}
	}
	return found, nil
}

// reuse copies what the previous check has read of a package with the same hash. It returns false
// if there is nothing to copy.
func (r *Previous) reuse(p *Package) bool {
	if r == nil {
		return false
	}
	m := r.packages[p.Locked.Hash]
	if m == nil || m.pkg.Name() != p.Name() {
		return false
	}
	p.Dir, p.Manifest, p.lib, p.files, p.root = m.pkg.Dir, m.pkg.Manifest, m.pkg.lib, m.pkg.files, m.pkg.root
	return true
}

// loaderOf returns the loader of a package's modules. A package of a repository cannot change, so
// that its trees are used again.
func (r *Previous) loaderOf(in *Input, p *Package) *moduleLoader {
	if r == nil || p.Locked == nil {
		return newModuleLoader(in, p)
	}
	r.loading.Lock()
	defer r.loading.Unlock()
	m := r.packages[p.Locked.Hash]
	if m == nil || m.pkg.Name() != p.Name() {
		if r.packages == nil {
			r.packages = map[string]*moduleLoader{}
		}
		m = newModuleLoader(in, p)
		r.packages[p.Locked.Hash] = m
	}
	return m
}

// semaPackages returns the packages for the checker, with the findings of parsing their root
// modules.
func (in *Input) semaPackages() (all []*sema.Package, deps map[string]sema.Dep, l diag.List) {
	if in.packagesFailed {
		deps = map[string]sema.Dep{}
		for _, d := range in.Manifest.Dependencies {
			deps[d.Name] = sema.Dep{Source: in.Manifest.File, At: d.At[""].Key}
		}
		return nil, deps, l
	}
	if in.Graph == nil || len(in.Packages) == 0 {
		return nil, nil, l
	}
	made := make(map[*pkg.Package]*sema.Package, len(in.Packages))
	files := make([]*ast.File, len(in.Packages))
	loaders := make([]*moduleLoader, len(in.Packages))
	lists := make([]diag.List, len(in.Packages))
	parallel.Do(len(in.Packages), 4, func(from, to int) {
		for i := from; i < to; i++ {
			p := in.Packages[i]
			loaders[i] = in.previous.loaderOf(in, p)
			files[i], lists[i] = loaders[i].root()
			loaders[i].ahead(filepath.ToSlash(filepath.Dir(p.lib)), files[i].Decls)
		}
	})
	for i, p := range in.Packages {
		l.Append(lists[i])
		sp := &sema.Package{Name: p.Name(), File: files[i], Dir: filepath.ToSlash(filepath.Dir(p.lib)), Open: loaders[i].openModule,
			Deps: depsOf(p.Deps, p.Manifest, made), IsFixed: p.Locked != nil}
		made[p.Package] = sp
		all = append(all, sp)
	}
	return all, depsOf(in.Graph.Deps, in.Manifest, made), l
}

// depsOf returns the packages that a manifest requires, with the positions of their keys.
func depsOf(deps map[string]*pkg.Package, m *manifest.Manifest, made map[*pkg.Package]*sema.Package) map[string]sema.Dep {
	out := make(map[string]sema.Dep, len(deps))
	for _, d := range m.Dependencies {
		if p := deps[d.Name]; p != nil {
			out[d.Name] = sema.Dep{Package: made[p], Source: m.File, At: d.At[""].Key}
		}
	}
	return out
}
