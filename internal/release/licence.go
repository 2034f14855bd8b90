package release

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// component is a part of a release with a licence of its own.
type component struct {
	path, version string // path of a Go module, or name of an npm package
	ecosystem     string // golang or npm
	sum           string // of a Go module, as in go.sum
	programs      []string
	licence       string            // SPDX expression
	texts         map[string][]byte // files with licences and notices, by their paths in the component
}

// purl returns the package URL of the component.
func (c *component) purl() string {
	escaped := strings.NewReplacer("@", "%40", "+", "%2B", " ", "%20")
	return "pkg:" + c.ecosystem + "/" + escaped.Replace(c.path) + "@" + escaped.Replace(c.version)
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([-._][-\w.]*)?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(notice|patents)(\.(txt|md))?$`)
)

// licences are the known licences. The text of one contains all strings of with and none of
// without, in lower case and with single spaces.
var licences = []struct {
	spdx          string
	with, without []string
}{
	{"Apache-2.0", []string{"apache license version 2.0, january 2004"}, nil},
	{"MPL-2.0", []string{"mozilla public license version 2.0"}, nil},
	{"MIT", []string{"permission is hereby granted, free of charge", "this permission notice shall be included"}, nil},
	{"MIT-0", []string{"permission is hereby granted, free of charge"}, []string{"this permission notice shall be included"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}, nil},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}, []string{"neither the name"}},
	{"ISC", []string{"modify, and distribute this software for any purpose with or without fee"}, nil},
	{"ISC", []string{"modify, and/or distribute this software for any purpose with or without fee"}, nil},
	{"Unlicense", []string{"this is free and unencumbered software released into the public domain"}, nil},
}

// identifierLine matches a line that names the licence of its file.
var identifierLine = regexp.MustCompile(`SPDX-License-Identifier: ([^\n*]+)`)

// identify returns the SPDX expressions of the licences whose texts are in a file.
func identify(text []byte) []string {
	if m := identifierLine.FindSubmatch(text); m != nil {
		return []string{strings.TrimSpace(string(m[1]))}
	}
	plain := strings.Join(strings.Fields(strings.ToLower(string(text))), " ")
	var found []string
	for _, l := range licences {
		contained := func(part string) bool { return strings.Contains(plain, part) }
		if !slices.ContainsFunc(l.without, contained) && !slices.ContainsFunc(l.with, func(part string) bool { return !contained(part) }) {
			found = append(found, l.spdx)
		}
	}
	return found
}

// identifyAll sets the licence of the component to that of all its files.
func (c *component) identifyAll() error {
	all := map[string]bool{}
	for name, text := range c.texts {
		if !licenceFile.MatchString(path.Base(name)) {
			continue
		}
		found := identify(text)
		if len(found) == 0 {
			return fmt.Errorf("%s of %s has an unknown licence: add a part of its text to internal/release/licence.go", name, c.purl())
		}
		for _, l := range found {
			all[l] = true
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no file with a licence", c.purl())
	}
	parts := slices.Sorted(maps.Keys(all))
	if len(parts) > 1 {
		for i, p := range parts {
			if strings.Contains(p, " OR ") {
				parts[i] = "(" + p + ")"
			}
		}
	}
	c.licence = strings.Join(parts, " AND ")
	return nil
}

// addTexts adds the licences and notices in a directory, relative to the component's root.
func (c *component) addTexts(root, dir string) error {
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) && !noticeFile.MatchString(e.Name()) || path.Ext(e.Name()) == ".go" {
			continue
		}
		name := path.Join(dir, e.Name())
		if c.texts[name], err = os.ReadFile(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// goComponents returns a component for each linked module and for the standard library. Their
// licences are those of the linked packages.
func goComponents(linked []*module, packages []linkedPackage, goRoot, goVersion string) ([]*component, error) {
	std := &component{path: "std", version: goVersion, ecosystem: "golang", programs: Programs, texts: map[string][]byte{}}
	if err := std.addTexts(goRoot, "."); err != nil {
		return nil, err
	}
	all, byPath := []*component{std}, map[string]*component{}
	for _, m := range linked {
		c := &component{path: m.path, version: m.version, ecosystem: "golang", sum: m.sum, programs: m.programs, texts: map[string][]byte{}}
		all, byPath[m.path] = append(all, c), c
	}
	visited := map[string]bool{}
	for _, p := range packages {
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		name, root := p.Module.Path, p.Module.Dir
		if p.Module.Replace != nil {
			name = p.Module.Replace.Path
		}
		c := byPath[name]
		if c == nil {
			continue // the package has no code in the executable
		}
		rel, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		for dir := filepath.ToSlash(rel); !visited[name+"/"+dir]; dir = path.Dir(dir) {
			visited[name+"/"+dir] = true
			if err := c.addTexts(root, dir); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range all {
		if err := c.identifyAll(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// webVendors is the folder of the modules that the pages contain, with a directory for each.
const webVendors = "web/vendor"

// webComponents returns a component for each npm package in the pages.
func webComponents(sources fs.FS) ([]*component, error) {
	files, err := fs.Glob(sources, webVendors+"/*/source.json")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no packages (%v)", webVendors, err)
	}
	var all []*component
	for _, file := range files {
		text, err := fs.ReadFile(sources, file)
		if err != nil {
			return nil, err
		}
		var source struct{ Package, Version, Licence string }
		if err := json.Unmarshal(text, &source); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		licence, err := fs.ReadFile(sources, path.Join(path.Dir(file), "LICENSE"))
		if err != nil {
			return nil, err
		}
		all = append(all, &component{path: source.Package, version: source.Version, ecosystem: "npm", licence: source.Licence,
			texts: map[string][]byte{"LICENSE": licence}})
	}
	return all, nil
}
