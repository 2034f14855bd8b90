package vm

import "errors"

// ErrSuspended is the error of a run that was left where it was: see Config.Suspend.
var ErrSuspended = errors.New("the run is suspended")

// suspending is what a task panics with that computes while its run is suspended.
type suspending struct{}

// suspended reports whether the run is to be left where it is.
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

// leave leaves a suspended run: what has come is written down as taken, which it is when the
// run is gone on with; what is under way is left.
func (m *VM) leave() {
	m.ending.fatal = ErrSuspended
	m.recordArrived()
	for _, seq := range m.requests.underWay() {
		m.requests.pending[seq].quit()
	}
	m.requests.goroutes.Wait()
	m.recordArrived()
}

// recordArrived tells the journal of effects that have ended by themselves.
func (m *VM) recordArrived() {
	m.requests.arrived = m.requests.inbox.drain(m.requests.arrived)
	for i := range m.requests.arrived {
		if c := &m.requests.arrived[i]; c.err == nil || isProgramError(c.err) {
			m.tellTaken(c, nil)
		}
	}
	m.requests.arrived = nil
}
