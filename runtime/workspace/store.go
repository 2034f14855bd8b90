package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

// Config contains the settings of [workspace] in the manifest.
type Config struct {
	Repo        string     `json:"repo"`         // relative to the manifest
	Gate        [][]string `json:"gate"`         // commands that must pass before a merge; nil if they are not set
	GateTimeout float64    `json:"gate_timeout"` // of each of them, in seconds
	Worktrees
}

// Worktrees contains the settings of worktrees, in [workspace] and [hosts.X.workspace].
type Worktrees struct {
	Base         string     `json:"base"`  // the revision a workspace starts from
	Dirty        string     `json:"dirty"` // what to do about uncommitted changes of the checkout: ignore or refuse
	Setup        [][]string `json:"setup"` // commands in each new worktree
	SetupTimeout float64    `json:"setup_timeout"`
	Submodules   bool       `json:"submodules"`
	LFS          string     `json:"lfs"`  // pointers or files
	Keep         string     `json:"keep"` // which workspaces of exchanges remain: changed or always
}

// withDefaults returns the settings with their defaults.
func (c Worktrees) withDefaults() Worktrees {
	c.Base, c.Dirty, c.LFS = cmp.Or(c.Base, "HEAD"), cmp.Or(c.Dirty, "ignore"), cmp.Or(c.LFS, "pointers")
	c.SetupTimeout = cmp.Or(c.SetupTimeout, 600)
	return c
}

// Commands returns the commands that workspaces start.
func (c *Config) Commands() [][]string {
	return append([][]string{{"git"}}, c.Setup...)
}

// ParseConfig returns the settings in the JSON of [workspace], or those of a manifest without this
// section if text is nil.
func ParseConfig(text json.RawMessage) (*Config, error) {
	c := &Config{}
	if text == nil {
		return c, nil
	}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("could not read [workspace]: %w", err)
	}
	return c, nil
}

// FromOf returns Place.From for the setting repo, by default the manifest's directory.
func (c *Config) FromOf(root string) string { return filepath.Join(root, filepath.FromSlash(c.Repo)) }

// Store contains the workspaces of a manifest. It is safe for concurrent use. The caller must call
// Close.
type Store struct {
	place Place

	open sync.Mutex // protects git, common and the lists of worktrees
	git  *git.Git
	// the repository: its top directory, its common directory, and the paths of the manifest's
	// directory and of repo in it
	top, common, root, below string

	exchange *Exchange // the exchange of a host that uses the workspaces of this store; nil for none

	leave func(ctx context.Context, name string) (busy string, err error) // see OnRemove

	gatesMu sync.Mutex // protects gates
	gates   *Store     // the worktrees of gates; nil until it is used
}

// Uses contains the workspaces that this process uses. It is safe for concurrent use.
type Uses struct {
	mu    sync.Mutex
	locks map[string]*use
	turns map[string]*sync.Mutex // let one call at a time open or remove a workspace
	lent  map[string]*Workspace  // worktrees of gates that the program uses
}

// use is a workspace that this process uses. If an exchange uses it, ended is closed when the
// workspace is released, and ending reports whether the exchange has ended.
type use struct {
	unlock func()
	ended  chan struct{} // nil unless an exchange uses the workspace
	ending bool
}

// NewUses returns a Uses without workspaces.
func NewUses() *Uses {
	return &Uses{locks: map[string]*use{}, turns: map[string]*sync.Mutex{}, lent: map[string]*Workspace{}}
}

// NewStore returns the workspaces at a place. It does not need git.
func NewStore(p Place) *Store {
	p.Worktrees = p.Worktrees.withDefaults()
	if p.Uses == nil {
		p.Uses = NewUses()
	}
	return &Store{place: p}
}

// OnRemove sets a function that ends the idle hosts in a workspace before it is removed. It returns
// the name of a host that is busy there, or "". It must be called before the store is used.
func (s *Store) OnRemove(leave func(ctx context.Context, name string) (busy string, err error)) {
	s.leave = leave
}

// endHosts ends the idle hosts in a workspace. The error has the code busy if one is busy.
func (s *Store) endHosts(ctx context.Context, name string) error {
	if s.leave == nil {
		return nil
	}
	host, err := s.leave(ctx, name)
	if err == nil && host != "" {
		err = errorf(Busy, name, "the host %s works in the workspace %s", host, name)
	}
	return err
}

