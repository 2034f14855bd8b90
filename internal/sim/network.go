package sim

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// server is an HTTP server of the world. It remembers what it has received and answered.
type server struct {
	process  *process
	received []request
	lost     map[string]bool // names of calls at which a message is lost
}

// request is a request that the server has performed.
type request struct {
	name, key, answer string
}

func (r *request) reads() bool { return strings.HasPrefix(r.name, "GET") }

// of returns the performed requests with a name, such as "POST /b3".
func (s *server) of(name string) (all []request) {
	for _, r := range s.received {
		if r.name == name {
			all = append(all, r)
		}
	}
	return all
}

// lose makes the message of a call be lost.
func (s *server) lose(call string) { s.lost[call] = true }

// ServeHTTP performs a request. Each answer contains the number of the request, so that no two are
// equal.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	name := r.Method + " " + r.URL.Path
	w.message("receives " + name)
	w.mu.Lock()
	answer := fmt.Sprintf("%s, number %d", name, len(w.server.of(name))+1)
	w.server.received = append(w.server.received, request{name, r.Header.Get("Idempotency-Key"), answer})
	w.note("server", "performs %s", answer)
	w.mu.Unlock()
	w.message("answers " + name)
	rw.Header()["Date"] = nil
	fmt.Fprint(rw, answer)
}

// message lets a message of the server pass the gate. If it is lost, the connection ends.
func (w *world) message(what string) {
	name := w.gate.name(w.server.process, what)
	w.gate.passAs(w.server.process, name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server.lost[name] {
		panic(http.ErrAbortHandler)
	}
}

// serve starts the server.
func (w *world) serve() (end func()) {
	w.server.process, w.server.lost = &process{name: "server"}, map[string]bool{}
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: w}
	networks.Store(w.host, l)
	go func() { _ = server.Serve(l) }() // ends with http.ErrServerClosed
	return func() {
		networks.Delete(w.host)
		_ = server.Close() // a pipe has nothing to flush
	}
}

// networks contains the listeners of all worlds by their names.
var networks sync.Map

// installNetwork makes connections to simulated servers possible.
func installNetwork() {
	t := http.DefaultTransport.(*http.Transport).Clone()
	direct := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		l, ok := networks.Load(host)
		if !ok {
			return direct(ctx, network, address)
		}
		client, conn := net.Pipe()
		select {
		case l.(*listener).conns <- conn:
			return client, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	http.DefaultTransport = t
}

type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// answers returns the answers to the requests with a name.
func (s *server) answers(name string) (all []string) {
	for _, r := range s.of(name) {
		all = append(all, r.answer)
	}
	slices.Sort(all)
	return all
}
