// Package guard implements the guardian: a process that ends the processes of a run when the run's
// own process is killed.
//
// The run holds the write end of a pipe, which is the guardian's standard input, and writes what
// the guardian must end, one item a line:
//
//	=RUN                the processes whose environment has this run's mark
//	!RUN                that run is over
//	+PGID STARTTIME     a process group, and when its leader began (as /proc says it)
//	-PGID               that group is gone
//	bye                 nothing is to be done
//
// When the pipe is closed without "bye", the guardian kills everything that is still listed with
// SIGKILL.
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
