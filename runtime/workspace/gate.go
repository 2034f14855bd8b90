package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

// gateFolder is the name of the directory in .concerto that contains the worktrees of gates.
const gateFolder = "gates"

// Gate is a worktree in which the gate of merges runs. It is on no branch. The caller must call
// Release.
type Gate struct {
	name  string
	store *Store // of gates
}

// gateStore returns the store of the worktrees of gates.
func (s *Store) gateStore(ctx context.Context) (*Store, error) {
	if err := s.repository(ctx); err != nil {
		return nil, err
	}
	s.gatesMu.Lock()
	defer s.gatesMu.Unlock()
	if s.gates == nil {
		at := s.place
		at.folder, at.Uses = gateFolder, nil
		g := NewStore(at)
		g.git, g.top, g.common, g.root, g.below = s.git, s.top, s.common, s.root, s.below
		s.gates = g
	}
	return s.gates, nil
}

// UseGate returns the first worktree of a queue's gates that is not in use: QUEUE-1, QUEUE-2, ….
func (s *Store) UseGate(ctx context.Context, queue string) (*Gate, error) {
	g, err := s.gateStore(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.place.prepare(); err != nil {
		return nil, failure(err, "", "create the directory of gates")
	}
	for k := 1; ; k++ {
		name := fmt.Sprintf("%s-%d", queue, k)
		free, err := g.lockGate(name)
		if err != nil {
			return nil, failure(err, "", "lock the worktree of the gate "+name)
		}
		if free {
			return &Gate{name, g}, nil
		}
	}
}

// lockGate locks the worktree of a gate, and reports whether nothing else uses it.
func (s *Store) lockGate(name string) (bool, error) {
	u := s.place.Uses
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.locks[name] != nil {
		return false, nil
	}
	unlock, err := lockfile.LockAs(s.place.taskPath(name) + lockSuffix)
	if errors.Is(err, lockfile.ErrHeld) {
		return false, nil
	}
	if err == nil {
		u.locks[name] = &use{unlock: unlock}
	}
	return err == nil, err
}

// Release lets others use the worktree.
func (g *Gate) Release() { g.store.unlock(g.name) }

// Root returns the directory in the worktree that corresponds to the manifest's.
func (g *Gate) Root() string { return filepath.Join(g.store.place.taskPath(g.name), g.store.root) }

// Reset makes the worktree contain a commit, without files that are neither in it nor ignored. It
// creates the worktree if it is missing or damaged. base is the base of the returned workspace.
// Git may take limit to write the files.
func (g *Gate) Reset(ctx context.Context, commit, base string, limit time.Duration) (*Workspace, error) {
	s := g.store
	r, err := s.place.read(g.name)
	if errors.Is(err, ErrDamaged) {
		r, err = nil, nil // the worktree contains nothing that is needed
	}
	if err != nil {
		return nil, err
	}
	if r != nil && r.State == ready {
		limited, cancel := withLimit(ctx, limit)
		err := g.checkOut(limited, s.of(r), commit)
		if limited.Err() != nil {
			err = context.Cause(limited)
			cancel()
			return nil, err
		}
		cancel()
		if err == nil {
			w := s.of(r)
			w.Base = base
			return w, nil
		}
	}
	r = &record{Name: g.name, Base: commit, State: creating, Created: time.Now().UTC().Format(time.RFC3339)}
	if err := s.discard(ctx, r); err != nil {
		return nil, err
	}
	if err := s.place.write(r); err != nil {
		return nil, failure(err, "", "write the record of the gate's worktree")
	}
	if err := s.build(ctx, r, limit); err != nil {
		return nil, errors.Join(err, s.discard(context.WithoutCancel(ctx), r))
	}
	r.State = ready
	if err := s.place.write(r); err != nil {
		return nil, failure(err, "", "write the record of the gate's worktree")
	}
	w := s.of(r)
	w.Base = base
	return w, nil
}

// withLimit returns a context that ends after a time, with an error that states it; 0 means no
// limit.
func withLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("git timed out after %g s", limit.Seconds()))
}

