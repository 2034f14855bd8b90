package manifest

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Dependency is an entry of [dependencies]: a package that the project requires. Name is the name
// of the package's root module.
type Dependency struct {
	Name                   string
	Git, Dir, Tag, Version string // Version is the Tag without the directory
	Commit, Path           string // Path is relative to the manifest, with slashes
	At                     Places
}

// dependencyKeys contains the keys of an entry of [dependencies].
var dependencyKeys = []Key{
	{Path: "dependencies.*.git", Type: String, nonempty: true, holds: anything, Example: `"https://example.com/ada/text"`, Doc: "The address of the package's repository: `https://…`, `ssh://…` or `USER@HOST:PATH`.",
		set: func(t *target, v *setting) { t.dependency.Git = v.text }},
	{Path: "dependencies.*.dir", Type: String, nonempty: true, Example: `"plan"`, Doc: "The directory of the package in the repository; by default the top directory. The tags of the package begin with it.",
		set: func(t *target, v *setting) { t.dependency.Dir = v.text }},
	{Path: "dependencies.*.tag", Type: String, nonempty: true, Example: `"v1.2.0"`, Doc: "The lowest version that is required, as the tag of the repository: `vN.N.N`, or `vN.N.N-PRERELEASE`.",
		set: func(t *target, v *setting) { t.dependency.Tag = v.text }},
	{Path: "dependencies.*.commit", Type: String, nonempty: true, holds: anything, Example: `"3f786850e387550fdab836ed7e6dc881de23001b"`, Doc: "The commit that replaces every version of the package, instead of `tag`.",
		set: func(t *target, v *setting) { t.dependency.Commit = v.text }},
	{Path: "dependencies.*.path", Type: String, nonempty: true, Example: `"../mine"`, Doc: "The directory of the package, relative to the manifest. Next to `git` and `tag` it replaces every version of the package.",
		set: func(t *target, v *setting) { t.dependency.Path = v.text }},
}

const dependencyHint = "write `%s = { git = \"https://example.com/ada/text\", tag = \"v1.2.0\" }`, or `{ path = \"../mine\" }`"

// dependency reads an entry of [dependencies].
func (r *reader) dependency(n *node, v any) {
	d := &Dependency{Name: n.name}
	shown := "dependencies." + n.name
	before := r.list.Errors()
	if branch := n.child("branch"); branch != nil {
		r.add(diag.ManifestValue.At(branch.key, "a branch is not a version; use a commit").Hint("write `commit = \"…\"` with the id of a commit, or `tag` with a version"))
		return
	}
	d.At = r.section("dependencies.*", n, v, &target{dependency: d}, shown)
	if r.list.Errors() == before && r.checkDependency(d, n) {
		r.m.Dependencies = append(r.m.Dependencies, d)
	}
}

// checkDependency reports keys of a dependency that are missing, invalid or exclude each other.
func (r *reader) checkDependency(d *Dependency, n *node) bool {
	refuse := func(i *diag.Info, at source.Span, format string, args ...any) *diag.Diagnostic {
		x := i.At(at, format, args...)
		r.add(x)
		return x
	}
	of := func(key string) source.Span { return d.At[key].Value }
	switch {
	case d.Git == "" && d.Path == "":
		refuse(diag.ManifestMissing, n.key, "dependency `%s` has neither `git` nor `path`", d.Name).Hint(dependencyHint, d.Name)
		return false
	case d.Git != "" && d.Tag == "" && d.Commit == "":
		refuse(diag.ManifestMissing, n.key, "dependency `%s` has neither `tag` nor `commit`", d.Name).
			Hint("add `tag = \"v1.2.0\"`, or run `concerto add %s`, which finds the highest release", d.Git)
		return false
	case d.Commit != "" && (d.Tag != "" || d.Path != ""):
		other := "tag"
		if d.Tag == "" {
			other = "path"
		}
		refuse(diag.ManifestConflict, d.At["commit"].Key, "dependency `%s` has both `commit` and `%s`", d.Name, other).
			Label(d.At[other].Key, "the other one").Hint("keep one of them")
		return false
	case d.Git == "" && (d.Tag != "" || d.Dir != "" || d.Commit != ""):
		for _, key := range []string{"tag", "dir", "commit"} {
			if at, found := d.At[key]; found {
				refuse(diag.ManifestConflict, at.Key, "dependency `%s` has `%s` without `git`", d.Name, key).Hint("add `git`, or remove `%s`", key)
				return false
			}
		}
	}
	if d.Git != "" {
		if _, err := pkg.ParseAddress(d.Git); errors.Is(err, pkg.ErrSecret) {
			refuse(diag.ManifestSecret, of("git"), "the address of dependency `%s` contains a secret", d.Name).
				Hint("store the password with git's credential helper, and remove it from the address")
			r.hideValue(n.child("git"), d.Git)
			return false
		} else if err != nil {
			refuse(diag.ManifestValue, of("git"), "%v", err).Hint("%s", pkg.AddressForms)
			return false
		}
	}
	if reason := pkg.CheckDir(d.Dir); reason != "" {
		refuse(diag.ManifestValue, of("dir"), "`dir` of dependency `%s` is not valid: %s", d.Name, reason).Hint("write the path of the package's directory in its repository, such as `dir = \"plan\"`")
		return false
	}
	if d.Tag != "" {
		version, ok := pkg.VersionOfTag(d.Tag, d.Dir)
		if !ok {
			x := refuse(diag.ManifestValue, of("tag"), "tag must be %s, not %q", pkg.TagOf("vN.N.N", d.Dir), d.Tag)
			if plain, isVersion := pkg.ParseVersion(d.Tag); isVersion {
				x.Repair(diag.Change(of("tag"), pkg.TagOf(plain.Text, d.Dir), pkg.QuoteTOML(pkg.TagOf(plain.Text, d.Dir)), false), "the tags of a package in a directory begin with the directory: `tag = %s`", pkg.QuoteTOML(pkg.TagOf(plain.Text, d.Dir)))
			} else {
				x.Hint("write the tag of a version, such as `tag = \"%s\"`; a branch is not a version; use a commit", pkg.TagOf("v1.2.0", d.Dir))
			}
			return false
		}
		d.Version = version.Text
	}
	if d.Commit != "" && !pkg.IsCommit(d.Commit) {
		refuse(diag.ManifestValue, of("commit"), "`commit` of dependency `%s` must be 40 or 64 hexadecimal digits", d.Name).
			Hint("a branch is not a version; use a commit: `git rev-parse HEAD` prints one")
		return false
	}
	if d.Path != "" && (path.IsAbs(d.Path) || strings.ContainsAny(d.Path, "\\:")) {
		refuse(diag.ManifestValue, of("path"), "`path` of dependency `%s` must be relative to the manifest, with `/`", d.Name).Hint("write, for example, `path = \"../mine\"`")
		return false
	}
	return true
}

