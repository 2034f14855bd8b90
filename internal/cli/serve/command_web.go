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

// webFlags are those of serve over HTTP.
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

// given reports whether a flag besides --http is given.
func (f *webFlags) given() bool {
	return f.tokenEnv != "" || f.noToken || len(f.origins) > 0 || f.cert != "" || f.key != "" || f.source || len(f.passEnv) > 0
}

// listening listens where the flags say; nil: over stdin and stdout.
func (cmd *serveCommand) listening() (net.Listener, Web, error) {
	w := &cmd.web
	web := Web{Origins: w.origins}
	if w.address == "" {
		if w.given() {
			return nil, web, console.Usage("add --http, or leave them out", "--token-env, --no-token, --allow-origin, --tls-cert, --tls-key, --allow-source and --pass-env are of --http alone")
		}
		return nil, web, nil
	}
	if cmd.stdio {
		return nil, web, console.Usage("leave out one of them", "--stdio and --http cannot both be")
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
		return nil, web, console.Usage("`--http 127.0.0.1:0` takes a free port", "--http %s: %v", w.address, err)
	}
	if secure == nil {
		if !loopback {
			fmt.Fprintf(cmd.console.Stderr, "warning: what is said to %s, the token too, can be read on the way: give --tls-cert and --tls-key, or an address of the loopback\n", w.address)
		}
		return l, web, nil
	}
	return tls.NewListener(l, secure), web, nil
}

// setToken is what clients must give.
func setToken(a *console.Console, f *webFlags, web *Web) error {
	switch {
	case f.noToken && f.tokenEnv != "":
		return console.Usage("leave out one of them", "--no-token and --token-env cannot both be")
	case f.noToken && !web.Loopback:
		return console.Usage("leave it out, or serve on the loopback", "--no-token is for the loopback alone: whoever reaches %s could run programs", f.address)
	case f.noToken:
		return nil
	case f.tokenEnv == "":
		b := make([]byte, 24)
		_, _ = rand.Read(b) // it never fails: the process ends before
		web.Token, web.Made = hex.EncodeToString(b), true
		return nil
	}
	if web.Token, _ = procgroup.LookupEnv(a.Environ, f.tokenEnv); web.Token == "" {
		return console.Usage("set it to a long random text", "the environment variable %s, which holds the token of --token-env, is not set", f.tokenEnv)
	}
	return nil
}

func certificates(a *console.Console, f *webFlags) (*tls.Config, error) {
	if f.cert == "" && f.key == "" {
		return nil, nil
	}
	if f.cert == "" || f.key == "" {
		return nil, console.Usage("give both", "--tls-cert and --tls-key belong together")
	}
	cert, certErr := userfile.ReadStream(a.Abs(f.cert), userfile.MaxSecret)
	key, keyErr := userfile.ReadStream(a.Abs(f.key), userfile.MaxSecret)
	err := errors.Join(certErr, keyErr)
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.X509KeyPair(cert, key)
	}
	if err != nil {
		return nil, console.Usage("both are PEM files, and the key is the certificate's", "--tls-cert %s, --tls-key %s: %v", f.cert, f.key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

// serveHTTP prints the server's address, and serves.
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
