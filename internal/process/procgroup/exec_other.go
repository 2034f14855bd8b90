//go:build !unix && !windows

package procgroup

import "errors"

// Exec returns an error, because this system starts no programs.
func Exec(string, []string, []string) error { return errors.ErrUnsupported }
