package workspace

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// ErrNoRepository means that the directory for which a worktree is requested is in no repository.
// The text continues a sentence that begins with the directory.
var ErrNoRepository = errors.New("is not in a git repository")

// adding serialises changes to a repository's list of worktrees.
var adding sync.Mutex

// makeWorktree creates a directory as a workspace.
func makeWorktree(ctx context.Context, s *Store, name string) (*Dir, error) {
	w, release, err := s.openAs(ctx, name, "", true)
	if known, ok := errors.AsType[*Error](err); ok && known.Code == NoRepository {
		return nil, fmt.Errorf("%s %w", s.place.From, ErrNoRepository)
	}
	if err != nil {
		return nil, err
	}
	return &Dir{Name: name, Path: w.Dir, Branch: w.Branch, place: s.place, store: s, release: release}, nil
}

// hasChanged reports whether the worktree has new commits or changed files, including files that
// git ignores.
func (w *Workspace) hasChanged(ctx context.Context) (bool, error) {
	at, err := w.place()
	if err != nil {
		return true, err
	}
	modules, err := w.modules(ctx)
	if err != nil {
		return true, err
	}
	places := []git.Place{at}
	for _, m := range modules {
		if m.files {
			places = append(places, m.at)
		}
	}
	for _, p := range places { // without --ignore-submodules, git would use the settings in a file of the worktree
		left, err := w.store.git.Run(ctx, p, "status", "--porcelain", "--ignored", "--untracked-files=normal", "--ignore-submodules=dirty")
		if err != nil || left != "" {
			return true, failure(err, w.Name, "read the state of the worktree")
		}
	}
	if inner, err := w.moduleWork(ctx); err != nil || inner != "" {
		return true, err
	}
	// The program may commit the files at any moment. The commit is read last, so that a change is
	// found either as a file or as a commit.
	now, err := w.store.git.Run(ctx, at, "rev-parse", "--verify", "HEAD")
	if git.IsExit(err, 128) {
		return true, nil
	}
	return now != w.Base, failure(err, w.Name, "read HEAD")
}
