package merge

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/runtime/workspace"
)

// project is a repository with a manifest in its top directory, whose checkout is on the branch
// work. main has the file base.
type project struct {
	t       *testing.T
	dir     string
	environ []string
	queues  map[string]Config
}

func newProject(t *testing.T) *project {
	t.Helper()
	dir := t.TempDir()
	p := &project{t: t, dir: filepath.Join(dir, "repo"), queues: map[string]Config{"main": {Gate: [][]string{}}}}
	p.environ = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	p.must(os.Mkdir(p.dir, 0o755))
	p.git("", "init", "-q", "-b", "main", ".")
	p.write("base", "base\n")
	p.git("", "add", "-A")
	p.git("", "commit", "-q", "-m", "base")
	p.git("", "checkout", "-q", "-b", "work")
	p.write("stashed", "x\n")
	p.git("", "add", "stashed")
	p.git("", "stash", "-q")
	p.write("staged", "staged\n")
	p.git("", "add", "staged")
	p.write("base", "dirty\n")
	p.write("new", "new\n")
	return p
}

func (p *project) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) write(name, text string) {
	p.t.Helper()
	p.must(os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644))
}

// git runs git in the repository, and returns its output without the last line break.
func (p *project) git(input string, args ...string) string {
	p.t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env, c.Stdin = p.dir, p.environ, strings.NewReader(input)
	out, err := c.Output()
	if err != nil {
		failed, _ := err.(*exec.ExitError)
		p.t.Fatalf("git %v: %v\n%s", args, err, failed.Stderr)
	}
	return strings.TrimRight(string(out), "\n")
}

// commit moves a branch to a new commit with further files, which begins at from. A file whose
// content is "" is removed.
func (p *project) commit(branch, from, message string, files map[string]string) string {
	p.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter A <a@example.com> 1700000000 +0000\ndata %d\n%s\nfrom %s\n", branch, len(message), message, p.git("", "rev-parse", from))
	for name, text := range files {
		if text == "" {
			fmt.Fprintf(&b, "D %s\n", name)
			continue
		}
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	p.git(b.String(), "fast-import", "--quiet", "--force")
	return p.git("", "rev-parse", branch)
}

// open returns the merges of the project for a new process.
func (p *project) open() *Merges {
	s := workspace.NewStore(workspace.Place{Root: p.dir, From: p.dir, Environ: p.environ, CommandEnviron: p.environ})
	m := New(Options{Store: s, Queues: p.queues})
	p.t.Cleanup(func() { m.Close(); s.Close() })
	return m
}

// queue returns the queue main of a new process, with a gate.
func (p *project) queue(check Gate) *Queue {
	p.t.Helper()
	q, err := p.open().Queue("main")
	p.must(err)
	q.check = check
	return q
}

// state returns everything of the user that must not change.
func (p *project) state() string {
	var b strings.Builder
	b.WriteString(p.git("", "stash", "list"))
	for _, name := range []string{".git/index", ".git/HEAD", ".git/config", ".git/refs/stash", "base", "staged", "new"} {
		text, err := os.ReadFile(filepath.Join(p.dir, name))
		p.must(err)
		fmt.Fprintf(&b, "\n%s %x", name, sha256.Sum256(text))
	}
	return b.String()
}

// files returns the names of the files of a commit.
func (p *project) files(commit string) []string {
	return strings.Fields(p.git("", "ls-tree", "--name-only", commit))
}

// filesOf returns the names of the files in a worktree.
func filesOf(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// byID returns the changes of a queue by id.
func byID(t *testing.T, q *Queue) map[string]*Change {
	t.Helper()
	all, err := q.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]*Change{}
	for _, c := range all {
		by[c.ID] = c
	}
	return by
}

// refuse is a gate that fails if a worktree has one of the files.
func refuse(names ...string) Gate {
	return func(_ context.Context, w *workspace.Workspace) error {
		for _, name := range filesOf(w.Dir) {
			if slices.Contains(names, name) {
				return fmt.Errorf("%s is bad", name)
			}
		}
		return nil
	}
}
