package build

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// metafile is esbuild's report about the modules it read and the files it wrote.
type metafile struct {
	Inputs  map[string]struct{ Imports []imported }
	Outputs map[string]output
}

type output struct {
	Inputs     map[string]struct{} // modules that the file contains
	EntryPoint string              // module that the file was built for; "" if several modules share it
	Imports    []imported
}

// imported is an import of a module or a file, with the kind of the import.
type imported struct{ Path, Kind string }

// atOnce reports whether the import is static: needed before the module can run.
func (i imported) atOnce() bool { return i.Kind == "import-statement" }

// plainName returns a module's name without the namespace.
func plainName(name string) string { return strings.TrimPrefix(name, ours+":") }

// names returns the final names of the files. They omit esbuild's hashes, because one hash
// identifies the whole build, and because a change of one module must change only one file.
func (m metafile) names() (map[string]string, error) {
	out, byName, shared := map[string]string{}, map[string]string{}, 0
	for _, name := range slices.SortedFunc(maps.Keys(m.Outputs), func(a, b string) int { return strings.Compare(m.describeFile(a), m.describeFile(b)) }) {
		o, is := m.Outputs[name], name
		switch {
		case o.EntryPoint == "":
			shared++
			is = fmt.Sprintf("%s/shared%d.js", path.Dir(name), shared)
		case path.Dir(name) == joined:
			at := path.Base(plainName(o.EntryPoint))
			is = path.Join(joined, strings.TrimSuffix(at, path.Ext(at))+".js")
		}
		if other, ok := byName[is]; ok {
			return nil, fmt.Errorf("build: %s and %s would both be %s: name one of them differently", plainName(other), plainName(o.EntryPoint), is)
		}
		out[name], byName[is] = is, o.EntryPoint
	}
	return out, nil
}

// describeFile returns a name for a file that is derived from the file's modules.
func (m metafile) describeFile(name string) string {
	return strings.Join(slices.Sorted(maps.Keys(m.Outputs[name].Inputs)), " ")
}

// closure returns the final names of a file and of its static imports, direct and indirect.
func (m metafile) closure(name string, names map[string]string) []string {
	var out []string
	var visit func(string)
	visit = func(name string) {
		if slices.Contains(out, names[name]) {
			return
		}
		out = append(out, names[name])
		for _, i := range m.Outputs[name].Imports {
			if i.atOnce() {
				visit(i.Path)
			}
		}
	}
	visit(name)
	return out
}

// findCycle returns the first cycle of static imports, or nil.
func (m metafile) findCycle() []string {
	const begun, done = 1, 2
	state := map[string]int{}
	var way []string
	var visit func(string) []string
	visit = func(name string) []string {
		switch plain := plainName(name); {
		case state[name] == done || strings.HasPrefix(plain, "vendor/"):
			return nil
		case state[name] == begun:
			return append(way[slices.Index(way, plain):], plain)
		default:
			state[name], way = begun, append(way, plain)
		}
		for _, i := range m.Inputs[name].Imports {
			if i.atOnce() {
				if found := visit(i.Path); found != nil {
					return found
				}
			}
		}
		state[name], way = done, way[:len(way)-1]
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(m.Inputs)) {
		if found := visit(name); found != nil {
			return found
		}
	}
	return nil
}
