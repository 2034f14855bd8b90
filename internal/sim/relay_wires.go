package sim

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"

	"github.com/concerto-lang/concerto/internal/sim/simdisk"
)

// wires contains the connections between the processes of a relay's world, and who listens.
type wires struct {
	mu        sync.Mutex
	listeners map[string]*wireListener // by address
	all       map[*process][]*wire
	outcomes  map[string]delivery // what happens at the writes with a name
}

// delivery is what happens to the bytes of a write. The writer does not learn it: its kernel has
// accepted the bytes.
type delivery int

// The deliveries of a write.
const (
	arrives    delivery = iota
	nothing             // nothing arrives, and the connection breaks
	half                // half arrives, and the connection breaks
	breaks              // the bytes arrive, and the connection breaks
	vanishes            // neither these bytes nor later ones arrive, and the connection does not break
	deliveries = int(vanishes)
)

func newWires() wires {
	return wires{listeners: map[string]*wireListener{}, all: map[*process][]*wire{}, outcomes: map[string]delivery{}}
}

// end closes the connections of a dead process.
func (s *wires) end(p *process) {
	s.mu.Lock()
	mine := s.all[p]
	delete(s.all, p)
	for address, l := range s.listeners {
		if l.p == p {
			delete(s.listeners, address)
			_ = l.Close() // it has nothing to flush
		}
	}
	s.mu.Unlock()
	for _, x := range mine {
		_ = x.Close() // likewise
	}
}

// wireListener accepts connections for a process.
type wireListener struct {
	listener
	p *process
}

// listen returns a listener at an address.
func (s *wires) listen(p *process, address string) net.Listener {
	l := &wireListener{listener{conns: make(chan net.Conn), closed: make(chan struct{})}, p}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[address] = l
	return l
}

// dial connects a process to who listens at an address.
func (s *wires) dial(ctx context.Context, p *process, address string) (net.Conn, error) {
	g := p.world.gate
	name := g.name(p, "connects to "+address)
	if !g.passAs(p, name) {
		return nil, simdisk.ErrDead
	}
	s.mu.Lock()
	l, how := s.listeners[address], s.outcomes[name]
	s.mu.Unlock()
	if l == nil || how == nothing {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	near, far := net.Pipe()
	_, call, _ := strings.Cut(name, " ")
	mine, other := &wire{Conn: near, p: p, to: call, s: s}, &wire{Conn: far, p: l.p, to: "answer who " + name, s: s}
	mine.other, other.other = other, mine
	s.mu.Lock()
	s.all[p], s.all[l.p] = append(s.all[p], mine), append(s.all[l.p], other)
	s.mu.Unlock()
	select {
	case l.conns <- other:
		return mine, nil
	case <-l.closed:
		_ = mine.breakUp() // nothing was sent
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		_ = mine.breakUp()
		return nil, ctx.Err()
	}
}

// client returns a client of HTTP that dials as a process.
func (s *wires) client(p *process) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return s.dial(ctx, p, address) }}}
}

// wire is one end of a connection. A write passes the gate, and arrives as a whole before another
// call continues.
type wire struct {
	net.Conn
	p     *process
	to    string // in names of calls
	other *wire
	s     *wires
	mute  bool // nothing arrives any more; used by one write at a time

	mu      sync.Mutex
	closed  bool
	sending string // name of the call of the write that waits; "" for none
}

// begin records that a write waits, unless the connection is closed.
func (x *wire) begin(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sending = name
	return !x.closed
}

// Close closes this end, and ends the write that waits.
func (x *wire) Close() error {
	x.mu.Lock()
	sending := x.sending
	x.closed = true
	x.mu.Unlock()
	err := x.Conn.Close()
	if sending != "" {
		x.p.world.gate.abandon(sending)
	}
	return err
}

// Write sends bytes.
func (x *wire) Write(b []byte) (int, error) {
	g := x.p.world.gate
	name := g.name(x.p, fmt.Sprintf("sends (%s)", x.to))
	if !x.begin(name) {
		return 0, net.ErrClosed
	}
	passed := g.passAs(x.p, name)
	if isOpen := x.begin(""); !isOpen || !passed {
		return 0, net.ErrClosed
	}
	x.s.mu.Lock()
	how := x.s.outcomes[name]
	x.s.mu.Unlock()
	x.mute = x.mute || how == vanishes
	n := len(b)
	switch {
	case x.mute:
		return n, nil
	case how == nothing:
		return n, x.breakUp()
	case how == half:
		if _, err := x.Conn.Write(b[:n/2]); err != nil {
			return 0, err
		}
		return n, x.breakUp()
	}
	n, err := x.Conn.Write(b)
	if how == breaks && err == nil {
		err = x.breakUp()
	}
	return n, err
}

// breakUp closes both ends.
func (x *wire) breakUp() error {
	_ = x.Close() // a pipe has nothing to flush
	return x.other.Close()
}

func (x *wire) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (x *wire) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2} }
