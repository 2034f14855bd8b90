// Package guard is the guardian: a process of ours that sees a run out when the
// run's own process is killed, and ends whatever that had started.
//
// The run holds the write end of a pipe that is the guardian's standard input,
// and says what there is to end, a line each:
//
//	=RUN                the processes whose environment has this run's mark
//	!RUN                that run is over
//	+PGID STARTTIME     a process group, and when its leader began (as /proc says it)
//	-PGID               that group is gone
//	bye                 nothing is to be done
//
// When the pipe ends without a bye, all that is still listed gets SIGKILL.
//
// Importing the package makes a program the guardian when it is started as
// `concerto host guard`. There is one as long as a run has hosts, and it should cost
// little. So this is decided when the package is initialised. Go initialises packages
// as soon as those that they import are, in the order of their names: what imports
// nothing but os and its like comes before nearly all that the program consists of.
package guard

import "os"

// Args are the arguments that make the program the guardian.
var Args = [...]string{"host", "guard"}

func init() {
	if len(os.Args) == 1+len(Args) && os.Args[1] == Args[0] && os.Args[2] == Args[1] {
		os.Exit(watch(os.Stdin))
	}
}
