package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMergeKilled kills `merge submit`, `merge run` and `work merge` at random moments. Every value
// of the branch must pass, each change must land once, or have failed with a reason, and the user's
// checkout must be unchanged. CONCERTO_MERGE_KILLS sets the number of rounds.
func TestMergeKilled(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("CONCERTO_MERGE_KILLS"))
	if err != nil {
		rounds = 6
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := &mergeKiller{t: t, random: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir(), took: map[string]time.Duration{}, want: map[string]string{}}
	m.environ = append(os.Environ(), "HOME="+m.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	m.git("init", "-q", "-b", "main", ".")
	m.write("Concerto.toml", "[project]\nname = \"p\"\nentry = \"main.conc\"\n[workspace]\ngate = [[\"sh\", \"gate.sh\"]]\n[merge.main]\nbatch = 4\n")
	m.write("gate.sh", "for f in bad*; do test ! -e $f || exit 1; done\necho tested > cache.o\n")
	m.write(".gitignore", "*.o\n")
	m.write("shared", "base\n")
	m.git("add", "-A")
	m.git("commit", "-q", "-m", "one")
	m.git("checkout", "-q", "-b", "work")
	m.write("shared", "dirty\n")
	m.write("new", "new\n")
	before := m.checkout()
	for round := range rounds {
		m.round(round)
		if after := m.checkout(); after != before {
			t.Fatalf("round %d: the checkout was\n%s\nand is\n%s", round, before, after)
		}
	}
	m.command("work", "clean").Run()
	if left := m.git("worktree", "list", "--porcelain"); strings.Contains(left, "gates") {
		t.Errorf("worktrees that remain: %s", left)
	}
}

// mergeKiller kills commands for merges in a repository.
type mergeKiller struct {
	t       *testing.T
	random  *rand.Rand
	dir     string
	environ []string
	took    map[string]time.Duration
	want    map[string]string // final states of changes
}

func (m *mergeKiller) git(args ...string) string {
	m.t.Helper()
	c := exec.Command("git", append([]string{"-C", m.dir}, args...)...)
	c.Env = m.environ
	out, err := c.CombinedOutput()
	if err != nil {
		m.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (m *mergeKiller) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mergeKiller) checkout() string {
	m.t.Helper()
	index, err := os.ReadFile(filepath.Join(m.dir, ".git", "index"))
	if err != nil {
		m.t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s %x", m.git("-c", "core.fsmonitor=false", "status", "--porcelain"), m.git("rev-parse", "HEAD"), m.git("stash", "list"), index)
}

func (m *mergeKiller) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], append([]string{"-C", m.dir}, args...)...)
	c.Args[0], c.Env = "concerto", m.environ
	return c
}

// kill starts a command, kills it after a part of the time that it takes, and runs it again. It
// returns the output of the second run.
func (m *mergeKiller) kill(args ...string) string {
	m.t.Helper()
	key := strings.Join(args[:2], " ")
	most := max(m.took[key], 20*time.Millisecond)
	c := m.command(args...)
	began := time.Now()
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	timer := time.AfterFunc(time.Duration(m.random.Int64N(int64(most)*5/4)), func() { _ = c.Process.Signal(syscall.SIGKILL) })
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() >= 0 {
		m.took[key] = time.Since(began)
	}
	timer.Stop()
	again := m.command(args...)
	out, err := again.CombinedOutput()
	if code := again.ProcessState.ExitCode(); code != 0 && !(code == 1 && key == "merge run") { // changes have failed
		m.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
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
		m.kill("merge", "submit", "main", id(kind))
	}
	m.kill("merge", "run", "main")
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
	m.kill("work", "open", single, "--base", "main")
	if err := os.WriteFile(filepath.Join(m.dir, ".concerto", "tasks", single, single), []byte("x\n"), 0o644); err != nil {
		m.t.Fatal(err)
	}
	m.kill("work", "commit", single, "-m", "Single")
	m.kill("work", "merge", single, "--into", "main")
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
