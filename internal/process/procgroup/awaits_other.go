//go:build !linux

package procgroup

// AwaitsInput says whether a member of the group waits for what comes on Stdin; known is
// false when that cannot be seen.
func (p *Process) AwaitsInput() (waits, known bool) { return false, false }
