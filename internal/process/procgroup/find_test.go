package procgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFindExtensions checks which file a command is on Windows, compared with Linux.
func TestFindExtensions(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, mode := range map[string]os.FileMode{"a/agent": 0o755, "b/agent.cmd": 0o644, "b/agent.exe": 0o644, "b/other.bat": 0o644, "b/tool.py": 0o644, "b/x.y.cmd": 0o644} {
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(in("a/folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		system, command string
		path            string // of the environment
		pathext         string
		want            string // "" for an error
		err             error
	}{
		{system: "linux", command: "agent", path: in("b") + ":" + in("a"), want: "a/agent"},
		{system: "linux", command: "agent.cmd", path: in("b"), err: ErrNotExecutable},
		{system: "windows", command: "agent", path: in("a") + ";" + in("b"), want: "b/agent.exe"},
		{system: "windows", command: "agent.cmd", path: in("b"), want: "b/agent.cmd"},
		{system: "windows", command: "agent.CMD", path: in("b"), err: ErrNotFound}, // this file system distinguishes the cases
		{system: "windows", command: "other", path: `"` + in("b") + `"`, want: "b/other.bat"},
		{system: "windows", command: "tool", path: in("b"), err: ErrNotFound},
		{system: "windows", command: "tool", path: in("b"), pathext: ".EXE;.PY", want: "b/tool.py"},
		{system: "windows", command: "x.y", path: in("b"), want: "b/x.y.cmd"},
		{system: "windows", command: "b/agent", want: "b/agent.exe"},
		{system: "windows", command: "folder", path: in("a"), err: ErrNotFound},
	} {
		env := []string{"PATH=" + c.path}
		if c.system == windowsSystem {
			env = []string{"PATH=ignored", "Path=" + c.path, "PathExt=" + c.pathext}
		}
		got, err := finder{c.system, dir, env}.find(c.command)
		if c.want == "" {
			if !errors.Is(err, c.err) {
				t.Errorf("%s: find %q: %q, error %v, want %v", c.system, c.command, got, err, c.err)
			}
		} else if err != nil || got != in(c.want) {
			t.Errorf("%s: find %q = %q, error %v, want %s", c.system, c.command, got, err, in(c.want))
		}
	}
}
