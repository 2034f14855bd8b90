package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// ErrNoRepository says that a worktree was wanted of a directory that is in none.
var ErrNoRepository = errors.New("is in no git repository")

// adding lets one process at a time change a repository's list of worktrees.
var adding sync.Mutex

// worktree makes the directory a worktree of HEAD, on a branch of its own.
func (d *Dir) worktree(ctx context.Context) error {
	top, err := d.git(ctx, d.place.From, "rev-parse", "--show-toplevel")
	var failed *gitError
	if errors.As(err, &failed) && failed.code == 128 && strings.Contains(failed.text, "not a git repository") {
		return fmt.Errorf("%s %w", d.place.From, ErrNoRepository)
	}
	if err != nil {
		return err
	}
	below, err := d.git(ctx, d.place.From, "rev-parse", "--show-prefix")
	if err != nil {
		return err
	}
	commit, err := d.git(ctx, top, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return fmt.Errorf("%s has no commit yet: %w", top, err)
	}
	adding.Lock()
	defer adding.Unlock()
	base, branch := d.Path, "concerto/"+d.Name
	if _, err := d.git(ctx, top, "worktree", "add", "--quiet", "-b", branch, base, commit); err != nil {
		return err
	}
	d.Path, d.Branch, d.commit = filepath.Join(base, filepath.FromSlash(below)), branch, commit
	return nil
}

// worktreeChanged says whether anything was committed or lies in it that is not in
// its commit, files that git ignores included.
func (d *Dir) worktreeChanged(ctx context.Context) (bool, error) {
	base := d.place.path(d.Name)
	now, err := d.git(ctx, base, "rev-parse", "HEAD")
	if err != nil || now != d.commit {
		return true, err
	}
	left, err := d.git(ctx, base, "status", "--porcelain", "--ignored")
	return left != "", err
}

func (d *Dir) discardWorktree(ctx context.Context) error {
	adding.Lock()
	defer adding.Unlock()
	if _, err := d.git(ctx, d.place.From, "worktree", "remove", "--force", d.place.path(d.Name)); err != nil {
		return err
	}
	_, err := d.git(ctx, d.place.From, "branch", "--quiet", "-D", d.Branch)
	return err
}

// gitError is a call of git that failed.
type gitError struct {
	args []string
	code int
	text string
}

func (e *gitError) Error() string {
	text := e.text
	if text == "" {
		text = fmt.Sprintf("exit code %d", e.code)
	}
	return "git " + strings.Join(e.args, " ") + ": " + text
}

// gitGrace is what git is given to end by itself.
const gitGrace = time.Second

// git runs git in a directory and gives the first line that it writes, or all.
func (d *Dir) git(ctx context.Context, dir string, args ...string) (string, error) {
	env := withoutRepository(d.place.Environ)
	path, err := procgroup.Find("git", dir, env)
	if err != nil {
		return "", fmt.Errorf("git cannot be run: %w", err)
	}
	var said []string
	p, err := procgroup.Start(procgroup.Command{Path: path, Args: args, Env: env, Dir: dir, Stderr: func(line string) { said = append(said, line) }})
	if err != nil {
		return "", fmt.Errorf("git cannot be run: %w", err)
	}
	_ = p.Stdin.Close()
	var out []byte
	read := make(chan struct{})
	go func() {
		defer close(read)
		out, _ = io.ReadAll(p.Stdout) // it ends with the process
	}()
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.End(gitGrace, nil)
	}
	<-p.Gone()
	<-read
	switch code := p.Exit().Code; {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case code != 0:
		return "", &gitError{args, code, strings.Join(said, "; ")}
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// withoutRepository is the environment without what would make git work on another
// repository than that of its directory; what git says is English.
func withoutRepository(environ []string) []string {
	env := make([]string, 0, len(environ)+1)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "LC_ALL", "LANGUAGE":
		default:
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C")
}
