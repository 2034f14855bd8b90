//go:build !unix

package lockfile

// Lock does nothing where files cannot be locked.
func Lock(string) (unlock func() error, err error) { return func() error { return nil }, nil }
