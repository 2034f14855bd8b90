package userfile

import (
	"errors"
	"os"
	"time"
)

// Time for which a replacement is tried again while another process has the file open, and the
// pause between two attempts. Only Windows refuses to replace an open file.
const (
	replaceTime  = time.Second
	replacePause = 20 * time.Millisecond
)

// Rename replaces the file `to` by the file `from`.
func Rename(from, to string) error {
	return retryRename(func() error { return os.Rename(from, to) }, isInUse, time.Sleep)
}

// retryRename repeats a rename while it fails because the file is in use, for replaceTime at most.
func retryRename(rename func() error, inUse func(error) bool, pause func(time.Duration)) error {
	for waited := time.Duration(0); ; waited += replacePause {
		err := rename()
		if err == nil || !inUse(err) || waited >= replaceTime {
			return err
		}
		pause(replacePause)
	}
}

// SyncDir writes the entries of a directory to the disk, where the system does not do that itself.
func SyncDir(dir string) error {
	if !syncsDirs {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
