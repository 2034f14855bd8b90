package workspace

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// Commit commits all uncommitted changes on the workspace's branch, at the time at. It returns the
// id of the commit, or "" if there is nothing to commit. The same changes, message and time produce
// the same commit. If again is set, an earlier process may have made it already.
func (w *Workspace) Commit(ctx context.Context, message string, at time.Time, again bool) (string, error) {
	place, err := w.place()
	if err != nil {
		return "", err
	}
	tip, err := w.followHead(ctx, place)
	if err != nil {
		return "", err
	}
	message, err = w.withTrailers(ctx, place, message)
	if err != nil {
		return "", err
	}
	if again {
		done, err := w.isDone(ctx, place, tip, message, at)
		if err != nil || done {
			return tip, err
		}
	}
	if err := w.checkMerged(ctx, place); err != nil {
		return "", err
	}
	if err := w.checkModules(ctx); err != nil {
		return "", err
	}
	if err := w.stage(ctx, place, tip); err != nil {
		return "", err
	}
	tree, err := w.store.git.FinishOutput(ctx, place, "write-tree") // takes the index's lock
	if err != nil {
		return "", failure(err, w.Name, "write the tree of the workspace")
	}
	now, err := w.store.git.Run(ctx, place, "rev-parse", tip+"^{tree}")
	if err != nil {
		return "", failure(err, w.Name, "read the tree of "+tip)
	}
	merged, err := w.mergeHeads(ctx, place, tip)
	if err != nil {
		return "", err
	}
	if tree == now && len(merged) == 0 {
		return "", nil
	}
	return w.commitTree(ctx, place, tree, append([]string{tip}, merged...), message, at)
}

// mergeFiles are the files of a merge in progress, the first of which contains its commits.
var mergeFiles = []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE"}

// mergeHeads returns the commits of a merge in progress that the branch does not contain.
func (w *Workspace) mergeHeads(ctx context.Context, place git.Place, tip string) (heads []string, err error) {
	text, err := os.ReadFile(filepath.Join(place.GitDir, mergeFiles[0]))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failure(err, w.Name, "read the merge in progress")
	}
	for _, head := range strings.Fields(string(text)) {
		_, err := w.store.git.Run(ctx, place, "merge-base", "--is-ancestor", head, tip)
		if git.IsExit(err, 1) {
			heads = append(heads, head)
		} else if err != nil {
			return nil, failure(err, w.Name, "compare "+head+" with the branch")
		}
	}
	return heads, nil
}

// stage adds all changes to the index. A repository that is no submodule is an error, and is not
// added.
func (w *Workspace) stage(ctx context.Context, place git.Place, tip string) error {
	if err := w.store.git.Finish(ctx, place, "add", "--all", "--sparse", "--", ":/"); err != nil {
		return failure(err, w.Name, "add the files to the index")
	}
	d, room := &Diff{}, maxHunks
	err := w.store.git.Stream(ctx, place, func(out io.Reader) error { return d.read("", out, &room) }, "diff", "--cached", "--raw", "--no-renames", "--ignore-submodules=none", tip, "--")
	if err != nil {
		return failure(err, w.Name, "compare the index with the branch")
	}
	paths := w.nested(d)
	for _, path := range paths {
		if err := w.store.git.Finish(ctx, place, "rm", "--quiet", "--force", "--cached", "--", ":(top,literal)"+path); err != nil {
			return failure(err, w.Name, "remove "+path+" from the index")
		}
	}
	return w.nestedError(paths)
}

// commitTree makes a commit and moves the branch to it.
func (w *Workspace) commitTree(ctx context.Context, place git.Place, tree string, parents []string, message string, at time.Time) (string, error) {
	g, err := w.store.identified(ctx, at)
	if err != nil {
		return "", failure(err, w.Name, "find git's identity")
	}
	commit, err := g.Commit(ctx, place, tree, message, parents...)
	if err != nil {
		return "", failure(err, w.Name, "commit the changes")
	}
	subject, _, _ := strings.Cut(message, "\n")
	if err := w.store.git.Finish(ctx, place, "update-ref", "-m", "concerto: commit "+subject, "refs/heads/"+w.Branch, commit, parents[0]); err != nil {
		return "", failure(err, w.Name, "move the branch "+w.Branch)
	}
	for _, name := range mergeFiles {
		_ = os.Remove(filepath.Join(place.GitDir, name)) // mergeHeads ignores what remains
	}
	return commit, nil
}

