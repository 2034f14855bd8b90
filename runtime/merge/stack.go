package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// builder makes the commits of merges. It changes no ref.
type builder struct {
	repo      *workspace.Repository
	committer *git.Git // with the identity and the date of the commits
	rules     *rules
}

// newBuilder returns a builder for commits at a time.
func (m *Merges) newBuilder(ctx context.Context, r *rules, at time.Time) (*builder, error) {
	repo, err := m.o.Store.Repository(ctx)
	if err != nil {
		return nil, err
	}
	committer, err := m.o.Store.Identified(ctx, at)
	return &builder{repo, committer, r}, err
}

// result is a commit with its tree.
type result struct{ commit, tree string }

// change is what a builder merges.
type change struct{ id, title, commit string }

// conflictError means that two commits do not merge.
type conflictError struct{ paths []string }

func (e *conflictError) Error() string { return "conflicts in " + strings.Join(e.paths, ", ") }

// mergeTree merges a commit into another, and returns the tree. The error is an *conflictError, or
// has the code unrelated.
func (b *builder) mergeTree(ctx context.Context, base, commit string) (string, error) {
	out, err := b.repo.Git.Pipe(ctx, b.repo.Main, nil, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", base, commit)
	parts := strings.Split(string(out), "\x00")
	switch {
	case err == nil:
		return parts[0], nil
	case git.IsExit(err, 1):
		paths := slices.DeleteFunc(parts[1:], func(p string) bool { return p == "" })
		for i := range paths {
			paths[i] = strings.ToValidUTF8(withoutLabel(paths[i], base, commit), "\uFFFD")
		}
		slices.Sort(paths)
		return "", &conflictError{slices.Compact(paths)}
	}
	if related := b.checkRelated(ctx, base, commit); related != nil {
		return "", related
	}
	return "", workspace.Failure(err, "", "merge "+commit+" into "+b.rules.Into)
}

// withoutLabel returns a path without the ~COMMIT or ~COMMIT_N that git appends if one side has a
// directory and the other a file.
func withoutLabel(path string, commits ...string) string {
	for _, c := range commits {
		i := strings.LastIndex(path, "~"+c)
		if i < 0 {
			continue
		}
		if rest := path[i+1+len(c):]; strings.Trim(rest, "_0123456789") == "" {
			return path[:i]
		}
	}
	return path
}

// checkRelated returns an error with the code unrelated if commits have no common ancestor.
func (b *builder) checkRelated(ctx context.Context, base, commit string) error {
	_, err := b.repo.Git.Run(ctx, b.repo.Main, "merge-base", base, commit)
	if !git.IsExit(err, 1) {
		return workspace.Failure(err, "", "find the common ancestor of "+base+" and "+commit)
	}
	e := fail(workspace.Unrelated, "%s and %s have no common ancestor", short(commit), b.rules.Into)
	e.Hint = "git fetch --unshallow, if the repository is shallow"
	return e
}

// contains reports whether a commit is another or descends from it.
func (b *builder) contains(ctx context.Context, tip, commit string) (bool, error) {
	_, err := b.repo.Git.Run(ctx, b.repo.Main, "merge-base", "--is-ancestor", commit, tip)
	if git.IsExit(err, 1) {
		return false, nil
	}
	return err == nil, workspace.Failure(err, "", "compare "+commit+" with "+tip)
}

// treeOf returns the tree of a commit.
func (b *builder) treeOf(ctx context.Context, commit string) (string, error) {
	tree, err := b.repo.Git.Run(ctx, b.repo.Main, "rev-parse", "--verify", commit+"^{tree}")
	return tree, workspace.Failure(err, "", "read the tree of "+commit)
}

// commitTree makes a commit.
func (b *builder) commitTree(ctx context.Context, g *git.Git, tree, message string, parents ...string) (result, error) {
	commit, err := g.Commit(ctx, b.repo.Main, tree, message, parents...)
	if err != nil {
		return result{}, workspace.Failure(err, "", "make a commit")
	}
	return result{commit, tree}, nil
}

// merge makes the commit that merges a change into another commit.
func (b *builder) merge(ctx context.Context, base string, c change) (result, error) {
	tree, err := b.mergeTree(ctx, base, c.commit)
	if err != nil {
		return result{}, err
	}
	if b.rules.Method == "squash" {
		return b.squash(ctx, tree, base, c)
	}
	title, err := b.titleOf(ctx, c)
	if err != nil {
		return result{}, err
	}
	return b.commitTree(ctx, b.committer, tree, fmt.Sprintf("Merge %s: %s\n\nConcerto-Change: %s\n", c.id, title, c.id), base, c.commit)
}

// mergeBatch makes the commit that merges a stack of changes into the target.
func (b *builder) mergeBatch(ctx context.Context, old string, stack result, ids []string) (result, error) {
	return b.commitTree(ctx, b.committer, stack.tree, fmt.Sprintf("Merge %d changes: %s\n", len(ids), strings.Join(ids, ", ")), old, stack.commit)
}

// titleOf returns the title of a change, by default the subject of its last commit.
func (b *builder) titleOf(ctx context.Context, c change) (string, error) {
	if c.title != "" {
		return c.title, nil
	}
	title, err := b.repo.Git.Run(ctx, b.repo.Main, "log", "-1", "--format=%s", c.commit, "--")
	return title, workspace.Failure(err, "", "read the commit "+c.commit)
}

// squash makes a commit with the tree of a merge and the author and message of a change.
func (b *builder) squash(ctx context.Context, tree, base string, c change) (result, error) {
	out, err := b.repo.Git.Run(ctx, b.repo.Main, "log", "-1", "--format=%an%n%ae%n%ad%n%b", "--date=raw", c.commit, "--")
	if err != nil {
		return result{}, workspace.Failure(err, "", "read the commit "+c.commit)
	}
	author := strings.SplitN(out+"\n\n\n", "\n", 4)
	title, err := b.titleOf(ctx, c)
	if err != nil {
		return result{}, err
	}
	subjects, err := b.repo.Git.Run(ctx, b.repo.Main, "log", "--reverse", "--no-merges", "--format=* %s", base+".."+c.commit, "--")
	if err != nil {
		return result{}, workspace.Failure(err, "", "list the commits of "+c.id)
	}
	body := subjects
	if strings.Count(subjects, "\n") == 0 {
		body = strings.TrimSpace(author[3])
	}
	message := title + "\n\n"
	if body != "" {
		message += body + "\n\n"
	}
	message += "Concerto-Change: " + c.id + "\n"
	g := b.committer.With("GIT_AUTHOR_NAME="+author[0], "GIT_AUTHOR_EMAIL="+author[1], "GIT_AUTHOR_DATE=@"+author[2])
	return b.commitTree(ctx, g, tree, message, base)
}

// short returns an abbreviated commit for messages.
func short(commit string) string { return commit[:min(len(commit), 12)] }

// isConflict returns the paths of an *conflictError.
func isConflict(err error) ([]string, bool) {
	var c *conflictError
	if errors.As(err, &c) {
		return c.paths, true
	}
	return nil, false
}
