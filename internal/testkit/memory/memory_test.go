package memory

import (
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal/journaltest"
)

// errCut is the error of a transaction whose outcome the Writer does not know.
var errCut = errors.New("the connection was closed")

// TestStore checks the guarantees of stores.
func TestStore(t *testing.T) {
	journaltest.Test(t, func(*testing.T) *journaltest.Store {
		s := &Store{}
		fail := func(stored bool) {
			s.Commit = func(commit func() error) error {
				s.Commit = nil
				if stored {
					if err := commit(); err != nil {
						return err
					}
				}
				return errCut
			}
		}
		return &journaltest.Store{Run: s.Run, IsWhole: true, Expire: s.Expire, FailCommit: fail}
	})
}
