package release

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// repository is the git repository whose commit is released.
type repository struct {
	root   string
	out    string   // directory of the release, relative to root; "" if it is not inside
	env    []string // of git
	commit string
	date   time.Time // of the commit
	dirty  bool      // the files differ from the commit
	tags   []string  // of the commit
}

// openRepository reads the state of the repository at root. It ignores the files in out.
func openRepository(root, out string) (*repository, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, refuse("a release requires git, which is not in PATH")
	}
	r := &repository{root: root, env: append(git.Unbound(os.Environ()), "GIT_OPTIONAL_LOCKS=0")}
	if rel, err := filepath.Rel(root, out); err == nil && filepath.IsLocal(rel) && rel != "." {
		r.out = filepath.ToSlash(rel)
	}
	head, err := r.git("show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return nil, refuse("a release requires a commit in a git repository: %v", err)
	}
	var seconds int64
	if _, err := fmt.Sscanf(head, "%s %d", &r.commit, &seconds); err != nil {
		return nil, fmt.Errorf("read the commit from %q: %w", head, err)
	}
	r.date = time.Unix(seconds, 0).UTC()
	status, err := r.git(append([]string{"status", "--porcelain", "--untracked-files=normal"}, r.pathspec()...)...)
	if err != nil {
		return nil, err
	}
	r.dirty = status != ""
	tags, err := r.git("tag", "--points-at", "HEAD")
	if err != nil {
		return nil, err
	}
	r.tags = strings.Fields(tags)
	return r, nil
}

// pathspec returns arguments of git that select all files but those of the release.
func (r *repository) pathspec() []string {
	if r.out == "" {
		return []string{"--", "."}
	}
	return []string{"--", ".", ":(exclude,top)" + r.out, ":(exclude,top)" + r.out + stagingMark + "*"}
}

func (r *repository) git(args ...string) (string, error) {
	out, err := r.command(args...).Output()
	return strings.TrimSpace(string(out)), gitError(args[0], err)
}

// command returns a call of git that reads files without converting the ends of lines.
func (r *repository) command(args ...string) *exec.Cmd {
	c := exec.Command("git", append([]string{"-c", "core.autocrlf=false", "-c", "core.eol=lf"}, args...)...)
	c.Dir, c.Env = r.root, r.env
	return c
}

// gitError adds the output of git to its error.
func gitError(command string, err error) error {
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("git %s: %s", command, bytes.TrimSpace(exit.Stderr))
	}
	return fmt.Errorf("git %s: %w", command, err)
}

// export writes the files of the commit, or of the working tree if it is dirty, into dir. Ignored
// files are not part of them. The repository does not change.
func (r *repository) export(dir string) error {
	tree := "HEAD"
	if r.dirty {
		var err error
		if tree, err = r.snapshot(dir + ".objects"); err != nil {
			return err
		}
	}
	archive := r.command("archive", "--format=tar", tree)
	files, err := archive.StdoutPipe()
	if err != nil {
		return err
	}
	var complaint bytes.Buffer
	archive.Stderr = &complaint
	if err := archive.Start(); err != nil {
		return gitError("archive", err)
	}
	if err := extract(files, dir); err != nil {
		_ = archive.Process.Kill() // the other error is returned
		_ = archive.Wait()
		return fmt.Errorf("copy the sources: %w", err)
	}
	if err := archive.Wait(); err != nil {
		return fmt.Errorf("git archive: %s", bytes.TrimSpace(complaint.Bytes()))
	}
	return nil
}

// snapshot returns a tree of the files in the working tree. Its objects are in the directory at.
func (r *repository) snapshot(at string) (tree string, err error) {
	if err := os.MkdirAll(at, 0o777); err != nil {
		return "", err
	}
	objects, err := r.git("rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return "", err
	}
	r.env = append(r.env, "GIT_INDEX_FILE="+filepath.Join(at, "index"), "GIT_OBJECT_DIRECTORY="+at, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+objects)
	if _, err := r.git("read-tree", "HEAD"); err != nil {
		return "", err
	}
	if _, err := r.git(append([]string{"add", "--all"}, r.pathspec()...)...); err != nil {
		return "", err
	}
	return r.git("write-tree")
}

// extract writes the files of a tar stream into dir.
func extract(stream io.Reader, dir string) error {
	for t := tar.NewReader(stream); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, stream) // git fails if its output is not read to the end
			return err
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(h.Name)
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%s is outside of the directory", h.Name)
		}
		if err := extractEntry(t, h, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
}

// extractEntry writes one entry of a tar stream to the path file.
func extractEntry(content io.Reader, h *tar.Header, file string) error {
	switch h.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(file, 0o777)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%s is neither a file nor a directory", h.Name)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, h.FileInfo().Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
