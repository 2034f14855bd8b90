package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gateFor returns a gate's worktree that contains a commit.
func gateFor(t *testing.T, s *Store, commit string) (*Gate, *Workspace) {
	t.Helper()
	g, err := s.UseGate(t.Context(), "main")
	must(t, err)
	w, err := g.Reset(t.Context(), commit, commit, 0)
	must(t, err)
	return g, w
}

// TestGates uses two worktrees at once, and cleans up those that are not in use.
func TestGates(t *testing.T) {
	s := newStore(t)
	head := runGit(t, s.place.From, "rev-parse", "HEAD")
	first, w := gateFor(t, s, head)
	second, _ := gateFor(t, forOther(t, s), head)
	third, _ := gateFor(t, s, head)
	if first.name+second.name+third.name != "main-1main-2main-3" {
		t.Errorf("worktrees %s, %s and %s", first.name, second.name, third.name)
	}
	if d, err := w.Diff(t.Context()); err != nil || len(d.Files) != 0 {
		t.Errorf("the diff of a gate's worktree is %+v, %v", d, err)
	}
	first.Release()
	if again, _ := gateFor(t, s, head); again.name != "main-1" {
		t.Errorf("after Release: %s", again.name)
	} else {
		again.Release()
	}
	// Git that writes the files for too long ends, and the worktree can be used again.
	if _, err := third.Reset(t.Context(), head, head, time.Millisecond); err == nil || err.Error() != "git timed out after 0.001 s" {
		t.Errorf("Reset within 1 ms: %v", err)
	}
	_, err := third.Reset(t.Context(), head, head, 0)
	must(t, err)
	third.Release()
	cleaned, err := s.Clean(t.Context(), "", false)
	must(t, err)
	if len(cleaned) != 2 || cleaned[0].Name != "main-1" || cleaned[1].Name != "main-3" {
		t.Errorf("Clean removed %v", cleaned)
	}
	if list := runGit(t, s.place.From, "worktree", "list"); strings.Contains(list, "main-1") || !strings.Contains(list, "main-2") {
		t.Errorf("worktrees %s", list)
	}
}

// TestGateDamaged damages the worktree of a gate in several ways. The next Reset must return one
// that contains the commit and nothing else.
func TestGateDamaged(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, s *Store, w *Workspace, own string){
		"the worktree is missing": func(t *testing.T, _ *Store, w *Workspace, _ string) { must(t, os.RemoveAll(w.top)) },
		"its entry is missing":    func(t *testing.T, _ *Store, _ *Workspace, own string) { must(t, os.RemoveAll(own)) },
		"its record is missing":   func(t *testing.T, _ *Store, w *Workspace, _ string) { must(t, os.Remove(w.top+recordSuffix)) },
		"its record is damaged":   func(t *testing.T, _ *Store, w *Workspace, _ string) { write(t, w.top+recordSuffix, "{") },
		"its creation was interrupted": func(t *testing.T, s *Store, w *Workspace, _ string) {
			must(t, s.gates.place.write(&record{Name: w.Name, State: creating}))
			write(t, filepath.Join(w.top, "half"), "x")
		},
		"its index is locked":  func(t *testing.T, _ *Store, _ *Workspace, own string) { write(t, filepath.Join(own, "index.lock"), "") },
		"its index is damaged": func(t *testing.T, _ *Store, _ *Workspace, own string) { write(t, filepath.Join(own, "index"), "x") },
		"its HEAD is damaged":  func(t *testing.T, _ *Store, _ *Workspace, own string) { write(t, filepath.Join(own, "HEAD"), "x") },
		"its files have changed": func(t *testing.T, _ *Store, w *Workspace, _ string) {
			write(t, filepath.Join(w.top, ".gitignore"), "x")
		},
		"it has new repositories": func(t *testing.T, _ *Store, w *Workspace, _ string) { runGit(t, w.top, "init", "-q", "nested") },
		"its .git is another repository": func(t *testing.T, _ *Store, w *Workspace, _ string) {
			must(t, os.Remove(filepath.Join(w.top, ".git")))
			runGit(t, w.top, "init", "-q", ".")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			head := runGit(t, s.place.From, "rev-parse", "HEAD")
			g, w := gateFor(t, s, head)
			place, err := w.place()
			must(t, err)
			damage(t, s, w, place.GitDir)
			g.Release()
			g, w = gateFor(t, s, head)
			defer g.Release()
			if got := runGit(t, w.top, "rev-parse", "HEAD") + runGit(t, w.top, "status", "--porcelain"); got != head {
				t.Errorf("the worktree has %s", got)
			}
			if text, err := os.ReadFile(filepath.Join(w.top, ".gitignore")); err != nil || string(text) == "x" {
				t.Errorf("the file is %q, %v", text, err)
			}
		})
	}
}

// TestCommitMerge commits a merge in progress: the commit has two parents, and the merge has ended.
func TestCommitMerge(t *testing.T) {
	s := newStore(t)
	w := opened(t, s, "fix")
	write(t, filepath.Join(w.top, "new"), "x\n")
	other, err := w.Commit(t.Context(), "other", time.Unix(1e9, 0), false)
	must(t, err)
	x := opened(t, s, "merge")
	write(t, filepath.Join(x.top, "mine"), "x\n")
	_, err = x.Commit(t.Context(), "mine", time.Unix(1e9, 0), false)
	must(t, err)
	must(t, x.StartMerge(t.Context(), other))
	commit, err := x.Commit(t.Context(), "both", time.Unix(1e9, 0), false)
	must(t, err)
	if parents := strings.Fields(runGit(t, x.top, "log", "-1", "--format=%P", commit)); len(parents) != 2 || parents[1] != other {
		t.Errorf("parents %v", parents)
	}
	if got := runGit(t, x.top, "status"); strings.Contains(got, "still merging") || !strings.Contains(got, "nothing to commit") {
		t.Errorf("status: %s", got)
	}
	if again, err := x.Commit(t.Context(), "again", time.Unix(1e9, 0), false); again != "" || err != nil {
		t.Errorf("a second commit: %q, %v", again, err)
	}
}
