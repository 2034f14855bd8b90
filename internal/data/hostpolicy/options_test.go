package hostpolicy

import (
	"os"
	"strings"
	"testing"
)

// TestLaunchers checks that a rule with `*` does not allow options that run other programs, and
// that a rule which names the option does.
func TestLaunchers(t *testing.T) {
	for _, c := range []struct {
		glob, command string
		want          bool
	}{
		{"go test *", "go test ./...", true},
		{"go test *", "go test -run TestA -v ./...", true},
		{"go test *", "go test -exec 'cat .env' ./...", false},
		{"go test *", "go test --exec=cat ./...", false},
		{"go test *", "go test '-exec' cat", false},
		{"go test *", "go test -toolexec=cat", false},
		{"go test *", "go test -o /etc/x", false},
		{"go test -exec *", "go test -exec cat", true},
		{"go test *", "env go test -exec cat", false},
		{"env *", "env go test -exec cat", false},
		{"*", "go test -exec cat", false},
		{"go *", "/usr/bin/go test -exec cat", false},
		{"git *", "git status --short", true},
		{"git *", "git commit -m 'a -c b'", true},
		{"git *", "git -c core.pager=cat log", false},
		{"git *", "git -ccore.pager=cat log", false},
		{"git *", "git fetch --upload-p=cat origin", false},
		{"git *", "git cherry-pick -x abc", true},
		{"git *", "git rebase -x cat main", false},
		{"find *", "find . -name a", true},
		{"find *", "find . -exec cat {} +", false},
		{"find * -delete", "find . -delete", true},
		{"tar *", "tar -xf a.tar", true},
		{"tar *", "tar -xIcat -f a.tar", false},
		{"tar *", "tar xf a.tar --to-command=cat", false},
		{"tar *", "tar xf a.tar --to-c=cat", false},
		{"make *", "make test", true},
		{"make *", "make test SHELL=cat", false},
		{"make *", "make -f other.mk", false},
		{"make -f other.mk", "make -f other.mk", true},
	} {
		if got := allows([]string{c.glob}, c.command); got != c.want {
			t.Errorf("rule %q allows %q: %t, want %t", c.glob, c.command, got, c.want)
		}
	}
}

// TestManualListsLaunchers checks that the manual lists each command with its options.
func TestManualListsLaunchers(t *testing.T) {
	text, err := os.ReadFile("../../../spec/08-hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range Launchers {
		row := "| `" + l.Command + "` | `" + strings.Join(l.Options, "`, `") + "` |"
		if !strings.Contains(string(text), row) {
			t.Errorf("spec/08-hosts.md has no row %s", row)
		}
	}
}
