//go:build !js

package llm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"net"
	"net/http"
	"time"
)

// newHTTP returns the transport for a connection's requests. Unlike an http.Client, the transport
// does not follow redirects, so a key is sent only to the configured address.
func newHTTP(c *Connection) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	// The system's interval and count are sufficient, and using them needs no system calls.
	alive := net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: -1, Count: -1}
	t.DialContext = limitDials((&net.Dialer{Timeout: connectBound(c), KeepAliveConfig: alive}).DialContext)
	t.TLSHandshakeTimeout = connectBound(c)
	// An idle timer for each network connection, reset at each call, would cost more than the rest
	// of the call. The client uses one timer for all of them (see deadlines). The keep-alive probes
	// above detect connections that break while they are idle.
	t.IdleConnTimeout = 0
	// Keep as many idle connections as there can be concurrent calls.
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	// A thousand connections must need little memory. Larger reads and writes bypass these buffers.
	t.ReadBufferSize, t.WriteBufferSize = 1<<10, 1<<10
	return t
}

const (
	dialsAtOnce = 32
	dialWait    = 5 * time.Millisecond
)

// limitDials limits the number of concurrent dials to dialsAtOnce, because each needs a large
// stack. A dial that has waited for dialWait starts immediately, so that slow dials do not delay it
// for long.
func limitDials(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	turns := make(chan struct{}, dialsAtOnce)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		default:
			late := time.NewTimer(dialWait)
			defer late.Stop()
			select {
			case turns <- struct{}{}:
				defer func() { <-turns }()
			case <-late.C:
			}
		}
		return dial(ctx, network, addr)
	}
}

// explainNetwork describes an error of the network if its reason is known, and reports whether it
// is.
func (f *Failure) explainNetwork(e *endpoint, err error) bool {
	var late net.Error
	var op *net.OpError
	var dns *net.DNSError
	var unknown *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &dns):
		f.Sent = false
		f.Message = fmt.Sprintf("could not find %s: %s (check the connection's base_url)", e.root.Host, dns.Err)
	case errors.As(err, &late) && late.Timeout():
		f.Sent = false
		f.Message = fmt.Sprintf("no connection to %s within %s (check base_url, or raise connect_timeout)", e.root.Host, effect.Seconds(e.connect.Seconds()))
	case errors.As(err, &op) && op.Op == "dial":
		f.Sent = false
		f.Message = fmt.Sprintf("could not connect to %s: %v (is it running, and is base_url correct?)", e.root.Host, op.Err)
	case errors.As(err, &unknown):
		f.Class, f.Sent = ClassConfig, false
		f.Message = fmt.Sprintf("the certificate of %s is not trusted: %v (check the connection's base_url)", e.root.Host, unknown.Err)
	case errors.As(err, &plain) && string(plain.RecordHeader[:]) == "HTTP/":
		f.Class, f.Sent = ClassConfig, false
		f.Message = fmt.Sprintf("%s does not use TLS (write its base_url with http://)", e.root.Host)
	default:
		return false
	}
	return true
}

// isNetworkError reports whether err is an error of a connection.
func isNetworkError(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}
