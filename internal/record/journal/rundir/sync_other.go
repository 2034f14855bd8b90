//go:build !linux

package rundir

import "os"

func datasync(f *os.File) error { return f.Sync() }
