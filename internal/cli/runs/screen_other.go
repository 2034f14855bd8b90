//go:build !unix

package runs

import "os"

// suspend does nothing: this system cannot stop processes.
func suspend() {}

// notifyResize does nothing: this system does not report changes of the size.
func notifyResize(chan<- os.Signal) {}
