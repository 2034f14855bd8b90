package audit

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// CheckUsable returns why Open would refuse a log, without changing anything: a *LockedError, a
// *BrokenError, or an error of the file. A missing log is usable if its directory is. what is the
// log's name in messages.
func CheckUsable(path, what string) error {
	f, err := userfile.Open(path, userfile.Unlimited)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(path))
		if err == nil {
			return nil
		}
	}
	if err != nil {
		return openError(path, what, err)
	}
	defer f.Close()
	if err := lock(f, what); err != nil {
		return err
	}
	for _, err := range Lines(bufio.NewReader(f), path) {
		if t := (tornError{}); err != nil && !errors.As(err, &t) {
			return err
		}
	}
	return nil
}
