package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// newStore returns the workspaces of a new repository with the file deep/c.txt, whose manifest is
// in its top directory.
func newStore(t *testing.T) *Store {
	t.Helper()
	p := repository(t)
	p.Root = p.From
	p.CommandEnviron, p.Run = p.Environ, "r_1"
	s := NewStore(p)
	t.Cleanup(s.Close)
	return s
}

// forOther returns the same workspaces for another process.
func forOther(t *testing.T, s *Store) *Store {
	place := s.place
	place.Uses = nil // another process has its own
	other := NewStore(place)
	t.Cleanup(other.Close)
	return other
}

func opened(t *testing.T, s *Store, name string) *Workspace {
	t.Helper()
	w, err := s.Open(t.Context(), name, "")
	must(t, err)
	return w
}

// codeOf returns the code of an error, or "" for none.
func codeOf(t *testing.T, err error) Code {
	t.Helper()
	if err == nil {
		return ""
	}
	known, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("the error has no code: %v", err)
	}
	return known.Code
}

// trap makes everything that an agent can write into a worktree to start a command create a file.
// It returns the path of that file.
func trap(t *testing.T, w *Workspace) string {
	t.Helper()
	sprung := filepath.Join(t.TempDir(), "sprung")
	script := "#!/bin/sh\ntouch " + sprung + "\n"
	must(t, os.Remove(filepath.Join(w.top, ".git")))
	runGit(t, w.top, "init", "-q", ".")
	for _, hook := range []string{"pre-commit", "post-checkout", "reference-transaction", "post-index-change", "commit-msg"} {
		path := filepath.Join(w.top, ".git", "hooks", hook)
		write(t, path, script)
		must(t, os.Chmod(path, 0o755))
	}
	monitor := filepath.Join(w.top, "monitor")
	write(t, monitor, script)
	must(t, os.Chmod(monitor, 0o755))
	for key, value := range map[string]string{"core.fsmonitor": monitor, "diff.external": monitor, "filter.evil.clean": monitor, "filter.evil.smudge": monitor, "diff.evil.textconv": monitor, "gpg.program": monitor, "commit.gpgSign": "true"} {
		runGit(t, w.top, "config", key, value)
	}
	write(t, filepath.Join(w.top, ".gitattributes"), "* filter=evil diff=evil\n")
	return sprung
}

// TestTrap checks that nothing which an agent writes into its worktree is started, and that its
// repository is not used.
func TestTrap(t *testing.T) {
	s := newStore(t)
	w := opened(t, s, "fix")
	sprung := trap(t, w)
	write(t, filepath.Join(w.top, "new"), "new\n")
	d, err := w.Diff(t.Context())
	must(t, err)
	if len(d.Files) != 3 || d.Base != w.Base { // .gitattributes, monitor and new
		t.Errorf("files %+v", d.Files)
	}
	commit, err := w.Commit(t.Context(), "work", time.Unix(1e9, 0), false)
	must(t, err)
	if got := runGit(t, s.place.From, "rev-parse", "concerto/fix"); got != commit {
		t.Errorf("the branch is at %s, want %s", got, commit)
	}
	if _, err := s.List(t.Context()); err != nil {
		t.Error(err)
	}
	must(t, s.Remove(t.Context(), "fix", true))
	if _, err := os.Lstat(sprung); err == nil {
		t.Error("a command of the agent was started")
	}
	if got := runGit(t, s.place.From, "worktree", "prune", "-v", "-n") + runGit(t, s.place.From, "branch", "--list", "concerto/*"); got != "" {
		t.Errorf("after Remove: %s", got)
	}
}

