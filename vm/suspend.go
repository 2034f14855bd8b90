package vm

import "errors"

// ErrSuspended is the error of a suspended run: see Config.Suspend.
var ErrSuspended = errors.New("the run is suspended")

// suspending is the panic value of a task that computes while its run is suspended.
type suspending struct{}

// suspended reports whether the run must be suspended.
func (m *VM) suspended() bool {
	if m.config.Suspend == nil {
		return false
	}
	select {
	case <-m.config.Suspend:
		return true
	default:
		return false
	}
}

// suspend suspends the run: completions that have arrived are recorded as consumed, which happens
// when the run is resumed; pending requests stay pending.
func (m *VM) suspend() {
	m.ending.fatal = ErrSuspended
	m.recordArrived()
	for _, seq := range m.requests.underWay() {
		m.requests.pending[seq].cancel()
	}
	m.requests.goroutes.Wait()
	m.recordArrived()
}

// recordArrived reports to the journal the effects that have ended by themselves.
func (m *VM) recordArrived() {
	m.requests.arrived = m.requests.inbox.drain(m.requests.arrived)
	for i := range m.requests.arrived {
		if c := &m.requests.arrived[i]; c.err == nil || isProgramError(c.err) {
			m.recordConsumed(c, nil)
		}
	}
	m.requests.arrived = nil
}
