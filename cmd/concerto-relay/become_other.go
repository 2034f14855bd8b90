//go:build !unix

package main

import "errors"

// become has another program take the place of this one: that cannot be here.
func become(string, []string, []string) error { return errors.ErrUnsupported }
