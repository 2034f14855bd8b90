package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// lastChance is how long a run that was told twice to end may still take.
const lastChance = time.Second

// interruptible gives a context that the first Ctrl-C (or SIGTERM, SIGHUP)
// ends with errInterrupted, and a channel that the second one closes: nothing
// is waited for then. stop takes the signals back.
//
// SIGPIPE is caught and dropped, so that a reader who goes away shows as a
// failed write, which ends the hosts too, and not as our sudden death.
func interruptible(parent context.Context) (ctx context.Context, kill <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 4)
	pipe := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(pipe, syscall.SIGPIPE)
	killed, done := make(chan struct{}), make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
			}
			switch n {
			case 0:
				cancel(errInterrupted)
			case 1:
				close(killed)
				time.AfterFunc(lastChance, func() { os.Exit(exitInterrupted) })
			}
		}
	}()
	return ctx, killed, func() {
		signal.Stop(signals)
		signal.Stop(pipe)
		close(done)
		cancel(nil)
	}
}
