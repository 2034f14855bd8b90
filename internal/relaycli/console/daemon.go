package console

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// SignalContext returns a context that is cancelled by the first SIGTERM or Ctrl-C. The second
// signal terminates the process.
func (a *Console) SignalContext() (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// WriteReadyFile atomically writes a daemon's address to a file. It does nothing if file is "".
func (a *Console) WriteReadyFile(file, address string) error {
	if file == "" {
		return nil
	}
	if err := userfile.Replace(a.Abs(file), []byte(address), 0o600); err != nil {
		return a.InvalidSetting("ready-file", "name a file in an existing directory", "%v", err)
	}
	return nil
}
