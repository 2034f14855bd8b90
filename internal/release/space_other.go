//go:build !linux && !darwin

package release

// freeSpace reports that the free space is not known.
func freeSpace(string) (free uint64, ok bool) { return 0, false }
