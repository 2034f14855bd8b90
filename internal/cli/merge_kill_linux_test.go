package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMergeKilled kills `merge submit`, `merge run` and `work merge` at their calls of git. Every
// value of the branch must pass, each change must land once, or have failed with a reason, and the
// user's checkout must be unchanged. CONCERTO_MERGE_KILLS sets the number of rounds.
func TestMergeKilled(t *testing.T) {
	r, rounds := newKilledRepository(t, "CONCERTO_MERGE_KILLS", 2)
	m := &mergeKiller{killedRepository: r, want: map[string]string{}}
	m.write("Concerto.toml", "[project]\nname = \"p\"\nentry = \"main.conc\"\n[workspace]\ngate = [[\"sh\", \"gate.sh\"]]\n[merge.main]\nbatch = 4\n")
	m.write("gate.sh", "for f in bad*; do test ! -e $f || exit 1; done\necho tested > cache.o\n")
	m.write(".gitignore", "*.o\n")
	m.write("shared", "base\n")
	m.commit()
	m.git("checkout", "-q", "-b", "work")
	m.write("shared", "dirty\n")
	m.write("new", "new\n")
	m.checkCheckout()
	for round := range rounds {
		m.round(round)
		m.checkCheckout()
	}
	m.command("work", "clean").Run()
	if left := m.git("worktree", "list", "--porcelain"); strings.Contains(left, "gates") {
		t.Errorf("worktrees that remain: %s", left)
	}
}

// mergeKiller kills commands for merges in a repository.
type mergeKiller struct {
	*killedRepository
	want map[string]string // final states of changes
}

// repeat kills a command, and runs it again.
func (m *mergeKiller) repeat(args ...string) {
	m.t.Helper()
	m.kill(args...)
	again := m.command(args...)
	out, err := again.CombinedOutput()
	if code := again.ProcessState.ExitCode(); code != 0 && !(code == 1 && args[1] == "run") { // changes have failed
		m.t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// change makes a branch with a file, which begins at main.
func (m *mergeKiller) change(id, file, text string) {
	m.t.Helper()
	c := exec.Command("git", "-C", m.dir, "hash-object", "-w", "--stdin")
	c.Env, c.Stdin = m.environ, strings.NewReader(text)
	blob, err := c.Output()
	if err != nil {
		m.t.Fatal(err)
	}
	index := exec.Command("sh", "-c", "git read-tree main && git update-index --add --cacheinfo 100644,"+strings.TrimSpace(string(blob))+","+file+" && git write-tree")
	index.Dir, index.Env = m.dir, append(m.environ, "GIT_INDEX_FILE="+filepath.Join(m.dir, ".git", "other-index"))
	tree, err := index.Output()
	if err != nil {
		m.t.Fatal(err)
	}
	m.git("update-ref", "refs/heads/"+id, m.git("commit-tree", "-p", "main", "-m", "Change "+id, strings.TrimSpace(string(tree))))
}

// round submits changes, merges them and checks the branch.
func (m *mergeKiller) round(round int) {
	m.t.Helper()
	id := func(kind string) string { return fmt.Sprintf("%s-%d", kind, round) }
	m.change(id("good"), id("good"), "x\n")
	m.change(id("bad"), id("bad"), "x\n")
	m.change(id("first"), "shared", id("first")+"\n")
	m.change(id("second"), "shared", id("second")+"\n")
	for kind, state := range map[string]string{"good": "merged", "bad": "red", "first": "merged", "second": "conflict"} {
		m.want[id(kind)] = state
	}
	for _, kind := range []string{"good", "bad", "first", "second"} {
		m.repeat("merge", "submit", "main", id(kind))
	}
	m.repeat("merge", "run", "main")
	listed, err := m.command("merge", "list", "main").Output()
	if err != nil {
		m.t.Fatal(err)
	}
	for line := range strings.Lines(string(listed)) {
		if f := strings.Fields(line); m.want[f[0]] != f[1] {
			m.t.Fatalf("round %d: %s is %s, want %s\n%s", round, f[0], f[1], m.want[f[0]], listed)
		}
	}
	single := id("single")
	m.repeat("work", "open", single, "--base", "main")
	if err := os.WriteFile(filepath.Join(m.dir, ".concerto", "tasks", single, single), []byte("x\n"), 0o644); err != nil {
		m.t.Fatal(err)
	}
	m.repeat("work", "commit", single, "-m", "Single")
	m.repeat("work", "merge", single, "--into", "main")
	m.want[single] = "merged"
	for _, commit := range slices.Concat(strings.Fields(m.git("reflog", "--format=%H", "main")), strings.Fields(m.git("rev-list", "--first-parent", "main"))) {
		if files := m.git("ls-tree", "--name-only", commit); strings.Contains(files, "bad-") {
			m.t.Fatalf("round %d: %s of the branch does not pass", round, commit)
		}
	}
	landed := map[string]int{}
	for _, id := range strings.Fields(m.git("log", "--format=%(trailers:key=Concerto-Change,valueonly)", "main")) {
		landed[id]++
	}
	for id, state := range m.want {
		if want := map[string]int{"merged": 1}[state]; landed[id] != want {
			m.t.Fatalf("round %d: %s landed %d times, want %d", round, id, landed[id], want)
		}
	}
}
