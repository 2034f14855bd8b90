package pkg

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Requirement is an entry of [dependencies]: a package by the tag of a version, by a commit, or by
// a path.
type Requirement struct {
	Key     string  // name of the package's root module
	Git     Address // zero for a path without a repository
	Dir     string  // directory of the package in its repository; "" for the top directory
	Version Version // zero for a commit, and for a path without a repository
	Commit  string
	Path    string // directory of the package, as a caller of Select identifies it; "" for a package of a repository
}

// ID identifies the repository and the directory of a package, of any version.
type ID struct{ Git, Dir string }

// ID returns the identity of the required package. It is zero for a path without a repository.
func (r *Requirement) ID() ID { return ID{r.Git.Key, r.Dir} }

// Ref is a package as it is fetched or read.
type Ref struct {
	Git     Address
	Dir     string
	Version string // CommitVersion for a commit, "" for a path
	Commit  string // commit that the project requires; "" for a version
	Path    string
	Key     string // name of the package in the first requirement that leads to it
}

// CommitVersion is the version of a package that is required by its commit.
const CommitVersion = "commit"

// String returns the name of the package in messages, such as `text v1.2.0`.
func (r *Ref) String() string { return packageName(r.Key, r.Version, r.Commit, r.Path) }

func packageName(key, version, commit, path string) string {
	switch {
	case path != "":
		return key
	case version == CommitVersion:
		return key + " " + commit[:min(12, len(commit))]
	}
	return key + " " + version
}

// same identifies a version of a package.
func (r *Ref) same() string {
	if r.Path != "" {
		return "path " + r.Path
	}
	return r.Git.Key + "#" + r.Dir + " " + r.Version + " " + r.Commit
}

// line identifies a package: all versions with one major are the same package.
func (r *Ref) line() string {
	if r.Path != "" || r.Version == CommitVersion {
		return r.same()
	}
	v, _ := ParseVersion(r.Version)
	return r.Git.Key + "#" + r.Dir + " v" + v.Major()
}

// replacements maps packages to the commits and local copies that the project uses instead of any
// version.
type replacements map[ID]Ref

// resolve returns the package to which a requirement leads.
func (all replacements) resolve(q *Requirement) Ref {
	if r, ok := all[q.ID()]; ok && q.Git.Key != "" {
		r.Key = q.Key
		return r
	}
	return refOf(q)
}

// refOf returns the package that a requirement names itself.
func refOf(q *Requirement) Ref {
	r := Ref{Git: q.Git, Dir: q.Dir, Version: q.Version.Text, Commit: q.Commit, Path: q.Path, Key: q.Key}
	if q.Path != "" {
		return Ref{Path: q.Path, Key: q.Key}
	}
	if q.Commit != "" {
		r.Version = CommitVersion
	}
	return r
}

// ConflictError means that packages by path require different commits of one package.
type ConflictError struct{ Message string }

func (e *ConflictError) Error() string { return e.Message }

// CircleError means that a package requires itself, directly or through others. Names begins and
// ends with the package.
type CircleError struct{ Names []string }

func (e *CircleError) Error() string {
	return "the packages require each other in a circle: " + strings.Join(e.Names, " → ")
}

// local is the project with its packages by path.
type local struct {
	root     []Requirement
	packages map[string][]Requirement // requirements of packages by path, by their paths
	replaced replacements
}

// readLocal reads the requirements of all packages by path, and collects the replacements.
func readLocal(root []Requirement, read func(path string) ([]Requirement, error)) (*local, error) {
	l := &local{root, map[string][]Requirement{}, replacements{}}
	owner := map[ID]string{}
	collect := func(by string, all []Requirement) error {
		for i := range all {
			q := &all[i]
			if q.Git.Key == "" || q.Commit == "" && q.Path == "" {
				continue
			}
			r := refOf(q)
			first, found := l.replaced[q.ID()]
			if found && first.same() != r.same() && owner[q.ID()] != "" {
				return &ConflictError{fmt.Sprintf("%s and %s require different copies of %s: require one in Concerto.toml", owner[q.ID()], by, q.Git.Text)}
			}
			if !found {
				l.replaced[q.ID()], owner[q.ID()] = r, by
			}
		}
		return nil
	}
	if err := collect("", root); err != nil {
		return nil, err
	}
	queue := slices.Clone(root)
	for len(queue) > 0 {
		q := queue[0]
		queue = queue[1:]
		if _, known := l.packages[q.Path]; q.Path == "" || known {
			continue
		}
		all, err := read(q.Path)
		if err != nil {
			return nil, err
		}
		l.packages[q.Path] = all
		if err := collect(q.Key, all); err != nil {
			return nil, err
		}
		queue = append(queue, all...)
	}
	return l, nil
}

