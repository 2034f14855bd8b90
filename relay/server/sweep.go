package server

import (
	"context"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// sockets is the set of open sockets.
type sockets struct {
	mu    sync.Mutex
	open  map[*socket]struct{}
	ended bool
	wait  sync.WaitGroup
}

// begin counts a connection that is about to become a socket, so that the server waits for it. It
// returns false if the server has closed.
func (s *sockets) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.wait.Add(1)
	}
	return !s.ended
}

// add registers a socket that begin has counted. It returns false if the server has closed.
func (s *sockets) add(x *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[x] = struct{}{}
	return !s.ended
}

func (s *sockets) remove(x *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, x)
}

// all returns the open sockets.
func (s *sockets) all() []*socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*socket, 0, len(s.open))
	for x := range s.open {
		all = append(all, x)
	}
	return all
}

func (s *sockets) closeAll(code int, why string) {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	for _, x := range s.all() {
		x.close(code, why)
	}
}

func (s *sockets) cutAll() {
	for _, x := range s.all() {
		_ = x.raw.Close()
	}
}

// Figures returns the metrics of the server's current state by metric name.
func (s *Server) Figures() map[string]float64 {
	f := map[string]float64{"relay_hosts_connected": 0, "relay_apps_connected": 0, "relay_sockets_writing": 0, "relay_sockets_closing": 0}
	for _, x := range s.sockets.all() {
		if _, ok := x.peer.(*machine); ok {
			f["relay_hosts_connected"]++
		} else {
			f["relay_apps_connected"]++
		}
		x.mu.Lock()
		if x.pumps {
			f["relay_sockets_writing"]++
		}
		if x.code != 0 {
			f["relay_sockets_closing"]++
		}
		x.mu.Unlock()
	}
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	f["relay_calls_open"] = float64(len(s.calls.of))
	return f
}

// sweep handles timeouts: peers that are silent or do not read, and expired commands and calls.
func (s *Server) sweep() {
	now := s.clock.Now()
	s.peers.beat(now)
	for _, x := range s.sockets.all() {
		x.sweep(now)
	}
	s.expire()
	s.calls.sweep(s)
	s.rates.sweep(now)
}

func (x *socket) sweep(now time.Time) {
	since := func(at int64) time.Duration { return time.Duration(now.UnixNano() - at) }
	silent := since(x.seen.Load())
	writing := x.writing.Load()
	switch {
	case x.closed.Load():
		return
	case writing != 0 && since(writing) >= protocol.WriteTimeout:
		x.close(protocol.CloseTooSlow, "the peer does not read its messages")
		return
	case silent >= protocol.DeadAfter:
		if !x.closed.Swap(true) {
			_ = x.raw.Close() // without a close frame, which a peer that does not read would not receive
		}
		return
	case silent >= protocol.PingAfter && x.pinged.Load() <= x.seen.Load() && writing == 0:
		x.ping()
	}
	x.peer.checkTimeouts(now)
}

// ping sends a ping. A received pong updates x.seen.
func (x *socket) ping() {
	x.pinged.Store(x.srv.clock.Now().UnixNano())
	x.srv.sockets.wait.Add(1)
	go func() {
		defer x.srv.sockets.wait.Done()
		_ = x.conn.Ping(context.Background()) // returns when the pong arrives or the connection closes
	}()
}
