//go:build !unix

package main

import "errors"

// errInUse: another process holds a lock.
var errInUse = errors.New("another process has it")

// lock does nothing where files cannot be locked.
func lock(string) (unlock func() error, err error) { return func() error { return nil }, nil }
