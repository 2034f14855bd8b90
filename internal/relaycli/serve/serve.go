// Package serve implements the command that runs the relay's server, and in its process also hostd
// and the presentation of an engine.
package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/manage"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/store"
)

// serveFlags holds the flags of the command serve.
type serveFlags struct {
	listen, db, public      string
	origins, trusted        []string
	admin, adminFile, hash  string
	tofu, urlToken, retain  string
	ready                   string
	nats, engine            string
	pushInsecure, withHostd bool
	noQR                    bool
	sealed                  string
}

// Values of --sealed.
const (
	sealedAllowed  = "allowed"
	sealedRequired = "required"
)

// NewServe returns the command serve.
func NewServe(a *console.Console) *cobra.Command {
	s := &serveFlags{}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Start the server",
		Long: `The server receives the events of runs from machines, stores them in a database, and shows them
to apps, which answer and approve. While there are no users, it prints a link that creates the first
owner and works once. It listens on the loopback interface. If clients reach it by another address,
such as a proxy with HTTPS, set --public-url. By default new machines must use the
loopback interface (--tofu loopback). SIGTERM or Ctrl-C stops it within 5 seconds.`,
		Example: `  concerto-relay serve
  concerto-relay serve --admin ann --admin-password-file password
  concerto-relay serve --with-hostd      also run hostd of this machine, in one process
  concerto-relay serve --engine postgres://me@127.0.0.1/runs    also show the runs of an engine
  concerto-relay serve --db postgres://relay@db/relay --public-url https://relay.example`,
		Args: console.ArgsBetween(0, 0, "concerto-relay serve --listen 127.0.0.1:8787"),
		RunE: func(*cobra.Command, []string) error { return serve(a, s) },
	}
	f := c.Flags()
	f.StringVar(&s.listen, "listen", "127.0.0.1:8787", "listen on `ADDRESS` (default 127.0.0.1:8787)")
	console.FromEnv(f, "listen", "BIND_ADDR")
	manage.DatabaseFlag(a, f, &s.db)
	f.StringVar(&s.public, "public-url", "", "set the `URL` by which clients reach the server")
	f.StringSliceVar(&s.origins, "allow-origin", nil, "accept calls from web pages of `ORIGINS`")
	f.StringVar(&s.admin, "admin", "", "create the owner `NAME`, or set the password")
	console.FromEnv(f, "admin", "ADMIN_USERNAME")
	f.StringVar(&s.adminFile, "admin-password-file", "", "read the owner's password from the first line of `FILE`")
	f.StringVar(&s.hash, "admin-password-hash", "", "set the `HASH` of the owner's password")
	console.FromEnv(f, "admin-password-hash", "ADMIN_PASSWORD_HASH")
	f.StringVar(&s.tofu, "tofu", string(auth.TOFULoopback), "trust new machines from `WHERE`: loopback (default), on or off")
	f.StringVar(&s.nats, "nats", "", "connect several servers on one PostgreSQL by NATS at `URL`")
	f.StringVar(&s.engine, "engine", "", "also show the runs of the engine at `URL`: postgres://USER@HOST/NAME")
	f.StringVar(&s.retain, "retain", "30d", "delete events `AGE` after a run ends: 30d, 12h or off (default 30d)")
	f.StringSliceVar(&s.trusted, "trusted-proxy", nil, "trust X-Forwarded-For from these `NETWORKS`, such as 10.0.0.0/8")
	f.BoolVar(&s.pushInsecure, "push-insecure", false, "send push messages to any address, also by http: for tests")
	cmdline.Hide(c, "push-insecure")
	f.StringVar(&s.urlToken, "url-token", "on", "accept tokens in WebSocket URLs: `MODE` is on or off (default on)")
	f.StringVar(&s.sealed, "sealed", sealedAllowed, "sealed runs: `MODE` is allowed or required (default allowed)")
	f.StringVar(&s.ready, "ready-file", "", "write the server's URL to `FILE` when it is ready")
	f.BoolVar(&s.withHostd, "with-hostd", false, "also run hostd in this process, with the settings of hostd")
	console.NoQRFlag(f, &s.noQR)
	return c
}

