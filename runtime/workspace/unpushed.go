package workspace

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// gitlink is a commit of a submodule to which a commit refers.
type gitlink struct{ path, commit string }

// links returns the submodules of a commit. With base, those that are the same in base are left
// out.
func (s submodules) links(ctx context.Context, at git.Place, base, commit string) (all []gitlink, err error) {
	args := []string{"ls-tree", "-r", "-z", "--full-tree", commit}
	if base != "" {
		args = []string{"diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", base, commit}
	}
	out, err := s.store.git.Pipe(ctx, at, nil, args...)
	if err != nil {
		return nil, err
	}
	if base == "" { // MODE TYPE ID\tPATH
		for entry := range strings.SplitSeq(string(out), "\x00") {
			head, name, _ := strings.Cut(entry, "\t")
			if words := strings.Fields(head); len(words) == 3 && words[0] == modeSubmodule {
				all = append(all, gitlink{name, words[2]})
			}
		}
		return all, nil
	}
	parts := strings.Split(string(out), "\x00") // :MODE MODE ID ID STATUS, PATH
	for i := 0; i+1 < len(parts); i += 2 {
		if words := strings.Fields(parts[i]); len(words) == 5 && words[1] == modeSubmodule {
			all = append(all, gitlink{parts[i+1], words[3]})
		}
	}
	return all, nil
}

// CheckSubmodules returns an error with the code unpushed if a commit refers to a commit of a
// submodule, to which base does not refer, that is in no remote and in no repository that remains
// when workspaces are removed. branch is the branch of the change.
func (s *Store) CheckSubmodules(ctx context.Context, base, commit, branch string) error {
	if err := s.repository(ctx); err != nil {
		return err
	}
	all := submodules{s}
	links, err := all.links(ctx, s.main(), base, commit)
	if err != nil || len(links) == 0 {
		return failure(err, "", "list the submodules of "+commit)
	}
	c := &linkCheck{s: all, branch: branch, remaining: all.remaining(ctx)}
	for dir, top := range all.worktrees() {
		if !isTask(top) || filepath.Base(filepath.Dir(top)) == gateFolder {
			continue
		}
		if real, err := filepath.EvalSymlinks(top); err == nil {
			top = real
		}
		found, err := all.find(ctx, top, "", git.Place{Dir: top, GitDir: dir, CommonDir: s.common})
		if err != nil {
			return failure(err, "", "find the submodules of workspaces")
		}
		c.removed = append(c.removed, found...)
	}
	slices.SortFunc(c.removed, func(a, b module) int { return strings.Compare(a.at.GitDir, b.at.GitDir) })
	urls, err := all.urls(ctx, s.main(), commit)
	if err != nil {
		return failure(err, "", "read .gitmodules of "+commit)
	}
	return failure(c.check(ctx, "", links, urls), "", "find the commits of submodules")
}

// linkCheck finds the commits of submodules. remaining are the directories of repositories that
// remain, and removed are the submodules of workspaces.
type linkCheck struct {
	s         submodules
	branch    string
	remaining []string
	removed   []module
}

// check checks links of a repository whose path is within. urls are those of its .gitmodules, by
// path.
func (c *linkCheck) check(ctx context.Context, within string, links []gitlink, urls map[string]string) error {
	for _, l := range links {
		at, err := c.find(ctx, path.Join(within, l.path), l.commit, urls[l.path])
		if err != nil {
			return err
		}
		if at == nil {
			continue
		}
		inner, err := c.s.links(ctx, *at, "", l.commit)
		if err != nil {
			return err
		}
		if len(inner) == 0 {
			continue
		}
		innerURLs, err := c.s.urls(ctx, *at, l.commit)
		if err != nil {
			return err
		}
		if err := c.check(ctx, path.Join(within, l.path), inner, innerURLs); err != nil {
			return err
		}
	}
	return nil
}

