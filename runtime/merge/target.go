package merge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// maxRestarts is how often a merge begins again because the target has moved.
const maxRestarts = 10

// errMoved means that the target has moved since the merge began.
var errMoved = errors.New("the target has moved")

// busyTarget returns the error of a merge whose target has moved too often.
func busyTarget(r *rules) error {
	return fail(workspace.Busy, "the branch %s moved %d times during the merge", r.Into, maxRestarts)
}

// target is the branch into which changes are merged.
type target struct {
	*builder
}

// tips returns the commit on which a merge is based, and that of the local branch. They differ only
// if the branch of a remote is merged into.
func (t target) tips(ctx context.Context) (old, local string, err error) {
	if local, err = t.local(ctx); err != nil || t.rules.Push == "" {
		return local, local, err
	}
	if old, err = t.fetch(ctx); err != nil {
		return "", "", err
	}
	if ok, err := t.contains(ctx, old, local); err != nil || ok {
		return old, local, err
	}
	e := fail(workspace.Diverged, "the local branch %s has commits that %s lacks", t.rules.Into, t.rules.Push)
	e.Hint = fmt.Sprintf("git push %s %s, or reset the local branch", t.rules.Push, t.rules.Into)
	return "", "", e
}

// local returns the commit of the local branch.
func (t target) local(ctx context.Context) (string, error) {
	tip, err := t.repo.Git.Run(ctx, t.repo.Main, "rev-parse", "--verify", "--quiet", "--end-of-options", t.rules.ref()+"^{commit}")
	if git.IsExit(err, 1) || git.IsExit(err, 128) {
		e := fail(workspace.NoBranch, "there is no branch %s", t.rules.Into)
		e.Hint = "git branch " + t.rules.Into
		return "", e
	}
	return tip, workspace.Failure(err, "", "find the branch "+t.rules.Into)
}

// fetch returns the commit of the remote's branch. It changes no ref of the user.
func (t target) fetch(ctx context.Context) (string, error) {
	fetched := "refs/concerto/fetched/" + t.rules.name
	_, err := t.repo.Git.Run(ctx, t.repo.Main, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap=", t.rules.Push, "+"+t.rules.ref()+":"+fetched)
	if err != nil {
		return "", workspace.Failure(err, "", "fetch "+t.rules.Into+" of "+t.rules.Push)
	}
	tip, err := t.repo.Git.Run(ctx, t.repo.Main, "rev-parse", "--verify", fetched)
	return tip, workspace.Failure(err, "", "find the fetched branch")
}

// checkout is a worktree.
type checkout struct {
	dir  string
	main bool // the repository's own
}

// checkFree returns an error if a worktree has the branch checked out, unless [merge.X] allows to
// update it. It then returns the worktree.
func (t target) checkFree(ctx context.Context) (*checkout, error) {
	if t.rules.proposes() {
		return nil, nil // the branch does not move
	}
	found, err := t.findCheckout(ctx)
	if err != nil || found == nil {
		return nil, err
	}
	e := fail(workspace.CheckedOut, "the worktree %s has %s checked out", found.dir, t.rules.Into)
	if t.rules.CheckedOut != "update" {
		e.Hint = "switch to another branch there, or set checked_out = \"update\" in [merge.X]"
		return nil, e
	}
	at, err := t.placeOf(found)
	if err != nil {
		return nil, err
	}
	changed, err := t.repo.Git.Run(ctx, at, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return nil, workspace.Failure(err, "", "read the state of "+found.dir)
	}
	on, err := t.repo.Git.Run(ctx, at, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && !git.IsExit(err, 1) {
		return nil, workspace.Failure(err, "", "read HEAD of "+found.dir)
	}
	if changed != "" || on != t.rules.ref() { // on differs during a rebase
		e.Message += " and has uncommitted changes"
		e.Hint = "commit them"
		return nil, e
	}
	return found, nil
}

// findCheckout returns the worktree that has the branch checked out, also during a rebase or a
// bisection, or nil.
func (t target) findCheckout(ctx context.Context) (*checkout, error) {
	out, err := t.repo.Git.Run(ctx, t.repo.Main, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, workspace.Failure(err, "", "list the worktrees")
	}
	for i, entry := range strings.Split(out, "\x00\x00") {
		c := checkout{main: i == 0}
		has, gone := false, false
		for line := range strings.SplitSeq(strings.Trim(entry, "\x00"), "\x00") {
			switch name, value, _ := strings.Cut(line, " "); name {
			case "worktree":
				c.dir = value
			case "branch":
				has = value == t.rules.ref()
			case "prunable":
				gone = true
			}
		}
		if c.dir == "" || gone {
			continue
		}
		if has || t.isInProgress(&c) {
			return &c, nil
		}
	}
	return nil, nil
}

// isInProgress reports whether a worktree rebases or bisects the branch.
func (t target) isInProgress(c *checkout) bool {
	at, err := t.placeOf(c)
	if err != nil {
		return false
	}
	dir := at.GitDir
	if c.main {
		dir = t.repo.Common
	}
	for _, name := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"} {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if branch := strings.TrimSpace(string(text)); err == nil && (branch == t.rules.ref() || branch == t.rules.Into) {
			return true
		}
	}
	return false
}

