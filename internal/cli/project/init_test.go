package project

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// TestInitUndone checks that a failed init removes the files that it has created.
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
	if err := cmd.writeProject(t.Context(), "shop", "shop"); err == nil {
		t.Fatal("writeProject succeeded although main.conc is a directory")
	}
	left, err := os.ReadDir(filepath.Join(dir, "shop"))
	if err != nil || len(left) != 1 || left[0].Name() != "main.conc" {
		t.Errorf("files after the failed init = %v (error %v), want only main.conc", left, err)
	}
}

// TestModelSetups checks that every provider except the scripted one has a setup for a new
// project's manifest and README.
func TestModelSetups(t *testing.T) {
	for _, p := range models.ProviderNames(nil) {
		if _, names := modelSetups[p]; names != (p != models.Scripted) {
			t.Errorf("provider %s: modelSetups must have a row for every provider except the scripted one", p)
		}
	}
}
