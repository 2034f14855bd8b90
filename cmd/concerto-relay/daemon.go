package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// untilStopped is a context that ends by the first SIGTERM or Ctrl-C; a second one ends the
// process.
func (a *app) untilStopped() (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// ready writes a daemon's address to a file, by renaming one that is whole; "" writes none.
func (a *app) ready(file, address string) error {
	if file == "" {
		return nil
	}
	if err := userfile.Replace(a.abs(file), []byte(address), 0o600); err != nil {
		return a.wrong("ready-file", "name a file in a directory that is there", "%v", err)
	}
	return nil
}