// placeOf returns where git runs for a worktree.
func (t target) placeOf(c *checkout) (git.Place, error) {
	if c.main {
		return git.Place{Dir: c.dir}, nil
	}
	own, err := workspace.AdminDir(t.repo.Common, c.dir)
	return git.Place{Dir: c.dir, GitDir: own, CommonDir: t.repo.Common}, workspace.Failure(err, "", "read the list of worktrees")
}

// move moves the branch to a commit whose tree has passed the gate. old and local are the results
// of tips. The error is errMoved if one of them is no longer true; the branch is then unchanged.
func (t target) move(ctx context.Context, step func(string), old, local, commit string, ids []string) error {
	held, err := t.checkFree(ctx)
	if err != nil {
		return err
	}
	if t.rules.Push != "" {
		step("push")
		if err := t.push(ctx, old, commit); err != nil {
			return err
		}
	}
	step("update-ref")
	return t.moveLocal(ctx, held, local, commit, ids)
}

// moveLocal moves the local branch, and the worktree that has it checked out, if it is not nil.
func (t target) moveLocal(ctx context.Context, held *checkout, local, commit string, ids []string) error {
	message := "concerto: merge " + strings.Join(ids, " ")
	ctx = context.WithoutCancel(ctx) // it takes milliseconds
	var err error
	if held == nil {
		err = t.committer.Finish(ctx, t.repo.Main, "update-ref", "-m", message, t.rules.ref(), commit, local)
	} else {
		at, placeErr := t.placeOf(held)
		if placeErr != nil {
			return placeErr
		}
		head, headErr := t.repo.Git.Run(ctx, at, "rev-parse", "--verify", "HEAD")
		if headErr == nil && head != local {
			return errMoved
		}
		err = t.committer.With("GIT_REFLOG_ACTION="+message).Finish(ctx, at, "-c", "merge.autoStash=false", "-c", "submodule.recurse=false", "merge", "--quiet", "--ff-only", "--no-verify-signatures", commit)
	}
	if err == nil {
		return nil
	}
	now, readErr := t.local(ctx)
	if readErr == nil && now != local {
		return errMoved
	}
	if held != nil && git.IsExit(err, 1) {
		e := fail(workspace.CheckedOut, "the worktree %s has %s checked out and could not be updated", held.dir, t.rules.Into)
		var failed *git.Error
		if errors.As(err, &failed) {
			e.Hint = failed.Stderr
		}
		return e
	}
	return workspace.Failure(err, "", "move the branch "+t.rules.Into)
}

// follow moves the local branch to a commit that the remote's branch contains, unless it contains
// it already.
func (t target) follow(ctx context.Context, local, commit string, ids []string) error {
	has, err := t.contains(ctx, local, commit)
	if err != nil || has {
		return err
	}
	held, err := t.checkFree(ctx)
	if err != nil {
		return err
	}
	return t.moveLocal(ctx, held, local, commit, ids)
}

// push moves the remote's branch.
func (t target) push(ctx context.Context, old, commit string) error {
	_, err := t.repo.Git.Run(ctx, t.repo.Main, "push", "--quiet", "--no-follow-tags", "--no-recurse-submodules", "--force-with-lease="+t.rules.ref()+":"+old, t.rules.Push, commit+":"+t.rules.ref())
	if err == nil {
		return nil
	}
	now, readErr := t.remoteTip(ctx)
	switch {
	case readErr != nil:
	case now == commit:
		return nil
	case now != old:
		return errMoved
	}
	return workspace.Failure(err, "", "push "+t.rules.Into+" to "+t.rules.Push)
}

// remoteTip returns the commit of the remote's branch, which may not be in the repository.
func (t target) remoteTip(ctx context.Context) (string, error) {
	out, err := t.repo.Git.Run(ctx, t.repo.Main, "ls-remote", "--quiet", t.rules.Push, t.rules.ref())
	commit, _, _ := strings.Cut(out, "\t")
	return commit, workspace.Failure(err, "", "read the branches of "+t.rules.Push)
}
