//go:build !unix

package journal

// processExists returns true: this system cannot tell whether a process exists.
func processExists(int) bool { return true }
