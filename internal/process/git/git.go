// Package git runs the command git for workspaces and merges (spec/42-workspaces.md). It reads no
// setting from a place that an agent can write: a call for a worktree names the directories of its
// repository, and no hook and no file system monitor is started.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Least is the oldest supported version.
const Least = "2.38"

// Errors of New.
var (
	ErrMissing = errors.New("git is not installed: install git " + Least + " or newer")
	ErrOld     = errors.New("git is older than " + Least)
)

// Error is the error of a call that has failed.
type Error struct {
	Args     []string
	ExitCode int
	Stderr   string
}

func (e *Error) Error() string {
	text := e.Stderr
	if text == "" {
		text = fmt.Sprintf("exit code %d", e.ExitCode)
	}
	return "git " + strings.Join(e.Args, " ") + ": " + text
}

// Git is an installed git with the environment of its processes. It is safe for concurrent use.
type Git struct {
	path    string
	environ []string
	program Program // runs instead of the installed git, if it is not nil
	synced  bool    // see Synced
}

// Call is a call of git: its arguments, with settings, and its whole environment.
type Call struct {
	At      Place
	Args    []string
	Environ []string // as "NAME=value"
	Input   []byte
}

// Program does what git does. The error is that of ctx, or means that git could not be started.
type Program func(ctx context.Context, c *Call) (out []byte, stderr string, exit int, err error)

// Of returns a Git that calls a program instead of the installed git.
func Of(p Program) *Git { return &Git{program: p} }

// Place is where git runs. If GitDir and CommonDir are "", git finds the repository of Dir itself;
// Dir must then be in a repository that is trusted. Index is the file of the index, or "" for that
// of the repository.
type Place struct {
	Dir, GitDir, CommonDir string
	Index                  string
}

var versions sync.Map // errors by the paths of git

// New returns the git that is found as hosts are: in PATH of environ, for a process in dir. The
// error wraps ErrMissing or ErrOld.
func New(ctx context.Context, environ []string, dir string) (*Git, error) {
	g, err := find(environ, dir)
	if err != nil {
		return nil, err
	}
	g.environ = environment(environ)
	if known, ok := versions.Load(g.path); ok {
		err, _ := known.(error)
		return g, err
	}
	out, err := g.Run(ctx, Place{Dir: dir}, "version")
	if err != nil {
		return nil, err
	}
	if err = checkVersion(out, Least); err == nil {
		versions.Store(g.path, nil)
	}
	return g, err
}

func find(environ []string, dir string) (*Git, error) {
	path, err := procgroup.Find("git", dir, environ)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrMissing, err)
	}
	return &Git{path: path}, nil
}

var versionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+(\.\d+)+`) })

// checkVersion returns an error that wraps ErrOld if the output of `git version` names a version
// before least.
func checkVersion(text, least string) error {
	number := func(v string) (all []int) {
		for part := range strings.SplitSeq(v, ".") {
			n, _ := strconv.Atoi(part) // a part is digits
			all = append(all, n)
		}
		return all
	}
	found := versionNumber().FindString(text)
	if found == "" || slices.Compare(number(found), number(least)) < 0 {
		return fmt.Errorf("%w: %s", ErrOld, text)
	}
	return nil
}

// passed are the variables that git receives in addition to those of every process: its own, and
// those of the agents that sign and authenticate. Other variables of git would make it use another
// repository.
var passed = []string{"GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_SSH*", "GIT_ASKPASS", "GIT_CONFIG_*", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GNUPGHOME", "GPG_TTY"}

// environment returns the environment of git's processes: in English, without prompts, and without
// locks for what it only reads. The filters of a repository, which git starts, receive no others.
func environment(environ []string) []string {
	env, _ := procgroup.Inherit{Pass: passed}.Of(environ)
	env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "LC_ALL=") || strings.HasPrefix(v, "LANGUAGE=") })
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
}

// With returns a Git whose processes also have these variables, as "NAME=value".
func (g *Git) With(variables ...string) *Git {
	other := *g
	other.environ = append(slices.Clip(g.environ), variables...)
	return &other
}

// Synced returns a Git whose calls write objects and refs so that they survive a power cut. By
// default, git syncs neither loose objects nor refs.
func (g *Git) Synced() *Git {
	other := *g
	other.synced = true
	return &other
}

// HasVariable reports whether the environment sets a variable.
func (g *Git) HasVariable(name string) bool {
	_, ok := procgroup.LookupEnv(g.environ, name)
	return ok
}

// settings are the settings of each call.
var settings = []string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.quotePath=false", "-c", "advice.addEmbeddedRepo=false"}

// grace is the time between SIGTERM and SIGKILL for git.
const grace = time.Second

// lockWait is the time for which a call is repeated while another process holds a lock or creates a
// worktree.
const (
	lockWait  = 10 * time.Second
	lockPause = 50 * time.Millisecond
)

// ErrLocked means that a lock of the repository remained for lockWait.
var ErrLocked = errors.New("a lock of git has existed for more than 10 s: remove it if no git process is running")

// Run runs git, and returns its output without the last line breaks. The error is an *Error, wraps
// ErrLocked, or is that of the context.
func (g *Git) Run(ctx context.Context, at Place, args ...string) (string, error) {
	out, err := g.Pipe(ctx, at, nil, args...)
	return strings.TrimRight(string(out), "\n"), err
}

// Pipe runs git with an input, and returns its output.
func (g *Git) Pipe(ctx context.Context, at Place, input []byte, args ...string) ([]byte, error) {
	return g.repeat(ctx, func() ([]byte, error) { return g.start(ctx, at, input, false, args) })
}

// Finish runs a command that takes a lock of the repository, such as one that moves a ref. The
// command finishes even if this process is killed, so that no lock remains.
func (g *Git) Finish(ctx context.Context, at Place, args ...string) error {
	_, err := g.FinishOutput(ctx, at, args...)
	return err
}

// FinishOutput does the same as Finish, and returns the output without the last line breaks.
func (g *Git) FinishOutput(ctx context.Context, at Place, args ...string) (string, error) {
	out, err := g.repeat(ctx, func() ([]byte, error) { return g.start(ctx, at, nil, true, args) })
	return strings.TrimRight(string(out), "\n"), err
}

// isLocked reports whether a call failed because a lock exists.
func (e *Error) isLocked() bool { return strings.Contains(e.Stderr, ".lock': File exists") }

// isUnfinished reports whether a call failed because another process was creating or removing a
// worktree: every call that reads all worktrees, such as `worktree list` and `branch -D`, fails
// if a file of one of them is still empty.
func (e *Error) isUnfinished() bool {
	return strings.Contains(e.Stderr, "fatal: failed to read ") && strings.Contains(e.Stderr, "/commondir: ")
}

// repeat repeats a call while a lock exists or another process is creating a worktree.
func (g *Git) repeat(ctx context.Context, call func() ([]byte, error)) ([]byte, error) {
	for since := time.Now(); ; {
		out, err := call()
		var failed *Error
		if !errors.As(err, &failed) || !failed.isLocked() && !failed.isUnfinished() {
			return out, err
		}
		if time.Since(since) > lockWait {
			if failed.isLocked() {
				err = errors.Join(ErrLocked, err)
			}
			return nil, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (g *Git) start(ctx context.Context, at Place, input []byte, finishes bool, args []string) ([]byte, error) {
	var out bytes.Buffer
	err := g.run(ctx, at, input, finishes, args, func(r io.Reader) {
		_, _ = out.ReadFrom(r) // the output ends when the process exits
	})
	return out.Bytes(), err
}

// run runs git, and passes its output to read.
func (g *Git) run(ctx context.Context, at Place, input []byte, finishes bool, args []string, read func(io.Reader)) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	env := slices.Clip(g.environ)
	if at.GitDir != "" {
		env = append(env, "GIT_DIR="+at.GitDir, "GIT_COMMON_DIR="+at.CommonDir, "GIT_WORK_TREE="+at.Dir)
	}
	if at.Index != "" {
		env = append(env, "GIT_INDEX_FILE="+at.Index)
	}
	all := slices.Clone(settings)
	if g.synced {
		all = append(all, "-c", "core.fsync=objects,derived-metadata,reference")
	}
	all = append(all, args...)
	if g.program != nil {
		out, stderr, exit, err := g.program(ctx, &Call{at, all, env, input})
		read(bytes.NewReader(out))
		if err == nil && exit != 0 {
			err = &Error{args, exit, stderr}
		}
		return err
	}
	var lines []string
	p, err := procgroup.Start(procgroup.Command{Path: g.path, Args: all, Env: env, Dir: at.Dir, Finishes: finishes,
		Stderr: func(line []byte) { lines = append(lines, string(line)) }})
	if err != nil {
		return fmt.Errorf("could not run git: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		read(p.Stdout)
		_, _ = io.Copy(io.Discard, p.Stdout) // what read has left
	}()
	go func() {
		_, _ = p.Stdin.Write(input) // git may exit without reading it
		_ = p.Stdin.Close()
	}()
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.End(grace, nil)
	}
	<-p.GroupDone()
	<-ended
	switch code := p.Exit().Code; {
	case ctx.Err() != nil && code != 0:
		return context.Cause(ctx)
	case code != 0:
		return &Error{args, code, strings.Join(lines, "\n")}
	}
	return nil
}

// Repository returns the top directory of the repository that contains dir, which must be trusted,
// and its common directory, with absolute paths. below is the path of dir in it, or "".
func (g *Git) Repository(ctx context.Context, dir string) (top, common, below string, err error) {
	out, err := g.Run(ctx, Place{Dir: dir}, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir", "--show-prefix")
	if err != nil {
		return "", "", "", err
	}
	parts := strings.SplitN(out+"\n\n", "\n", 4)
	return filepath.FromSlash(parts[0]), filepath.FromSlash(parts[1]), filepath.FromSlash(strings.TrimSuffix(parts[2], "/")), nil
}

// IsNoRepository reports whether a call has failed because its directory is in no repository.
func IsNoRepository(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.ExitCode == 128 &&
		(strings.Contains(failed.Stderr, "not a git repository") || strings.Contains(failed.Stderr, "must be run in a work tree"))
}

// IsExit reports whether a call has failed with an exit code, which some commands use for an
// answer.
func IsExit(err error, code int) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.ExitCode == code
}

// Identified returns git for commits at a time, with an identity if none is configured.
func (g *Git) Identified(ctx context.Context, at Place, date time.Time) (*Git, error) {
	text := strconv.FormatInt(date.Unix(), 10) + " +0000"
	variables := []string{"GIT_AUTHOR_DATE=" + text, "GIT_COMMITTER_DATE=" + text}
	for _, kind := range []string{"AUTHOR", "COMMITTER"} {
		for _, part := range []struct{ variable, setting, value string }{{"NAME", "user.name", "concerto"}, {"EMAIL", "user.email", "concerto@localhost"}} {
			variable := "GIT_" + kind + "_" + part.variable
			if g.HasVariable(variable) {
				continue
			}
			_, err := g.Run(ctx, at, "config", "--get", part.setting)
			if IsExit(err, 1) {
				variables = append(variables, variable+"="+part.value)
			} else if err != nil {
				return nil, err
			}
		}
	}
	return g.With(variables...), nil
}

// Commit makes a commit of a tree with the environment's identities and dates, and returns its id.
// No ref changes.
func (g *Git) Commit(ctx context.Context, at Place, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := g.Pipe(ctx, at, []byte(message), append(args, tree)...)
	return strings.TrimSpace(string(out)), err
}

// Stream runs git and passes its output to read. If read returns an error, git is stopped, and the
// error is returned, unless it is ErrEnough.
func (g *Git) Stream(ctx context.Context, at Place, read func(io.Reader) error, args ...string) error {
	var readErr error
	_, err := g.repeat(ctx, func() ([]byte, error) {
		stopped, stop := context.WithCancel(ctx)
		defer stop()
		err := g.run(stopped, at, nil, false, args, func(out io.Reader) {
			if readErr = read(out); readErr != nil {
				stop()
			}
		})
		return nil, err
	})
	switch {
	case errors.Is(readErr, ErrEnough):
		return nil
	case readErr != nil && ctx.Err() == nil:
		return readErr
	}
	return err
}

// ErrEnough means that a reader needs no further output.
var ErrEnough = errors.New("no further output is needed")
