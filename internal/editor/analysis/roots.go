package analysis

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/process/parallel"
	"github.com/concerto-lang/concerto/sema"
)

// root is a unit of checking: the program of a manifest, a program without a manifest, or a
// document that is no file.
type root struct {
	path     string          // path of the manifest, the program or the document
	manifest string          // path of the manifest that applies, or "" for none
	files    map[string]bool // entry file and the files of its modules, by path
}

// roots returns all programs, those of manifests first.
func (s *Snapshot) roots() []*root {
	s.once.Do(func() {
		f := rootFinder{s: s, reached: map[string]bool{}}
		f.find()
		s.found, s.owners = f.roots, f.owners()
		s.results.retainOnly(f.roots)
	})
	return s.found
}

// rootOf returns the program that a file belongs to, or nil if it belongs to none.
func (s *Snapshot) rootOf(path string) *root {
	s.roots()
	return s.owners[path]
}

// rootFinder finds the roots of a snapshot.
type rootFinder struct {
	s       *Snapshot
	roots   []*root
	reached map[string]bool // programs that already belong to a root
}

func (f *rootFinder) find() {
	var programs, manifests []string
	for _, p := range f.knownPaths() {
		switch {
		case isManifest(p) && IsFile(p):
			manifests = append(manifests, p)
		case isProgram(p) || !IsFile(p):
			programs = append(programs, p)
		}
	}
	parallel.Do(len(programs), 1, func(from, to int) {
		for _, p := range programs[from:to] {
			if t := f.s.textOf(p); t != nil {
				t.parse()
			}
		}
	})
	for _, m := range manifests {
		r := &root{path: m, manifest: m, files: map[string]bool{}}
		if entry := f.entryOf(m); f.s.textOf(entry) != nil {
			f.addToRoot(r, entry, filepath.Dir(entry))
		}
		f.roots = append(f.roots, r)
	}
	named := f.namedPrograms(programs)
	for _, free := range []bool{true, false} { // the second round finds programs that declare each other as modules in a cycle
		for _, p := range programs {
			if f.reached[p] || free && named[p] || f.s.textOf(p) == nil {
				continue
			}
			r := &root{path: p, manifest: f.manifestOf(p), files: map[string]bool{}}
			f.addToRoot(r, p, filepath.Dir(p))
			f.roots = append(f.roots, r)
		}
	}
}

// knownPaths returns the sorted real paths of all open documents and listed files.
func (f *rootFinder) knownPaths() []string {
	all := maps.Clone(f.s.listed)
	if all == nil {
		all = map[string]bool{}
	}
	for p := range f.s.open {
		all[p] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// defaultEntry is the entry file of a manifest that names none.
const defaultEntry = "main.conc"

// entryOf returns the path of a manifest's entry file.
func (f *rootFinder) entryOf(path string) string {
	name := defaultEntry
	if t := f.s.textOf(path); t != nil {
		if m, _ := manifest.Parse(t.file); m != nil && m.Project.Entry != "" {
			name = m.Project.Entry
		}
	}
	return filepath.Join(filepath.Dir(path), filepath.FromSlash(name))
}

// manifestOf returns the manifest that applies to a program.
func (f *rootFinder) manifestOf(path string) string {
	if !IsFile(path) {
		return ""
	}
	m, _ := manifest.Locate(filepath.Dir(path), func(p string) bool { return f.s.textOf(p) != nil })
	return m
}

// addToRoot adds a program and its modules to a root. dir is the directory of the modules' files.
func (f *rootFinder) addToRoot(r *root, path, dir string) {
	t := f.s.textOf(path)
	if t == nil || r.files[path] {
		return
	}
	r.files[path], f.reached[path] = true, true
	t.parse()
	for _, m := range t.mods {
		if file := f.moduleFile(dir, m); file != "" {
			f.addToRoot(r, file, filepath.Join(dir, filepath.Join(m...)))
		}
	}
	if tests := strings.TrimSuffix(path, ".conc") + "_test.conc"; f.s.textOf(tests) != nil {
		f.addToRoot(r, tests, strings.TrimSuffix(tests, ".conc"))
	}
}

// moduleFile returns the file of a module, or "" if it does not exist.
func (f *rootFinder) moduleFile(dir string, m modPath) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	inner := len(m) - 1
	for _, name := range sema.ModuleFiles(filepath.ToSlash(filepath.Join(dir, filepath.Join(m[:inner]...))), m[inner]) {
		if p := filepath.FromSlash(name); f.s.textOf(p) != nil {
			return p
		}
	}
	return ""
}

// namedPrograms returns the programs that other programs declare as modules. The directory of a
// file's modules depends on whether the file is a module itself, so both directories are searched.
func (f *rootFinder) namedPrograms(programs []string) map[string]bool {
	named := map[string]bool{}
	for _, p := range programs {
		t := f.s.textOf(p)
		if t == nil {
			continue
		}
		t.parse()
		for _, m := range t.mods {
			for _, dir := range []string{filepath.Dir(p), strings.TrimSuffix(p, filepath.Ext(p))} {
				if file := f.moduleFile(dir, m); file != "" && file != p {
					named[file] = true
				}
			}
		}
	}
	return named
}

// owners returns for each file the root that reports its diagnostics: the root with the nearest
// manifest, or else the first root.
func (f *rootFinder) owners() map[string]*root {
	owners := map[string]*root{}
	for _, r := range f.roots {
		if r.path == r.manifest {
			owners[r.path] = r
		}
		for p := range r.files {
			if o := owners[p]; o == nil || nearness(r, p) > nearness(o, p) {
				owners[p] = r
			}
		}
	}
	return owners
}

// nearness ranks a root for a file. The rank is the length of the path of the manifest's directory
// if that directory contains the file.
func nearness(r *root, path string) int {
	if dir := filepath.Dir(r.manifest); r.manifest != "" && isBelow(path, dir) {
		return len(dir)
	}
	return 0
}
