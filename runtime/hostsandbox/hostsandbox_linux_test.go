package hostsandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/confine"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// TestNothingStarts checks that a host that cannot be confined is not started, and the message.
func TestNothingStarts(t *testing.T) {
	defer func(was func() int) { confine.Landlock = was }(confine.Landlock)
	confine.Landlock = func() int { return 0 }
	dir := t.TempDir()
	for _, c := range []struct {
		sandboxes host.Sandboxes
		run       *procgroup.Run
		box       host.Sandbox
		want      string
	}{
		{Sandboxes{}, ours(), host.Sandbox{Settings: sandbox.Settings{Read: []string{}}}, "cannot sandbox host 'X': this system does not support Landlock"},
		{nil, ours(), host.Sandbox{Settings: sandbox.Settings{MemoryMB: 100}}, "cannot sandbox host 'X': this program has no sandboxes"},
		{Sandboxes{}, &procgroup.Run{ID: procgroup.NewID()}, host.Sandbox{Settings: sandbox.Settings{OpenFiles: 100}}, "cannot sandbox host 'X': the path of the concerto program is unknown: set Options.Executable"},
	} {
		if c.box.RestrictsFiles() {
			if lacks, _ := confine.Check(ours(), sandbox.Confinement{Hidden: true}); len(lacks) > 0 {
				continue // the message names more features
			}
		}
		hosts := host.New(host.Options{Configs: []host.Config{{Name: "X", Connector: "x", Command: "sh", Args: []string{"-c", "echo > started"}, Dir: dir, Access: host.Access{Sandbox: &c.box}}},
			Environ: os.Environ(), Run: c.run, Sandboxes: c.sandboxes})
		_, err := hosts.Probe(t.Context(), "X")
		if err == nil || err.Error() != c.want {
			t.Errorf("error = %v, want %s", err, c.want)
		}
		if e, ok := errors.AsType[*effect.Error](err); !ok || e.Fields["code"] != "sandbox" {
			t.Errorf("error = %#v, want the code sandbox", err)
		}
		if err := hosts.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
			t.Error("the host was started")
		}
	}
}

// TestPathsOfWorktrees checks which paths the lists of a sandbox mean for a host in a worktree or
// in a copy.
func TestPathsOfWorktrees(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"repo/.git/worktrees/one", "repo/src", "repo/.concerto/tasks/one/src", "repo/.concerto/tasks/two", "out", "copy/src"} {
		if err := os.MkdirAll(in(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(in("repo"), in("link")); err != nil {
		t.Fatal(err)
	}
	l := &workspace.Layout{Top: in("repo/.concerto/tasks/one"), Admin: in("repo/.git/worktrees/one"), Common: in("repo/.git"), Checkout: in("repo"), Tasks: in("repo/.concerto/tasks")}
	for _, c := range []struct {
		layout *workspace.Layout
		path   string
		want   string // path of the result, or "" if the path is refused
	}{
		{l, ".", "repo/.concerto/tasks/one"},
		{l, "src", "repo/.concerto/tasks/one/src"},
		{l, in("link/src"), "repo/.concerto/tasks/one/src"},
		{l, in("repo/.concerto/tasks/one/src"), "repo/.concerto/tasks/one/src"},
		{l, in("out"), "out"},
		{l, dir, ""},
		{l, "/", ""},
		{l, "..", ""},
		{l, ".git", ""},
		{l, ".concerto/tasks/two", ""},
		{nil, ".", "copy"},
		{nil, "src", "copy/src"},
		{nil, "../out", "out"},
	} {
		r := &host.SandboxRequest{Layout: c.layout, Config: &host.Config{Dir: in("copy"), Isolation: host.Isolation{Root: in("repo"), Original: in("repo")}}}
		got, err := listed(r, "write", []string{c.path})
		err = errors.Join(err, checkRepository(c.layout, got))
		if c.want == "" {
			if err == nil {
				t.Errorf("%s may be written as %v, want an error", c.path, got)
			}
			continue
		}
		if want := []string{in(c.want)}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s means %v (error %v), want %v", c.path, got, err, want)
		}
	}
}
