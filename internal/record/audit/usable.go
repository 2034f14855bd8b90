package audit

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
)

// CheckUsable returns the error that Open would return for a log, without changing the log: a
// *LockedError, a *BrokenError, or an error of the file. If the log does not exist, CheckUsable
// checks its directory. what is the log's name in messages.
func CheckUsable(path, what string) error {
	files, name := locate(nil, path)
	f, err := files.Open(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = files.Stat(".")
		if err == nil {
			return nil
		}
	}
	if err != nil {
		return openError(path, what, err)
	}
	defer f.Close()
	if err := lock(f, path, what); err != nil {
		return err
	}
	for _, err := range Lines(bufio.NewReader(f), path) {
		if t := (tornError{}); err != nil && !errors.As(err, &t) {
			return err
		}
	}
	return nil
}
