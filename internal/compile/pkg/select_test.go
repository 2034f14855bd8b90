package pkg

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	gocmp "github.com/google/go-cmp/cmp"
)

// world is a set of repositories: the requirements of each version of each package.
type world struct {
	root     []Requirement
	packages map[string][]Requirement // by "address version"
}

func (w *world) read(all []Ref) ([][]Requirement, error) {
	out := make([][]Requirement, len(all))
	for i, r := range all {
		needs, found := w.packages[r.Git.Text+" "+r.Version]
		if !found {
			return nil, fmt.Errorf("%s %s does not exist", r.Git.Text, r.Version)
		}
		out[i] = needs
	}
	return out, nil
}

func noPath(path string) ([]Requirement, error) { return nil, errors.New("no package at " + path) }

func requirement(t testing.TB, key, address, version string) Requirement {
	t.Helper()
	a, err := ParseAddress(address)
	v, ok := ParseVersion(version)
	if err != nil || !ok {
		t.Fatalf("requirement %s %s: %v", address, version, err)
	}
	return Requirement{Key: key, Git: a, Version: v}
}

// randomWorld returns packages that only require packages with a higher number, so that there is no
// circle.
func randomWorld(t testing.TB, r *rand.Rand) *world {
	w := &world{packages: map[string][]Requirement{}}
	n := 2 + r.IntN(7)
	versions := make([][]string, n)
	for i := range n {
		for range 1 + r.IntN(4) {
			v := fmt.Sprintf("v%d.%d.%d", r.IntN(2), r.IntN(3), r.IntN(12))
			if r.IntN(6) == 0 {
				v += fmt.Sprintf("-rc.%d", r.IntN(12))
			}
			if !slices.Contains(versions[i], v) {
				versions[i] = append(versions[i], v)
			}
		}
	}
	some := func(from int) (out []Requirement) {
		for i := from; i < n; i++ {
			if r.IntN(3) > 0 {
				continue
			}
			address := fmt.Sprintf("https://example.com/p%d", i)
			if r.IntN(4) == 0 {
				address = fmt.Sprintf("https://Example.com:443/p%d.git/", i)
			}
			out = append(out, requirement(t, fmt.Sprintf("p%d", i), address, versions[i][r.IntN(len(versions[i]))]))
		}
		r.Shuffle(len(out), func(a, b int) { out[a], out[b] = out[b], out[a] })
		return out
	}
	for len(w.root) == 0 {
		w.root = some(0)
	}
	for i := range n {
		for _, v := range versions[i] {
			needs := some(i + 1)
			for _, form := range []string{"https://example.com/p%d", "https://Example.com:443/p%d.git/"} {
				w.packages[fmt.Sprintf(form, i)+" "+v] = needs
			}
		}
	}
	return w
}

// plainSelect is a second implementation of the selection, written from the definition: repeat
// until nothing changes.
func plainSelect(w *world) (out []string) {
	name := func(q Requirement) string {
		text := strings.TrimSuffix(strings.TrimRight(strings.ToLower(q.Git.Text), "/"), ".git")
		return strings.Replace(text, ":443", "", 1)
	}
	number := func(v string) int {
		var a, b, c, rc int
		if k, _ := fmt.Sscanf(v, "v%d.%d.%d-rc.%d", &a, &b, &c, &rc); k == 4 {
			return ((a*1000+b)*1000+c)*100 + rc
		}
		return ((a*1000+b)*1000+c)*100 + 99
	}
	id := func(q Requirement) string { return name(q) + " " + q.Version.Text[:2] }
	reached, highest := map[string]Requirement{}, map[string]Requirement{}
	queue := slices.Clone(w.root)
	for len(queue) > 0 {
		q := queue[0]
		queue = queue[1:]
		if old, found := highest[id(q)]; !found || number(q.Version.Text) > number(old.Version.Text) {
			highest[id(q)] = q
		}
		if key := name(q) + " " + q.Version.Text; reached[key].Key == "" {
			reached[key] = q
			queue = append(queue, w.packages[q.Git.Text+" "+q.Version.Text]...)
		}
	}
	type step struct {
		needs []Requirement
	}
	seen := map[string]bool{}
	for queue := []step{{w.root}}; len(queue) > 0; queue = queue[1:] {
		needs := slices.Clone(queue[0].needs)
		slices.SortFunc(needs, func(a, b Requirement) int { return cmp.Compare(a.Key, b.Key) })
		for _, q := range needs {
			if seen[id(q)] {
				continue
			}
			seen[id(q)] = true
			v := highest[id(q)].Version.Text
			out = append(out, q.Git.Text+" "+v)
			queue = append(queue, step{w.packages[q.Git.Text+" "+v]})
		}
	}
	slices.Sort(out)
	return out
}

