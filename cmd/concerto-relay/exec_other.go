//go:build !unix

package main

import "errors"

// execProgram replaces this process by a program, which this system does not support.
func become(string, []string, []string) error { return errors.ErrUnsupported }
