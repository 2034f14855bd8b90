//go:build !unix && !windows

package lockfile

// Lock does nothing: this system has no file locks.
func Lock(string) (unlock func() error, err error) { return func() error { return nil }, nil }

// Held returns false: this system has no file locks.
func Held(string) (bool, error) { return false, nil }

// IsDead returns false: this system does not report it.
func IsDead(int) bool { return false }
