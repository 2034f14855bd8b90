package hosttest

// GroupAlive reports whether a process of the group pgid still runs, for tests of what a run leaves
// behind.
func GroupAlive(pgid int) bool { return groupAlive(pgid) }
