package hosttest

// GroupAlive says whether a process of the group pgid still runs, for tests
// that look for what a run has left behind.
func GroupAlive(pgid int) bool { return groupAlive(pgid) }
