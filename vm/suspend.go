package vm

import "errors"

// ErrSuspended is the error of a suspended run: see Config.Suspend.
var ErrSuspended = errors.New("the run is suspended")

// suspending is the panic value of a task that computes while its run is suspended.
type suspending struct{}

// suspended reports whether Config.Suspend requests that the run be suspended.
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

// suspend suspends the run. It reports the completions that have arrived as consumed, because the
// resumed run consumes them. Pending requests stay pending.
func (m *VM) suspend() {
	m.ending.fatal = ErrSuspended
	m.recordArrived()
	for _, seq := range m.requests.underWay() {
		m.requests.pending[seq].cancel()
	}
	m.requests.goroutes.Wait()
	m.requests.idle.end()
	m.recordArrived()
}

// recordArrived reports the effects that have ended to the journal. It omits effects that were
// cancelled.
func (m *VM) recordArrived() {
	m.requests.arrived = m.requests.inbox.drain(m.requests.arrived)
	for i := range m.requests.arrived {
		if c := &m.requests.arrived[i]; c.err == nil || isProgramError(c.err) {
			m.recordConsumed(c, nil)
		}
	}
	m.requests.arrived = nil
}