// Close releases the workspaces that this process uses.
func (s *Store) Close() {
	s.gatesMu.Lock()
	if s.gates != nil {
		defer s.gates.Close()
	}
	s.gatesMu.Unlock()
	s.place.Uses.mu.Lock()
	names := slices.Collect(maps.Keys(s.place.Uses.locks))
	s.place.Uses.mu.Unlock()
	for _, name := range names {
		s.unlock(name)
	}
}

// Workspace is a worktree with a name, on a branch of its own.
type Workspace struct {
	Name   string
	Dir    string // the directory in the worktree that corresponds to repo
	Branch string
	Base   string // the commit from which it started

	store *Store
	top   string // top directory of the worktree
}

// repository finds git and the repository.
func (s *Store) repository(ctx context.Context) error {
	s.open.Lock()
	defer s.open.Unlock()
	if s.git != nil {
		return nil
	}
	g := s.place.Git
	if g == nil {
		var err error
		if g, err = git.New(ctx, s.place.Environ, s.place.Root); err != nil {
			return failure(err, "", "find git")
		}
	}
	if info, err := os.Stat(s.place.From); err != nil || !info.IsDir() {
		return errorf(NoRepository, "", "%s is no directory", s.place.From).hint("set `repo` in [workspace]")
	}
	top, common, below, err := g.Repository(ctx, s.place.From)
	if git.IsNoRepository(err) {
		return errorf(NoRepository, "", "%s is not in a git repository", s.place.From).hint("run git init, or set `repo` in [workspace]")
	}
	if err != nil {
		return failure(err, "", "find the repository of "+s.place.From)
	}
	root, err := filepath.EvalSymlinks(s.place.Root)
	if err != nil {
		return failure(err, "", "find the manifest's directory")
	}
	s.root = "."
	if rel, err := filepath.Rel(top, root); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		s.root = rel
	}
	s.git, s.top, s.common, s.below = g, top, common, below
	if s.place.Worktrees.LFS == "pointers" {
		s.git = g.With("GIT_LFS_SKIP_SMUDGE=1")
	}
	return nil
}

// main is the place of the user's checkout, which nothing changes.
func (s *Store) main() git.Place { return git.Place{Dir: s.top} }

