package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestRelayLinksRunTools starts runs in which PATH first contains links to the relay that have the
// names of tools. A link must execute the tool of its name, when the shell searches for it, and
// when links to a second relay follow on PATH. If PATH has no such tool, the error must say so.
func TestRelayLinksRunTools(t *testing.T) {
	h := newMachine(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var path []string
	for _, dir := range []string{"links", "others", "tools"} {
		if err := os.Mkdir(filepath.Join(h.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		path = append(path, filepath.Join(h.dir, dir))
	}
	h.copyProgram(exe, "another-relay")
	h.writeExecutable("tools/sayit", "#!/bin/sh\necho \"said $*; run $RELAY_RUN_ID, $RELAY_TOOL\"\nexit 3\n")
	h.writeExecutable(".bash_profile", "export PATH="+strings.Join(path, ":")+":$PATH\n")
	for link, to := range map[string]string{"links/sayit": exe, "others/sayit": "../another-relay", "links/nothing": exe, "links/relays": exe} {
		if err := os.Symlink(to, filepath.Join(h.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", strings.Join(path, ":")+":"+os.Getenv("PATH"))
	h.start()
	for cmd, want := range map[string][2]string{
		"sayit a 'b c'":            {"said a b c; run run_", "3"},
		"sh -c 'sayit d'":          {"said d; run run_", "3"},
		"nothing at all":           {"nothing: it is a link to concerto-relay, and no other nothing is on PATH", "127"},
		"env relays doctor --help": {"concerto-relay doctor", "0"}, // PATH has no tool of this name, so the relay's command runs
	} {
		run := h.detached(cmd)
		h.until(run, protocol.RunOutput, want[0])
		h.until(run, protocol.RunExited, `"exit_code":`+want[1]+",")
	}
}

// copyProgram copies the executable file exe to name in the machine's directory.
func (h *machine) copyProgram(exe, name string) {
	h.t.Helper()
	from, err := os.Open(exe)
	if err != nil {
		h.t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(h.dir, name), os.O_CREATE|os.O_WRONLY, 0o700)
	if err == nil {
		_, err = io.Copy(to, from)
	}
	if err == nil {
		err = to.Close()
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// writeExecutable creates an executable file in the machine's directory.
func (h *machine) writeExecutable(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o700); err != nil {
		h.t.Fatal(err)
	}
}
