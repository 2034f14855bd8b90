package audit

import (
	"errors"
	"fmt"
	"os"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

// lock locks a file until this process closes it.
func lock(f *os.File, what string) error {
	err := lockfile.LockOpen(f)
	if errors.Is(err, lockfile.ErrHeld) {
		return &LockedError{what, f.Name(), 0}
	}
	if err != nil {
		return fmt.Errorf("lock %s %s: %w", what, f.Name(), err)
	}
	return nil
}
