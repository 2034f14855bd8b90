package pkg

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Package is a package in the graph of a project.
type Package struct {
	Key    string  // name in the requirement nearest to the project
	Locked *Locked // nil for a package by path
	Path   string  // directory of a package by path
	Deps   map[string]*Package
	By     []RequiredBy // all requirements of the package, in the order of the graph

	suffix string // distinguishes packages with equal keys and versions
}

// RequiredBy is a requirement of a package. By is nil for the project.
type RequiredBy struct {
	By      *Package
	Version string // "" for a path
}

// Name returns the name of the package in messages, such as `text v1.2.0`.
func (p *Package) Name() string {
	if p.Locked == nil {
		return p.Key + p.suffix
	}
	return packageName(p.Key, p.Locked.Version, p.Locked.Commit, "") + p.suffix
}

// distinguish makes the names of all packages different.
func (g *Graph) distinguish() {
	byName := map[string][]*Package{}
	for _, p := range g.All {
		byName[p.Name()] = append(byName[p.Name()], p)
	}
	for _, all := range byName {
		for i, p := range all[1:] {
			if p.suffix = fmt.Sprintf(" (%d)", i+2); p.Locked != nil {
				p.suffix = " of " + JoinDir(p.Locked.Git, p.Locked.Dir)
			}
		}
	}
}

// Graph is the graph of a project's packages.
type Graph struct {
	Deps map[string]*Package // packages that the project requires, by their keys
	All  []*Package          // all packages; the nearest to the project first, then by key
}

// Repositories returns the packages of repositories, in the order of All.
func (g *Graph) Repositories() []*Package {
	return slices.DeleteFunc(slices.Clone(g.All), func(p *Package) bool { return p.Locked == nil })
}

// Sorted returns the packages with each package after those that it requires.
func (g *Graph) Sorted() []*Package {
	var out []*Package
	done := map[*Package]bool{}
	var visit func(p *Package)
	visit = func(p *Package) {
		if done[p] {
			return
		}
		done[p] = true
		for _, key := range slices.Sorted(maps.Keys(p.Deps)) {
			visit(p.Deps[key])
		}
		out = append(out, p)
	}
	for _, p := range g.All {
		visit(p)
	}
	return out
}

// OutOfLineError means that the manifest and the lock file do not match.
type OutOfLineError struct{ Message string }

func (e *OutOfLineError) Error() string { return e.Message }

// Build returns the graph of a project with the locked versions. rootPath identifies the project
// among the paths of packages. The error is an *OutOfLineError, a *CircleError, a *ConflictError or
// an error of readPath.
func (l *Lock) Build(root []Requirement, rootPath string, readPath func(path string) ([]Requirement, error)) (*Graph, error) {
	here, err := readLocal(root, readPath)
	if err != nil {
		return nil, err
	}
	b := &builder{local: here, locked: map[string]*Locked{}, packages: map[string]*Package{}, highest: map[*Package]Version{}, lower: map[*Package]bool{}, rootPath: rootPath}
	for _, p := range l.Packages {
		r := p.Ref("")
		b.locked[r.line()] = p
	}
	g := &Graph{}
	if g.Deps, err = b.resolve(nil, root); err != nil {
		return nil, err
	}
	for i := 0; i < len(b.all); i++ {
		p := b.all[i]
		needs := here.packages[p.Path]
		if p.Locked != nil {
			needs = p.Locked.Requirements()
		}
		if p.Deps, err = b.resolve(p, needs); err != nil {
			return nil, err
		}
	}
	g.All = b.all
	g.distinguish()
	if err := b.checkLock(l); err != nil {
		return nil, err
	}
	return g, g.findCircle()
}

// builder is the state of Build.
type builder struct {
	*local
	locked   map[string]*Locked  // by Ref.line
	packages map[string]*Package // by Ref.line
	all      []*Package
	highest  map[*Package]Version // highest version that a package of the graph requires
	lower    map[*Package]bool    // a lower version than the locked one is required
	rootPath string
}

