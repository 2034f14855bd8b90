package serve

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/relay/hostd"
	"github.com/concerto-lang/concerto/relay/server/auth"
)

// embeddedHostd is a hostd that runs in the server's process.
type embeddedHostd struct {
	daemon   *hostd.Daemon
	closeLog func()
	ended    chan struct{} // closed when hostd has stopped; nil until start
}

// openEmbeddedHostd opens this machine's hostd and registers it with the server as an accepted
// machine.
func openEmbeddedHostd(ctx context.Context, a *console.Console, set *serveConfig, users *auth.Auth) (_ *embeddedHostd, err error) {
	var h daemon.HostdSettings
	flags := pflag.NewFlagSet("hostd", pflag.ContinueOnError)
	daemon.HostdFlags(a, flags, &h)
	if err := a.SetFlags(flags, "hostd", "concerto-relay hostd"); err != nil {
		return nil, err
	}
	if h.PageCert != "" {
		return nil, a.InvalidSetting("page-cert", "omit it, or run hostd in a process of its own: `concerto-relay hostd`", "a page that the relay's process serves protects from nothing that the relay's own page does not")
	}
	elsewhere := h.Server
	if err := set.openDoor(); err != nil {
		return nil, err
	}
	h.Server = set.localOrigin
	h.Complete(a)
	b := &embeddedHostd{}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	o, err := daemon.HostdOptions(a, &h)
	if err != nil {
		return nil, err
	}
	o.HasMachine = users.HasKey
	if b.closeLog, err = daemon.HostdLog(a, &h, o); err != nil {
		return nil, err
	}
	if elsewhere != "" {
		o.Log.Warn("with --with-hostd the machine connects to this server; ignoring another setting", "ignored", a.SourceOf("server"))
	}
	if b.daemon, err = daemon.OpenHostd(ctx, &h, o); err != nil {
		return nil, err
	}
	if b.daemon.Paired() {
		o.Log.Info("the server knows this machine by its key", "machine", b.daemon.MachineID())
	} else if err := users.Admit(ctx, b.daemon.MachineID(), b.daemon.Token()); err != nil {
		return nil, err
	}
	o.Log.Info("hostd serves", "machine", b.daemon.MachineID(), "socket", b.daemon.Socket(), "server", o.Server)
	return b, nil
}

// start runs hostd until ctx is cancelled, and returns a channel that receives the error of hostd.
// The channel is nil if b is nil.
func (b *embeddedHostd) start(ctx context.Context) <-chan error {
	if b == nil {
		return nil
	}
	b.ended = make(chan struct{})
	how := make(chan error, 1)
	go func() {
		defer close(b.ended)
		how <- b.daemon.Run(ctx)
	}()
	return how
}

// close releases the resources of hostd after the context of start was cancelled. The runs of hostd
// continue.
func (b *embeddedHostd) close() {
	if b.daemon != nil {
		b.daemon.Close()
	}
	if b.ended != nil {
		<-b.ended
	}
	if b.closeLog != nil {
		b.closeLog()
	}
}
