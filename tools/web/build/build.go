// Package build makes of ES modules what a browser can load; its API promises
// nothing. It takes what the entries of a page need out of several trees of files,
// joins it into as few files as there are moments at which it is needed, compiles
// templates of elements into calls, and leaves out what a browser does not need.
// It touches no file system but those it is given; tools/web/gen compresses and writes.
package build

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Input is what a page is built of. Tree holds directories by the name under
// which their files are known: what lies in web/ under "", a page's own under
// another. Entries are names of files there: modules, with all that they import,
// or other files.
type Input struct {
	Tree    map[string]fs.FS
	Entries []string
}

// Output is a page's files by name, and for each entry that is a module the files
// that it needs before it can run, itself first. What an import(…) names is a
// file of its own with all that it needs alone; it has the name of that module.
type Output struct {
	Files map[string][]byte
	Needs map[string][]string
}

// builder reads files and knows the names of packages.
type builder struct {
	in   Input
	bare map[string]string // bare name: file
	out  Output
}

// Build builds a page. It fails when a file is missing, a module refers to what is
// not there, or cannot be read; the error names file and line.
func Build(in Input) (Output, error) {
	b := &builder{in: in, bare: map[string]string{}, out: Output{map[string][]byte{}, map[string][]string{}}}
	if err := b.names(); err != nil {
		return Output{}, err
	}
	var modules []string
	for _, name := range in.Entries {
		if isModule(name) {
			modules = append(modules, name)
		} else if err := b.add(name); err != nil {
			return Output{}, err
		}
	}
	if err := b.join(modules); err != nil {
		return Output{}, err
	}
	return b.out, nil
}

func isModule(name string) bool { return path.Ext(name) == ".js" || path.Ext(name) == ".mjs" }

// names learns the bare names of the vendored packages.
func (b *builder) names() error {
	web, ok := b.in.Tree[""]
	if !ok {
		return nil
	}
	sources, err := fs.Glob(web, "vendor/*/"+SourceFile)
	if err != nil {
		return err
	}
	for _, name := range sources {
		s, err := ReadSource(web, name)
		if err != nil {
			return err
		}
		for _, f := range s.Files {
			if f.Import != "" {
				b.bare[f.Import] = path.Join(path.Dir(name), f.Name)
			}
		}
	}
	return nil
}

// open finds a file in the tree with the longest fitting name.
func (b *builder) open(name string) ([]byte, error) {
	mounts := slices.SortedFunc(maps.Keys(b.in.Tree), func(x, y string) int { return len(y) - len(x) })
	for _, mount := range mounts {
		rest, ok := strings.CutPrefix(name, mount+"/")
		if mount == "" {
			rest, ok = name, true
		}
		if ok {
			return fs.ReadFile(b.in.Tree[mount], rest)
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// add takes a file into the page as it is.
func (b *builder) add(name string) error {
	data, err := b.open(name)
	if err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	b.out.Files[name] = data
	return nil
}

// resolve gives the file that a module means by a name: a relative one, one of a
// vendored package, or one from the root of the trees.
func (b *builder) resolve(from, name string) (string, error) {
	if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		return path.Join(path.Dir(from), name), nil
	}
	if file, ok := b.bare[name]; ok {
		return file, nil
	}
	if path.Ext(name) != "" && fs.ValidPath(name) {
		return name, nil
	}
	return "", fmt.Errorf("no vendored package is called %q (known: %s)", name, strings.Join(slices.Sorted(maps.Keys(b.bare)), ", "))
}

// SourceFile is the name of the file that says where a vendored package is from.
const SourceFile = "source.json"

// Source says which published package a directory of web/vendor is taken from.
type Source struct {
	Package string       `json:"package"` // as npm names it
	Version string       `json:"version"`
	Licence string       `json:"licence"` // SPDX
	Files   []SourceItem `json:"files"`
}

// SourceItem is a file of a vendored package.
type SourceItem struct {
	Name   string `json:"name"` // here
	From   string `json:"from"` // its path in the package
	SHA256 string `json:"sha256"`
	Import string `json:"import,omitempty"` // the bare name by which modules import it
}

// ReadSource reads a source.json.
func ReadSource(files fs.FS, name string) (Source, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return Source{}, err
	}
	var s Source
	if err := json.Unmarshal(data, &s); err != nil {
		return Source{}, fmt.Errorf("read %s: %w", name, err)
	}
	return s, nil
}
