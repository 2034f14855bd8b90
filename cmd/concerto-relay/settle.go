package main

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/nats"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// settled holds the validated settings of `serve`.
type settled struct {
	guard      httpguard.Config
	retain     time.Duration
	listen     net.Listener
	origin     string // the URL of the listen address
	everywhere bool   // it listens on all interfaces
}

// settle validates the settings and opens the listener. An error names the source of the invalid
// setting: a flag, an environment variable or a key of relay.toml.
func (a *app) settle(s *serveFlags) (out settled, err error) {
	for _, check := range []func(*serveFlags, *settled) error{a.settleNATS, a.settleWords, a.settlePublic, a.settleOrigins, a.settleProxies, a.settleRetain, a.settleListen} {
		if err := check(s, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// settleNATS rejects an invalid NATS URL, and NATS with a SQLite database, which only one server
// can use.
func (a *app) settleNATS(s *serveFlags, _ *settled) error {
	if s.nats == "" {
		return nil
	}
	if err := nats.CheckURL(s.nats); err != nil {
		return a.wrong("nats", "nats://HOST:4222, for one", "%v", err) // the URL is not quoted: it may contain a password
	}
	if scheme, _, _ := strings.Cut(s.db, ":"); scheme == "sqlite" {
		return a.wrong("nats", "leave it out, or name a database that several servers can serve: --db postgres://USER@HOST/NAME", "one server alone serves a SQLite file, and has nobody to tell")
	}
	return nil
}

func (a *app) settleWords(s *serveFlags, _ *settled) error {
	if err := a.oneOf("tofu", s.tofu, string(auth.TOFUOn), string(auth.TOFUOff), string(auth.TOFULoopback)); err != nil {
		return err
	}
	if err := a.oneOf("url-token", s.urlToken, "on", "off"); err != nil {
		return err
	}
	switch {
	case s.admin == "" && s.adminFile != "":
		return a.wrong("admin-password-file", "add --admin NAME", "it is an owner's password, and none is named")
	case s.admin == "" && s.hash != "":
		return a.wrong("admin-password-hash", "add --admin NAME", "it is an owner's password, and none is named")
	case s.admin == "":
		return nil
	case s.adminFile == "" && s.hash == "":
		return a.wrong("admin", "add --admin-password-file FILE, or $ADMIN_PASSWORD_HASH", "an owner needs a password")
	}
	if s.hash != "" {
		if err := auth.CheckHash(s.hash); err != nil {
			return a.wrong("admin-password-hash", "", "%v", err)
		}
	}
	if err := auth.CheckUser(s.admin, auth.Owner); err != nil {
		var told *httpguard.Refusal
		errors.As(err, &told)
		return a.wrong("admin", "", "%s", told.Why)
	}
	return nil
}

// webURL parses the URL of a server: a scheme and a host, without a path.
func webURL(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	return u, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
}

func (a *app) settlePublic(s *serveFlags, out *settled) error {
	if s.public == "" {
		return nil
	}
	u, ok := webURL(s.public)
	if !ok {
		return a.wrong("public-url", "https://relay.example, for one: a name, and no path", "it cannot be %q", httpguard.Clean(s.public))
	}
	out.guard.Public = u
	return nil
}

func (a *app) settleOrigins(s *serveFlags, out *settled) error {
	for _, o := range s.origins {
		u, ok := webURL(o)
		if !ok || httpguard.Origin(u) != o {
			return a.wrong("allow-origin", "https://app.example, for one, as browsers write it", "it cannot be %q", o)
		}
	}
	out.guard.Allow = s.origins
	return nil
}

func (a *app) settleProxies(s *serveFlags, out *settled) error {
	for _, text := range s.trusted {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return a.wrong("trusted-proxy", "10.0.0.0/8 is one, 127.0.0.1/32 a single address", "it cannot be %q", text)
		}
		out.guard.Trusted = append(out.guard.Trusted, p)
	}
	return nil
}

func (a *app) settleRetain(s *serveFlags, out *settled) error {
	if s.retain == "off" {
		return nil
	}
	d, err := time.ParseDuration(s.retain)
	if days, found := strings.CutSuffix(s.retain, "d"); found {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(n) * 24 * time.Hour
		if n > 36_500 {
			d = 0
		}
	}
	if err != nil || d <= 0 {
		return a.wrong("retain", "30d, 12h, or off", "it cannot be %q", s.retain)
	}
	out.retain = d
	return nil
}

func (a *app) settleListen(s *serveFlags, out *settled) error {
	const forms = "127.0.0.1:8787, for one; port 0 is one that is free"
	if _, _, err := net.SplitHostPort(s.listen); err != nil {
		return a.wrong("listen", forms, "it cannot be %q", s.listen)
	}
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		return a.wrong("listen", forms, "%v", err)
	}
	at := l.Addr().(*net.TCPAddr)
	out.listen, out.guard.Loopback = l, at.IP.IsLoopback()
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host, out.everywhere = "127.0.0.1", true
	}
	out.origin = "http://" + net.JoinHostPort(host, strconv.Itoa(at.Port))
	return nil
}
