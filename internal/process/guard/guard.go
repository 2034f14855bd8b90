// Package guard implements the guardian: a process that kills the processes of a run when the
// process that executes the run is killed.
//
// The guardian's standard input is a pipe. The process of the run has the write end of the pipe
// open and writes commands, one per line, that add to the guardian's list or remove from it:
//
//	=RUN                add the processes whose environment contains this run's mark
//	!RUN                remove the run: it has ended
//	+PGID STARTTIME     add a process group; STARTTIME is the start time of its leader in /proc
//	-PGID               remove the group: all its processes have exited
//	bye                 exit without killing anything
//
// When the pipe is closed without "bye", the guardian sends SIGKILL to everything in the list.
//
// Importing the package makes the program the guardian if it was started as `concerto host guard`.
// A guardian exists as long as a run has hosts, so it must use little memory. Therefore the package
// acts when it is initialised. Go initialises packages as soon as their imports are initialised, in
// the order of their names, so a package that imports only os and similar packages is initialised
// before most of the program.
package guard

import "os"

// Args are the arguments that start the guardian.
var Args = [...]string{"host", "guard"}

func init() {
	if len(os.Args) == 1+len(Args) && os.Args[1] == Args[0] && os.Args[2] == Args[1] {
		os.Exit(watch(os.Stdin))
	}
}
