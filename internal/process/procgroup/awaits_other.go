//go:build !linux

package procgroup

// AwaitsInput returns known as false: this system does not report it.
func (p *Process) AwaitsInput() (waits, known bool) { return false, false }