// lockOf returns the lock file of selected packages.
func lockOf(w *world, refs []Ref) *Lock {
	l := &Lock{}
	for _, r := range refs {
		l.Packages = append(l.Packages, NewLocked(r, strings.Repeat("0", 40), "h1:x", w.packages[r.Git.Text+" "+r.Version], nil))
	}
	return l
}

// TestSelection compares the selection with a second implementation, for random graphs. The lock
// file must not depend on the order of requirements, must be read again as written, and must be in
// line with the manifest.
func TestSelection(t *testing.T) {
	graphs := 10000
	if testing.Short() || os.Getenv("CONCERTO_RACE_ALL") != "" {
		graphs = 500
	}
	r := rand.New(rand.NewPCG(1, 2))
	for g := range graphs {
		w := randomWorld(t, r)
		refs, err := Select(w.root, noPath, w.read)
		if err != nil {
			t.Fatalf("graph %d: %v", g, err)
		}
		var got []string
		for _, x := range refs {
			got = append(got, x.Git.Text+" "+x.Version)
		}
		slices.Sort(got)
		if want := plainSelect(w); !slices.Equal(got, want) {
			t.Fatalf("graph %d: selected\n%v\nwant\n%v\nroot %v", g, got, want, w.root)
		}
		lock := lockOf(w, refs)
		text := lock.Encode()
		r.Shuffle(len(w.root), func(a, b int) { w.root[a], w.root[b] = w.root[b], w.root[a] })
		again, err := Select(w.root, noPath, w.read)
		if err != nil || string(lockOf(w, again).Encode()) != string(text) {
			t.Fatalf("graph %d: the lock file depends on the order of the requirements: %v", g, err)
		}
		read, err := ParseLock(text)
		if err != nil {
			t.Fatalf("graph %d: %v\n%s", g, err, text)
		}
		if string(read.Encode()) != string(text) {
			t.Fatalf("graph %d: the lock file changes when it is written again", g)
		}
		built, err := read.Build(w.root, "", noPath)
		if err != nil || len(built.All) != len(refs) {
			t.Fatalf("graph %d: the lock file is not in line with the manifest: %v\n%s", g, err, text)
		}
		checkOutOfLine(t, g, w, read, r)
		if g%5 == 0 {
			checkUpdate(t, g, w, r)
		}
	}
}

// checkUpdate raises a requirement of the project to the highest release of its major, and compares
// the selection again.
func checkUpdate(t *testing.T, g int, w *world, r *rand.Rand) {
	i := r.IntN(len(w.root))
	q := &w.root[i]
	for key := range w.packages {
		address, version, _ := strings.Cut(key, " ")
		v, _ := ParseVersion(version)
		if address == q.Git.Text && !v.IsPrerelease() && v.Major() == q.Version.Major() && v.Compare(q.Version) > 0 {
			q.Version = v
		}
	}
	refs, err := Select(w.root, noPath, w.read)
	if err != nil {
		t.Fatalf("graph %d: after an update of %s: %v", g, q.Key, err)
	}
	var got []string
	for _, x := range refs {
		got = append(got, x.Git.Text+" "+x.Version)
	}
	slices.Sort(got)
	if want := plainSelect(w); !slices.Equal(got, want) {
		t.Fatalf("graph %d: after an update of %s: selected\n%v\nwant\n%v", g, q.Key, got, want)
	}
}

// checkOutOfLine changes a lock file or the requirements, and checks that the difference is found.
func checkOutOfLine(t *testing.T, g int, w *world, l *Lock, r *rand.Rand) {
	var line *OutOfLineError
	missing := &Lock{Packages: slices.Delete(slices.Clone(l.Packages), 0, 1)}
	if _, err := missing.Build(w.root, "", noPath); !errors.As(err, &line) {
		t.Fatalf("graph %d: a lock file without %s is accepted: %v", g, l.Packages[0].Git, err)
	}
	more := &Lock{Packages: append(slices.Clone(l.Packages), NewLocked(refOf(new(requirement(t, "other", "https://example.com/other", "v1.0.0"))), strings.Repeat("0", 40), "h1:x", nil, nil))}
	if _, err := more.Build(w.root, "", noPath); !errors.As(err, &line) {
		t.Fatalf("graph %d: a lock file with a package that no package requires is accepted: %v", g, err)
	}
	raised := slices.Clone(w.root)
	i := r.IntN(len(raised))
	raised[i].Version, _ = ParseVersion(raised[i].Version.Text[:2] + ".99.0")
	if _, err := l.Build(raised, "", noPath); !errors.As(err, &line) || !strings.Contains(line.Message, "requires "+raised[i].Key+" "+raised[i].Version.Text+", but concerto.lock has ") {
		t.Fatalf("graph %d: a lower version in the lock file is accepted, or the error does not name it: %v", g, err)
	}
}

