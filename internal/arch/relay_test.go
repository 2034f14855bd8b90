package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestCommandHasNoRelay checks that the concerto command does not link packages that only the
// relay's server needs, because they would slow down its start.
func TestCommandHasNoRelay(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, dep := range depsOf(t, "concerto") {
		ours := strings.TrimPrefix(dep, Module+"/")
		for _, not := range []string{"github.com/creack/pty", "github.com/jackc/pgx", "golang.org/x/crypto/argon2"} {
			if strings.HasPrefix(dep, not) {
				t.Errorf("the concerto command links %s", dep)
			}
		}
		if strings.HasPrefix(ours, "relay/") && ours != "relay/protocol" && !strings.HasPrefix(ours, "relay/client") {
			t.Errorf("the concerto command links %s", ours)
		}
	}
}

// depsOf returns the packages that a command links.
func depsOf(t *testing.T, command string) []string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "./cmd/"+command)
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// maxRelayBytes is the maximum size of the stripped relay server, in bytes.
const maxRelayBytes = 25_000_000

// TestRelayIsSmall checks the size of the relay server and that it does not link the VM or
// text/template. text/template calls methods by name, so the linker could not remove exported
// methods, which would increase the size by a seventh.
func TestRelayIsSmall(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, dep := range depsOf(t, "concerto-relay") {
		switch ours := strings.TrimPrefix(dep, Module+"/"); ours {
		case "vm", "ir", "sema", "parser", "stdlib":
			t.Errorf("the relay server links %s", ours)
		}
	}
	file := filepath.Join(t.TempDir(), "concerto-relay")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, "./cmd/concerto-relay")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > maxRelayBytes {
		t.Errorf("the relay server has %d bytes; the maximum is %d", len(text), maxRelayBytes)
	}
	if bytes.Contains(text, []byte("text/template.(*Template).Execute")) {
		t.Error("the relay server links text/template; a possible cause is a command that sets a template of cobra")
	}
}
