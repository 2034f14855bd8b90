package serve

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/nats"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// serveConfig holds the validated settings of `serve`.
type serveConfig struct {
	guard      httpguard.Config
	retain     time.Duration
	listen     net.Listener
	origin     string // URL of the address on which the server listens
	everywhere bool   // the server listens on all interfaces

	// localOrigin is the URL at which machines in this process reach the server; "" before
	// openDoor. door is a loopback listener for them, or nil if the server listens on the loopback
	// interface.
	localOrigin string
	door        net.Listener
}

// openDoor makes the server reachable for the machines in this process.
func (c *serveConfig) openDoor() (err error) {
	switch {
	case c.localOrigin != "":
	case c.guard.Loopback || c.everywhere:
		c.localOrigin = c.origin
	default:
		if c.door, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		c.localOrigin = "http://" + c.door.Addr().String()
	}
	return nil
}

// close closes the listeners.
func (c *serveConfig) close() {
	_ = c.listen.Close() // closing a listener twice is an error
	if c.door != nil {
		_ = c.door.Close()
	}
}

// configureServe validates the settings and opens the listener. An error names the flag,
// environment variable or key of relay.toml with the invalid setting.
func configureServe(a *console.Console, s *serveFlags) (out serveConfig, err error) {
	for _, check := range []func(*console.Console, *serveFlags, *serveConfig) error{checkNATS, checkAccess, parsePublicURL, checkOrigins, parseProxies, parseRetention, openListener} {
		if err := check(a, s, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// checkNATS rejects an invalid NATS URL. It also rejects NATS with SQLite: NATS connects several
// servers, and only one server can use a SQLite database.
func checkNATS(a *console.Console, s *serveFlags, _ *serveConfig) error {
	if s.nats == "" {
		return nil
	}
	if err := nats.CheckURL(s.nats); err != nil {
		return a.InvalidSetting("nats", "write it as nats://HOST:4222", "%v", err) // the URL is not quoted: it may contain a password
	}
	if scheme, _, _ := strings.Cut(s.db, ":"); scheme == "sqlite" {
		return a.InvalidSetting("nats", "omit it, or use a database that several servers can share: --db postgres://USER@HOST/NAME", "NATS connects several servers, but only one server can use a SQLite database")
	}
	return nil
}

func checkAccess(a *console.Console, s *serveFlags, _ *serveConfig) error {
	if err := a.OneOf("tofu", s.tofu, string(auth.TOFUOn), string(auth.TOFUOff), string(auth.TOFULoopback)); err != nil {
		return err
	}
	if err := a.OneOf("sealed", s.sealed, sealedAllowed, sealedRequired); err != nil {
		return err
	}
	if s.engine != "" && s.sealed == sealedRequired {
		return console.Usage("start the server with --sealed=allowed, or omit --engine, and show the engine on a trusted machine: `concerto-relay hostd --engine URL`", "--engine shows the runs of an engine, which the server reads, and --sealed=required forbids that")
	}
	if err := a.OneOf("url-token", s.urlToken, "on", "off"); err != nil {
		return err
	}
	switch {
	case s.admin == "" && s.adminFile != "":
		return a.InvalidSetting("admin-password-file", "add --admin NAME", "a password is set, but no owner is named")
	case s.admin == "" && s.hash != "":
		return a.InvalidSetting("admin-password-hash", "add --admin NAME", "a password is set, but no owner is named")
	case s.admin == "":
		return nil
	case s.adminFile == "" && s.hash == "":
		return a.InvalidSetting("admin", "add --admin-password-file FILE, or $ADMIN_PASSWORD_HASH", "an owner requires a password")
	}
	if s.hash != "" {
		if err := auth.CheckHash(s.hash); err != nil {
			return a.InvalidSetting("admin-password-hash", "", "%v", err)
		}
	}
	if err := auth.CheckUser(s.admin, auth.Owner); err != nil {
		var refusal *httpguard.Refusal
		errors.As(err, &refusal)
		return a.InvalidSetting("admin", "", "%s", refusal.Why)
	}
	return nil
}

func parsePublicURL(a *console.Console, s *serveFlags, out *serveConfig) error {
	if s.public == "" {
		return nil
	}
	u, ok := connect.WebURL(s.public)
	if !ok {
		return a.InvalidSetting("public-url", "write a URL without a path, such as https://relay.example", "invalid value %q", httpguard.Clean(s.public))
	}
	out.guard.Public = u
	return nil
}

// fileOrigin is the origin of pages that a browser has opened from a file.
const fileOrigin = "null"

func checkOrigins(a *console.Console, s *serveFlags, out *serveConfig) error {
	for _, o := range s.origins {
		u, ok := connect.WebURL(o)
		if o != fileOrigin && (!ok || httpguard.Origin(u) != o) {
			return a.InvalidSetting("allow-origin", "write an origin as browsers send it, such as https://app.example", "invalid value %q", o)
		}
	}
	out.guard.Allow = s.origins
	return nil
}

func parseProxies(a *console.Console, s *serveFlags, out *serveConfig) error {
	for _, text := range s.trusted {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return a.InvalidSetting("trusted-proxy", "write a network such as 10.0.0.0/8, or a single address as 127.0.0.1/32", "invalid value %q", text)
		}
		out.guard.Trusted = append(out.guard.Trusted, p)
	}
	return nil
}

func parseRetention(a *console.Console, s *serveFlags, out *serveConfig) error {
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
		return a.InvalidSetting("retain", "write 30d, 12h or off", "invalid value %q", s.retain)
	}
	out.retain = d
	return nil
}

func openListener(a *console.Console, s *serveFlags, out *serveConfig) error {
	const forms = "write an address such as 127.0.0.1:8787; port 0 selects a free port"
	if _, _, err := net.SplitHostPort(s.listen); err != nil {
		return a.InvalidSetting("listen", forms, "invalid value %q", s.listen)
	}
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		return a.InvalidSetting("listen", forms, "%v", err)
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