// Select selects a version of each package by minimal version selection
// (https://research.swtch.com/vgo-mvs): the highest that a reached version requires. It returns the
// selected packages of repositories that are needed, sorted by address, directory and version.
// readPath returns the requirements of a package by path; read returns those of several packages of
// repositories, which may be fetched at once.
func Select(root []Requirement, readPath func(path string) ([]Requirement, error), read func(all []Ref) ([][]Requirement, error)) ([]Ref, error) {
	l, err := readLocal(root, readPath)
	if err != nil {
		return nil, err
	}
	s := &selection{l, map[string][]Requirement{}, map[string]Ref{}}
	wave := s.unread(root)
	for path := range maps.Keys(l.packages) {
		wave = append(wave, s.unread(l.packages[path])...)
	}
	for len(wave) > 0 {
		slices.SortFunc(wave, func(a, b Ref) int { return cmp.Or(strings.Compare(a.same(), b.same()), strings.Compare(a.Key, b.Key)) })
		wave = slices.CompactFunc(wave, func(a, b Ref) bool { return a.same() == b.same() })
		all, err := read(wave)
		if err != nil {
			return nil, err
		}
		var next []Ref
		for i, r := range wave {
			s.needs[r.same()] = all[i]
			next = append(next, s.unread(all[i])...)
		}
		wave = slices.DeleteFunc(next, func(r Ref) bool { _, known := s.needs[r.same()]; return known })
	}
	return s.needed(), nil
}

// selection is the state of Select.
type selection struct {
	*local
	needs   map[string][]Requirement // requirements of the reached versions, by Ref.same
	highest map[string]Ref           // highest reached version of each package, by Ref.line
}

// unread returns the packages of repositories to which requirements lead and that are not read.
func (s *selection) unread(all []Requirement) (out []Ref) {
	for i := range all {
		r := s.replaced.resolve(&all[i])
		if r.Path != "" {
			continue
		}
		if best, found := s.highest[r.line()]; !found || compareRefs(r, best) > 0 {
			s.highest[r.line()] = r
		}
		if _, known := s.needs[r.same()]; !known {
			out = append(out, r)
		}
	}
	return out
}

func compareRefs(a, b Ref) int {
	x, _ := ParseVersion(a.Version)
	y, _ := ParseVersion(b.Version)
	return x.Compare(y)
}

// needed returns the selected packages that the project needs. The address of a package is as the
// requirement nearest to the project writes it.
func (s *selection) needed() []Ref {
	var out []Ref
	seen := map[string]bool{}
	queue := [][]Requirement{s.root}
	for len(queue) > 0 {
		all := slices.Clone(queue[0])
		queue = queue[1:]
		slices.SortFunc(all, func(a, b Requirement) int { return strings.Compare(a.Key, b.Key) })
		for i := range all {
			r := s.replaced.resolve(&all[i])
			if r.Path != "" {
				if !seen[r.same()] {
					seen[r.same()] = true
					queue = append(queue, s.packages[r.Path])
				}
				continue
			}
			if seen[r.line()] {
				continue
			}
			seen[r.line()] = true
			best := s.highest[r.line()]
			best.Key = all[i].Key
			best.Git = all[i].Git
			out = append(out, best)
			queue = append(queue, s.needs[best.same()])
		}
	}
	slices.SortFunc(out, func(a, b Ref) int {
		return cmp.Or(strings.Compare(a.Git.Text, b.Git.Text), strings.Compare(a.Dir, b.Dir), strings.Compare(a.Version, b.Version))
	})
	return out
}
