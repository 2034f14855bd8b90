//go:build !linux || race

package main

// leaveLargePages: other systems choose their pages themselves, and the race
// detector notes each byte that is allocated.
func leaveLargePages(int) bool { return false }
