//go:build !unix

package main

import "errors"

// execProgram returns an error, because this system cannot replace the program of a process.
func execProgram(string, []string, []string) error { return errors.ErrUnsupported }