// TestInterrupted continues after a process that was killed between two steps of the creation or
// the removal of a workspace.
func TestInterrupted(t *testing.T) {
	steps := map[string]func(t *testing.T, s *Store, w *Workspace){
		"the record": func(t *testing.T, s *Store, w *Workspace) {
			must(t, userfile.RemoveAll(w.top))
			dropAdmin(t, s, w)
			dropBranch(t, s, w)
		},
		"the record, the branch":   func(t *testing.T, s *Store, w *Workspace) { must(t, userfile.RemoveAll(w.top)); dropAdmin(t, s, w) },
		"no files":                 func(t *testing.T, _ *Store, w *Workspace) { must(t, userfile.RemoveAll(w.top)) },
		"a part of the files":      func(t *testing.T, _ *Store, w *Workspace) { must(t, os.Remove(filepath.Join(w.top, ".git"))) },
		"everything":               func(*testing.T, *Store, *Workspace) {},
		"no entry of the worktree": func(t *testing.T, s *Store, w *Workspace) { dropAdmin(t, s, w) },
	}
	for name, undo := range steps {
		for _, state := range []string{creating, removing} {
			t.Run(state+", "+name, func(t *testing.T) {
				s := newStore(t)
				w := opened(t, s, "fix")
				undo(t, s, w)
				r, err := s.place.read("fix")
				must(t, err)
				r.State = state
				must(t, s.place.write(r))
				s.Close()
				next := forOther(t, s)
				all, err := next.List(t.Context())
				if err != nil || len(all) != 1 || all[0].State != creating {
					t.Errorf("states %+v, error %v", all, err)
				}
				w = opened(t, next, "fix")
				if d, err := w.Diff(t.Context()); err != nil || len(d.Files) != 0 {
					t.Errorf("the new workspace has changes %+v, error %v", d, err)
				}
				if got := runGit(t, w.top, "status", "--porcelain"); got != "" {
					t.Errorf("status %s", got)
				}
			})
		}
	}
}

func dropAdmin(t *testing.T, s *Store, w *Workspace) {
	t.Helper()
	dir, err := s.adminDir(w.top)
	must(t, err)
	must(t, os.RemoveAll(dir))
}

func dropBranch(t *testing.T, s *Store, w *Workspace) {
	t.Helper()
	runGit(t, s.place.From, "update-ref", "-d", "refs/heads/"+w.Branch)
}

