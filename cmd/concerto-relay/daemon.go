package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// signalContext returns a context that ends on the first SIGTERM or Ctrl-C; a second one ends the
// process.
func (a *app) signalContext() (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// writeReadyFile writes a daemon's address to a file, which it replaces at once; "" writes none.
func (a *app) writeReadyFile(file, address string) error {
	if file == "" {
		return nil
	}
	if err := userfile.Replace(a.abs(file), []byte(address), 0o600); err != nil {
		return a.invalidSetting("ready-file", "name a file in an existing directory", "%v", err)
	}
	return nil
}
