//go:build !linux || race

package heap

// leaveLargePages does nothing: other systems choose page sizes themselves, and the race detector
// tracks each byte that is allocated.
func leaveLargePages(int) bool { return false }
