package arch

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestCommandHasNoRelay checks that the concerto command does not link packages that only the
// relay's server needs, because they would slow down its start. audit verify needs relay/seal.
func TestCommandHasNoRelay(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, dep := range depsOf(t, "concerto") {
		ours := strings.TrimPrefix(dep, Module+"/")
		for _, not := range []string{"github.com/creack/pty", "golang.org/x/crypto/argon2"} {
			if strings.HasPrefix(dep, not) {
				t.Errorf("the concerto command links %s", dep)
			}
		}
		if strings.HasPrefix(ours, "relay/") && ours != "relay/protocol" && ours != "relay/seal" && !strings.HasPrefix(ours, "relay/client") {
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

// TestRelayLinksNoVM checks that the relay server does not link the compiler and the VM.
func TestRelayLinksNoVM(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, dep := range depsOf(t, "concerto-relay") {
		switch ours := strings.TrimPrefix(dep, Module+"/"); ours {
		case "vm", "ir", "sema", "parser", "stdlib":
			t.Errorf("the relay server links %s", ours)
		}
	}
}
