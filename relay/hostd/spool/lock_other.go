//go:build !unix

package spool

// lock does nothing where hostd does not run.
func lock(string) (unlock func() error, err error) { return func() error { return nil }, nil }
