//go:build !linux

package procgroup

// Unread is how many of the bytes written to Stdin the process has not read;
// -1 when the system does not tell.
func (p *Process) Unread() int { return -1 }
