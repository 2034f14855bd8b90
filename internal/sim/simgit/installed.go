package simgit

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// Identity is the identity of all commits.
var Identity = []string{"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com"}

// Installed creates a repository like that of New for the installed git, which it returns. Its
// remote is next to it. A call is not ended when its context ends, as for short ones.
func Installed(top string) (git.Program, error) {
	p := func(ctx context.Context, c *git.Call) (out []byte, stderr string, exit int, err error) {
		if ctx.Err() != nil {
			return nil, "", 0, context.Cause(ctx)
		}
		var text bytes.Buffer
		x := exec.Command("git", c.Args...)
		x.Dir, x.Env, x.Stdin, x.Stderr = c.At.Dir, append(os.Environ(), append(c.Environ, "LC_ALL=C", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")...), bytes.NewReader(c.Input), &text
		out, err = x.Output()
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			return out, text.String(), failed.ExitCode(), nil
		}
		return out, "", 0, err
	}
	err := os.MkdirAll(top, 0o755)
	for _, args := range [][]string{{"init", "-q", "-b", "work", "."}, {"init", "-q", "--bare", "../" + filepath.Base(top) + ".remote"}, {"remote", "add", "origin", "../" + filepath.Base(top) + ".remote"}} {
		if err == nil {
			_, err = git.Of(p).Run(context.Background(), git.Place{Dir: top}, args...)
		}
	}
	return p, err
}
