// Package proc reads what Linux tells of processes in /proc. It is used by the
// guardian (package guard says why), so it imports nothing that needs package unicode.
package proc

// Mark is the variable by which a process, and whatever it starts, is known to
// be a run's: its value is the run's id, a colon and the name of whom the process
// plays.
const Mark = "CONCERTO_HOST"
