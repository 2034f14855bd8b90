//go:build !linux

package procgroup

// AwaitsInput returns known as false: this system cannot tell.
func (p *Process) AwaitsInput() (waits, known bool) { return false, false }
