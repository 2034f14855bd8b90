package driver

import (
	"io/fs"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Release is the version of concerto, which `concerto` in the manifest of a package may exceed. It
// is "" if the version is not known. The command sets it once when it starts.
var Release string

// PackageSource determines how a request finds the packages of its project.
type PackageSource struct {
	// Fetch stores missing packages in the cache. If it is nil, a missing package is an error.
	Fetch func(missing []*pkg.Package) error
	Cache pkgcache.Cache
	// Lock, if not nil, replaces concerto.lock, and vendored packages are ignored.
	Lock *pkg.Lock
}

// Package is a package of a loaded program.
type Package struct {
	*pkg.Package
	Dir      string             // absolute path of its directory
	Manifest *manifest.Manifest // nil if it cannot be read
	lib      string             // root module, relative to Dir
	files    map[string][]byte  // files of a package of a repository; nil for a package by path
	root     *source.File
}

// label begins the names of the package's files in messages and in the IR.
func (p *Package) label() string { return p.Name() + ": " }

// PackageDirs returns the directories of the packages by their names, which begin the names of
// their files in the IR.
func (in *Input) PackageDirs() map[string]string {
	out := map[string]string{}
	for _, p := range in.Packages {
		out[p.Name()] = p.Dir
	}
	return out
}

// shownName returns the name of a file of a package of a repository in messages. In an editor it is
// the path of the file, which can be opened.
func (p *Package) shownName(in *Input, name string) string {
	if in.parsed {
		return filepath.ToSlash(filepath.Join(p.Dir, filepath.FromSlash(name)))
	}
	return p.label() + name
}

// source returns a source file of the package by its name relative to the package.
func (p *Package) source(in *Input, name string) (*source.File, error) {
	if p.Locked != nil {
		text, found := p.files[name]
		if !found {
			return nil, fs.ErrNotExist
		}
		return source.NewFile(p.shownName(in, name), text), nil
	}
	return in.readFile(filepath.Join(p.Dir, filepath.FromSlash(name)))
}