// checkOut makes an existing worktree contain a commit. Ignored files, such as caches of builds,
// remain.
func (g *Gate) checkOut(ctx context.Context, w *Workspace, commit string) error {
	at, err := w.place()
	if err != nil {
		return err
	}
	if _, err := (&Layout{Top: w.top, Admin: at.GitDir}).RestoreLink(); err != nil {
		return err
	}
	for _, name := range []string{"index.lock", "HEAD.lock"} { // of a git that was killed; no other may run here
		if err := os.Remove(filepath.Join(at.GitDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	git := g.store.git
	if _, err := git.Run(ctx, at, "checkout", "--quiet", "--detach", "--force", "--no-recurse-submodules", commit, "--"); err != nil {
		return err
	}
	if _, err := git.Run(ctx, at, "clean", "--quiet", "-ffd"); err != nil { // twice: also repositories that a gate has created
		return err
	}
	if g.store.place.Worktrees.Submodules {
		_, err = git.Run(ctx, at, "submodule", "update", "--quiet", "--init", "--recursive", "--force")
	}
	return err
}

// cleanGates removes the worktrees of gates that are not in use, and the entries in the
// repository's list of worktrees that have lost their worktree.
func (s *Store) cleanGates(ctx context.Context, dry bool) (all []Cleaned, err error) {
	place := s.place
	place.folder = gateFolder
	files, err := os.ReadDir(place.Tasks())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failure(err, "", "list the worktrees of gates")
	}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), recordSuffix) // also names that no workspace may have
		if !ok {
			continue
		}
		g, err := s.gateStore(ctx)
		if err != nil {
			return all, err
		}
		free, err := g.lockGate(name)
		if err != nil {
			return all, failure(err, "", "lock the worktree of the gate "+name)
		}
		if !free {
			continue
		}
		if !dry {
			err = g.discard(ctx, &record{Name: name})
		}
		g.unlock(name)
		if err != nil {
			return all, err
		}
		all = append(all, Cleaned{Name: name})
	}
	if dry || s.git == nil {
		return all, nil
	}
	return all, failure(s.cleanEntries(), "", "remove unused entries of worktrees")
}

// cleanEntries removes the entries of this manifest's worktrees that exist without a record.
func (s *Store) cleanEntries() error {
	adding.Lock()
	defer adding.Unlock()
	entries, err := os.ReadDir(filepath.Join(s.common, "worktrees"))
	if err != nil {
		return nil // there are no worktrees
	}
	for _, e := range entries {
		dir := filepath.Join(s.common, "worktrees", e.Name())
		link, err := linkOf(dir)
		if err != nil {
			continue
		}
		top := filepath.Dir(link)
		for _, folder := range []string{"", gateFolder} {
			place := s.place
			place.folder = folder
			if !sameFile(filepath.Dir(top), place.Tasks()) {
				continue
			}
			_, missing := os.Lstat(top)
			r, err := place.read(filepath.Base(top))
			if err == nil && r == nil && errors.Is(missing, fs.ErrNotExist) {
				if err := os.RemoveAll(dir); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// lentPrefix is the beginning of the names of worktrees that are lent. No name of a workspace
// contains it.
const lentPrefix = "gate:"

// Lend lets the program use the worktree of a gate under the returned name, until end is called.
func (s *Store) Lend(w *Workspace) (name string, end func()) {
	u := s.place.Uses
	u.mu.Lock()
	defer u.mu.Unlock()
	name = lentPrefix + w.Name
	u.lent[name] = w
	return name, func() {
		_ = s.endHosts(context.Background(), name) // one that is busy ends with its exchange
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.lent, name)
	}
}

// useAny returns a workspace, or a worktree that is lent.
func (s *Store) useAny(ctx context.Context, name string) (*Workspace, error) {
	if !strings.HasPrefix(name, lentPrefix) {
		return s.Use(ctx, name)
	}
	u := s.place.Uses
	u.mu.Lock()
	defer u.mu.Unlock()
	if w := u.lent[name]; w != nil {
		return w, nil
	}
	return nil, errorf(Missing, name, "the gate has ended")
}
