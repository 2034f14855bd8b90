package vm

// Stopped is the end of a run whose performer refused a request with an error
// that no program may catch. Err is the performer's error, the place that of
// the request.
type Stopped struct {
	Err   error
	Place         // where the request was made
	Trace []Place // the place first, then the calls that led to it, recursion and long ones shortened
}

func (e *Stopped) Error() string { return e.Err.Error() }

// Unwrap gives the performer's error.
func (e *Stopped) Unwrap() error { return e.Err }

// stopped returns err with the place where the task is.
func (t *task) stopped(err error) *Stopped { return t.stoppedAt(t.pc(), err) }

func (t *task) stoppedAt(pc int, err error) *Stopped {
	e := &Stopped{Err: err}
	var trace calls
	for fp := t.frame(); pc > 0; { // the task may be parked
		t.m.addCaller(&trace, pc)
		fp, pc = t.caller(fp)
	}
	e.Trace = trace.places(t.m.place)
	e.Place = visible(e.Trace)
	e.Trace = userView(e.Trace)
	return e
}
