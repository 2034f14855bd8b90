package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// The methods in this file are for merges (package merge).

// Repository is the repository of the workspaces. Main is the user's checkout.
type Repository struct {
	Git    *git.Git
	Main   git.Place
	Common string // its common directory
}

// Repository returns the repository of the workspaces. Its Git is synced: a merge that is recorded
// as done must be done after a power cut, too.
func (s *Store) Repository(ctx context.Context) (*Repository, error) {
	if err := s.repository(ctx); err != nil {
		return nil, err
	}
	return &Repository{s.git.Synced(), s.main(), s.common}, nil
}

// Root returns the directory of the manifest.
func (s *Store) Root() string { return s.place.Root }

// SetupTimeout returns how long the setup commands of a worktree may take.
func (s *Store) SetupTimeout() time.Duration {
	return time.Duration(s.place.Worktrees.SetupTimeout * float64(time.Second))
}

// Identified returns the Git of Repository for a commit at a time, with an identity if none is
// configured.
func (s *Store) Identified(ctx context.Context, at time.Time) (*git.Git, error) {
	g, err := s.git.Synced().Identified(ctx, s.main(), at)
	return g, failure(err, "", "find git's identity")
}

// Committed returns the commit of the workspace's branch. The error has the code dirty if there are
// uncommitted changes.
func (w *Workspace) Committed(ctx context.Context) (string, error) {
	place, err := w.place()
	if err != nil {
		return "", err
	}
	tip, err := w.followHead(ctx, place)
	if err != nil {
		return "", err
	}
	if err := w.checkModules(ctx); err != nil {
		return "", err
	}
	d, err := w.stat(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	if n := len(d.Files); n > 0 {
		return "", errorf(Dirty, w.Name, "the workspace %s has uncommitted changes in %s", w.Name, count(n, "file")).hint("concerto work commit %s -m TEXT", w.Name)
	}
	return tip, nil
}

// StartMerge merges a commit into the worktree without committing the result. Files with conflicts
// have conflict markers.
func (w *Workspace) StartMerge(ctx context.Context, commit string) error {
	place, err := w.place()
	if err != nil {
		return err
	}
	g, err := w.store.identified(ctx, time.Now())
	if err != nil {
		return failure(err, w.Name, "find git's identity")
	}
	_, err = g.Run(ctx, place, "-c", "rerere.enabled=false", "merge", "--quiet", "--no-ff", "--no-commit", "--no-verify-signatures", commit)
	if git.IsExit(err, 1) { // conflicts
		if _, missing := os.Stat(filepath.Join(place.GitDir, mergeFiles[0])); missing == nil {
			return nil
		}
	}
	return failure(err, w.Name, "merge "+commit+" into the workspace")
}

// RemoveContained removes a workspace that is not in use by another process, unless it has
// uncommitted changes, or commits that none of the revisions contains.
func (s *Store) RemoveContained(ctx context.Context, name string, revisions ...string) error {
	errKept := errors.New("the workspace has other work")
	err := s.remove(ctx, name, func(w *Workspace, ctx context.Context) error {
		files, commits, err := w.findWork(ctx, revisions...)
		if err == nil && (files != "" || commits > 0) {
			err = errKept
		}
		return err
	})
	known, ok := errors.AsType[*Error](err)
	if errors.Is(err, errKept) || ok && (known.Code == Busy || known.Code == Missing) {
		return nil
	}
	return err
}

// From returns the directory of the user's checkout in which workspaces correspond to Dir.
func (s *Store) From() string { return s.place.From }
