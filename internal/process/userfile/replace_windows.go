package userfile

import (
	"errors"

	"golang.org/x/sys/windows"
)

// syncsDirs is false, because directories cannot be synced: NTFS writes their entries in the order
// of the changes.
const syncsDirs = false

// isInUse reports whether a rename failed because another process has the file open.
func isInUse(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}
