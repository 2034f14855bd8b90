package disk

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

// Lock locks the file until it is closed.
func (f osFile) Lock() error {
	err := lockfile.LockOpen(f.File)
	if errors.Is(err, lockfile.ErrHeld) {
		return &lockfile.HeldError{}
	}
	return err
}
