// Package build turns ES modules into files that a browser can load. It reads the entries of a page
// from several trees of files, bundles modules that are needed at the same time, compiles element
// templates into calls, and drops comments. It uses no file system but the given ones;
// tools/web/gen compresses and writes the result.
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

// Input describes a page. Tree maps a prefix to a directory: "" to web/, and another prefix to the
// page's own files. Entries are names of files in these directories. An entry is a module, which is
// built with everything that it imports, or any other file.
type Input struct {
	Tree    map[string]fs.FS
	Entries []string
}

// Output contains the files of a page by name. For each module entry, it lists the files that the
// browser must load before the entry can run, with the entry first. A module that is loaded by
// import(…) becomes a separate file under the module's name. This file also contains the modules
// that only this module needs.
type Output struct {
	Files map[string][]byte
	Needs map[string][]string
}

// builder reads files and resolves package names.
type builder struct {
	in   Input
	bare map[string]string // files of the vendored packages by package name
	out  Output
}

// Build builds a page. It returns an error with the file and the line if a file is missing, a
// module imports a name that does not exist, or a module cannot be parsed.
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

// names reads the bare names of the vendored packages.
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

// open opens a file in the tree with the longest matching prefix.
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

// add adds a file to the page unchanged.
func (b *builder) add(name string) error {
	data, err := b.open(name)
	if err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	b.out.Files[name] = data
	return nil
}

// resolve returns the file that an import refers to. The import is a relative path, a vendored
// package, or a path from the root of the trees.
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
	return "", fmt.Errorf("unknown package %q: the vendored packages are %s", name, strings.Join(slices.Sorted(maps.Keys(b.bare)), ", "))
}

// SourceFile is the name of the file that describes the origin of a vendored package.
const SourceFile = "source.json"

// Source describes the published package of a directory in web/vendor.
type Source struct {
	Package string       `json:"package"` // name on npm
	Version string       `json:"version"`
	Licence string       `json:"licence"` // SPDX identifier
	Files   []SourceItem `json:"files"`
}

// SourceItem is a file of a vendored package.
type SourceItem struct {
	Name   string `json:"name"` // path in this repository
	From   string `json:"from"` // path in the published package
	SHA256 string `json:"sha256"`
	Import string `json:"import,omitempty"` // name by which modules import the file
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
