package driver

import (
	"io/fs"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/text/source"
)

var Release string

type PackageSource struct {
	// Fetch stores missing packages in the cache. If it is nil, a missing package is an error.
	Fetch func(missing []*pkg.Package) error
	Cache pkgcache.Cache
	// Absent, if not "", is the error for a manifest with [dependencies].
	Absent string
	// Lock, if not nil, replaces concerto.lock, and vendored packages are ignored.
	Lock *pkg.Lock
}

type Package struct {
	*pkg.Package
	Dir      string             // absolute path of its directory
	Manifest *manifest.Manifest // nil if it cannot be read
	lib      string             // root module, relative to Dir
	files    map[string][]byte  // files of a package of a repository; nil for a package by path
	root     *source.File
}

func (p *Package) label() string { return p.Name() + ": " }

func (in *Input) PackageDirs() map[string]string {
	out := map[string]string{}
	for _, p := range in.Packages {
		out[p.Name()] = p.Dir
	}
	return out
}

func (p *Package) shownName(in *Input, name string) string {
	if in.parsed {
		return filepath.ToSlash(filepath.Join(p.Dir, filepath.FromSlash(name)))
	}
	return p.label() + name
}

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
