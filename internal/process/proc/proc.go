// Package proc reads the state of processes from Linux's /proc. The guardian uses it (see package
// guard), so it imports nothing that needs package unicode.
package proc

// Mark is the environment variable that marks a process and its children as part of a run. Its
// value is the run's id, a colon and the host's name.
const Mark = "CONCERTO_HOST"

// KeeperMark is an additional variable of processes of a durable run. Several processes continue
// such a run one after the other, and its keeper outlives them. The value is the run's id, a dot,
// the keeper's name, a colon and the name as in Mark.
const KeeperMark = "CONCERTO_KEPT"

// KeeperPrefix is a prefix for Marked: before a run's id, a dot and a keeper's name it selects the
// keeper's processes.
const KeeperPrefix = "kept/"
