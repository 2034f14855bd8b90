package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"time"
)

// source creates a directory with entries that are difficult to copy, and returns the Place for
// copies of it.
func source(t *testing.T) Place {
	t.Helper()
	root := t.TempDir()
	from := filepath.Join(root, "src")
	for _, dir := range []string{"src/.concerto/tasks/old", "src/deep/.concerto", "src/closed", ".concerto/journal", "journal"} {
		mkdir(t, filepath.Join(root, dir))
	}
	write(t, filepath.Join(from, "a.txt"), "a")
	write(t, filepath.Join(from, "deep/b.txt"), "b")
	write(t, filepath.Join(from, "deep/.concerto/c.txt"), "c")
	write(t, filepath.Join(from, "closed/d.txt"), "d")
	link(t, "deep/b.txt", filepath.Join(from, "link"))
	link(t, "nowhere", filepath.Join(from, "broken"))
	link(t, "deep", filepath.Join(from, "dirlink"))
	must(t, os.Chmod(filepath.Join(from, "a.txt"), 0o640))
	must(t, os.Chmod(filepath.Join(from, "closed"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(from, "closed"), 0o755) })
	past := time.Unix(1_000_000_000, 0)
	must(t, os.Chtimes(filepath.Join(from, "a.txt"), past, past))
	must(t, os.Chtimes(filepath.Join(from, "deep"), past, past))
	return Place{Root: root, From: from, Environ: os.Environ()}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) { t.Helper(); must(t, os.MkdirAll(path, 0o755)) }

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func link(t *testing.T, to, path string) { t.Helper(); must(t, os.Symlink(to, path)) }

// made creates a directory with Make. At the end of the test the directory is removed.
func made(t *testing.T, kind string, p Place) *Dir {
	t.Helper()
	d, err := Make(t.Context(), kind, "run-W-1", Exchange{Host: "W"}, p)
	must(t, err)
	t.Cleanup(func() { _ = userfile.RemoveAll(p.taskPath("run-W-1")) })
	return d
}

// names returns the names in a tree. Directories end with a slash, and links contain their target.
func names(t *testing.T, root string) string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case rel == ".":
			return nil
		case e.IsDir():
			rel += "/"
		case e.Type() == fs.ModeSymlink:
			to, _ := os.Readlink(path)
			rel += ">" + to
		}
		all = append(all, rel)
		return nil
	}))
	return strings.Join(all, " ")
}

func TestCopy(t *testing.T) {
	p := source(t)
	p.Leave = []string{filepath.Join(p.From, "closed")}
	d := made(t, "copy", p)
	if got, want := names(t, d.Path), "a.txt broken>nowhere deep/ deep/.concerto/ deep/.concerto/c.txt deep/b.txt dirlink>deep link>deep/b.txt"; got != want {
		t.Errorf("names in the copy: %s\nwant: %s", got, want)
	}
	if d.Path != filepath.Join(p.Root, ".concerto", "tasks", "run-W-1") || Shown(d.Name) != ".concerto/tasks/run-W-1" || d.Branch != "" {
		t.Errorf("directory = %+v, want .concerto/tasks/run-W-1 without a branch", d)
	}
	for _, name := range []string{"a.txt", "deep"} {
		was, err := os.Stat(filepath.Join(p.From, name))
		must(t, err)
		is, err := os.Stat(filepath.Join(d.Path, name))
		must(t, err)
		if was.Mode() != is.Mode() || !was.ModTime().Equal(is.ModTime()) {
			t.Errorf("copy of %s has mode %v and time %v, want mode %v and time %v", name, is.Mode(), is.ModTime(), was.Mode(), was.ModTime())
		}
	}
	text, err := os.ReadFile(filepath.Join(d.Path, "link"))
	must(t, err)
	if string(text) != "b" {
		t.Errorf("the copied link leads to the content %q, want b", text)
	}
	if _, err := Make(t.Context(), "copy", "run-W-1", Exchange{Host: "W"}, p); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("Make with an existing name: error %v, want that it already exists", err)
	}
}

// TestEndOfCopy changes a copy in one way for each case, and checks whether End removes the copy.
func TestEndOfCopy(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		kept   bool
	}{
		{"nothing", func(*testing.T, string) {}, false},
		{"reading", func(t *testing.T, dir string) {
			_, err := os.ReadFile(filepath.Join(dir, "a.txt"))
			must(t, err)
			_, err = os.ReadDir(filepath.Join(dir, "deep"))
			must(t, err)
		}, false},
		{"another text", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a.txt"), "b") }, true},
		{"another text of the same time", func(t *testing.T, dir string) {
			if runtime.GOOS != "linux" {
				t.Skip("this system does not report the time of such a change")
			}
			time.Sleep(20 * time.Millisecond) // longer than the resolution of the file system's times
			file := filepath.Join(dir, "a.txt")
			info, err := os.Stat(file)
			must(t, err)
			write(t, file, "c")
			must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
		}, true},
		{"a new file", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "deep/new"), "") }, true},
		{"a new directory", func(t *testing.T, dir string) { mkdir(t, filepath.Join(dir, "new")) }, true},
		{"no file", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "deep/b.txt"))) }, true},
		{"another link", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "link")))
			link(t, "deep/c.txt", filepath.Join(dir, "link"))
		}, true},
		{"other rights", func(t *testing.T, dir string) { must(t, os.Chmod(filepath.Join(dir, "a.txt"), 0o600)) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := source(t)
			d := made(t, "copy", p)
			c.change(t, d.Path)
			remains, err := d.End(t.Context())
			must(t, err)
			if _, err := os.Lstat(d.Path); remains != c.kept || (err == nil) != c.kept {
				t.Errorf("End returned %v and the directory exists: %v, want %v", remains, err == nil, c.kept)
			}
			if got := names(t, p.From); !strings.HasPrefix(got, ".concerto/ .concerto/tasks/ .concerto/tasks/old/ a.txt broken>nowhere closed/ closed/d.txt deep/") {
				t.Errorf("names in the original directory: %s, want them unchanged", got)
			}
		})
	}
}