// find finds a commit of a submodule. It returns a repository that has it, or nil if only a remote
// is known to have it, or if it is not known whether one has it.
func (c *linkCheck) find(ctx context.Context, name, commit, url string) (*git.Place, error) {
	for _, dir := range c.remaining {
		missing, err := c.s.without(ctx, dir, []string{commit})
		if err == nil && len(missing) == 0 {
			return &git.Place{Dir: dir, GitDir: dir, CommonDir: dir}, nil
		}
	}
	var holder *module
	for i := range c.removed {
		m := &c.removed[i]
		missing, err := c.s.without(ctx, m.at.GitDir, []string{commit})
		if err != nil || len(missing) > 0 {
			continue
		}
		on, err := c.s.store.git.Run(ctx, m.at, "for-each-ref", "--count=1", "--contains="+commit, "refs/remotes")
		if err != nil {
			return nil, err
		}
		if on != "" {
			return &m.at, nil
		}
		if holder == nil || m.path == name {
			holder = m
		}
	}
	e := errorf(Unpushed, "", "unpushed submodule commit %s@%s", name, commit[:min(len(commit), 12)])
	remote := ""
	if holder != nil {
		remotes, err := c.s.store.git.Run(ctx, holder.at, "remote")
		if err != nil {
			return nil, err
		}
		if remote, _, _ = strings.Cut(remotes, "\n"); remote != "" {
			if url, err = c.s.store.git.Run(ctx, holder.at, "remote", "get-url", remote); err != nil {
				return nil, err
			}
		}
		dir := "-C " + holder.at.Dir
		if !holder.files {
			dir = "--git-dir " + holder.at.GitDir
		}
		e.hint("git %s push %s %s:refs/heads/%s", dir, cmp.Or(remote, "REMOTE"), commit, c.branch)
	}
	if url == "" || holder == nil && (strings.HasPrefix(url, "./") || strings.HasPrefix(url, "../")) {
		if holder == nil {
			return nil, nil // the gate finds out
		}
		return nil, e
	}
	g := c.s.store.git
	if holder == nil { // the URL is a part of the change
		g = g.With("GIT_PROTOCOL_FROM_USER=0")
	}
	has, err := c.s.remoteHas(ctx, g, url, commit)
	switch {
	case has && holder != nil:
		return &holder.at, nil
	case has || ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && holder == nil:
		return nil, nil // the gate finds out
	case err != nil:
		e.Message += " (" + lastLine(err) + ")"
	}
	return nil, e
}

// lastLine returns the last line of what git has printed, or of an error.
func lastLine(err error) string {
	text := err.Error()
	if failed, ok := errors.AsType[*git.Error](err); ok && failed.Stderr != "" {
		text = failed.Stderr
	}
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}

// remoteHas reports whether a remote repository has a commit. err is set if that is not known.
func (s submodules) remoteHas(ctx context.Context, g *git.Git, url, commit string) (has bool, err error) {
	if err := s.store.place.prepare(); err != nil {
		return false, err
	}
	dir, err := s.store.temporary()
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	format, err := s.store.git.Run(ctx, s.store.main(), "rev-parse", "--show-object-format")
	if err != nil {
		return false, err
	}
	at := git.Place{Dir: dir, GitDir: dir, CommonDir: dir} // empty, so that git has to ask the remote
	if _, err := s.store.git.Run(ctx, git.Place{Dir: dir}, "init", "--quiet", "--bare", "--object-format="+format, "."); err != nil {
		return false, err
	}
	_, err = g.Run(ctx, at, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--", url, commit)
	if failed, ok := errors.AsType[*git.Error](err); ok && strings.Contains(failed.Stderr, "not our ref") {
		return false, nil
	}
	return err == nil, err
}

// urls returns the URLs of the submodules in .gitmodules of a commit, by path.
func (s submodules) urls(ctx context.Context, at git.Place, commit string) (map[string]string, error) {
	out, err := s.store.git.Pipe(ctx, at, nil, "config", "--blob", commit+":.gitmodules", "-z", "--get-regexp", `^submodule\..*\.(path|url)$`)
	if git.IsExit(err, 1) || git.IsExit(err, 128) { // it has no such file, or an invalid one
		return nil, nil
	}
	paths, byName := map[string]string{}, map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		key = strings.TrimPrefix(key, "submodule.")
		if name, ok := strings.CutSuffix(key, ".path"); ok {
			paths[name] = value
		} else if name, ok := strings.CutSuffix(key, ".url"); ok {
			byName[name] = value
		}
	}
	urls := map[string]string{}
	for name, p := range paths {
		urls[p] = byName[name]
	}
	return urls, err
}
