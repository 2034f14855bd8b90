package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// untilStopped is a context that ends by the first SIGTERM or Ctrl-C; a second one ends the process.
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
	file = a.abs(file)
	f, err := os.CreateTemp(filepath.Dir(file), ".ready-*")
	if err != nil {
		return a.wrong("ready-file", "name a file in a directory that is there", "%v", err)
	}
	_, err = fmt.Fprint(f, address)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is what counts
		return a.wrong("ready-file", "", "%v", err)
	}
	return nil
}