func serve(a *console.Console, s *serveFlags) error {
	ctx, stop := a.SignalContext()
	defer stop()
	set, err := configureServe(a, s)
	if err != nil {
		return err
	}
	defer set.close()
	unlock, err := manage.LockDatabase(a, s.db)
	if err != nil {
		return err
	}
	defer unlock()
	db, err := manage.Database(ctx, a, s.db, true)
	if err != nil {
		return err
	}
	defer func() {
		if err := db.Close(); err != nil {
			a.Log().Error("could not close the database", "error", err)
		}
	}()
	relay, err := newRelay(ctx, a, db, set, s)
	if err != nil {
		return err
	}
	defer relay.close()
	warnPublicURL(a, set)
	later, err := setUpOwner(ctx, a, s, set, relay.auth)
	if err != nil {
		return err
	}
	var engine *embeddedEngine
	if s.engine != "" {
		if err := set.openDoor(); err != nil {
			return err
		}
		if engine, err = openEngine(ctx, a, s, set.localOrigin, db, relay.auth); err != nil {
			return err
		}
		defer func() {
			if err := engine.close(); err != nil {
				a.Log().Error("could not close the spool of the engine's machine", "error", err)
			}
		}()
	}
	var daemon *embeddedHostd
	if s.withHostd {
		if daemon, err = openEmbeddedHostd(ctx, a, &set, relay.auth); err != nil {
			return err
		}
		defer daemon.close()
	}
	beside, end := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer func() { end(); work.Wait() }()
	if set.retain > 0 {
		work.Go(func() { relay.accounts.Retain(beside, set.retain) })
	}
	if later != nil {
		work.Go(func() {
			if err := later(beside); err != nil && beside.Err() == nil {
				a.Log().Error("could not check the owner's password", "error", err)
			}
		})
	}
	return serveUntil(ctx, a, s, set, db, relay, daemon, engine)
}

// serveUntil serves requests until ctx is cancelled or the server fails. It then closes the
// listener and waits at most endWithin for open requests.
func serveUntil(ctx context.Context, a *console.Console, s *serveFlags, set serveConfig, db *store.Store, relay *relay, daemon *embeddedHostd, engine *embeddedEngine) error {
	web := &http.Server{
		Handler:           relay.handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(console.RedactingWriter{To: a.Stderr}, "", log.LstdFlags),
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(set.listen) }()
	if set.door != nil {
		go func() { _ = web.Serve(set.door) }() // stops when web is closed
	}
	hosted, followed := daemon.start(ctx), engine.start(ctx)
	if err := a.WriteReadyFile(s.ready, set.origin); err != nil {
		_ = web.Close() // no client knows the address yet
		return err
	}
	fmt.Fprintf(a.Stdout, "the relay serves %s\n", set.origin)
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case err := <-hosted:
		if ctx.Err() == nil {
			_ = web.Close() // the server must not run without the hostd that it includes
			return fmt.Errorf("hostd: %w", err)
		}
	case err := <-followed:
		_ = web.Close() // nor without the engine
		return fmt.Errorf("engine: %w", err)
	case err := <-db.Damage():
		_ = web.Close() // the server cannot continue without its database
		return a.InvalidSetting("db", "restore a backup, or name another file", "%v", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	_ = set.listen.Close()     // web.Shutdown closes it a second time
	relay.server.Shutdown(end) // closes open streams and WebSockets
	if err := web.Shutdown(end); err != nil {
		return web.Close() // closes the connections of slow clients
	}
	return nil
}

// endWithin limits the time that serving requests may take after a signal. The process must stop
// within 5 seconds; the last one is reserved for closing the database.
const endWithin = 4 * time.Second

// setUpOwner creates or updates the owner that the settings name. If they name none, it prints a
// link that creates the first owner. The result later is nil, or a function that the caller must
// run while the server serves.
func setUpOwner(ctx context.Context, a *console.Console, s *serveFlags, set serveConfig, users *auth.Auth) (later func(context.Context) error, err error) {
	switch {
	case s.admin == "":
		return nil, setupLink(ctx, a, set, users, s.noQR)
	case s.adminFile == "":
		_, err := users.PutUser(ctx, manage.CommandLine, s.admin, auth.Owner, s.hash)
		return nil, err
	}
	password, err := manage.PasswordFile(a, "admin-password-file", s.adminFile)
	if err != nil {
		return nil, err
	}
	return users.EnsureOwner(ctx, manage.CommandLine, s.admin, password)
}

// warnPublicURL prints a warning if other machines can reach the server, but requests under its
// public name would be refused, because --public-url is not set.
func warnPublicURL(a *console.Console, set serveConfig) {
	switch {
	case set.guard.Loopback || set.guard.Public != nil:
	case set.everywhere:
		fmt.Fprintf(a.Stderr, "requests by names other than this machine's loopback are refused: add --public-url http://NAME:%d\n", set.listen.Addr().(*net.TCPAddr).Port)
	default:
		fmt.Fprintf(a.Stderr, "requests by names other than this machine's loopback are refused: add --public-url %s\n", set.origin)
	}
}

// setupLink prints the link that creates the first owner, and its QR code. It prints nothing if a
// user exists.
func setupLink(ctx context.Context, a *console.Console, set serveConfig, users *auth.Auth, noQR bool) error {
	code, err := users.Setup(ctx)
	if err != nil || code == "" {
		return err
	}
	at := set.origin
	if set.guard.Public != nil {
		at = strings.TrimSuffix(set.guard.Public.String(), "/")
	}
	link := at + "/setup#" + code
	fmt.Fprintf(a.Stdout, "no user exists; open this link to create the first owner (it works once): %s\n", link)
	if !noQR {
		console.PrintQR(a, a.Stdout, link)
	}
	return nil
}
