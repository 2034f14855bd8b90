//go:build !linux

package procgroup

import "errors"

// LendOutput returns an error, because this system cannot lend the output.
func (p *Process) LendOutput() (fd int, err error) { return -1, errors.ErrUnsupported }

// ReclaimOutput does nothing.
func (p *Process) ReclaimOutput(int64) {}
