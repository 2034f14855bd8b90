//go:build !linux

package procgroup

import "os"

// inPipe returns -1: this system cannot report the contents of a pipe.
func inPipe(*os.File) int { return -1 }
