//go:build !linux

package confine

import "strconv"

// ownerName returns the part of a directory's name that identifies a process. This system has no
// sandboxes, so no directory has an owner.
func ownerName(pid int) string { return strconv.Itoa(pid) }