// TestReplacements checks that a commit and a local copy replace all versions of a package.
func TestReplacements(t *testing.T) {
	old := requirement(t, "old", "https://example.com/old", "v1.0.0")
	commit := strings.Repeat("ab", 20)
	w := &world{packages: map[string][]Requirement{
		"https://example.com/user v1.0.0":  {requirement(t, "old2", "https://example.com/old.git", "v2.0.0"), requirement(t, "mine", "https://example.com/mine", "v1.5.0")},
		"https://example.com/old commit":   {requirement(t, "deep", "https://example.com/deep", "v0.1.0")},
		"https://example.com/deep v0.1.0":  nil,
		"https://example.com/below v3.0.0": nil,
	}}
	pinned, local := old, requirement(t, "mine", "https://example.com/mine", "v1.0.0")
	pinned.Version, pinned.Commit = Version{}, commit
	local.Path = "/mine"
	root := []Requirement{requirement(t, "user", "https://example.com/user", "v1.0.0"), pinned, local}
	byPath := func(path string) ([]Requirement, error) {
		return []Requirement{requirement(t, "below", "https://example.com/below", "v3.0.0")}, nil
	}
	refs, err := Select(root, byPath, w.read)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range refs {
		got = append(got, r.Git.Text+" "+r.Version+" "+r.Commit)
	}
	want := []string{"https://example.com/below v3.0.0 ", "https://example.com/deep v0.1.0 ", "https://example.com/old commit " + commit, "https://example.com/user v1.0.0 "}
	if !slices.Equal(got, want) {
		t.Fatalf("selected %q, want %q", got, want)
	}
	lock := &Lock{}
	for _, r := range refs {
		lock.Packages = append(lock.Packages, NewLocked(r, commit, "h1:x", w.packages[r.Git.Text+" "+r.Version], nil))
	}
	graph, err := lock.Build(root, "/project", byPath)
	if err != nil {
		t.Fatal(err)
	}
	user := graph.Deps["user"]
	if user.Deps["old2"] != graph.Deps["old"] || user.Deps["mine"] != graph.Deps["mine"] || graph.Deps["mine"].Path != "/mine" {
		t.Error("a package of a repository does not receive the replacements of the project")
	}
	other := pinned
	other.Commit = strings.Repeat("cd", 20)
	if _, err := lock.Build([]Requirement{root[0], other, local}, "/project", byPath); err == nil {
		t.Error("another commit than that of the lock file is accepted")
	}
}

// TestCircles checks that circles are reported with their packages.
func TestCircles(t *testing.T) {
	w := &world{packages: map[string][]Requirement{
		"https://example.com/a v1.0.0": {requirement(t, "b", "https://example.com/b", "v1.0.0")},
		"https://example.com/b v1.0.0": {requirement(t, "a", "https://example.com/a", "v1.0.0")},
	}}
	w.root = w.packages["https://example.com/b v1.0.0"]
	refs, err := Select(w.root, noPath, w.read)
	if err != nil {
		t.Fatal(err)
	}
	var circle *CircleError
	if _, err := lockOf(w, refs).Build(w.root, "", noPath); !errors.As(err, &circle) || !slices.Equal(circle.Names, []string{"a v1.0.0", "b v1.0.0", "a v1.0.0"}) {
		t.Errorf("a circle: %v", err)
	}
	self := []Requirement{{Key: "me", Path: "/project"}}
	if _, err := new(Lock).Build(self, "/project", func(string) ([]Requirement, error) { return self, nil }); !errors.As(err, &circle) {
		t.Errorf("a project that requires itself: %v", err)
	}
}

// TestNames checks that packages with equal keys and versions have different names.
func TestNames(t *testing.T) {
	w := &world{packages: map[string][]Requirement{
		"https://example.com/a v1.0.0":      {requirement(t, "text", "https://one.example/text", "v1.0.0")},
		"https://example.com/b v1.0.0":      {requirement(t, "text", "https://two.example/text", "v1.0.0")},
		"https://one.example/text v1.0.0":   nil,
		"https://two.example/text v1.0.0":   nil,
		"https://three.example/text v1.0.0": nil,
	}}
	w.root = []Requirement{requirement(t, "a", "https://example.com/a", "v1.0.0"), requirement(t, "b", "https://example.com/b", "v1.0.0")}
	refs, err := Select(w.root, noPath, w.read)
	if err != nil {
		t.Fatal(err)
	}
	g, err := lockOf(w, refs).Build(w.root, "", noPath)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range g.All {
		names = append(names, p.Name())
	}
	want := []string{"a v1.0.0", "b v1.0.0", "text v1.0.0", "text v1.0.0 of https://two.example/text"}
	if d := gocmp.Diff(want, names, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}
