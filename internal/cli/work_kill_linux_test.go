package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestWorkKilled kills `work open`, `work commit` and `work rm` at their calls of git. The next
// command must find a workspace that is complete, or none, and the user's checkout must be
// unchanged.
// CONCERTO_WORK_KILLS sets the number of kills.
func TestWorkKilled(t *testing.T) {
	r, kills := newKilledRepository(t, "CONCERTO_WORK_KILLS", 6)
	git := r.git
	r.write("Concerto.toml", "[project]\nname = \"p\"\nentry = \"main.conc\"\n[workspace]\nsetup = [[\"touch\", \"setup.done\"]]\n")
	r.write(".gitignore", ".concerto/\nsetup.done\n")
	for i := range 200 {
		r.write("f"+strconv.Itoa(i), strings.Repeat("line\n", 50))
	}
	r.commit()
	r.write("f1", "changed by the user\n")
	r.checkCheckout()
	must := func(args ...string) string {
		t.Helper()
		out, err := r.command(append([]string{"work"}, args...)...).Output()
		if err != nil {
			failed, _ := err.(*exec.ExitError)
			t.Fatalf("work %v: %v\n%s", args, err, failed.Stderr)
		}
		return strings.TrimSpace(string(out))
	}
	worktree := filepath.Join(r.dir, ".concerto", "tasks", "w")
	for i := range kills {
		r.kill("work", "open", "w")
		if got := must("open", "w"); got != worktree {
			t.Fatalf("kill %d: the directory is %s", i, got)
		}
		if _, err := os.Stat(filepath.Join(worktree, "setup.done")); err != nil {
			t.Fatalf("kill %d: the workspace is not set up: %v", i, err)
		}
		if left := git("-C", worktree, "status", "--porcelain"); left != "" {
			t.Fatalf("kill %d: the workspace is not complete: %s", i, left)
		}
		r.write(".concerto/tasks/w/new", strconv.Itoa(i))
		r.kill("work", "commit", "w", "-m", "work")
		must("commit", "w", "-m", "work")
		if got := git("show", "concerto/w:new") + git("rev-list", "--count", "main..concerto/w"); got != strconv.Itoa(i)+"1" {
			t.Fatalf("kill %d: the branch has %s", i, got)
		}
		if left := git("-C", worktree, "status", "--porcelain"); left != "" {
			t.Fatalf("kill %d: after the commit: %s", i, left)
		}
		r.kill("work", "rm", "--force", "w")
		if strings.Contains(must("list"), "w ") {
			must("rm", "--force", "w")
		}
		if left := git("branch", "--list", "concerto/*") + git("worktree", "list", "--porcelain"); strings.Contains(left, "concerto") {
			t.Fatalf("kill %d: after rm: %s", i, left)
		}
	}
	r.checkCheckout()
	must("clean")
	files, err := os.ReadDir(filepath.Dir(worktree))
	if err != nil || len(files) != 1 {
		t.Errorf("files that remain: %v, %v", files, err)
	}
}