// TestMakeFails checks that a failed Make leaves no files.
func TestMakeFails(t *testing.T) {
	p := source(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the run is over")
	cancel(why)
	if _, err := Make(ctx, "copy", "run-W-1", Exchange{Host: "W"}, p); !errors.Is(err, why) {
		t.Errorf("cancelled Make: error %v, want the context's cause", err)
	}
	if _, err := Make(t.Context(), "clone", "run-W-1", Exchange{Host: "W"}, p); err == nil {
		t.Error("Make accepted the unknown kind clone")
	}
	missing := p
	missing.From = filepath.Join(p.Root, "missing")
	if _, err := Make(t.Context(), "copy", "run-W-1", Exchange{Host: "W"}, missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Make from a missing directory: error %v, want ErrNotExist", err)
	}
	if got := names(t, p.Tasks()); got != ".gitignore" {
		t.Errorf("names after failed calls of Make: %s, want only .gitignore", got)
	}
}

// repository creates a source that is a git repository with a commit.
func repository(t *testing.T) Place {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	p := source(t)
	t.Setenv("HOME", p.Root)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_DIR", filepath.Join(p.Root, "elsewhere")) // of who runs us
	p.Environ = os.Environ()
	if _, err := Make(t.Context(), "worktree", "run-W-1", Exchange{Host: "W"}, p); !errors.Is(err, ErrNoRepository) {
		t.Errorf("Make outside a repository: error %v, want ErrNoRepository", err)
	}
	write(t, filepath.Join(p.From, ".gitignore"), ".concerto\n*.o\n")
	runGit(t, p.From, "init", "-q", "-b", "main", ".")
	if _, err := Make(t.Context(), "worktree", "run-W-1", Exchange{Host: "W"}, p); err == nil || !strings.Contains(err.Error(), "has no commit yet") {
		t.Errorf("Make in a repository without a commit: error %v", err)
	}
	runGit(t, p.From, "add", "-A")
	commit(t, p.From)
	return p
}

// gitEnviron returns the environment without the variable that repository sets for the tested code.
func gitEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_DIR=") })
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = dir, gitEnviron()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func commit(t *testing.T, dir string) {
	t.Helper()
	runGit(t, dir, "-c", "user.email=a@example.com", "-c", "user.name=A", "commit", "-q", "--allow-empty", "-m", "a change")
}

func TestWorktree(t *testing.T) {
	p := repository(t)
	branches := func() string { return runGit(t, p.From, "branch", "--format=%(refname:short)") }
	for _, c := range []struct {
		name   string
		change func(dir string)
		kept   bool
	}{
		{"nothing", func(string) {}, false},
		{"a new file", func(dir string) { write(t, filepath.Join(dir, "new"), "") }, true},
		{"a file that git ignores", func(dir string) { write(t, filepath.Join(dir, "b.o"), "") }, true},
		{"a commit", func(dir string) { commit(t, dir) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := p
			at.From = filepath.Join(p.From, "deep")
			d := made(t, "worktree", at)
			if d.Branch != "concerto/run-W-1" || d.Path != filepath.Join(p.taskPath("run-W-1"), "deep") || branches() != "concerto/run-W-1\nmain" {
				t.Errorf("directory = %+v, branches = %s, want the branch concerto/run-W-1", d, branches())
			}
			c.change(d.Path)
			remains, err := d.End(t.Context())
			must(t, err)
			if _, err := os.Lstat(d.Path); remains != c.kept || (err == nil) != c.kept {
				t.Errorf("End returned %v and the directory exists: %v, want %v", remains, err == nil, c.kept)
			}
			if remains {
				must(t, NewStore(at).Remove(t.Context(), d.Name, true))
			}
			if got := branches() + runGit(t, p.From, "worktree", "prune", "-v"); got != "main" {
				t.Errorf("branches and worktrees after discard: %s, want only main", got)
			}
		})
	}
}

// TestCommitDuringEnd checks that a worktree remains if the program commits its changes while End
// inspects it. The program's own calls of git are not disturbed by locks.
func TestCommitDuringEnd(t *testing.T) {
	p := repository(t)
	d := made(t, "worktree", p)
	write(t, filepath.Join(d.Path, "new"), "")
	runGit(t, d.Path, "add", "new")
	real, err := exec.LookPath("git")
	must(t, err)
	bin := t.TempDir()
	write(t, filepath.Join(bin, "git"), fmt.Sprintf(`#!/bin/sh
[ "$GIT_OPTIONAL_LOCKS" = 0 ] || exit 9
'%[1]s' "$@"
code=$?
if [ ! -e '%[2]s' ]; then
	touch '%[2]s'
	'%[1]s' -c user.email=a@example.com -c user.name=A commit -qm "a change" >&2
fi
exit $code
`, real, filepath.Join(bin, "once")))
	must(t, os.Chmod(filepath.Join(bin, "git"), 0o755))
	d.store.git, err = git.New(t.Context(), append(p.Environ, "PATH="+bin+":"+os.Getenv("PATH")), p.From)
	must(t, err)
	if remains, err := d.End(t.Context()); !remains || err != nil {
		t.Errorf("End = %v (error %v), want true", remains, err)
	}
	if got := runGit(t, d.Path, "log", "--format=%s", "-1"); got != "a change" {
		t.Errorf("last commit %q", got)
	}
}
