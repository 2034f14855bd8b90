package rundir

import (
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/journaltest"
)

// TestStore checks the guarantees of stores.
func TestStore(t *testing.T) {
	journaltest.Test(t, func(t *testing.T) *journaltest.Store {
		root := t.TempDir()
		return &journaltest.Store{Run: func(id string) journal.Run { return At(filepath.Join(root, id)) }}
	})
}
