package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/hostd/doctor"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/web"
)

const (
	pagePort       = ":8788"
	renewBefore    = 14 * 24 * time.Hour // reports that a certificate expires
	renewHint      = "renew it, such as by `tailscale cert NAME`; hostd reads the new files without a restart"
	pageListenHint = "write an address such as " + pagePort + ", or NAME" + pagePort + " with a name of the certificate"
)

// pageCertFlags adds the flags of the page that hostd serves.
func pageCertFlags(f *pflag.FlagSet, s *HostdSettings) {
	f.StringVar(&s.PageCert, "page-cert", "", "serve the page by https with the certificate in `FILE`")
	f.StringVar(&s.pageKey, "page-key", "", "read the private key of --page-cert from `FILE`")
	f.StringVar(&s.pageListen, "page-listen", "", "serve the page at `ADDRESS` (default "+pagePort+")")
}

// PageServer returns the origin of the server that a page of this machine uses.
func (s *HostdSettings) PageServer(ctx context.Context, a *console.Console) (string, error) {
	id, err := s.Identity(ctx, a)
	if err != nil {
		return "", err
	}
	if id.Server == "" {
		return "", console.Usage("pair this machine with `concerto-relay pair --server URL`, or add --server URL", "the page has no server")
	}
	text := id.Server
	if rest, ok := strings.CutPrefix(text, "ws"); ok {
		text = "http" + rest
	}
	u, ok := connect.WebURL(text)
	if !ok || strings.ContainsAny(u.Host, "'\"<>;,*") { // the host is part of a policy
		return "", a.InvalidSetting("server", "write a URL without a path, such as https://relay.example", "the page cannot use %q", httpguard.Clean(id.Server))
	}
	return httpguard.Origin(u), nil
}

// ServePage serves a page until ctx is done. It redirects requests to another host than that of the
// page's origin: no browser is enrolled with other origins.
func ServePage(ctx context.Context, l net.Listener, origin string, page http.Handler, errors *log.Logger) error {
	_, host, _ := strings.Cut(origin, "://")
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: errors,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Host != host {
				http.Redirect(w, r, origin+r.URL.Path, http.StatusFound)
				return
			}
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Referrer-Policy", "same-origin")
			page.ServeHTTP(w, r)
		})}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.Serve(l); ctx.Err() == nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// openPage opens the page that hostd serves, and returns the function that serves it until its
// context is done. The function does nothing if the settings have no certificate.
func openPage(ctx context.Context, a *console.Console, s *HostdSettings, log *slog.Logger) (serve func(context.Context), err error) {
	switch {
	case s.PageCert == "" && s.pageKey != "":
		return nil, a.InvalidSetting("page-key", "add --page-cert FILE", "there is no certificate")
	case s.PageCert == "" && s.pageListen != "":
		return nil, a.InvalidSetting("page-listen", "add --page-cert FILE and --page-key FILE", "there is no certificate")
	case s.PageCert == "":
		return func(context.Context) {}, nil
	}
	cert, name, err := s.loadCert(a)
	if err != nil {
		return nil, err
	}
	server, err := s.PageServer(ctx, a)
	if err != nil {
		return nil, err
	}
	if u, err := url.Parse(server); err == nil && u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback() {
		return nil, a.InvalidSetting("page-cert", "connect hostd to a server with https", "a page with https may not call %s", server)
	}
	l, err := net.Listen("tcp", cmp.Or(s.pageListen, pagePort))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; stop the program that uses the address, or name another one: --page-listen ADDRESS", a.SourceOf("page-listen"), err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	origin := pageOrigin(name, port)
	var mu sync.Mutex
	last := "" // why the files could not be read
	// The files are read for each connection: they are replaced when the certificate is renewed.
	l = tls.NewListener(l, &tls.Config{NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		why := ""
		if next, _, err := s.loadCert(a); err == nil {
			cert = next
		} else if why = err.Error(); why != last {
			log.Warn("could not read the certificate of the page; using the last one", "error", err)
		}
		last = why
		return cert, nil
	}})
	return func(ctx context.Context) {
		log.Info("hostd serves the page", "page", origin+"/", "server", server, "do", "concerto-relay serve --allow-origin "+origin+"; concerto-relay devices add --page "+origin+"/")
		if err := ServePage(ctx, l, origin, web.Apart(server), slog.NewLogLogger(log.Handler(), slog.LevelInfo)); err != nil {
			log.Error("the page is not served any more", "error", err)
		}
	}, nil
}

func pageOrigin(name, port string) string {
	return httpguard.Origin(&url.URL{Scheme: "https", Host: net.JoinHostPort(name, port)})
}

// loadCert reads the certificate of the page. It returns it with the name by which browsers reach
// the page: that of --page-listen, or the only one of the certificate.
func (s *HostdSettings) loadCert(a *console.Console) (*tls.Certificate, string, error) {
	if s.pageKey == "" {
		return nil, "", a.InvalidSetting("page-cert", "add --page-key FILE; `tailscale cert NAME` writes both files", "the certificate has no private key")
	}
	host, _, err := net.SplitHostPort(cmp.Or(s.pageListen, pagePort))
	if err != nil {
		return nil, "", a.InvalidSetting("page-listen", pageListenHint, "invalid value %q", s.pageListen)
	}
	cert, err := tls.LoadX509KeyPair(s.PageCert, s.pageKey)
	if err != nil {
		return nil, "", a.InvalidSetting("page-cert", "name the PEM files of a certificate and its key; `tailscale cert NAME` writes them", "%v", err)
	}
	if cert.Leaf.VerifyHostname(host) == nil {
		return &cert, host, nil
	}
	names := slices.DeleteFunc(slices.Clone(cert.Leaf.DNSNames), func(name string) bool { return strings.HasPrefix(name, "*") })
	if (host == "" || net.ParseIP(host) != nil) && len(names) == 1 {
		return &cert, names[0], nil
	}
	return nil, "", a.InvalidSetting("page-cert", pageListenHint, "the certificate in %s is for %s, not for %q", s.PageCert, cmp.Or(strings.Join(cert.Leaf.DNSNames, ", "), "no name"), host)
}

// checkPageCert checks the certificate of the page that hostd serves. It returns nil if it serves
// none.
func checkPageCert(a *console.Console, s *HostdSettings) *doctor.Check {
	if s.PageCert == "" {
		return nil
	}
	c := &doctor.Check{Name: "page-cert", Status: doctor.Fail, Do: renewHint}
	cert, name, err := s.loadCert(a)
	if err != nil {
		c.Detail, c.Do = err.Error(), pageListenHint
		return c
	}
	_, port, _ := net.SplitHostPort(cmp.Or(s.pageListen, pagePort))
	left, end := time.Until(cert.Leaf.NotAfter), cert.Leaf.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case left < 0:
		c.Detail = "the certificate of the page has expired at " + end
	case left < renewBefore:
		c.Status, c.Detail = doctor.Warn, "the certificate of the page expires at "+end
	default:
		c.Status, c.Detail, c.Do = doctor.OK, pageOrigin(name, port)+"/, until "+end, ""
	}
	return c
}
