package push

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/data/netallow"
)

// errAddress reports that the host of an endpoint has a private address.
var errAddress = errors.New("the address is not public")

const (
	maxEndpoint = 2048 // maximum length of an endpoint in bytes
	sendTimeout = 10 * time.Second
	dialTimeout = 5 * time.Second
	maxHeaders  = 16 << 10
	maxResponse = 4 << 10
)

// endpointOf parses an endpoint. If insecure is set, it also accepts HTTP and private addresses.
func endpointOf(text string, insecure bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxEndpoint:
		return nil, fmt.Errorf("endpoint exceeds %d bytes", maxEndpoint)
	case err != nil || u.Hostname() == "" || u.User != nil || u.Opaque != "" || u.Fragment != "":
		return nil, errors.New("endpoint is not the URL of a push service")
	case u.Scheme == "https", insecure && u.Scheme == "http":
	default:
		return nil, errors.New("endpoint must be an https URL")
	}
	if at, err := netip.ParseAddr(u.Hostname()); err == nil && !insecure && !netallow.IsPublic(at) {
		return nil, fmt.Errorf("endpoint: %s: %w", at, errAddress)
	}
	return u, nil
}

// newDialer returns a dialer for push services. It connects only to public addresses, which it
// checks after resolving the name, unless insecure is set.
func newDialer(insecure bool) *net.Dialer {
	d := &net.Dialer{Timeout: dialTimeout}
	if !insecure {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !netallow.IsPublic(at.Addr()) {
				return fmt.Errorf("%s: %w", address, errAddress)
			}
			return nil
		}
	}
	return d
}

// newClient returns a client for push services. It uses no proxy and follows no redirects.
func newClient(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Timeout:       sendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTimeout, MaxResponseHeaderBytes: maxHeaders,
			MaxIdleConns: 32, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute},
	}
}
