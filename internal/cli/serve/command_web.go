package serve

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// webFlags are the flags of serve that apply to HTTP.
type webFlags struct {
	address, tokenEnv, cert, key string
	noToken                      bool
	origins                      []string
	source                       bool
	passEnv                      []string
}

func (f *webFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.address, "http", "", "serve over HTTP and WebSocket at `ADDRESS`: a port, or host:port")
	c.Flags().StringVar(&f.tokenEnv, "token-env", "", "require the token in the environment `VARIABLE` (default: a new token)")
	c.Flags().BoolVar(&f.noToken, "no-token", false, "accept clients on the loopback interface without a token")
	c.Flags().StringArrayVar(&f.origins, "allow-origin", nil, "accept calls from web pages of `ORIGIN`; repeatable")
	c.Flags().BoolVar(&f.source, "allow-source", false, "also accept programs as source and IR over HTTP")
	c.Flags().StringArrayVar(&f.passEnv, "pass-env", nil, "pass the environment variable `NAME` to programs; repeatable")
	c.Flags().StringVar(&f.cert, "tls-cert", "", "serve over TLS with the certificates in `FILE`, PEM")
	c.Flags().StringVar(&f.key, "tls-key", "", "use the private key in `FILE`, PEM")
}

// isSet reports whether any of the flags except --http is set.
func (f *webFlags) isSet() bool {
	return f.tokenEnv != "" || f.noToken || len(f.origins) > 0 || f.cert != "" || f.key != "" || f.source || len(f.passEnv) > 0
}

// listen opens the listener that the flags name. It returns nil if the server uses stdin and
// stdout.
func (cmd *serveCommand) listen() (net.Listener, Web, error) {
	w := &cmd.web
	web := Web{Origins: w.origins}
	if w.address == "" {
		if w.isSet() {
			return nil, web, console.Usage("add --http, or leave them out", "--token-env, --no-token, --allow-origin, --tls-cert, --tls-key, --allow-source and --pass-env require --http")
		}
		return nil, web, nil
	}
	if cmd.stdio {
		return nil, web, console.Usage("leave one of them out", "--stdio and --http cannot be used together")
	}
	address, loopback := Address(w.address)
	web.Loopback = loopback
	if err := setToken(cmd.console, w, &web); err != nil {
		return nil, web, err
	}
	secure, err := certificates(cmd.console, w)
	if err != nil {
		return nil, web, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, web, console.Usage("`--http 127.0.0.1:0` selects a free port", "--http %s: %v", w.address, err)
	}
	if secure == nil {
		if !loopback {
			fmt.Fprintf(cmd.console.Stderr, "warning: connections to %s are not encrypted, and others can read the token; add --tls-cert and --tls-key, or use a loopback address\n", w.address)
		}
		return l, web, nil
	}
	return tls.NewListener(l, secure), web, nil
}

// setToken sets the token that clients must send.
func setToken(a *console.Console, f *webFlags, web *Web) error {
	switch {
	case f.noToken && f.tokenEnv != "":
		return console.Usage("leave one of them out", "--no-token and --token-env cannot be used together")
	case f.noToken && !web.Loopback:
		return console.Usage("leave it out, or use a loopback address", "--no-token requires a loopback address: every client that reaches %s could run programs", f.address)
	case f.noToken:
		return nil
	case f.tokenEnv == "":
		b := make([]byte, 24)
		_, _ = rand.Read(b) // rand.Read never returns an error
		web.Token, web.Made = hex.EncodeToString(b), true
		return nil
	}
	if web.Token, _ = procgroup.LookupEnv(a.Environ, f.tokenEnv); web.Token == "" {
		return console.Usage("set it to a long random text", "--token-env: environment variable %s is not set", f.tokenEnv)
	}
	return nil
}

func certificates(a *console.Console, f *webFlags) (*tls.Config, error) {
	if f.cert == "" && f.key == "" {
		return nil, nil
	}
	if f.cert == "" || f.key == "" {
		return nil, console.Usage("give both", "--tls-cert and --tls-key require each other")
	}
	cert, certErr := userfile.ReadStream(a.Abs(f.cert), userfile.MaxSecret)
	key, keyErr := userfile.ReadStream(a.Abs(f.key), userfile.MaxSecret)
	err := errors.Join(certErr, keyErr)
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.X509KeyPair(cert, key)
	}
	if err != nil {
		return nil, console.Usage("both must be PEM files, and the key must belong to the certificate", "--tls-cert %s, --tls-key %s: %v", f.cert, f.key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

// serveHTTP prints the server's address and serves clients.
func serveHTTP(ctx context.Context, a *console.Console, s *Server, l net.Listener, web Web) error {
	f := "serving http://" + l.Addr().String()
	if _, plain := l.(*net.TCPListener); !plain {
		f = "serving https://" + l.Addr().String()
	}
	if web.Made {
		f += " token " + web.Token
	}
	fmt.Fprintln(a.Stderr, f)
	return s.ServeHTTP(ctx, l, web)
}
