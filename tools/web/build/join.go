package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
)

// ours is esbuild's namespace for all modules. The build provides their contents, and esbuild reads
// no module from the disk.
const ours = "page"

// joined is the directory for bundles that are not named after an entry.
const joined = "joined"

// join bundles the modules into as few files as possible: one for each entry, one for each dynamic
// import, and one for each set of modules that several of these share.
func (b *builder) join(entries []string) error {
	if len(entries) == 0 {
		return nil
	}
	built := api.Build(b.options(entries))
	if len(built.Errors) > 0 {
		return joinErrors(built.Errors)
	}
	var meta metafile
	if err := json.Unmarshal([]byte(built.Metafile), &meta); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if way := meta.findCycle(); way != nil {
		return fmt.Errorf("build %s: modules import each other in a circle: %s", way[0], strings.Join(way, ", "))
	}
	names, err := meta.names()
	if err != nil {
		return err
	}
	for _, f := range built.OutputFiles {
		text := string(f.Contents)
		for was, is := range names {
			text = strings.ReplaceAll(text, path.Base(was), path.Base(is))
		}
		b.out.Files[names[strings.TrimPrefix(filepath.ToSlash(f.Path), "/")]] = []byte(text)
	}
	for name, o := range meta.Outputs {
		if slices.Contains(entries, plainName(o.EntryPoint)) {
			b.out.Needs[name] = meta.closure(name, names)
		}
	}
	return b.licences(meta)
}

func (b *builder) options(entries []string) api.BuildOptions {
	var points []api.EntryPoint
	for _, name := range entries {
		points = append(points, api.EntryPoint{InputPath: name, OutputPath: strings.TrimSuffix(name, path.Ext(name))})
	}
	alone := ""
	if len(entries) == 1 {
		alone = entries[0]
	}
	return api.BuildOptions{
		EntryPointsAdvanced: points,
		AbsWorkingDir:       "/", Outdir: "/", ChunkNames: joined + "/[name]-[hash]",
		Bundle: true, Splitting: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, TreeShaking: api.TreeShakingTrue,
		LegalComments: api.LegalCommentsNone, // the licence of each package is a separate file
		Metafile:      true,
		Plugins:       []api.Plugin{{Name: ours, Setup: func(p api.PluginBuild) { b.plug(p, alone) }}},
	}
}

// plug makes esbuild resolve modules in the trees and compile their templates. A dynamically
// imported module also imports the page's single entry. The entry is already loaded at that time,
// so shared code needs no additional file.
func (b *builder) plug(p api.PluginBuild, entry string) {
	var later sync.Map // names of dynamically imported modules
	p.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if a.Kind == api.ResolveEntryPoint {
			return api.OnResolveResult{Path: a.Path, Namespace: ours}, nil
		}
		file, err := b.resolve(a.Importer, a.Path)
		if a.Kind == api.ResolveJSDynamicImport && isModule(file) {
			later.Store(file, true)
		}
		return api.OnResolveResult{Path: file, Namespace: ours}, err
	})
	p.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: ours}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text, err := b.load(a.Path)
		if _, ok := later.Load(a.Path); ok && entry != "" {
			text += "\nimport " + strconv.Quote(entry) + ";"
		}
		loader := api.LoaderJS
		if !isModule(a.Path) {
			loader = api.LoaderText
		}
		return api.OnLoadResult{Contents: &text, Loader: loader}, err
	})
}

// load reads a module, or a text that a module imports.
func (b *builder) load(name string) (string, error) {
	if name == b.bare["htm"] {
		return bound, nil
	}
	data, err := b.open(name)
	if err != nil || !isModule(name) || strings.HasPrefix(name, "vendor/") {
		return string(data), err
	}
	return compile(string(data))
}

// joinErrors joins the errors of all modules into one.
func joinErrors(all []api.Message) error {
	var out []error
	for _, m := range all {
		where := ""
		if l := m.Location; l != nil {
			where = fmt.Sprintf("%s: line %d: ", strings.TrimPrefix(l.File, ours+":"), l.Line)
		}
		out = append(out, fmt.Errorf("build %s%s", where, m.Text))
	}
	return errors.Join(out...)
}

// licences adds the licence of each package that the page uses.
func (b *builder) licences(meta metafile) error {
	dirs := map[string]bool{}
	for _, o := range meta.Outputs {
		for name := range o.Inputs {
			if dir := path.Dir(plainName(name)); strings.HasPrefix(dir, "vendor/") {
				dirs[dir] = true
			}
		}
	}
	for dir := range dirs {
		if err := b.add(dir + "/LICENSE"); err != nil {
			return err
		}
	}
	return nil
}
