package main

import (
	"context"
	"net"
	"net/http"

	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/relay/hostd"
	"github.com/concerto-lang/concerto/relay/server/auth"
)

// besideHost is a hostd in the server's process.
type besideHost struct {
	daemon   *hostd.Daemon
	closeLog func()
	door     net.Listener  // on which it finds the server, when it serves no loopback; else nil
	ended    chan struct{} // closed when it works no more; nil before it is started
}

// hostBeside opens this machine's hostd, known to the server.
func (a *app) hostBeside(ctx context.Context, set serveConfig, people *auth.Auth) (_ *besideHost, err error) {
	var h hostdSettings
	flags := pflag.NewFlagSet("hostd", pflag.ContinueOnError)
	a.hostdFlags(flags, &h)
	if err := a.fill(flags, "hostd", "concerto-relay hostd"); err != nil {
		return nil, err
	}
	elsewhere := h.server
	h.server = set.origin
	h.complete(a)
	b := &besideHost{}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if !set.guard.Loopback && !set.everywhere {
		if b.door, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
		h.server = "http://" + b.door.Addr().String()
	}
	o, err := a.hostOptions(&h)
	if err != nil {
		return nil, err
	}
	o.KnowsHost = people.KnowsHost
	if b.closeLog, err = a.hostLog(&h, o); err != nil {
		return nil, err
	}
	if elsewhere != "" {
		o.Log.Warn("with --with-hostd the host's server is this one", "left out", a.place("server"))
	}
	if b.daemon, err = hostd.Open(ctx, *o); err != nil {
		return nil, usage("", "hostd cannot start: %v", err)
	}
	if b.daemon.Paired() {
		o.Log.Info("the server knows this host by its key", "host", b.daemon.HostID())
	} else if err := people.Admit(ctx, b.daemon.HostID(), b.daemon.Token()); err != nil {
		return nil, err
	}
	o.Log.Info("hostd serves", "host", b.daemon.HostID(), "socket", b.daemon.Socket(), "server", o.Server)
	return b, nil
}

// start runs it until ctx ends, with the server web. The channel receives the error with which it
// ended.
func (b *besideHost) start(ctx context.Context, web *http.Server) <-chan error {
	if b == nil {
		return nil
	}
	if b.door != nil {
		go func() { _ = web.Serve(b.door) }() // it ends with web
	}
	b.ended = make(chan struct{})
	how := make(chan error, 1)
	go func() {
		defer close(b.ended)
		how <- b.daemon.Run(ctx)
	}()
	return how
}

// close stops it, after its context has ended; its runs continue.
func (b *besideHost) close() {
	if b.daemon != nil {
		b.daemon.Close()
	}
	if b.ended != nil {
		<-b.ended
	}
	if b.door != nil {
		_ = b.door.Close()
	}
	if b.closeLog != nil {
		b.closeLog()
	}
}
