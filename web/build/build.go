// Package build makes of ES modules what a browser can load; its API promises
// nothing. It takes what the entries of a page need out of several trees of files,
// turns bare names of modules into relative ones, and leaves the comments of our
// own modules out. It touches no file system but those it is given; web/gen
// compresses and writes.
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

// Output is a page's files by name, and for each module the modules that it needs
// before it can run, itself first, in the order of need.
type Output struct {
	Files map[string][]byte
	Needs map[string][]string
}

// builder reads files and follows what they refer to.
type builder struct {
	in    Input
	bare  map[string]string // bare name: file
	out   map[string][]byte
	needs map[string][]string // module: those that it imports at once
}

// Build builds a page. It fails when a file is missing, a module refers to what is
// not there, or cannot be read; the error names file and line.
func Build(in Input) (Output, error) {
	b := &builder{in: in, bare: map[string]string{}, out: map[string][]byte{}, needs: map[string][]string{}}
	if err := b.names(); err != nil {
		return Output{}, err
	}
	for _, name := range in.Entries {
		if err := b.add(name); err != nil {
			return Output{}, err
		}
	}
	all := map[string][]string{}
	for name := range b.needs {
		all[name] = b.closure(name)
	}
	return Output{b.out, all}, b.licences()
}

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

// add takes a file, and what it refers to, into the page.
func (b *builder) add(name string) error {
	if _, ok := b.out[name]; ok {
		return nil
	}
	data, err := b.open(name)
	if err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	if ext := path.Ext(name); ext != ".js" && ext != ".mjs" {
		b.out[name] = data
		return nil
	}
	b.out[name] = nil // being read: modules may import each other
	if err := b.module(name, string(data)); err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	return nil
}

func (b *builder) module(name, src string) error {
	tokens, err := scan(src)
	if err != nil {
		return err
	}
	refs, err := references(src, tokens)
	if err != nil {
		return err
	}
	b.needs[name] = nil
	targets := map[int]string{}
	for _, r := range refs {
		target, err := b.resolve(name, r.name)
		if err != nil {
			return fmt.Errorf("line %d: %w", 1+strings.Count(src[:r.start], "\n"), err)
		}
		if !r.lazy {
			b.needs[name] = append(b.needs[name], target)
		}
		targets[r.start] = relative(name, target)
		if err := b.add(target); err != nil {
			return err
		}
	}
	b.out[name] = []byte(rewrite(src, tokens, targets, !strings.HasPrefix(name, "vendor/")))
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

// relative is the name of a file as a module at from must say it.
func relative(from, target string) string {
	dir := strings.Split(path.Dir(from), "/")
	to := strings.Split(target, "/")
	for len(dir) > 0 && len(to) > 1 && dir[0] == to[0] {
		dir, to = dir[1:], to[1:]
	}
	if len(dir) == 0 || dir[0] == "." {
		return "./" + strings.Join(to, "/")
	}
	return strings.Repeat("../", len(dir)) + strings.Join(to, "/")
}

// rewrite puts the targets in, which stand by the places of their names. Of our own modules
// comments and indentation go, while each line keeps its number; what others
// published keeps all but the address of a source map that is not there.
func rewrite(src string, tokens []token, targets map[int]string, own bool) string {
	var out strings.Builder
	for _, t := range tokens {
		piece := src[t.start:t.end]
		if target, ok := targets[t.start+1]; ok && t.kind == text {
			piece = piece[:1] + target + piece[:1]
		}
		switch {
		case t.kind == comment && (own || strings.HasPrefix(piece, "//# sourceMappingURL=")):
			piece = strings.Repeat("\n", strings.Count(piece, "\n"))
		case t.kind == space && own && strings.Contains(piece, "\n"):
			piece = strings.Repeat("\n", strings.Count(piece, "\n"))
		}
		out.WriteString(piece)
	}
	return out.String()
}

// closure lists a module and all that it needs at once.
func (b *builder) closure(name string) []string {
	var out []string
	var visit func(string)
	visit = func(name string) {
		if slices.Contains(out, name) {
			return
		}
		out = append(out, name)
		for _, n := range b.needs[name] {
			visit(n)
		}
	}
	visit(name)
	return out
}

// licences adds the licence of each package of which a file is used.
func (b *builder) licences() error {
	for _, name := range slices.Sorted(maps.Keys(b.out)) {
		if dir := path.Dir(name); strings.HasPrefix(dir, "vendor/") {
			if err := b.add(dir + "/LICENSE"); err != nil {
				return err
			}
		}
	}
	return nil
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
