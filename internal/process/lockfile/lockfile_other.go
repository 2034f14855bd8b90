//go:build !unix

package lockfile

// Lock does nothing where files cannot be locked.
func Lock(string) (unlock func() error, err error) { return func() error { return nil }, nil }

// Held never says so.
func Held(string) (bool, error) { return false, nil }

// Gone never says so.
func Gone(int) bool { return false }
