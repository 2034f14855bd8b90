//go:build !unix

package journal

// runs says whether there is a process of a number: nobody knows.
func runs(int) bool { return true }
