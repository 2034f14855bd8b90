package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// TestNew checks which versions are accepted.
func TestNew(t *testing.T) {
	for text, want := range map[string]error{
		"git version 2.38.0": nil, "git version 2.39.5 (Apple Git-154)": nil, "git version 2.45.1.windows.1": nil, "git version 3.0": nil, "git version 2.38": nil,
		"git version 2.37.9": ErrOld, "git version 1.9": ErrOld, "": ErrOld, "command not found": ErrOld,
	} {
		if err := checkVersion(text, Least); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	if _, err := New(t.Context(), []string{"PATH=" + t.TempDir()}, t.TempDir()); !errors.Is(err, ErrMissing) {
		t.Errorf("without git: %v", err)
	}
}

// TestEnvironment checks which variables git receives.
func TestEnvironment(t *testing.T) {
	got := environment([]string{"HOME=/h", "GIT_DIR=/x", "GIT_INDEX_FILE=/x", "GIT_TRACE=1", "GIT_EXTERNAL_DIFF=/x", "GIT_AUTHOR_NAME=A", "GIT_SSH_COMMAND=ssh", "GIT_ASKPASS=/a", "GIT_CONFIG_GLOBAL=/g", "LC_ALL=de", "GIT_OPTIONAL_LOCKS=1"})
	want := []string{"HOME=/h", "GIT_AUTHOR_NAME=A", "GIT_SSH_COMMAND=ssh", "GIT_ASKPASS=/a", "GIT_CONFIG_GLOBAL=/g", "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"}
	if !slices.Equal(got, want) {
		t.Errorf("variables %q, want %q", got, want)
	}
}

// TestRepeat checks that a call is repeated while another process holds a lock or creates a
// worktree.
func TestRepeat(t *testing.T) {
	for _, message := range []string{"fatal: Unable to create '/r/.git/index.lock': File exists.", "fatal: failed to read .git/worktrees/w/commondir: Success"} {
		bin := t.TempDir()
		count := filepath.Join(bin, "count")
		script := "#!/bin/sh\n[ \"$9\" = version ] && echo git version 2.40 && exit\necho x >> " + count + "\nif [ $(wc -l < " + count + ") -lt 3 ]; then echo \"" + message + "\" >&2; exit 128; fi\necho done\n"
		if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		g := &Git{path: filepath.Join(bin, "git"), environ: []string{"PATH=" + os.Getenv("PATH")}}
		out, err := g.Run(t.Context(), Place{Dir: bin}, "add")
		if out != "done" || err != nil {
			t.Errorf("%s: %q, %v", message, out, err)
		}
		text, err := os.ReadFile(count)
		if err != nil || strings.Count(string(text), "x") != 3 {
			t.Errorf("%s: git was started %d times", message, strings.Count(string(text), "x"))
		}
	}
}

// TestUnfinishedWorktree checks that git's error for a worktree that is being created is known.
func TestUnfinishedWorktree(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), testproc.Repository(dir)); err != nil {
		t.Fatal(err)
	}
	g, err := New(t.Context(), os.Environ(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Finish(t.Context(), Place{Dir: dir}, "worktree", "add", "-q", "--detach", filepath.Join(dir, "w")); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, ".git", "worktrees", "w", "commondir"), 0); err != nil {
		t.Fatal(err)
	}
	_, err = g.start(t.Context(), Place{Dir: dir}, nil, false, []string{"worktree", "list"})
	if failed, ok := errors.AsType[*Error](err); !ok || !failed.isUnfinished() {
		t.Errorf("the error of git is %v", err)
	}
}
