//go:build !unix

package hosttest

// groupAlive returns false: this system has no process groups, and no stdio hosts.
func groupAlive(int) bool { return false }
