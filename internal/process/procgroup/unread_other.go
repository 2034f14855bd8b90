//go:build !linux && !windows

package procgroup

import "os"

// InPipe returns -1: this system cannot report the contents of a pipe.
func InPipe(*os.File) int { return -1 }