// resolve returns the packages to which the requirements of by lead.
func (b *builder) resolve(by *Package, all []Requirement) (map[string]*Package, error) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(x, y Requirement) int { return strings.Compare(x.Key, y.Key) })
	out := make(map[string]*Package, len(all))
	for i := range all {
		q := &all[i]
		r := b.replaced.resolve(q)
		if r.Path != "" && r.Path == b.rootPath {
			return nil, &CircleError{[]string{"the project", q.Key, "the project"}}
		}
		p := b.packages[r.line()]
		if p == nil {
			p = &Package{Key: q.Key, Path: r.Path}
			if r.Path == "" {
				if p.Locked = b.locked[r.line()]; p.Locked == nil {
					return nil, b.missing(by, &r)
				}
			}
			b.packages[r.line()] = p
			b.all = append(b.all, p)
		}
		version := r.Version
		if p.Locked != nil && version != CommitVersion {
			want, _ := ParseVersion(version)
			have, _ := ParseVersion(p.Locked.Version)
			switch {
			case want.Compare(have) > 0:
				return nil, &OutOfLineError{fmt.Sprintf("%s requires %s, but %s has %s", requirer(by), r.String(), LockFile, p.Locked.Version)}
			case want.Compare(have) < 0:
				b.lower[p] = true
			}
			if best, found := b.highest[p]; !found || want.Compare(best) > 0 {
				b.highest[p] = want
			}
		}
		p.By = append(p.By, RequiredBy{by, version})
		out[q.Key] = p
	}
	return out, nil
}

// missing returns the error for a package that the lock file does not contain.
func (b *builder) missing(by *Package, r *Ref) error {
	for _, p := range b.locked {
		if p.ID() == (ID{r.Git.Key, r.Dir}) {
			return &OutOfLineError{fmt.Sprintf("%s requires %s, but %s has %s", requirer(by), r.String(), LockFile, shownVersion(p))}
		}
	}
	return &OutOfLineError{fmt.Sprintf("%s requires %s, but %s does not contain it", requirer(by), r.String(), LockFile)}
}

func shownVersion(p *Locked) string {
	if p.Version == CommitVersion {
		return "the commit " + p.Commit[:12]
	}
	return p.Version
}

func requirer(by *Package) string {
	if by == nil {
		return "Concerto.toml"
	}
	return by.Name()
}

// checkLock reports packages in the lock file that no package requires, or not in this version. The
// manifests of versions that were not selected may require a version too. The lock file does not
// contain them, so a higher version is accepted if there can be one.
func (b *builder) checkLock(l *Lock) error {
	used := map[*Locked]*Package{}
	for _, p := range b.all {
		if p.Locked != nil {
			used[p.Locked] = p
		}
	}
	for _, locked := range l.Packages {
		p := used[locked]
		if p == nil {
			return &OutOfLineError{fmt.Sprintf("%s contains %s %s, which no package requires", LockFile, JoinDir(locked.Git, locked.Dir), shownVersion(locked))}
		}
		if locked.Version == CommitVersion {
			continue
		}
		have, _ := ParseVersion(locked.Version)
		if b.highest[p].Compare(have) == 0 || len(b.lower) > 1 || len(b.lower) == 1 && !b.lower[p] {
			continue
		}
		return &OutOfLineError{fmt.Sprintf("%s requires %s %s, but %s has %s", requirer(p.By[0].By), p.Key, b.highest[p].Text, LockFile, locked.Version)}
	}
	return nil
}

// findCircle returns a *CircleError if a package requires itself.
func (g *Graph) findCircle() error {
	const (
		unseen = iota
		open
		done
	)
	state := map[*Package]int{}
	var way []*Package
	var visit func(p *Package) error
	visit = func(p *Package) error {
		way = append(way, p)
		state[p] = open
		for _, key := range slices.Sorted(maps.Keys(p.Deps)) {
			d := p.Deps[key]
			switch state[d] {
			case open:
				var names []string
				for _, q := range append(way[slices.Index(way, d):], d) {
					names = append(names, q.Name())
				}
				return &CircleError{names}
			case unseen:
				if err := visit(d); err != nil {
					return err
				}
			}
		}
		state[p], way = done, way[:len(way)-1]
		return nil
	}
	for _, p := range g.All {
		if state[p] == unseen {
			if err := visit(p); err != nil {
				return err
			}
		}
	}
	return nil
}
