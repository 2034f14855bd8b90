package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// withSubmodules returns the workspaces of a repository with the submodule lib/one, which contains
// the submodule two.
func withSubmodules(t *testing.T) *Store {
	t.Helper()
	for name, value := range map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"} {
		t.Setenv(name, value)
	}
	for _, kind := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+kind+"_NAME", "A")
		t.Setenv("GIT_"+kind+"_EMAIL", "a@example.com")
	}
	p := repository(t)
	p.Root = p.From
	p.CommandEnviron, p.Worktrees.Submodules = p.Environ, true
	sources := t.TempDir()
	for _, name := range []string{"two", "one"} {
		dir := filepath.Join(sources, name)
		runGit(t, sources, "init", "-q", name)
		write(t, filepath.Join(dir, "file"), "1\n")
		if name == "one" {
			runGit(t, dir, "submodule", "--quiet", "add", filepath.Join(sources, "two"), "two")
		}
		runGit(t, dir, "add", "-A")
		commit(t, dir)
	}
	runGit(t, p.From, "submodule", "--quiet", "add", filepath.Join(sources, "one"), "lib/one")
	runGit(t, p.From, "add", "-A")
	commit(t, p.From)
	s := NewStore(p)
	t.Cleanup(s.Close)
	return s
}

// TestWorkInSubmodules changes submodules in each way: the change is listed, and the workspace is
// neither removed nor cleaned up.
func TestWorkInSubmodules(t *testing.T) {
	commitIn := func(t *testing.T, dir string) {
		write(t, filepath.Join(dir, "new"), "2\n")
		runGit(t, dir, "add", "-A")
		commit(t, dir)
	}
	s := withSubmodules(t)
	number := 0
	for name, row := range map[string]struct {
		change func(t *testing.T, w *Workspace, one, two string)
		files  []string // in the diff
		work   string   // what Remove reports; "" if the workspace is removed
	}{
		"files, which .gitmodules hides": {func(t *testing.T, w *Workspace, one, two string) {
			runGit(t, w.top, "config", "--file", ".gitmodules", "submodule.lib/one.ignore", "all")
			write(t, filepath.Join(one, "file"), "2\n")
			write(t, filepath.Join(two, "new"), "2\n")
		}, []string{".gitmodules", "lib/one/file", "lib/one/two/new"}, "uncommitted changes in 3 files"},
		"a commit": {func(t *testing.T, _ *Workspace, one, _ string) { commitIn(t, one) },
			[]string{"lib/one", "lib/one/new"}, "uncommitted changes in 2 files"},
		"a commit on another branch": {func(t *testing.T, _ *Workspace, _, two string) {
			runGit(t, two, "switch", "-q", "-c", "other")
			commitIn(t, two)
			runGit(t, two, "switch", "-q", "--detach", "HEAD~")
		}, nil, "1 commit in the submodule lib/one/two that no remote contains"},
		"a commit in a submodule without files": {func(t *testing.T, w *Workspace, one, _ string) {
			commitIn(t, one)
			runGit(t, w.top, "submodule", "--quiet", "deinit", "--force", "lib/one")
		}, nil, "1 commit in the submodule lib/one that no remote contains"},
		"a repository in place of the submodule's": {func(t *testing.T, _ *Workspace, one, _ string) {
			must(t, userfile.RemoveAll(filepath.Join(one, ".git")))
			runGit(t, one, "init", "-q", ".")
		}, nil, "a repository of its own in lib/one"},
		"a commit that was pushed": {func(t *testing.T, w *Workspace, one, _ string) {
			commitIn(t, one)
			runGit(t, one, "push", "-q", "origin", "HEAD:refs/heads/new")
			runGit(t, one, "switch", "-q", "--detach", "HEAD~")
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			number++
			w := opened(t, s, fmt.Sprintf("fix-%d", number))
			one := filepath.Join(w.top, "lib", "one")
			row.change(t, w, one, filepath.Join(one, "two"))
			d, err := w.Diff(t.Context())
			must(t, err)
			var files []string
			for _, f := range d.Files {
				files = append(files, f.Path)
			}
			if !slices.Equal(files, row.files) {
				t.Errorf("changed files %v, want %v", files, row.files)
			}
			if changed, err := w.hasChanged(t.Context()); err != nil || changed != (row.work != "") {
				t.Errorf("hasChanged is %v, %v", changed, err)
			}
			if reason, err := w.reasonToStay(t.Context(), ""); err != nil || reason != row.work {
				t.Errorf("Clean leaves it: %q, %v, want %q", reason, err, row.work)
			}
			err = s.Remove(t.Context(), w.Name, false)
			if row.work == "" {
				must(t, err)
			} else if codeOf(t, err) != Dirty || !strings.Contains(err.Error(), row.work) {
				t.Errorf("Remove: %v, want %q", err, row.work)
			}
		})
	}
}

// TestCommitWithSubmodules commits after a change in a submodule: only a committed one can be in
// the workspace's commit, and the commit is refused by CheckSubmodules until it was pushed.
func TestCommitWithSubmodules(t *testing.T) {
	s := withSubmodules(t)
	w := opened(t, s, "fix")
	one := filepath.Join(w.top, "lib", "one")
	two := filepath.Join(one, "two")
	at := time.Unix(1e9, 0)
	write(t, filepath.Join(two, "file"), "2\n")
	if _, err := w.Commit(t.Context(), "work", at, false); codeOf(t, err) != Dirty || !strings.Contains(err.Error(), "the submodule lib/one/two of the workspace fix has uncommitted changes in 1 file") {
		t.Errorf("Commit: %v", err)
	}
	for _, dir := range []string{two, one} {
		runGit(t, dir, "commit", "-q", "-a", "-m", "two")
	}
	tip, err := w.Commit(t.Context(), "work", at, false)
	must(t, err)
	for _, x := range []struct{ path, dir string }{{"lib/one", one}, {"lib/one/two", two}} {
		id := runGit(t, x.dir, "rev-parse", "HEAD")
		err := s.CheckSubmodules(t.Context(), w.Base, tip, w.Branch)
		want := "unpushed submodule commit " + x.path + "@" + id[:12] + ": git -C " + x.dir + " push origin " + id + ":refs/heads/concerto/fix"
		if codeOf(t, err) != Unpushed || err.Error() != want {
			t.Errorf("CheckSubmodules: %v\nwant %s", err, want)
		}
		if x.dir == one { // by its URL, of which git notes nothing
			runGit(t, x.dir, "push", "-q", runGit(t, x.dir, "remote", "get-url", "origin"), id+":refs/heads/concerto/fix")
		} else {
			runGit(t, x.dir, "push", "-q", "origin", id+":refs/heads/concerto/fix")
		}
	}
	must(t, s.CheckSubmodules(t.Context(), w.Base, tip, w.Branch))
}
