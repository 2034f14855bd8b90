package arch

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCommandHasNoRelay: what only the relay's own program needs is not in the command, whose
// start would pay for it.
func TestCommandHasNoRelay(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./cmd/concerto")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		ours := strings.TrimPrefix(dep, Module+"/")
		for _, not := range []string{"github.com/creack/pty", "github.com/jackc/pgx", "golang.org/x/crypto/argon2"} {
			if strings.HasPrefix(dep, not) {
				t.Errorf("the command has %s", dep)
			}
		}
		if strings.HasPrefix(ours, "relay/") && ours != "relay/protocol" {
			t.Errorf("the command has %s", ours)
		}
	}
}
