// Package proc reads what Linux tells of processes in /proc. It is used by the
// guardian (package guard says why), so it imports nothing that needs package unicode.
package proc

// Mark is the variable by which a process, and whatever it starts, is known to
// be a run's: its value is the run's id, a colon and the name of whom the process
// plays.
const Mark = "CONCERTO_HOST"

// KeptMark is the variable that a process has besides when it is one of a durable run, which many processes go on with
// one after the other, and whose keeper outlives them. Its value is the run's id, a dot, the keeper's name, a colon and the name as in Mark.
const KeptMark = "CONCERTO_KEPT"

// KeptBy before a run's id, a dot and a keeper's name means that keeper, to Marked.
const KeptBy = "kept/"
