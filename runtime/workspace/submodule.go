package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// module is a submodule of a worktree. Its repository belongs to the worktree and is removed with
// it. Git runs with the directory of that repository, whatever the worktree contains.
type module struct {
	path   string    // of its files in the worktree, or its name if it has none
	within string    // path in the worktree of the submodule that contains it, or ""
	parent git.Place // of the repository that contains it
	at     git.Place
	files  bool // whether the worktree has its files
}

// submodules finds the submodules of a repository and of its worktrees.
type submodules struct{ store *Store }

// modules returns the submodules of the worktree whose repositories exist, in the order of their
// directories, each before those that it contains.
func (w *Workspace) modules(ctx context.Context) ([]module, error) {
	own, err := w.store.adminDir(w.top)
	if err != nil || own == "" {
		return nil, failure(err, w.Name, "read the list of worktrees")
	}
	top, err := filepath.EvalSymlinks(w.top)
	if err != nil { // the worktree was removed
		top = w.top
	}
	all, err := submodules{w.store}.find(ctx, top, "", git.Place{Dir: top, GitDir: own, CommonDir: w.store.common})
	return all, failure(err, w.Name, "find the submodules")
}

// find returns the submodules of the repository at parent, whose path in the worktree is
// within, and those that they contain.
func (s submodules) find(ctx context.Context, top, within string, parent git.Place) (all []module, err error) {
	dirs, err := moduleDirs(parent.GitDir)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		m := module{path: path.Join(within, nameOfModule(parent.GitDir, dir)), within: within, parent: parent, at: git.Place{Dir: dir, GitDir: dir, CommonDir: dir}}
		files, err := s.store.git.Run(ctx, s.store.main(), "config", "--file", filepath.Join(dir, "config"), "--get", "core.worktree")
		if err != nil && !git.IsExit(err, 1) {
			return nil, err
		}
		if !filepath.IsAbs(files) {
			files = filepath.Join(dir, files)
		}
		if rel, err := filepath.Rel(top, files); err == nil && filepath.IsLocal(rel) && rel != "." {
			m.path = filepath.ToSlash(rel)
			entries, err := os.ReadDir(files)
			if m.files = err == nil && len(entries) > 0; m.files {
				m.at.Dir = files
			}
		}
		inner, err := s.find(ctx, top, m.path, m.at)
		if err != nil {
			return nil, err
		}
		all = append(append(all, m), inner...)
	}
	return all, nil
}

// modulesFolder is the directory in a repository that contains those of its submodules.
const modulesFolder = "modules"

func nameOfModule(parent, dir string) string {
	rel, err := filepath.Rel(filepath.Join(parent, modulesFolder), dir)
	if err != nil {
		return dir
	}
	return filepath.ToSlash(rel)
}

// moduleDirs returns the directories of the repositories of the submodules of a repository, without
// those that the submodules contain. The name of a submodule may have slashes.
func moduleDirs(repository string) (dirs []string, err error) {
	root := filepath.Join(repository, modulesFolder)
	err = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(at, "objects")); err != nil {
			return nil
		}
		dirs = append(dirs, at)
		return fs.SkipDir
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dirs, err
}

// base returns the commit of a submodule's repository with which its files are compared, if the
// repository that contains it is compared with from: the commit that from names.
func (s submodules) base(ctx context.Context, m *module, from string) (string, error) {
	link := ""
	if from != "" {
		rel := strings.TrimPrefix(strings.TrimPrefix(m.path, m.within), "/")
		out, err := s.store.git.Run(ctx, m.parent, "ls-tree", "--full-tree", "-z", from, "--", rel)
		if err != nil {
			return "", err
		}
		if words := strings.Fields(out); len(words) > 2 && words[0] == modeSubmodule {
			link = words[2]
		}
	}
	if link == "" { // it is new
		empty, err := s.store.git.Pipe(ctx, m.at, nil, "hash-object", "-t", "tree", "--stdin")
		return strings.TrimSpace(string(empty)), err
	}
	_, err := s.store.git.Run(ctx, m.at, "cat-file", "-e", link+"^{commit}")
	if git.IsExit(err, 1) || git.IsExit(err, 128) { // the repository lacks it: only uncommitted changes are known
		return "HEAD", nil
	}
	return link, err
}

// checkModules returns an error with the code dirty if a submodule has uncommitted changes, which a
// commit of the workspace cannot contain.
func (w *Workspace) checkModules(ctx context.Context) error {
	modules, err := w.modules(ctx)
	if err != nil {
		return err
	}
	for i := range modules {
		m := &modules[i]
		if !m.files {
			continue
		}
		d, room := &Diff{}, 0
		err := w.diffOne(ctx, m.at, "", "HEAD", []string{"--raw"}, func(_ string, out io.Reader) error { return d.read("", out, &room) })
		if err != nil {
			return failure(err, w.Name, "find the changes in the submodule "+m.path)
		}
		if n := len(d.Files); n > 0 {
			return errorf(Dirty, w.Name, "the submodule %s of the workspace %s has uncommitted changes in %s", m.path, w.Name, count(n, "file")).
				hint("git -C %s add --all && git -C %s commit", m.at.Dir, m.at.Dir)
		}
	}
	return nil
}

