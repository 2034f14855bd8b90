// Package proc reads the state of processes from Linux's /proc. The guardian uses it (see package
// guard), so it imports nothing that needs package unicode.
package proc

// Mark is the environment variable that marks a process and its children as part of a run. Its
// value is the run's id, a colon and the host's name.
const Mark = "CONCERTO_HOST"

// Number is the environment variable with the number of a host's process among the processes that
// its run has started for the host. Everything that the process starts inherits it.
const Number = "CONCERTO_PROC"

// KeeperMark is an additional environment variable of the processes of a durable run. Several
// processes execute such a run one after the other, and its keeper outlives them. The value is the
// run's id, a dot, the keeper's name, a colon and the host's name.
const KeeperMark = "CONCERTO_KEPT"

// KeeperPrefix selects the processes of a keeper in calls of Marked. It precedes the run's id, a
// dot and the keeper's name.
const KeeperPrefix = "kept/"
