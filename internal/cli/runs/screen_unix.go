//go:build unix

package runs

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// suspend stops the process, as the terminal does for Ctrl-Z, until the shell continues it.
func suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(os.Getpid(), syscall.SIGTSTP) != nil {
		return
	}
	select {
	case <-continued:
	case <-time.After(unstopped): // no shell could continue the process, so the system has not stopped it
	}
}

// unstopped is the time after which a process that still runs was not stopped.
const unstopped = 500 * time.Millisecond

// notifyResize sends a signal to c when the terminal has changed its size.
func notifyResize(c chan<- os.Signal) { signal.Notify(c, syscall.SIGWINCH) }