// Requirement returns the dependency as a requirement. The caller resolves Path.
func (d *Dependency) Requirement() pkg.Requirement {
	q := pkg.Requirement{Key: d.Name, Dir: d.Dir, Commit: d.Commit, Path: d.Path}
	if d.Git != "" {
		q.Git, _ = pkg.ParseAddress(d.Git) // checkDependency has parsed it
	}
	q.Version, _ = pkg.ParseVersion(d.Version)
	return q
}

// checkDependencies reports two entries for one package.
func (r *reader) checkDependencies() {
	first := map[string]*Dependency{}
	for _, d := range r.m.Dependencies {
		q := d.Requirement()
		id := "path " + path.Clean(d.Path)
		if d.Git != "" {
			id = q.Git.Key + "#" + d.Dir + " v" + q.Version.Major()
		}
		if d.Commit != "" {
			id = q.Git.Key + "#" + d.Dir + " " + d.Commit
		}
		if f := first[id]; f != nil {
			r.add(diag.ManifestConflict.At(d.At[""].Key, "`%s` and `%s` are the same package", f.Name, d.Name).
				Label(f.At[""].Key, "the other one").Hint("remove one of them"))
			continue
		}
		first[id] = d
	}
}

// ParsePackage reads the manifest of a package: [project], [dependencies] and [permissions]. All
// other sections are ignored, because only a project can declare connections, hosts, servers, tools
// and limits. Findings about these sections are not reported; unknown sections are.
func ParsePackage(file *source.File) (*Manifest, diag.List) {
	r := &reader{file: file, m: &Manifest{File: file}, kinds: &manifestKinds}
	root, values, ok := r.toml()
	if r.read = ok; ok {
		kept := *root
		kept.children = nil
		for _, n := range root.children {
			if n.name == "project" || n.name == "dependencies" || n.name == "permissions" || !slices.Contains(namesIn(""), n.name) {
				kept.children = append(kept.children, n)
			}
		}
		r.manifest(&kept, values)
	}
	return r.m, r.finish()
}

// RefuseLocal reports dependencies that a package of a repository may not have: `path` and
// `commit`, and repositories on this machine unless its own is on this machine.
func (m *Manifest) RefuseLocal(isLocal bool) (l diag.List) {
	for _, d := range m.Dependencies {
		for _, key := range []string{"path", "commit"} {
			if at, found := d.At[key]; found {
				l.Add(diag.ManifestValue.At(at.Key, "`%s` is only allowed in the project and its packages by `path`", key).In(m.File).
					Hint("the package must require a version: `tag = \"v1.2.0\"`"))
			}
		}
		if q := d.Requirement(); q.Git.IsLocal && !isLocal {
			l.Add(diag.ManifestValue.At(d.At["git"].Value, "%q is only allowed in packages of this machine", d.Git).In(m.File).
				Hint("the package must require a repository at https:// or ssh://"))
		}
	}
	return l
}
