package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestPackagesKilled kills `add`, `update`, `vendor`, `remove` and a run with a cold cache at their
// calls of git. Afterwards the manifest and the lock file match, the cache contains no partial
// package, and the same command succeeds. CONCERTO_PACKAGE_KILLS sets the number of rounds.
func TestPackagesKilled(t *testing.T) {
	r, rounds := newKilledRepository(t, "CONCERTO_PACKAGE_KILLS", 3)
	text, fmt2 := filepath.Join(t.TempDir(), "text"), filepath.Join(t.TempDir(), "fmt2")
	publishPackage(r, fmt2, "", "v1.0.0")
	publishPackage(r, text, "[dependencies]\nfmt2 = { git = \"file://"+fmt2+"\", tag = \"v1.0.0\" }\n", "v1.0.0", "v1.1.0")
	r.write("main.conc", "fn main() { println(text::f()); }\n")
	cache := filepath.Join(t.TempDir(), "cache")
	r.environ = append(r.environ, "CONCERTO_CACHE="+cache)
	const empty = "[project]\nname = \"p\"\n"
	for round := range rounds {
		r.write("Concerto.toml", empty)
		for _, path := range []string{filepath.Join(r.dir, "concerto.lock"), filepath.Join(r.dir, "vendor"), cache} {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{{"add", "file://" + text + "@v1.0.0"}, {"update", "text"}, {"vendor"}, {"remove", "text"}, {"add", "file://" + text}} {
			r.kill(args...)
			checkPackages(r, round, args)
			if out, err := r.command(args...).CombinedOutput(); err != nil && !strings.Contains(string(out), "has no entry `text`") { // it was removed before the kill
				t.Fatalf("round %d: %v after a kill: %v\n%s", round, args, err, out)
			}
			checkPackages(r, round, args)
		}
		for _, path := range []string{filepath.Join(r.dir, "vendor"), cache} {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		r.kill("run")
		if out, err := r.command("run").Output(); err != nil || string(out) != "1\n" {
			t.Fatalf("round %d: a run with a cold cache after a kill: %v\n%s", round, err, out)
		}
		checkPackages(r, round, []string{"run"})
	}
}

// publishPackage creates a repository with a package and its versions.
func publishPackage(r *killedRepository, dir, deps string, tags ...string) {
	r.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	script := "git init -q -b main . && printf '%s' \"$1\" > Concerto.toml && echo 'pub fn f() -> Int { 1 }' > lib.conc && git add -A && shift && for tag; do echo \"// $tag\" >> lib.conc; git commit -qam $tag; git tag $tag; done"
	c := exec.Command("sh", append([]string{"-ec", script, "sh", "[project]\nname = \"" + filepath.Base(dir) + "\"\n" + deps}, tags...)...)
	c.Dir, c.Env = dir, r.environ
	if out, err := c.CombinedOutput(); err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
}

// checkPackages fails the test if the manifest and the lock file do not match, or a package in the
// cache differs from its hash.
func checkPackages(r *killedRepository, round int, args []string) {
	r.t.Helper()
	manifest, err := os.ReadFile(filepath.Join(r.dir, "Concerto.toml"))
	if err != nil {
		r.t.Fatal(err)
	}
	if strings.Contains(string(manifest), "text = ") {
		if out, err := r.command("check", "-q").CombinedOutput(); err != nil {
			r.t.Fatalf("round %d: after %v: %v\n%s\n%s", round, args, err, out, manifest)
		}
	}
	if out, err := r.command("verify").CombinedOutput(); err != nil && !strings.Contains(string(out), "is not in the cache") {
		r.t.Fatalf("round %d: after %v: %v\n%s", round, args, err, out)
	}
}

// TestPackagesAtOnce runs commands of one project at the same time. All succeed, and the files are
// those of one of them.
func TestPackagesAtOnce(t *testing.T) {
	r, _ := newKilledRepository(t, "CONCERTO_PACKAGE_KILLS", 1)
	text := filepath.Join(t.TempDir(), "text")
	publishPackage(r, text, "", "v1.0.0")
	r.write("Concerto.toml", "[project]\nname = \"p\"\n")
	r.write("main.conc", "fn main() { println(text::f()); }\n")
	r.environ = append(r.environ, "CONCERTO_CACHE="+filepath.Join(t.TempDir(), "cache"))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if out, err := r.command("add", "file://"+text).CombinedOutput(); err != nil {
				t.Errorf("command %d: %v\n%s", i, err, out)
			}
		})
	}
	wg.Wait()
	if out, err := r.command("run").CombinedOutput(); err != nil || string(out) != "1\n" {
		t.Errorf("afterwards: %v\n%s", err, out)
	}
	locks, err := filepath.Glob(filepath.Join(r.dir, ".concerto-*"))
	if left := fmt.Sprint(locks); err != nil || len(locks) > 0 {
		t.Errorf("temporary files remain: %s", left)
	}
}
