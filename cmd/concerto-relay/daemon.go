package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// signalContext returns a context that is cancelled by the first SIGTERM or Ctrl-C. The second
// signal terminates the process.
func (a *app) signalContext() (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// writeReadyFile atomically writes a daemon's address to a file. It does nothing if file is "".
func (a *app) writeReadyFile(file, address string) error {
	if file == "" {
		return nil
	}
	if err := userfile.Replace(a.abs(file), []byte(address), 0o600); err != nil {
		return a.invalidSetting("ready-file", "name a file in an existing directory", "%v", err)
	}
	return nil
}