// isDone reports whether the commit at tip is the one that an earlier process has made.
func (w *Workspace) isDone(ctx context.Context, place git.Place, tip, message string, at time.Time) (bool, error) {
	found, err := w.store.git.Run(ctx, place, "log", "-1", "--format=%ct%n%B", tip, "--")
	if err != nil {
		return false, failure(err, w.Name, "read the commit "+tip)
	}
	return found == strconv.FormatInt(at.Unix(), 10)+"\n"+strings.TrimRight(message, "\n"), nil
}

// followHead returns the commit of the workspace's branch. If the worktree is detached or on
// another branch, at a descendant of that commit, the branch moves there; otherwise it returns an
// error.
func (w *Workspace) followHead(ctx context.Context, place git.Place) (string, error) {
	tip, err := w.tip(ctx)
	if err != nil {
		return "", err
	}
	ref := "refs/heads/" + w.Branch
	on, err := w.store.git.Run(ctx, place, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && !git.IsExit(err, 1) {
		return "", failure(err, w.Name, "read HEAD")
	}
	if on == ref {
		return tip, nil
	}
	head, err := w.store.git.Run(ctx, place, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil && !git.IsExit(err, 1) {
		return "", failure(err, w.Name, "read HEAD")
	}
	if head != "" {
		_, err = w.store.git.Run(ctx, place, "merge-base", "--is-ancestor", tip, head)
	}
	if head == "" || git.IsExit(err, 1) {
		where := "on " + strings.TrimPrefix(on, "refs/heads/")
		if on == "" {
			where = "detached at " + head
		}
		return "", errorf(Moved, w.Name, "the worktree of %s is %s, which does not descend from its branch", w.Name, where).hint("git -C %s switch %s", w.top, w.Branch)
	}
	if err != nil {
		return "", failure(err, w.Name, "compare HEAD with the branch")
	}
	if err := w.store.git.Finish(ctx, place, "update-ref", "-m", "concerto: follow HEAD", ref, head, tip); err != nil {
		return "", failure(err, w.Name, "move the branch "+w.Branch)
	}
	return head, failure(w.store.git.Finish(ctx, place, "symbolic-ref", "HEAD", ref), w.Name, "switch to the branch "+w.Branch)
}

// withTrailers returns a message of a commit with trailers that name the workspace and the run.
func (w *Workspace) withTrailers(ctx context.Context, place git.Place, message string) (string, error) {
	args := []string{"interpret-trailers", "--no-divider", "--if-exists", "addIfDifferent", "--trailer", "Concerto-Workspace: " + w.Name}
	if w.store.place.Run != "" {
		args = append(args, "--trailer", "Concerto-Run: "+w.store.place.Run)
	}
	out, err := w.store.git.Pipe(ctx, place, []byte(strings.TrimRight(message, "\n")+"\n"), args...)
	return string(out), failure(err, w.Name, "write the message of the commit")
}

// identified returns git for a commit at a time, with an identity if none is configured.
func (s *Store) identified(ctx context.Context, at time.Time) (*git.Git, error) {
	return s.git.Identified(ctx, s.main(), at)
}

// markers are the beginnings of the lines with which git marks a conflict.
var markers = []string{"<<<<<<< ", "=======", ">>>>>>> "}

// checkMerged returns an error if files that have conflicted still contain conflict markers.
func (w *Workspace) checkMerged(ctx context.Context, place git.Place) error {
	out, err := w.store.git.Run(ctx, place, "ls-files", "--unmerged", "-z")
	if err != nil {
		return failure(err, w.Name, "list the files with conflicts")
	}
	seen := map[string]bool{}
	for entry := range strings.SplitSeq(out, "\x00") {
		_, path, ok := strings.Cut(entry, "\t")
		if !ok || seen[path] {
			continue
		}
		seen[path] = true
		marked, err := hasMarkers(filepath.Join(w.top, filepath.FromSlash(path)))
		if err != nil {
			return failure(err, w.Name, "read "+path)
		}
		if marked {
			return errorf(Unmerged, w.Name, "%s still has conflict markers", path).hint("resolve the conflict in the file")
		}
	}
	return nil
}

// hasMarkers reports whether a file has a line for each of markers, in order.
func hasMarkers(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	found := 0
	lines := bufio.NewReader(f)
	for found < len(markers) {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, markers[found]) {
			found++
		}
		if err != nil {
			break
		}
	}
	return found == len(markers), nil
}
