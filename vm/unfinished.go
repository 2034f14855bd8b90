package vm

// noteUnfinished records the functions of the tasks that are still running when main returns. The
// program started these tasks and has neither awaited nor cancelled them.
func (m *VM) noteUnfinished() {
	for t := m.sched.oldest; t != nil; t = t.birth.newer {
		if t.valued() && !t.state.stop {
			m.ending.unfinished = append(m.ending.unfinished, t.fn)
		}
	}
}

// entries returns the places where functions begin.
func (m *image) entries(all []*function) []Place {
	var at []Place
	for _, f := range all {
		at = append(at, m.entryOf(f))
	}
	return at
}
