package cli

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWorkKilled kills `work open`, `work commit` and `work rm` at random moments. The next command
// must find a workspace that is complete, or none, and the user's checkout must be unchanged.
// CONCERTO_WORK_KILLS sets the number of kills.
func TestWorkKilled(t *testing.T) {
	kills, err := strconv.Atoi(os.Getenv("CONCERTO_WORK_KILLS"))
	if err != nil {
		kills = 30
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	environ := append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
		c.Env = environ
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q", "-b", "main", ".")
	write(filepath.Join(dir, "Concerto.toml"), "[project]\nname = \"p\"\nentry = \"main.conc\"\n[workspace]\nsetup = [[\"touch\", \"setup.done\"]]\n")
	write(filepath.Join(dir, ".gitignore"), ".concerto/\nsetup.done\n")
	for i := range 200 {
		write(filepath.Join(dir, "f"+strconv.Itoa(i)), strings.Repeat("line\n", 50))
	}
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	write(filepath.Join(dir, "f1"), "changed by the user\n")
	checkout := func() string { return git("status", "--porcelain") + git("rev-parse", "HEAD") + git("stash", "list") }
	before := checkout()
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(os.Args[0], append([]string{"-C", dir, "work"}, args...)...)
		c.Args[0], c.Env = "concerto", environ
		return c
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := command(args...).Output()
		if err != nil {
			failed, _ := err.(*exec.ExitError)
			t.Fatalf("work %v: %v\n%s", args, err, failed.Stderr)
		}
		return strings.TrimSpace(string(out))
	}
	// kill starts a command and kills it after a part of the time that it takes.
	took := map[string]time.Duration{}
	kill := func(args ...string) {
		t.Helper()
		most := max(took[args[0]], 20*time.Millisecond)
		c := command(args...)
		began := time.Now()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(random.Int64N(int64(most)*5/4)), func() { _ = c.Process.Signal(syscall.SIGKILL) })
		if err := c.Wait(); err == nil {
			took[args[0]] = time.Since(began)
		}
		timer.Stop()
	}
	worktree := filepath.Join(dir, ".concerto", "tasks", "w")
	for i := range kills {
		kill("open", "w")
		if got := must("open", "w"); got != worktree {
			t.Fatalf("kill %d: the directory is %s", i, got)
		}
		if _, err := os.Stat(filepath.Join(worktree, "setup.done")); err != nil {
			t.Fatalf("kill %d: the workspace is not set up: %v", i, err)
		}
		if left := git("-C", worktree, "status", "--porcelain"); left != "" {
			t.Fatalf("kill %d: the workspace is not complete: %s", i, left)
		}
		write(filepath.Join(worktree, "new"), strconv.Itoa(i))
		kill("commit", "w", "-m", "work")
		must("commit", "w", "-m", "work")
		if got := git("show", "concerto/w:new") + git("rev-list", "--count", "main..concerto/w"); got != strconv.Itoa(i)+"1" {
			t.Fatalf("kill %d: the branch has %s", i, got)
		}
		if left := git("-C", worktree, "status", "--porcelain"); left != "" {
			t.Fatalf("kill %d: after the commit: %s", i, left)
		}
		kill("rm", "--force", "w")
		if strings.Contains(must("list"), "w ") {
			must("rm", "--force", "w")
		}
		if left := git("branch", "--list", "concerto/*") + git("worktree", "list", "--porcelain"); strings.Contains(left, "concerto") {
			t.Fatalf("kill %d: after rm: %s", i, left)
		}
	}
	if after := checkout(); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
	must("clean")
	files, err := os.ReadDir(filepath.Dir(worktree))
	if err != nil || len(files) != 1 {
		t.Errorf("files that remain: %v, %v", files, err)
	}
}
