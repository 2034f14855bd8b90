package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/git"
)

// GateOutputSize is the size of the end of a gate's output that is returned, in bytes.
const GateOutputSize = 16 << 10

// RunGate runs a command of a gate. failure describes what the command did, such as "exited with
// status 1"; it is "" if the command has passed. exit is nil if it was not started, or did not end
// in time. The caller must ignore the result if ctx has ended.
func RunGate(ctx context.Context, s *Store, dir string, command, environ []string, out io.Writer, timeout time.Duration) (failure string, exit *int) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	code, err := s.Execute(limited, dir, command, environ, out)
	switch {
	case err == nil && code == 0:
		return "", &code
	case err == nil:
		return fmt.Sprintf("exited with status %d", code), &code
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("timed out after %g s", timeout.Seconds()), nil
	}
	return "could not be started: " + err.Error(), nil
}

// Prove performs a gate in the directory of an exchange. Its command has further variables.
func (d Directories) Prove(ctx context.Context, dir string, r *effect.ExchangeGate, environ []string) (*effect.GateOutput, error) {
	if d.Store == nil {
		return nil, errors.New("there are no workspaces")
	}
	o, began := &effect.GateOutput{Failure: r.Failure}, time.Now()
	if len(r.Command) > 0 {
		out := Tail{Most: GateOutputSize}
		seconds := min(cmp.Or(r.Timeout, 1800), 1e9) // fits into a Duration
		failed, _ := RunGate(ctx, d.Store, dir, r.Command, environ, &out, time.Duration(seconds*float64(time.Second)))
		if failed != "" {
			o.Failure = r.Gate + " " + failed
		}
		o.Output, o.MS = out.String(), time.Since(began).Milliseconds()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	tree, err := treeOf(ctx, d.Store, dir)
	o.Tree = tree
	return o, err
}

// treeOf returns Git's tree of a directory's repository, with the changes that are not committed.
// It is "" if there is no Git, or if the directory is in no repository. The index is not changed.
func treeOf(ctx context.Context, s *Store, dir string) (string, error) {
	g, err := git.New(ctx, s.place.Environ, dir)
	if errors.Is(err, git.ErrMissing) || errors.Is(err, git.ErrOld) {
		return "", nil
	}
	if err != nil {
		return "", failure(err, "", "find git")
	}
	top, common, _, err := g.Repository(ctx, dir)
	if git.IsNoRepository(err) {
		return "", nil
	}
	if err != nil {
		return "", failure(err, "", "find the repository of "+dir)
	}
	own, err := g.Run(ctx, git.Place{Dir: dir}, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return "", failure(err, "", "find the repository of "+dir)
	}
	temp, err := os.MkdirTemp("", "concerto-tree-")
	if err != nil {
		return "", failure(err, "", "create a directory for an index")
	}
	defer os.RemoveAll(temp)
	at := git.Place{Dir: top, GitDir: own, CommonDir: common, Index: filepath.Join(temp, "index")}
	if index, err := os.ReadFile(filepath.Join(own, "index")); err == nil { // a copy saves that every file is read
		if err := os.WriteFile(at.Index, index, 0o600); err != nil {
			return "", failure(err, "", "copy the index")
		}
	}
	if _, err := g.Run(ctx, at, "add", "--all", "--sparse", "--ignore-errors", "--", ":/"); err != nil {
		return "", failure(err, "", "read the files of "+top)
	}
	tree, err := g.Run(ctx, at, "write-tree")
	return tree, failure(err, "", "write the tree of "+top)
}
