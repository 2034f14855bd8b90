//go:build !linux

package procgroup

// AwaitsInput returns false for known: this system does not provide the information.
func (p *Process) AwaitsInput() (waits, known bool) { return false, false }
