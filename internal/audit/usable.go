package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Usable says why Open would refuse a log, and changes nothing: its error is a
// *LockedError, a *BrokenError, or that of the file. One that is not there is usable
// where its directory is.
func Usable(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(path))
		if err == nil {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return err
	}
	for _, err := range Lines(bufio.NewReader(f), path) {
		if t := (torn{}); err != nil && !errors.As(err, &t) {
			return err
		}
	}
	return nil
}