// resolve returns the commit of a revision.
func (s *Store) resolve(ctx context.Context, name, revision string) (string, error) {
	commit, err := s.git.Run(ctx, git.Place{Dir: s.place.From}, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if git.IsExit(err, 1) || git.IsExit(err, 128) {
		if _, err := s.git.Run(ctx, s.main(), "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); git.IsExit(err, 1) || git.IsExit(err, 128) {
			return "", errorf(NoCommit, name, "%s has no commit yet", s.top).hint("git -C %s commit", s.top)
		}
		return "", errorf(BadRef, name, "%q is no commit of %s", revision, s.top)
	}
	return commit, failure(err, name, "find "+revision)
}

// lock locks a workspace for this process. release must be called, except for a workspace that the
// process uses until Close. lock waits for an exchange that is ending.
func (s *Store) lock(ctx context.Context, name string) (release func(), err error) {
	if release, err = s.lockOwn(ctx, name); release == nil {
		release = func() {}
	}
	return release, err
}

// lockOwn locks a workspace like lock. It returns nil if the program uses the workspace until
// Close.
func (s *Store) lockOwn(ctx context.Context, name string) (release func(), err error) {
	for {
		now, held, err := s.lockOnce(name)
		switch {
		case err != nil:
			return nil, err
		case held == nil:
			return func() { s.place.Uses.release(name, now) }, nil
		case held.ended == nil:
			return nil, nil
		}
		select {
		case <-held.ended:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// lockOnce locks a workspace, or returns its present use by this process.
func (s *Store) lockOnce(name string) (now, held *use, err error) {
	u := s.place.Uses
	u.mu.Lock()
	defer u.mu.Unlock()
	if held := u.locks[name]; held != nil {
		if held.ended != nil && !held.ending {
			return nil, nil, errorf(Busy, name, "a host works in the workspace %s", name)
		}
		return nil, held, nil
	}
	unlock, err := lockfile.LockAs(s.place.taskPath(name) + lockSuffix)
	if held, ok := errors.AsType[*lockfile.HeldError](err); ok {
		return nil, nil, errorf(Busy, name, "%v uses the workspace %s", held, name)
	}
	if err != nil {
		return nil, nil, failure(err, name, "lock the workspace")
	}
	now = &use{unlock: unlock}
	if s.exchange != nil {
		now.ended = make(chan struct{})
	}
	u.locks[name] = now
	return now, nil, nil
}

// markEnding notes that the exchange which uses a workspace has ended.
func (u *Uses) markEnding(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if held := u.locks[name]; held != nil {
		held.ending = true
	}
}

// takeTurn waits until no other call opens or removes the workspace.
func (s *Store) takeTurn(name string) (end func()) {
	u := s.place.Uses
	u.mu.Lock()
	turn := u.turns[name]
	if turn == nil {
		turn = &sync.Mutex{}
		u.turns[name] = turn
	}
	u.mu.Unlock()
	turn.Lock()
	return turn.Unlock
}

// unlock releases a workspace.
func (s *Store) unlock(name string) { s.place.Uses.release(name, nil) }

// release ends a use of a workspace, or whichever use there is if it is nil.
func (u *Uses) release(name string, only *use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	held := u.locks[name]
	if held == nil || only != nil && held != only {
		return
	}
	held.unlock()
	delete(u.locks, name)
	if held.ended != nil {
		close(held.ended)
	}
}

// Open opens the workspace with a name, or creates it from base, or from the base of [workspace] if
// base is "". The workspace belongs to this process until Close. The error is an *Error or that of
// ctx.
func (s *Store) Open(ctx context.Context, name, base string) (*Workspace, error) {
	w, _, err := s.openAs(ctx, name, base, false)
	return w, err
}

// Create is Open for a workspace that must not exist. Otherwise the error has the code
// branch_taken or busy.
func (s *Store) Create(ctx context.Context, name, base string) (*Workspace, error) {
	w, _, err := s.openAs(ctx, name, base, true)
	return w, err
}

// openAs opens or creates a workspace. release releases its lock before Close; see lock.
func (s *Store) openAs(ctx context.Context, name, base string, isNew bool) (w *Workspace, release func(), err error) {
	if err := checkName(name); err != nil {
		return nil, nil, err
	}
	if err := s.repository(ctx); err != nil {
		return nil, nil, err
	}
	if err := s.place.prepare(); err != nil {
		return nil, nil, failure(err, name, "create the directory of workspaces")
	}
	defer s.takeTurn(name)()
	if release, err = s.lock(ctx, name); err != nil {
		return nil, nil, err
	}
	if w, err = s.openLocked(ctx, name, base, isNew); err != nil {
		release()
		return nil, nil, err
	}
	return w, release, nil
}

func (s *Store) openLocked(ctx context.Context, name, base string, isNew bool) (*Workspace, error) {
	r, err := s.place.read(name)
	if err != nil {
		return nil, err
	}
	if r != nil && r.State != ready { // an earlier process was killed
		if err := s.discard(ctx, r); err != nil {
			return nil, err
		}
		r = nil
	}
	if r == nil {
		return s.create(ctx, name, base)
	}
	if isNew {
		return nil, errorf(BranchTaken, name, "the workspace %s exists", name)
	}
	w := s.of(r)
	if _, err := w.check(ctx); err != nil {
		return nil, err
	}
	return w, s.claim(r)
}

// claim records that the run works in a workspace, unless a run works there that has not ended.
func (s *Store) claim(r *record) error {
	if s.place.Run == "" || r.Run == s.place.Run || s.place.isOfOther(r) {
		return nil
	}
	r.Run, r.Journal = s.place.Run, s.place.Journal
	return failure(s.place.write(r), r.Name, "write the record of the workspace")
}

// of returns the workspace of a record.
func (s *Store) of(r *record) *Workspace {
	top := s.place.taskPath(r.Name)
	return &Workspace{Name: r.Name, Dir: filepath.Join(top, s.below), Branch: r.Branch, Base: r.Base, store: s, top: top}
}

// check returns the commit of the workspace's branch, or an error if the worktree or the branch is
// missing.
func (w *Workspace) check(ctx context.Context) (tip string, err error) {
	if info, err := os.Stat(w.top); err != nil || !info.IsDir() {
		return "", errorf(Missing, w.Name, "the worktree %s was removed", w.top).hint("concerto work clean")
	}
	if _, err := w.place(); err != nil {
		return "", err
	}
	return w.tip(ctx)
}

// tip returns the commit of the workspace's branch.
func (w *Workspace) tip(ctx context.Context) (string, error) {
	commit, err := w.store.git.Run(ctx, w.store.main(), "rev-parse", "--verify", "--quiet", "refs/heads/"+w.Branch+"^{commit}")
	if git.IsExit(err, 1) {
		return "", errorf(Missing, w.Name, "the branch %s was removed", w.Branch).hint("concerto work clean")
	}
	return commit, failure(err, w.Name, "find the branch "+w.Branch)
}

// place returns where git runs for the worktree: with the repository's own directories, whatever
// the worktree's file .git contains.
func (w *Workspace) place() (git.Place, error) {
	own, err := w.store.adminDir(w.top)
	if err != nil {
		return git.Place{}, failure(err, w.Name, "read the list of worktrees")
	}
	if own == "" {
		return git.Place{}, errorf(Missing, w.Name, "the repository does not list the worktree %s", w.top).hint("concerto work clean")
	}
	return git.Place{Dir: w.top, GitDir: own, CommonDir: w.store.common}, nil
}

// adminDir returns the directory in the repository that belongs to a worktree, or "".
func (s *Store) adminDir(top string) (string, error) { return AdminDir(s.common, top) }

// AdminDir returns the directory in a repository, with a common directory, that belongs to a
// worktree, or "".
func AdminDir(common, top string) (string, error) {
	all := filepath.Join(common, "worktrees")
	isOf := func(dir string) bool {
		link, err := linkOf(dir)
		return err == nil && sameFile(filepath.Dir(link), top)
	}
	if dir := filepath.Join(all, filepath.Base(top)); isOf(dir) {
		return dir, nil
	}
	entries, err := os.ReadDir(all)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range entries {
		if dir := filepath.Join(all, e.Name()); isOf(dir) {
			return dir, nil
		}
	}
	return "", nil
}

// linkOf returns the path of the file .git of the worktree to which a directory in a repository
// belongs.
func linkOf(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "gitdir"))
	link := strings.TrimSpace(string(text))
	if !filepath.IsAbs(link) { // as with the setting worktree.useRelativePaths
		link = filepath.Join(dir, link)
	}
	return link, err
}

// sameFile reports whether two paths are of the same directory, even if it does not exist.
func sameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// create creates a workspace whose lock this process holds.
func (s *Store) create(ctx context.Context, name, base string) (*Workspace, error) {
	if base == "" {
		base = s.place.Worktrees.Base
	}
	commit, err := s.resolve(ctx, name, base)
	if err != nil {
		return nil, err
	}
	branch := "concerto/" + name
	if err := s.checkFree(ctx, name, branch); err != nil {
		return nil, err
	}
	if err := s.checkCheckout(ctx, name); err != nil {
		return nil, err
	}
	r := s.newRecord(name, filepath.Join(name, s.below))
	r.Branch, r.Base = branch, commit
	if err := s.place.write(r); err != nil {
		return nil, failure(err, name, "write the record of the workspace")
	}
	err = s.build(ctx, r, 0)
	if err == nil {
		r.State = ready
		err = failure(s.place.write(r), name, "write the record of the workspace")
	}
	if err != nil {
		return nil, errors.Join(err, s.discard(context.WithoutCancel(ctx), r))
	}
	return s.of(r), nil
}

// newRecord returns the record of a directory that is being created. dir is the path of its working
// directory in that of all tasks.
func (s *Store) newRecord(name, dir string) *record {
	r := &record{Name: name, Dir: filepath.ToSlash(dir), Run: s.place.Run, Journal: s.place.Journal, State: creating, Created: time.Now().UTC().Format(time.RFC3339)}
	if x := s.exchange; x != nil {
		r.Host, r.Exchange = x.Host, x.Key
	}
	return r
}

// checkFree returns an error if the branch or the directory of a new workspace exists.
func (s *Store) checkFree(ctx context.Context, name, branch string) error {
	_, err := s.git.Run(ctx, s.main(), "show-ref", "--verify", "--quiet", "refs/heads/"+branch)
	if err == nil {
		return errorf(BranchTaken, name, "the branch %s exists and belongs to no workspace", branch).hint("git branch -m %s NEW-NAME", branch)
	}
	if !git.IsExit(err, 1) {
		return failure(err, name, "read the branch "+branch)
	}
	if _, err := os.Lstat(s.place.taskPath(name)); err == nil {
		return errorf(BranchTaken, name, "%s exists and belongs to no workspace", s.place.taskPath(name)).hint("move it, or choose another name")
	}
	return nil
}

// checkCheckout handles uncommitted changes of the user's checkout, which a workspace does not
// contain.
func (s *Store) checkCheckout(ctx context.Context, name string) error {
	changed, err := s.git.Run(ctx, git.Place{Dir: s.place.From}, "status", "--porcelain", "--untracked-files=normal")
	switch {
	case err != nil:
		return failure(err, name, "read the state of the checkout")
	case changed == "":
		return nil
	case s.place.Worktrees.Dirty == "refuse":
		return errorf(Dirty, name, "the checkout %s has uncommitted changes, which the workspace would not contain", s.top).hint("commit them, or set dirty = \"ignore\" in [workspace]")
	}
	if s.place.Log != nil {
		s.place.Log(fmt.Sprintf("the workspace %s does not contain the uncommitted changes of %s", name, s.top))
	}
	return nil
}

// build creates the worktree of a record, and sets it up. Git may take limit; 0 means no limit.
func (s *Store) build(ctx context.Context, r *record, limit time.Duration) error {
	limited, cancel := withLimit(ctx, limit)
	defer cancel()
	if err := s.writeFiles(limited, r); err != nil {
		return err
	}
	return s.setUp(ctx, r.Name, filepath.Join(s.place.taskPath(r.Name), s.root))
}

// writeFiles creates the worktree of a record.
func (s *Store) writeFiles(ctx context.Context, r *record) error {
	top := s.place.taskPath(r.Name)
	if err := addWorktree(ctx, s, r, top); err != nil {
		return failure(err, r.Name, "create the worktree")
	}
	// Without --no-checkout, git starts another process, which would continue if git was killed.
	at, err := s.of(r).place()
	if err != nil {
		return err
	}
	if _, err := s.git.Run(ctx, at, "reset", "--quiet", "--hard", "--no-recurse-submodules"); err != nil {
		return failure(err, r.Name, "write the files of the worktree")
	}
	if s.place.Worktrees.Submodules {
		if _, err := s.git.Run(ctx, git.Place{Dir: top}, "submodule", "update", "--init", "--recursive"); err != nil {
			return failure(err, r.Name, "initialize the submodules")
		}
	}
	return nil
}

// addWorktree creates the worktree of a record without its files.
func addWorktree(ctx context.Context, s *Store, r *record, top string) error {
	adding.Lock()
	defer adding.Unlock()
	on := []string{"--detach", "--", top, r.Base}
	if r.Branch != "" {
		// With -b, git would start another process. Neither it nor one that finishes may create the
		// branch after this process was killed and the next one has discarded the workspace.
		on = []string{"--", top, r.Branch}
		if _, err := s.git.Run(ctx, s.main(), "update-ref", "-m", "concerto: open "+r.Name, "refs/heads/"+r.Branch, r.Base, strings.Repeat("0", len(r.Base))); err != nil {
			return err
		}
	}
	_, err := s.git.Run(ctx, s.main(), append([]string{"worktree", "add", "--quiet", "--no-checkout"}, on...)...)
	return err
}

// discard removes the worktree, the branch and the record of a workspace whose creation or removal
// was interrupted or failed, or that is removed. The branch remains if it is not at its base and
// the workspace is not being removed.
func (s *Store) discard(ctx context.Context, r *record) error {
	top, own := s.place.taskPath(r.Name), ""
	if !r.isCopy() {
		var err error
		if own, err = s.adminDir(top); err != nil {
			return failure(err, r.Name, "read the list of worktrees")
		}
	}
	if err := removeInUse(ctx, top); err != nil {
		return failure(err, r.Name, "remove the worktree")
	}
	adding.Lock()
	defer adding.Unlock()
	if own != "" { // what `git worktree remove` does, whatever the worktree contains
		if err := os.RemoveAll(own); err != nil {
			return failure(err, r.Name, "remove the worktree from the repository's list")
		}
		_ = os.Remove(filepath.Dir(own)) // if it was the last one
	}
	if r.Branch != "" {
		args := []string{"update-ref", "-d", "refs/heads/" + r.Branch}
		if r.State != removing {
			args = append(args, r.Base)
			_ = os.Remove(filepath.Join(s.common, "refs", "heads", filepath.FromSlash(r.Branch)+".lock")) // of a git that was killed
		}
		if err := s.git.Finish(ctx, s.main(), args...); err != nil && r.State == removing {
			return failure(err, r.Name, "remove the branch "+r.Branch)
		}
	}
	path := s.place.taskPath(r.Name)
	_ = os.Remove(path + recordSuffix + newSuffix) // if an earlier process was killed
	if err := os.Remove(path + recordSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failure(err, r.Name, "remove the record of the workspace")
	}
	return nil
}
