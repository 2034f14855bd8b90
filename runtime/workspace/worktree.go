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

// ErrNoRepository means that the directory for which a worktree is requested is in no repository.
// The text continues a sentence that begins with the directory.
var ErrNoRepository = errors.New("is not in a git repository")

// adding serialises changes to a repository's list of worktrees.
var adding sync.Mutex

// worktree creates the directory as a worktree of HEAD on a new branch.
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

// worktreeChanged reports whether the worktree has new commits or changed files, including files
// that git ignores.
func (d *Dir) worktreeChanged(ctx context.Context) (bool, error) {
	base := d.place.taskPath(d.Name)
	left, err := d.git(ctx, base, "status", "--porcelain", "--ignored")
	if err != nil || left != "" {
		return true, err
	}
	// The program may commit the files at any moment. The commit is read last, so that a change is
	// found either as a file or as a commit.
	now, err := d.git(ctx, base, "rev-parse", "HEAD")
	return now != d.commit, err
}

func (d *Dir) discardWorktree(ctx context.Context) error {
	adding.Lock()
	defer adding.Unlock()
	if _, err := d.git(ctx, d.place.From, "worktree", "remove", "--force", d.place.taskPath(d.Name)); err != nil {
		return err
	}
	_, err := d.git(ctx, d.place.From, "branch", "--quiet", "-D", d.Branch)
	return err
}

// gitError is the error of a call of git that has failed.
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

// gitGrace is the time between SIGTERM and SIGKILL for git.
const gitGrace = time.Second

// git runs git in a directory. It returns the output if git succeeds.
func (d *Dir) git(ctx context.Context, dir string, args ...string) (string, error) {
	env := withoutRepository(d.place.Environ)
	path, err := procgroup.Find("git", dir, env)
	if err != nil {
		return "", fmt.Errorf("could not run git: %w", err)
	}
	var lines []string
	p, err := procgroup.Start(procgroup.Command{Path: path, Args: args, Env: env, Dir: dir, Stderr: func(line string) { lines = append(lines, line) }})
	if err != nil {
		return "", fmt.Errorf("could not run git: %w", err)
	}
	_ = p.Stdin.Close()
	var out []byte
	read := make(chan struct{})
	go func() {
		defer close(read)
		out, _ = io.ReadAll(p.Stdout) // the output ends when the process exits
	}()
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.End(gitGrace, nil)
	}
	<-p.GroupDone()
	<-read
	switch code := p.Exit().Code; {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case code != 0:
		return "", &gitError{args, code, strings.Join(lines, "; ")}
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// withoutRepository returns the environment without the variables that would make git use another
// repository than that of the directory. It also sets git's language to English, and makes git
// take no locks to store what it has only read: the program may use the same worktree.
func withoutRepository(environ []string) []string {
	env := make([]string, 0, len(environ)+1)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OPTIONAL_LOCKS", "LC_ALL", "LANGUAGE":
		default:
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0")
}