// moduleWork returns a description of the work in submodules that would be lost with the worktree,
// besides changed files: commits that neither a remote nor the repository of the user's checkout
// contains, as far as is known without a connection, and repositories that the agent has created.
func (w *Workspace) moduleWork(ctx context.Context) (string, error) {
	modules, err := w.modules(ctx)
	if err != nil {
		return "", err
	}
	for i := range modules {
		m := &modules[i]
		commits, err := submodules{w.store}.ownCommits(ctx, m)
		if err != nil {
			return "", failure(err, w.Name, "list the commits of the submodule "+m.path)
		}
		if commits > 0 {
			return count(commits, "commit") + " in the submodule " + m.path + " that no remote contains", nil
		}
	}
	path, err := w.embedded(ctx, modules)
	if err != nil || path == "" {
		return "", failure(err, w.Name, "read the submodules")
	}
	return "a repository of its own in " + path, nil
}

// ownCommits returns the number of commits of a submodule's repository, on any branch, that neither
// one of its remotes nor the user's checkout has.
func (s submodules) ownCommits(ctx context.Context, m *module) (int, error) {
	out, err := s.store.git.Run(ctx, m.at, "rev-list", "--all", "--not", "--remotes")
	if err != nil || out == "" {
		return 0, err
	}
	missing := strings.Split(out, "\n")
	for _, dir := range s.remaining(ctx) {
		if missing, err = s.without(ctx, dir, missing); err != nil {
			return 0, err
		}
	}
	return len(missing), nil
}

// without returns the commits that a repository lacks.
func (s submodules) without(ctx context.Context, dir string, commits []string) (missing []string, err error) {
	if len(commits) == 0 {
		return nil, nil
	}
	out, err := s.store.git.Pipe(ctx, git.Place{Dir: dir, GitDir: dir, CommonDir: dir}, []byte(strings.Join(commits, "\n")+"\n"), "cat-file", "--batch-check")
	for line := range strings.Lines(string(out)) {
		if id, ok := strings.CutSuffix(strings.TrimSpace(line), " missing"); ok {
			missing = append(missing, id)
		}
	}
	return missing, err
}

// remaining returns the directories of the repositories of the submodules of the user's
// checkouts. They remain when workspaces are removed.
func (s submodules) remaining(ctx context.Context) []string {
	all := allModuleDirs(s.store.common)
	tops := []string{s.store.top}
	for dir, top := range s.worktrees() {
		if !isTask(top) {
			all, tops = append(all, allModuleDirs(dir)...), append(tops, top)
		}
	}
	for _, top := range tops {
		paths, _ := s.listed(ctx, top) // what cannot be read is not known to contain a commit
		for _, p := range paths {
			dir := filepath.Join(top, filepath.FromSlash(p), ".git")
			if info, err := os.Lstat(dir); err == nil && info.IsDir() {
				all = append(all, dir)
			}
		}
	}
	return all
}

// allModuleDirs returns the directories of the repositories of all submodules of a repository.
func allModuleDirs(repository string) (all []string) {
	dirs, err := moduleDirs(repository)
	if err != nil {
		return nil // what cannot be read is not known to contain a commit
	}
	for _, dir := range dirs {
		all = append(append(all, dir), allModuleDirs(dir)...)
	}
	return all
}

// worktrees returns the top directories of all worktrees by their directories in the repository.
func (s submodules) worktrees() map[string]string {
	entries, _ := os.ReadDir(filepath.Join(s.store.common, "worktrees")) // it is missing if there are none
	all := map[string]string{}
	for _, e := range entries {
		dir := filepath.Join(s.store.common, "worktrees", e.Name())
		if link, err := linkOf(dir); err == nil {
			all[dir] = filepath.Dir(link)
		}
	}
	return all
}

// isTask reports whether a worktree is a workspace or belongs to a gate, of any manifest.
func isTask(top string) bool {
	folder := filepath.Dir(top)
	name := filepath.Base(folder)
	return filepath.Base(filepath.Dir(folder)) == home && (name == taskFolder || name == gateFolder)
}

// embedded returns the path of a submodule whose repository is in the worktree itself, or "".
func (w *Workspace) embedded(ctx context.Context, modules []module) (string, error) {
	known := map[string]bool{}
	within := []string{""}
	for _, m := range modules {
		if m.files {
			known[m.path] = true
			within = append(within, m.path)
		}
	}
	for _, parent := range within {
		paths, err := submodules{w.store}.listed(ctx, filepath.Join(w.top, filepath.FromSlash(parent)))
		if err != nil {
			return "", err
		}
		for _, p := range paths {
			p = path.Join(parent, p)
			info, err := os.Lstat(filepath.Join(w.top, filepath.FromSlash(p), ".git"))
			if err == nil && (info.IsDir() || !known[p]) {
				return p, nil
			}
		}
	}
	return "", nil
}

// maxModules is the maximum size of a file .gitmodules in bytes: an agent may have written it.
const maxModules = 1 << 20

// listed returns the paths of the submodules that the file .gitmodules in a directory lists.
func (s submodules) listed(ctx context.Context, dir string) (paths []string, err error) {
	text, err := userfile.Read(filepath.Join(dir, ".gitmodules"), maxModules)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := s.store.git.Pipe(ctx, s.store.main(), text, "config", "--file", "-", "-z", "--get-regexp", `^submodule\..*\.path$`)
	if git.IsExit(err, 1) {
		return nil, nil
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if _, p, ok := strings.Cut(entry, "\n"); ok && filepath.IsLocal(filepath.FromSlash(p)) {
			paths = append(paths, p)
		}
	}
	return paths, err
}
