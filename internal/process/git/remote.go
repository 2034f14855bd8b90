package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// LeastRemote is the oldest version that can fetch from other repositories.
const LeastRemote = "2.30"

// localVariables are the variables of git that belong to one repository, as `git rev-parse
// --local-env-vars` lists them. They are set inside of a hook.
var localVariables = []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
	"GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_INDEX_FILE",
	"GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR", "GIT_INTERNAL_SUPER_PREFIX",
	"GIT_NAMESPACE", "GIT_QUARANTINE_PATH"}

// remoteSettings are the settings of each call for another repository. The user's settings for
// credentials, SSH and addresses apply.
var remoteSettings = []string{"-c", "fetch.fsckObjects=true", "-c", "fetch.recurseSubmodules=false", "-c", "submodule.recurse=false",
	"-c", "fetch.writeCommitGraph=false"}

// Remote is git for fetching from other repositories. It is safe for concurrent use.
type Remote struct{ git *Git }

// Unbound returns environ for git that finds its repository itself, also inside of a hook, and
// writes messages in English.
func Unbound(environ []string) (out []string) {
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(localVariables, name) && name != "LC_ALL" && name != "LANGUAGE" {
			out = append(out, v)
		}
	}
	return append(out, "LC_ALL=C")
}

// NewRemote returns the git that is found as hosts are: in PATH of environ, for a process in dir.
func NewRemote(ctx context.Context, environ []string, dir string) (*Remote, error) {
	g, err := find(environ, dir)
	if err != nil {
		return nil, fmt.Errorf("git is not installed: install git %s or newer", LeastRemote)
	}
	for _, v := range Unbound(environ) {
		if name, _, _ := strings.Cut(v, "="); name != "GIT_TERMINAL_PROMPT" && name != "GIT_ALLOW_PROTOCOL" {
			g.environ = append(g.environ, v)
		}
	}
	g.environ = append(g.environ, "GIT_TERMINAL_PROMPT=0")
	out, err := g.Run(ctx, Place{Dir: dir}, "version")
	if err != nil {
		return nil, err
	}
	if checkVersion(out, LeastRemote) != nil {
		return nil, fmt.Errorf("git is older than %s: %s", LeastRemote, out)
	}
	return &Remote{g}, nil
}

// Bare is a bare repository without a work tree that receives objects.
type Bare struct {
	remote *Remote
	dir    string
}

// NewBare creates an empty repository in a directory that exists, without running git, so that no
// template of the user adds hooks.
func (r *Remote) NewBare(dir string) (*Bare, error) {
	for _, d := range []string{"objects/pack", "objects/info", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(d)), 0o755); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return &Bare{r, dir}, nil
}

// Dir returns the directory of the repository.
func (b *Bare) Dir() string { return b.dir }

// Run runs git in the repository. protocol is the only one that git may use, such as "https".
func (b *Bare) Run(ctx context.Context, protocol string, args ...string) (string, error) {
	g := b.remote.git.With("GIT_ALLOW_PROTOCOL=" + protocol)
	all := slices.Concat(remoteSettings, []string{"--git-dir=" + b.dir}, args)
	return g.Run(ctx, Place{Dir: b.dir}, all...)
}

// Received returns the number of bytes in the object directory, which grows while git receives
// objects.
func (b *Bare) Received() (bytes int64) {
	_ = filepath.WalkDir(filepath.Join(b.dir, "objects"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil // git may have renamed a file
	})
	return bytes
}

// Object is an object of a repository. Kind is "commit", "tree", "blob" or "tag".
type Object struct {
	ID, Kind string
	Data     []byte
}

// MissingObjectError means that a repository does not contain an object.
type MissingObjectError struct{ Name string }

func (e *MissingObjectError) Error() string { return "the repository has no object " + e.Name }

// LargeObjectError means that an object is larger than the limit of the reader.
type LargeObjectError struct{ Size int64 }

func (e *LargeObjectError) Error() string { return fmt.Sprintf("the object has %d bytes", e.Size) }

// Objects reads objects of a repository by one process. It is not safe for concurrent use.
type Objects struct {
	process *procgroup.Process
	out     *bufio.Reader
	stop    func() bool
}

// Objects starts to read objects. The caller must call Close.
func (b *Bare) Objects(ctx context.Context) (*Objects, error) {
	g := b.remote.git
	p, err := procgroup.Start(procgroup.Command{Path: g.path, Args: slices.Concat(settings, []string{"--git-dir=" + b.dir, "cat-file", "--batch"}),
		Env: append(slices.Clip(g.environ), "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1"), Dir: b.dir})
	if err != nil {
		return nil, fmt.Errorf("could not run git: %w", err)
	}
	o := &Objects{process: p, out: bufio.NewReader(p.Stdout)}
	o.stop = context.AfterFunc(ctx, p.Kill)
	return o, nil
}

// Close stops the process.
func (o *Objects) Close() {
	o.stop()
	_ = o.process.Stdin.Close()
	o.process.Kill()
	_, _ = io.Copy(io.Discard, o.out) // until the process has exited
	<-o.process.GroupDone()
}

// Read returns the object with a name such as `refs/tags/v1^{commit}`. The error is a
// *MissingObjectError, a *LargeObjectError after which no other object can be read, or an error of
// the process.
func (o *Objects) Read(name string, limit int64) (Object, error) {
	if strings.ContainsAny(name, "\n\r") {
		return Object{}, &MissingObjectError{name}
	}
	if _, err := io.WriteString(o.process.Stdin, name+"\n"); err != nil {
		return Object{}, fmt.Errorf("could not read from the repository: %w", err)
	}
	line, err := o.out.ReadString('\n')
	if err != nil {
		return Object{}, fmt.Errorf("could not read from the repository: %w", err)
	}
	words := strings.Fields(line)
	if len(words) != 3 {
		return Object{}, &MissingObjectError{name}
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return Object{}, &MissingObjectError{name}
	}
	if size > limit {
		return Object{}, &LargeObjectError{size}
	}
	data := make([]byte, size+1) // a line break follows
	if _, err := io.ReadFull(o.out, data); err != nil {
		return Object{}, fmt.Errorf("could not read from the repository: %w", err)
	}
	return Object{words[0], words[1], data[:size]}, nil
}
