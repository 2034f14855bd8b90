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
				t.Errorf("the command has %s", dep)
			}
		}
		if strings.HasPrefix(ours, "relay/") && ours != "relay/protocol" && !strings.HasPrefix(ours, "relay/client") {
			t.Errorf("the command has %s", ours)
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

// maxRelayBytes limits the size of the stripped relay server.
const maxRelayBytes = 25_000_000

// TestRelayIsSmall checks the size of the relay server. It links neither the VM nor text/template,
// whose method calls by name would prevent the linker from removing exported methods and so add a
// seventh to the size.
func TestRelayIsSmall(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, dep := range depsOf(t, "concerto-relay") {
		switch ours := strings.TrimPrefix(dep, Module+"/"); ours {
		case "vm", "ir", "sema", "parser", "stdlib":
			t.Errorf("the relay has %s", ours)
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
		t.Errorf("the relay has %d bytes; %d are the most", len(text), maxRelayBytes)
	}
	if bytes.Contains(text, []byte("text/template.(*Template).Execute")) {
		t.Error("the relay has text/template: does a command set a template of cobra's?")
	}
}
