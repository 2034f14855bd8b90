package release

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// files contains the texts of a release. A name in capitals between two @ is replaced.
//
//go:embed files
var files embed.FS

// fill returns a text with its names replaced. The pairs are a name without @ and its value.
func fill(file string, pairs ...string) []byte {
	text, err := files.ReadFile("files/" + file)
	if err != nil {
		panic(err) // the file is missing in this folder
	}
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "@" + pairs[i] + "@"
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(text)))
}

// writeText returns a function for create that writes a text.
func writeText(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// reversed returns the programs in the order of their installation: concerto, which is tried first,
// is replaced last.
func reversed(t Target) []string {
	var all []string
	for _, p := range Programs {
		all = append([]string{t.exe(p)}, all...)
	}
	return all
}

func (r *release) writeInstallSh(_ *parts, file string) error {
	var archives, systems []string
	for _, t := range r.targets {
		if t.Kernel == "" {
			continue
		}
		var patterns []string
		for m := range strings.SplitSeq(t.Machines, "|") {
			patterns = append(patterns, t.Kernel+"/"+m)
		}
		archives = append(archives, fmt.Sprintf("\t%s) target=%s_%s sum=%s ;;", strings.Join(patterns, " | "), t.OS, t.Arch, r.sums[r.archiveName(t)]))
		systems = append(systems, t.String())
	}
	text := fill("install.sh", "VERSION", r.version, "BASE", r.base, "ARCHIVES", strings.Join(archives, "\n"), "SYSTEMS", strings.Join(systems, ", "),
		"PROGRAMS", strings.Join(Programs, " "), "PROGRAMS_LAST", strings.Join(reversed(Target{}), " "))
	return create(file, writeText(text))
}

func (r *release) writeInstallPs1(_ *parts, file string) error {
	var archives, systems, programs []string
	for _, t := range r.targets {
		if t.OS == "windows" {
			archives = append(archives, fmt.Sprintf("        '%s' = @('%s', '%s')", t.Machines, r.folder(t), r.sums[r.archiveName(t)]))
			systems = append(systems, t.String())
		}
	}
	for _, p := range reversed(Target{OS: "windows"}) {
		programs = append(programs, "'"+p+"'")
	}
	text := fill("install.ps1", "VERSION", r.version, "BASE", r.base, "ARCHIVES", strings.Join(archives, "\n"), "SYSTEMS", strings.Join(systems, ", "),
		"PROGRAMS_LAST", strings.Join(programs, ", "))
	return create(file, writeText(text))
}

func (r *release) writeContainerfile(_ *parts, file string) error {
	return create(file, writeText(fill("Containerfile", "VERSION", r.version)))
}

// manifest is a package.json.
type manifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Bin         map[string]string `json:"bin,omitempty"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
	Unplugged   bool              `json:"preferUnplugged,omitempty"` // the executables are files on disk
}

func (r *release) manifestOf(t Target, description string) manifest {
	return manifest{Name: npmName(t), Version: r.version, Description: description, License: licence}
}

// writeNPMPlatform writes the npm package with the executables of a target. The playground is at
// the place where the executables search for it: in ../share/concerto.
func (r *release) writeNPMPlatform(p *parts, file string) error {
	m := r.manifestOf(p.target, fmt.Sprintf("Executables of concerto-lang for %s on %s", p.target.OS, p.target.Arch))
	m.OS, m.CPU, m.Unplugged = []string{p.target.NodeOS}, []string{p.target.NodeArch}, true
	entries := below("bin", p.programs)
	entries = append(entries, below("share/concerto", r.playground)...)
	entries = append(entries, p.licences...)
	entries = append(entries, r.licence, entry{name: "README.md", data: fill("npm-platform.md", "NAME", m.Name, "OS", p.target.OS, "ARCH", p.target.Arch)})
	return r.writeNPM(file, m, entries)
}

// writeNPMWrapper writes the npm package that depends on those of all targets, also of targets that
// this release does not have: a version has one wrapper.
func (r *release) writeNPMWrapper(_ *parts, file string) error {
	m := r.manifestOf(Target{}, "A small statically typed language that orchestrates AI agents")
	m.Bin, m.Optional = map[string]string{}, map[string]string{}
	byPlatform, names := map[string]string{}, []string{}
	for _, t := range Targets {
		m.Optional[npmName(t)] = r.version
		byPlatform[t.NodeOS+"-"+t.NodeArch] = npmName(t)
		names = append(names, "`"+npmName(t)+"`")
	}
	packages, err := json.MarshalIndent(byPlatform, "", "  ")
	if err != nil {
		return err
	}
	entries := []entry{r.licence,
		{name: "lib/run.js", data: fill("run.js", "PACKAGES", string(packages), "VERSION", r.version)},
		{name: "README.md", data: fill("npm-wrapper.md", "PACKAGES", strings.Join(names, ",\n"))}}
	for _, p := range Programs {
		m.Bin[p] = "bin/" + p + ".js"
		text := fmt.Sprintf("#!/usr/bin/env node\n\"use strict\";\nrequire(\"../lib/run.js\")(%q);\n", p)
		entries = append(entries, entry{name: m.Bin[p], executable: true, data: []byte(text)})
	}
	return r.writeNPM(file, m, entries)
}

// writeNPM writes an npm package. As in those of npm itself, directories have no entries.
func (r *release) writeNPM(file string, m manifest, entries []entry) error {
	var text strings.Builder
	if err := writeJSON(&text, m); err != nil {
		return err
	}
	entries = append(entries, entry{name: "package.json", data: []byte(text.String())})
	return writeTar(file, below("package", entries), r.modified, false)
}
