//go:build !unix

package journal

// runs returns true: this system cannot tell whether a process exists.
func runs(int) bool { return true }
