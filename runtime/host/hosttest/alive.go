package hosttest

// GroupAlive reports whether a process of the group pgid still runs, so that a test can detect
// processes that outlive a run.
func GroupAlive(pgid int) bool { return groupAlive(pgid) }
