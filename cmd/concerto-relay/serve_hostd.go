package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/relay/hostd"
	"github.com/concerto-lang/concerto/relay/server/auth"
)

// embeddedHost is a hostd that runs in the server's process.
type embeddedHost struct {
	daemon   *hostd.Daemon
	closeLog func()
	ended    chan struct{} // closed when hostd has stopped; nil until start
}

// openEmbeddedHost opens this machine's hostd and registers it with the server as an accepted host.
func (a *app) openEmbeddedHost(ctx context.Context, set *serveConfig, users *auth.Auth) (_ *embeddedHost, err error) {
	var h hostdSettings
	flags := pflag.NewFlagSet("hostd", pflag.ContinueOnError)
	a.hostdFlags(flags, &h)
	if err := a.setFlags(flags, "hostd", "concerto-relay hostd"); err != nil {
		return nil, err
	}
	elsewhere := h.server
	if err := set.openDoor(); err != nil {
		return nil, err
	}
	h.server = set.localOrigin
	h.complete(a)
	b := &embeddedHost{}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	o, err := a.hostOptions(&h)
	if err != nil {
		return nil, err
	}
	o.HasHost = users.HasKey
	if b.closeLog, err = a.hostLog(&h, o); err != nil {
		return nil, err
	}
	if elsewhere != "" {
		o.Log.Warn("with --with-hostd the host connects to this server; ignoring another setting", "ignored", a.sourceOf("server"))
	}
	if b.daemon, err = hostd.Open(ctx, *o); err != nil {
		return nil, usage("", "could not start hostd: %v", err)
	}
	if b.daemon.Paired() {
		o.Log.Info("the server knows this host by its key", "host", b.daemon.HostID())
	} else if err := users.Admit(ctx, b.daemon.HostID(), b.daemon.Token()); err != nil {
		return nil, err
	}
	o.Log.Info("hostd serves", "host", b.daemon.HostID(), "socket", b.daemon.Socket(), "server", o.Server)
	return b, nil
}

// start runs hostd until ctx is cancelled, and returns a channel that receives the error of hostd.
// The channel is nil if b is nil.
func (b *embeddedHost) start(ctx context.Context) <-chan error {
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
func (b *embeddedHost) close() {
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
