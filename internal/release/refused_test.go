package release

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// repositoryIn makes a directory with a go.mod a git repository.
func repositoryIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/m\n", 0o644)
	write(t, filepath.Join(dir, ".gitignore"), "/bin/\n", 0o644)
	if err := testproc.Repository(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRefused checks that a release is refused before anything is built, and that nothing is
// written.
func TestRefused(t *testing.T) {
	clean := repositoryIn(t)
	dirty := repositoryIn(t)
	write(t, filepath.Join(dirty, "new.go"), "package m\n", 0o644)
	used := t.TempDir()
	write(t, filepath.Join(used, "notes.txt"), "", 0o644)
	for name, x := range map[string]struct {
		options Options
		path    string // value of PATH, unless empty
		reason  string
	}{
		"no git":              {options: Options{Root: clean}, path: t.TempDir(), reason: "a release requires git, which is not in PATH"},
		"no repository":       {options: Options{Root: t.TempDir()}, reason: "a release requires a commit in a git repository: "},
		"dirty":               {options: Options{Root: dirty}, reason: "the working tree has uncommitted changes"},
		"not a version":       {options: Options{Root: clean, Version: "1.2"}, reason: "VERSION=1.2 is not a semantic version"},
		"a version with v":    {options: Options{Root: clean, Version: "v1.2.3"}, reason: "use VERSION=1.2.3"},
		"build metadata":      {options: Options{Root: clean, Version: "1.2.3+5"}, reason: "VERSION=1.2.3+5 has build metadata"},
		"a command":           {options: Options{Root: clean, Version: "1.0.0$(touch x)"}, reason: "is not a semantic version"},
		"unknown target":      {options: Options{Root: clean, Targets: "linux/amd64 plan9/amd64"}, reason: `unknown target "plan9/amd64": the targets are linux/amd64, `},
		"not encrypted":       {options: Options{Root: clean, BaseURL: "http://example.com/"}, reason: "BASE_URL=http://example.com/ is not an https address"},
		"a quote":             {options: Options{Root: clean, BaseURL: "https://example.com/'x"}, reason: "is not an https address"},
		"a time":              {options: Options{Root: clean, Epoch: "today"}, reason: "SOURCE_DATE_EPOCH=today is not a number of seconds"},
		"no playground":       {options: Options{Root: clean, Playground: "missing"}, reason: "PLAYGROUND=missing has no index.html: `make playground OUT=missing` builds it"},
		"another directory":   {options: Options{Root: clean, Out: used}, reason: "has other files than a release"},
		"a file":              {options: Options{Root: clean, Out: filepath.Join(used, "notes.txt")}, reason: "OUT cannot be used"},
		"below a file":        {options: Options{Root: clean, Out: filepath.Join(used, "notes.txt", "x")}, reason: "OUT cannot be"},
		"the version is last": {options: Options{Root: dirty, Version: "x"}, reason: "the working tree has uncommitted changes"},
	} {
		t.Run(name, func(t *testing.T) {
			if x.path != "" {
				t.Setenv("PATH", x.path)
			}
			var log bytes.Buffer
			x.options.Log = &log
			before := namesIn(t, x.options.Root) + namesIn(t, used)
			err := Make(context.Background(), x.options)
			if _, ok := errors.AsType[*RefusedError](err); !ok || !strings.Contains(err.Error(), x.reason) {
				t.Errorf("error = %v, want one with %q", err, x.reason)
			}
			if log.Len() > 0 {
				t.Errorf("log = %q", log.String())
			}
			if after := namesIn(t, x.options.Root) + namesIn(t, used); after != before {
				t.Errorf("files before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// namesIn returns the names of the files in a directory, except for those of git.
func namesIn(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

// TestFailed checks that a release that fails leaves the earlier one, and no other files.
func TestFailed(t *testing.T) {
	dir := repositoryIn(t) // it has no programs, so the build fails
	out := filepath.Join(dir, "bin", "release")
	write(t, filepath.Join(out, listFile), "{}", 0o644)
	err := Make(context.Background(), Options{Root: dir})
	if err == nil || !strings.Contains(err.Error(), "cmd/concerto") {
		t.Errorf("error = %v", err)
	}
	if got, want := namesIn(t, filepath.Join(dir, "bin")), filepath.Join(out, listFile); got != want {
		t.Errorf("bin contains %q, want %q", got, want)
	}
}

// TestReplace checks that a release replaces an earlier one.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	out, made := filepath.Join(dir, "release"), filepath.Join(dir, "release.new-1")
	write(t, filepath.Join(out, "old"), "", 0o644)
	write(t, filepath.Join(made, "new"), "", 0o644)
	if err := replace(out, made); err != nil {
		t.Fatal(err)
	}
	if got, want := namesIn(t, dir), filepath.Join(out, "new"); got != want {
		t.Errorf("files = %q, want %q", got, want)
	}
}

// TestMakefile checks the exit code of `make release`.
func TestMakefile(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not in PATH")
	}
	requireRepository(t)
	dir := t.TempDir()
	c := exec.Command("make", "-C", filepath.Join("..", ".."), "release", "TARGETS=linux/amd64", "VERSION=one", "DIRTY=1", "OUT="+filepath.Join(dir, "out"))
	out, err := c.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), "release: VERSION=one is not a semantic version") {
		t.Errorf("error = %v\n%s", err, out)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("the directory contains %v", entries)
	}
}

// TestSources checks that a release has the files of the commit, or those of a dirty working tree.
func TestSources(t *testing.T) {
	dir := repositoryIn(t)
	write(t, filepath.Join(dir, "bin", "ignored"), "", 0o644)
	export := func() string {
		t.Helper()
		r, err := openRepository(dir, filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		if err := r.export(to); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(namesIn(t, to), to+string(filepath.Separator), "")
	}
	if got, want := export(), ".gitignore\ngo.mod"; got != want {
		t.Errorf("files of the commit = %q, want %q", got, want)
	}
	write(t, filepath.Join(dir, "x", "new.go"), "package x\n", 0o644)
	write(t, filepath.Join(dir, "out", listFile), "{}", 0o644)
	write(t, filepath.Join(dir, "out"+stagingMark+"1", "part"), "", 0o644)
	if err := os.Remove(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	status, objects := git("status", "--porcelain"), git("count-objects")
	if got, want := export(), ".gitignore\nx/new.go"; got != want {
		t.Errorf("files of the working tree = %q, want %q", got, want)
	}
	if git("status", "--porcelain") != status || git("count-objects") != objects {
		t.Error("the repository has changed")
	}
}

// TestOwnFilesAreNotDirty checks that the files of an earlier release are no changes.
func TestOwnFilesAreNotDirty(t *testing.T) {
	dir := repositoryIn(t)
	write(t, filepath.Join(dir, "out", listFile), "{}", 0o644)
	r, err := openRepository(dir, filepath.Join(dir, "out"))
	if err != nil || r.dirty {
		t.Errorf("dirty = %v, error %v", r.dirty, err)
	}
	if r, err = openRepository(dir, filepath.Join(dir, "elsewhere")); err != nil || !r.dirty {
		t.Errorf("dirty = %v, error %v", r.dirty, err)
	}
}