// TestBusy checks that one process at a time uses a workspace, and that reading disturbs no
// process.
func TestBusy(t *testing.T) {
	s := newStore(t)
	w := opened(t, s, "fix")
	other := forOther(t, s)
	for name, f := range map[string]func() error{
		"Open":   func() error { _, err := other.Open(t.Context(), "fix", ""); return err },
		"Use":    func() error { _, err := other.Use(t.Context(), "fix"); return err },
		"Remove": func() error { return other.Remove(t.Context(), "fix", true) },
	} {
		if err := f(); codeOf(t, err) != Busy || !strings.Contains(err.Error(), "process number ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := other.List(t.Context())
	if err != nil || len(all) != 1 || all[0].State != stateBusy {
		t.Errorf("states %+v, error %v", all, err)
	}
	found, err := other.Find(t.Context(), "fix")
	must(t, err)
	if _, err := found.Diff(t.Context()); err != nil || found.Dir != w.Dir {
		t.Errorf("%+v, error %v", found, err)
	}
	if cleaned, err := other.Clean(t.Context(), "", false); err != nil || len(cleaned) != 1 || cleaned[0].Reason != "a process uses it" {
		t.Errorf("cleaned %+v, error %v", cleaned, err)
	}
	s.Close()
	if _, err := other.Use(t.Context(), "fix"); err != nil {
		t.Error(err)
	}
}

// TestLeftLocks checks that Clean removes the lock of a workspace that a killed process had
// removed, and no lock that a process holds.
func TestLeftLocks(t *testing.T) {
	s := newStore(t)
	w, err := s.Open(t.Context(), "removed", "")
	must(t, err)
	must(t, s.Remove(t.Context(), w.Name, false))
	left := s.place.taskPath("left") + lockSuffix
	must(t, os.WriteFile(left, []byte("1\n"), 0o600))
	free, err := lockfile.LockAs(s.place.taskPath("begun") + lockSuffix) // by a process that is about to write the record
	must(t, err)
	defer free()
	_, err = s.Clean(t.Context(), "", false)
	must(t, err)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock without a workspace: %v", err)
	}
	if held, err := lockfile.Held(s.place.taskPath("begun") + lockSuffix); !held || err != nil {
		t.Errorf("the lock of another process: held %v, error %v", held, err)
	}
}

// TestNothingIsLost checks that Remove without force and Clean leave a workspace with work, also if
// its branch, or its entry in the list of worktrees, is missing, and if git fails.
func TestNothingIsLost(t *testing.T) {
	for name, breaks := range map[string]func(t *testing.T, s *Store, w *Workspace){
		"whole": func(*testing.T, *Store, *Workspace) {},
		"no branch": func(t *testing.T, s *Store, w *Workspace) {
			runGit(t, w.top, "checkout", "-q", "--detach")
			dropBranch(t, s, w)
		},
		"not listed":           func(t *testing.T, s *Store, w *Workspace) { dropAdmin(t, s, w) },
		"no branch and commit": func(t *testing.T, s *Store, w *Workspace) { runGit(t, w.top, "checkout", "-q", "--orphan", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			w := opened(t, s, "fix")
			write(t, filepath.Join(w.top, "new"), "new\n")
			breaks(t, s, w)
			s.Close()
			s = forOther(t, s)
			if err := s.Remove(t.Context(), "fix", false); codeOf(t, err) != Dirty {
				t.Errorf("Remove: %v", err)
			}
			cleaned, err := s.Clean(t.Context(), "", false)
			if err != nil || len(cleaned) != 1 || cleaned[0].Reason == "" {
				t.Errorf("Clean: %+v, %v", cleaned, err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if cleaned, err := s.Clean(ended, "", false); err == nil {
				t.Errorf("Clean without git: %+v", cleaned)
			}
			if err := s.Remove(ended, "fix", false); err == nil {
				t.Error("Remove without git has no error")
			}
			if _, err := os.Stat(filepath.Join(w.top, "new")); err != nil {
				t.Error(err)
			}
			must(t, s.Remove(t.Context(), "fix", true))
			if _, err := os.Stat(w.top); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("after Remove with force: %v", err)
			}
		})
	}
}

// TestTurns opens and removes the same workspaces from many goroutines of a process.
func TestTurns(t *testing.T) {
	s := newStore(t)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			name := "w" + string(rune('0'+i%3))
			if _, err := s.Open(t.Context(), name, ""); err != nil {
				t.Error(err)
			}
			if i%4 == 3 {
				if err := s.Remove(t.Context(), name, true); err != nil && codeOf(t, err) != Missing {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	states, err := s.List(t.Context())
	must(t, err)
	for _, x := range states {
		if x.State != stateBusy || x.Changed != 0 {
			t.Errorf("state %+v", x)
		}
	}
}

// TestMessage checks the message of a commit that contains what could end it.
func TestMessage(t *testing.T) {
	s := newStore(t)
	w := opened(t, s, "fix")
	write(t, filepath.Join(w.top, "new"), "new\n")
	_, err := w.Commit(t.Context(), "subject\n\n---\n# text\n\nReviewed-by: A <a@example.com>\n", time.Unix(1e9, 0), false)
	must(t, err)
	want := "subject\n\n---\n# text\n\nReviewed-by: A <a@example.com>\nConcerto-Workspace: fix\nConcerto-Run: r_1"
	if got := runGit(t, s.place.From, "log", "-1", "--format=%B", "concerto/fix"); got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if got := runGit(t, s.place.From, "log", "-1", "--format=%cd", "--date=unix", "concerto/fix"); got != "1000000000" {
		t.Errorf("time %s", got)
	}
}

// TestMoved checks what happens to a worktree whose HEAD the agent has moved.
func TestMoved(t *testing.T) {
	for name, c := range map[string]struct {
		move func(t *testing.T, dir string)
		want Code
	}{
		"a commit":                  {func(t *testing.T, dir string) { commit(t, dir) }, ""},
		"detached at a descendant":  {func(t *testing.T, dir string) { runGit(t, dir, "checkout", "-q", "--detach"); commit(t, dir) }, ""},
		"a new branch":              {func(t *testing.T, dir string) { runGit(t, dir, "checkout", "-q", "-b", "other"); commit(t, dir) }, ""},
		"a reset of the own branch": {func(t *testing.T, dir string) { commit(t, dir); runGit(t, dir, "reset", "-q", "--hard", "HEAD~") }, ""},
		"an unrelated branch": {func(t *testing.T, dir string) {
			runGit(t, dir, "checkout", "-q", "--orphan", "other")
			runGit(t, dir, "rm", "-q", "--cached", ".gitignore")
			commit(t, dir)
		}, Moved},
		"detached before the base": {func(t *testing.T, dir string) { commit(t, dir); runGit(t, dir, "checkout", "-q", "--detach", "HEAD~") }, Moved},
		"no branch": {func(t *testing.T, dir string) {
			runGit(t, dir, "checkout", "-q", "--detach")
			runGit(t, dir, "branch", "-D", "concerto/fix")
		}, Missing},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			w := opened(t, s, "fix")
			c.move(t, w.top)
			head := runGit(t, w.top, "rev-parse", "HEAD")
			write(t, filepath.Join(w.top, "new"), "new\n")
			id, err := w.Commit(t.Context(), "work", time.Unix(1e9, 0), false)
			if codeOf(t, err) != c.want {
				t.Fatalf("error %v, want code %q", err, c.want)
			}
			if err == nil && (runGit(t, s.place.From, "rev-parse", "concerto/fix") != id || runGit(t, s.place.From, "rev-parse", id+"^") != head || runGit(t, w.top, "status", "--porcelain", "-b") != "## concerto/fix") {
				t.Errorf("the branch is not at %s after %s", id, head)
			}
		})
	}
}

// TestRepeatedCommit checks that a commit which an earlier process has made is not made again, at
// any step at which that process was killed.
func TestRepeatedCommit(t *testing.T) {
	s := newStore(t)
	w := opened(t, s, "fix")
	at := time.Unix(1e9, 0)
	write(t, filepath.Join(w.top, "new"), "new\n")
	first, err := w.Commit(t.Context(), "work", at, true)
	must(t, err)
	if id, err := w.Commit(t.Context(), "work", at, true); id != first || err != nil {
		t.Errorf("repeated: %s, %v, want %s", id, err, first)
	}
	runGit(t, s.place.From, "update-ref", "refs/heads/concerto/fix", w.Base) // before the branch was moved
	if id, err := w.Commit(t.Context(), "work", at, true); id != first || err != nil {
		t.Errorf("repeated before the last step: %s, %v, want %s", id, err, first)
	}
	if id, err := w.Commit(t.Context(), "work", at.Add(time.Second), true); id != "" || err != nil {
		t.Errorf("another commit: %q, %v, want none", id, err)
	}
}

// TestRefused checks the errors about the content of a worktree.
func TestRefused(t *testing.T) {
	s := newStore(t)
	w := opened(t, s, "fix")
	runGit(t, w.top, "init", "-q", "inner")
	commit(t, filepath.Join(w.top, "inner"))
	if _, err := w.Diff(t.Context()); codeOf(t, err) != Nested || !strings.Contains(err.Error(), "inner") {
		t.Errorf("a repository in the worktree: %v", err)
	}
	if _, err := w.Commit(t.Context(), "work", time.Unix(1e9, 0), false); codeOf(t, err) != Nested {
		t.Errorf("a repository in the worktree: %v", err)
	}
	if got := runGit(t, w.top, "ls-files", "--stage", "inner"); got != "" {
		t.Errorf("the repository in the worktree is in the index: %s", got)
	}
	must(t, os.RemoveAll(filepath.Join(w.top, "inner")))

	for branch, text := range map[string]string{"one": "one\n", "two": "two\n"} {
		runGit(t, w.top, "checkout", "-q", "-b", branch, "concerto/fix")
		write(t, filepath.Join(w.top, "x"), text)
		runGit(t, w.top, "add", "x")
		commit(t, w.top)
	}
	runGit(t, w.top, "checkout", "-q", "concerto/fix")
	runGit(t, w.top, "merge", "-q", "--ff-only", "one")
	merge := exec.Command("git", "-C", w.top, "-c", "user.email=a@example.com", "-c", "user.name=A", "merge", "two")
	merge.Env = gitEnviron()
	if out, err := merge.CombinedOutput(); err == nil || !strings.Contains(string(out), "CONFLICT") {
		t.Fatalf("the merge has no conflict: %s", out)
	}
	if _, err := w.Commit(t.Context(), "work", time.Unix(1e9, 0), false); codeOf(t, err) != Unmerged || !strings.Contains(err.Error(), "x still has conflict markers") {
		t.Errorf("conflict markers: %v", err)
	}
	write(t, filepath.Join(w.top, "x"), "both\n")
	if id, err := w.Commit(t.Context(), "work", time.Unix(1e9, 0), false); err != nil || id == "" {
		t.Errorf("after the conflict was resolved: %q, %v", id, err)
	}
}

// TestDiffOfAnything compares a worktree with files of all kinds.
func TestDiffOfAnything(t *testing.T) {
	s := newStore(t)
	write(t, filepath.Join(s.place.From, "large"), strings.Repeat("line\n", 1000))
	write(t, filepath.Join(s.place.From, "link"), "")
	must(t, os.Remove(filepath.Join(s.place.From, "link")))
	must(t, os.Symlink("large", filepath.Join(s.place.From, "link")))
	write(t, filepath.Join(s.place.From, "pointer"), "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n")
	runGit(t, s.place.From, "add", "-A")
	commit(t, s.place.From)
	w := opened(t, s, "fix")
	must(t, os.Remove(filepath.Join(w.top, "link")))
	write(t, filepath.Join(w.top, "link"), "a file\n")
	write(t, filepath.Join(w.top, "large"), "@@ -1 +1 @@\ndiff --git a/x b/x\n"+strings.Repeat("line\n", 1000)+"-- \n")
	write(t, filepath.Join(w.top, "line\nbreak"), "\n")
	write(t, filepath.Join(w.top, "-flag"), "a\r\n\xff\n")
	write(t, filepath.Join(w.top, "tab\t\\ \x01é"), "")
	write(t, filepath.Join(w.top, "pointer"), "version https://git-lfs.github.com/spec/v1\noid sha256:2\nsize 1\n")
	d, err := w.Diff(t.Context())
	must(t, err)
	var got []string
	for _, f := range d.Files {
		got = append(got, f.Status+" "+f.Path)
	}
	want := []string{"added -flag", "modified large", "added line\nbreak", "typechange link", "modified pointer", "added tab\t\\ \x01é"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files differ (-want +got):\n%s", diff)
	}
	file := func(path string) DiffFile {
		return d.Files[slices.IndexFunc(d.Files, func(f DiffFile) bool { return f.Path == path })]
	}
	if f := file("large"); len(f.Hunks) != 2 || f.Hunks[0].Lines[1].Text != "diff --git a/x b/x" || f.Hunks[1].Lines[len(f.Hunks[1].Lines)-1].Text != "-- " || f.Additions != 3 {
		t.Errorf("large: %+v", f)
	}
	if f := file("link"); len(f.Hunks) != 2 || f.OldMode != "120000" || f.Mode != "100644" {
		t.Errorf("link: %+v", f)
	}
	if f := file("pointer"); !f.LFS || len(f.Hunks) != 0 {
		t.Errorf("pointer: %+v", f)
	}
	if f := file("-flag"); f.Hunks[0].Lines[0].Text != "a\r" || f.Hunks[0].Lines[1].Text != "\uFFFD" {
		t.Errorf("-flag: %+v", f)
	}
	whole := *d
	cut, room := &Diff{}, 20
	must(t, w.diff(t.Context(), w.Base, []string{"--raw", "--patch"}, func(within string, out io.Reader) error { return cut.read(within, out, &room) }))
	counted, err := w.stat(t.Context(), w.Base)
	must(t, err)
	if counted.Additions != whole.Additions || counted.Deletions != whole.Deletions {
		t.Errorf("git counts %d and %d lines, the hunks have %d and %d", counted.Additions, counted.Deletions, whole.Additions, whole.Deletions)
	}
	cut.takeCounts(counted)
	if len(cut.Files) != len(whole.Files) || cut.Files[0].Truncated || !cut.Files[len(cut.Files)-1].Truncated || cut.Additions != whole.Additions {
		t.Errorf("a truncated diff: %+v", cut)
	}
}
