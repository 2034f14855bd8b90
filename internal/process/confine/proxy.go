package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/netallow"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// Limits of a proxy.
const (
	dialTimeout   = 30 * time.Second
	headerTimeout = 30 * time.Second // for the head of a request
	headerBytes   = 64 << 10         // of the head of a request
	// reportedMost is the maximum number of addresses that a proxy reports, so that a process
	// cannot fill the memory with them.
	reportedMost = 1000
)

// proxy connects a process without a network to the addresses that its sandbox allows. It answers
// CONNECT and plain requests, and resolves names outside of the sandbox.
type proxy struct {
	allow   []netallow.Address
	section string
	blocked func(address string)
	resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	dialer  net.Dialer
	server  http.Server
	forward *httputil.ReverseProxy
	ctx     context.Context // ends with the proxy
	stop    context.CancelFunc
	serving sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	reported map[string]bool
}

func newProxy(p *sandbox.Proxy, blocked func(address string)) (*proxy, error) {
	x := &proxy{section: p.Section, blocked: blocked, dialer: net.Dialer{Timeout: dialTimeout}, reported: map[string]bool{}}
	for _, text := range p.Allow {
		a, err := netallow.ParseAddress(text)
		if err != nil {
			return nil, fmt.Errorf("%q in `net`: %w", text, err)
		}
		x.allow = append(x.allow, a)
	}
	x.resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	}
	x.ctx, x.stop = context.WithCancel(context.Background())
	silent := log.New(io.Discard, "", 0)
	x.forward = &httputil.ReverseProxy{
		// The request names its server. ReverseProxy removes query parameters that it cannot parse,
		// but the server may accept them, and the proxy does not use them.
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.RawQuery = r.In.URL.RawQuery },
		Transport: &http.Transport{
			Proxy: nil, DisableCompression: true, ForceAttemptHTTP2: false,
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return x.dial(ctx, address) },
		},
		ErrorLog: silent, FlushInterval: -1, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { refuse(w, err) },
	}
	x.server = http.Server{Handler: http.HandlerFunc(x.handle), ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: headerBytes, ErrorLog: silent,
		BaseContext: func(net.Listener) context.Context { return x.ctx }}
	return x, nil
}

// serve serves the connections of a copy of a listener until close is called.
func (x *proxy) serve(file *os.File) error {
	l, err := net.FileListener(file)
	if err != nil {
		return err
	}
	if !x.begin() {
		return l.Close()
	}
	go func() {
		defer x.serving.Done()
		_ = x.server.Serve(l) // ends when close is called
	}()
	return nil
}

// begin counts a request until it has ended. It returns false after close.
func (x *proxy) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.closed {
		x.serving.Add(1)
	}
	return !x.closed
}

// close closes all connections and waits until none is served.
func (x *proxy) close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.stop()
	_ = x.server.Close()
	x.forward.Transport.(*http.Transport).CloseIdleConnections()
	x.serving.Wait()
}

// refusal is the error for an address that the sandbox does not allow.
type refusal struct{ text string }

func (e *refusal) Error() string { return e.text }

func refuse(w http.ResponseWriter, err error) {
	if r, ok := errors.AsType[*refusal](err); ok {
		http.Error(w, r.text, http.StatusForbidden)
		return
	}
	http.Error(w, "concerto: "+err.Error(), http.StatusBadGateway)
}

func (x *proxy) handle(w http.ResponseWriter, r *http.Request) {
	if !x.begin() {
		return
	}
	defer x.serving.Done()
	switch {
	case r.Method == http.MethodConnect:
		x.connect(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		r.Host = r.URL.Host // the allowed server, whatever the header contains
		x.forward.ServeHTTP(w, r)
	default:
		http.Error(w, "concerto: this is a proxy for CONNECT and http:// requests", http.StatusBadRequest)
	}
}

// connect connects the client to a server and copies data in both directions.
func (x *proxy) connect(w http.ResponseWriter, r *http.Request) {
	server, err := x.dial(r.Context(), r.Host)
	if err != nil {
		refuse(w, err)
		return
	}
	defer server.Close()
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return // the client has disconnected
	}
	defer client.Close()
	stopClosing := context.AfterFunc(x.ctx, func() {
		client.Close()
		server.Close()
	})
	defer stopClosing()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = io.Copy(server, buffered.Reader) // includes what was read after the request
		closeWrite(server)
	})
	_, _ = io.Copy(client, server)
	closeWrite(client)
	sending.Wait()
}

// closeWrite closes the sending direction of a connection.
func closeWrite(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.CloseWrite() // the connection may be closed already
	}
}

// dial connects to an address HOST:PORT if the sandbox allows it. It connects to an IP address that
// it has checked, so that a name cannot have another address in the meantime.
func (x *proxy) dial(ctx context.Context, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	port, portErr := strconv.ParseUint(portText, 10, 16)
	if err != nil || portErr != nil || host == "" {
		return nil, &refusal{fmt.Sprintf("concerto: %q is not HOST:PORT", address)}
	}
	to := uint16(port)
	ip, err := netip.ParseAddr(host)
	if err == nil && ip.Zone() == "" {
		if !x.allowsIP(ip, to) {
			return nil, x.refusal(netallow.JoinAddress(host, to), "")
		}
		return x.dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(ip.Unmap(), to).String())
	}
	name := netallow.NormalName(host)
	if !netallow.IsHostName(name) { // it is not reported: the process could send any text to the user
		return nil, &refusal{fmt.Sprintf("concerto: %q is not a host name", host)}
	}
	if !x.allowsName(name, to) {
		return nil, x.refusal(netallow.JoinAddress(name, to), "")
	}
	found, err := x.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, ip := range found {
		ip = ip.Unmap()
		if !netallow.IsPublic(ip) && !x.allowsIP(ip, to) {
			failed = errors.Join(failed, x.refusal(netallow.JoinAddress(name, to), ip.String()))
			continue
		}
		c, err := x.dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(ip, to).String())
		if err == nil {
			return c, nil
		}
		failed = errors.Join(failed, err)
	}
	if r, ok := errors.AsType[*refusal](failed); ok {
		return nil, r
	}
	if failed == nil {
		failed = fmt.Errorf("%s has no address", name)
	}
	return nil, failed
}

func (x *proxy) allowsName(name string, port uint16) bool {
	for _, a := range x.allow {
		if a.AllowsName(name, port) {
			return true
		}
	}
	return false
}

func (x *proxy) allowsIP(ip netip.Addr, port uint16) bool {
	for _, a := range x.allow {
		if a.AllowsIP(ip, port) {
			return true
		}
	}
	return false
}

// refusal reports a blocked address and returns the error for it. internal is the internal IP
// address to which the name resolves, or "".
func (x *proxy) refusal(address, internal string) *refusal {
	x.mu.Lock()
	first := !x.reported[address] && len(x.reported) < reportedMost
	if first {
		x.reported[address] = true
	}
	x.mu.Unlock()
	if first && x.blocked != nil {
		x.blocked(address)
	}
	if internal != "" {
		return &refusal{fmt.Sprintf("concerto: %s resolves to %s, an internal address that is not in net of [%s]", address, internal, x.section)}
	}
	return &refusal{fmt.Sprintf("concerto: %s is not in net of [%s]", address, x.section)}
}
