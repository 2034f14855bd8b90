package build

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// metafile is what is told of the modules that were read and of the files that were made, by their names.
type metafile struct {
	Inputs  map[string]struct{ Imports []imported }
	Outputs map[string]made
}

type made struct {
	Inputs     map[string]struct{} // the modules that are in it
	EntryPoint string              // the module that it is made for; "" when several share it
	Imports    []imported
}

// imported is what a module or a file imports, and how.
type imported struct{ Path, Kind string }

// atOnce says that it is needed before the module can run, and not when an import(…) is reached.
func (i imported) atOnce() bool { return i.Kind == "import-statement" }

// plainName is a module's name without that of the namespace.
func plainName(name string) string { return strings.TrimPrefix(name, ours+":") }

// names are the names that files get: without the hash that they were made with, for one
// hash names a whole build, and a change of one module shall change one file.
func (m metafile) names() (map[string]string, error) {
	out, taken, shared := map[string]string{}, map[string]string{}, 0
	for _, name := range slices.SortedFunc(maps.Keys(m.Outputs), func(a, b string) int { return strings.Compare(m.inside(a), m.inside(b)) }) {
		o, is := m.Outputs[name], name
		switch {
		case o.EntryPoint == "":
			shared++
			is = fmt.Sprintf("%s/shared%d.js", path.Dir(name), shared)
		case path.Dir(name) == joined:
			at := path.Base(plainName(o.EntryPoint))
			is = path.Join(joined, strings.TrimSuffix(at, path.Ext(at))+".js")
		}
		if other, ok := taken[is]; ok {
			return nil, fmt.Errorf("build: %s and %s would both be %s: name one of them differently", plainName(other), plainName(o.EntryPoint), is)
		}
		out[name], taken[is] = is, o.EntryPoint
	}
	return out, nil
}

// inside tells files apart by what is in them, however that reads.
func (m metafile) inside(name string) string {
	return strings.Join(slices.Sorted(maps.Keys(m.Outputs[name].Inputs)), " ")
}

// closure lists a file and all that it needs at once, by the names that they get.
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

// circle finds modules of ours that import each other at once: the first in order, with those on the way back to it.
// nil when there are none.
func (m metafile) circle() []string {
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
