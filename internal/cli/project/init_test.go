package project

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/provider"
)

// After a failed write nothing half written remains.
func TestInitUndone(t *testing.T) {
	dir := t.TempDir()
	a := &console.Console{Dir: dir, Quiet: true}
	if err := os.MkdirAll(filepath.Join(dir, "shop"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "shop", "main.conc"), 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := initCommand{console: a, template: "supervise", provider: "scripted"}
	if err := cmd.writeProject("shop", "shop"); err == nil {
		t.Fatal("main.conc is a directory, and yet it was written")
	}
	left, err := os.ReadDir(filepath.Join(dir, "shop"))
	if err != nil || len(left) != 1 || left[0].Name() != "main.conc" {
		t.Errorf("not removed: %v, %v", left, err)
	}
}

// Every provider but the scripted one has what a new project's manifest and README say of it.
func TestModelSetups(t *testing.T) {
	for _, p := range provider.Names() {
		if _, names := modelSetups[p]; names != (p != provider.Scripted) {
			t.Errorf("modelSetups has no row for %s", p)
		}
	}
}
