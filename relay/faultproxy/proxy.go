// Package faultproxy is a test proxy between the relay's server and its clients that injects
// network faults: it drops, duplicates, delays and reorders frames, cuts connections within a
// frame, and leaves them half open. The test's plan selects the fault of each frame. The
// compatibility promise does not cover this API.
package faultproxy

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Fault is what the proxy does to a frame.
type Fault int

const (
	Pass      Fault = iota
	Drop            // discard the frame
	Duplicate       // forward it twice
	Delay           // forward it and the following ones after Proxy.Lag
	Swap            // forward it after the next frame, or after Proxy.Lag
	Cut             // forward half of it, then close both connections
	HalfOpen        // discard all frames in both directions without closing
)

// Proxy forwards connections to a server, WebSocket connections frame by frame.
type Proxy struct {
	// Lag is the delay of a delayed frame.
	Lag time.Duration

	target string
	plan   func(Frame) Fault
	listen net.Listener
	ended  sync.WaitGroup

	mu     sync.Mutex
	made   int
	closed bool
	open   map[*link]bool
}

// New listens on a loopback port and forwards connections to target ("host:port"). It calls plan
// for each frame, from several goroutines; nil forwards all frames.
func New(target string, plan func(Frame) Fault) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if plan == nil {
		plan = func(Frame) Fault { return Pass }
	}
	p := &Proxy{Lag: 20 * time.Millisecond, target: target, plan: plan, listen: l, open: map[*link]bool{}}
	p.ended.Go(p.accept)
	return p, nil
}

// URL returns the proxy's URL, with scheme http.
func (p *Proxy) URL() string { return "http://" + p.listen.Addr().String() }

// SetTarget forwards new connections to another server.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// CutAll closes all connections.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.open {
		l.close()
	}
}

// Close closes the proxy and all connections, and waits for its goroutines.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listen.Close() // stops accept
	p.CutAll()
	p.ended.Wait()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.ended.Go(func() { p.serve(c) })
	}
}

// serve forwards a connection until it closes. If the server is not reachable, it closes the
// connection.
func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	l := &link{proxy: p, client: client, server: server, closed: make(chan struct{})}
	p.mu.Lock()
	p.made++
	l.number = p.made
	p.open[l] = true
	if p.closed {
		l.close()
	}
	p.mu.Unlock()
	l.run()
	p.mu.Lock()
	delete(p.open, l)
	p.mu.Unlock()
}

// readHead reads the head of an HTTP message, including the empty line after it.
func readHead(r *bufio.Reader) ([]byte, error) {
	var b bytes.Buffer
	for {
		line, err := r.ReadBytes('\n')
		b.Write(line)
		switch {
		case err != nil:
			return nil, err
		case len(bytes.TrimSpace(line)) == 0:
			return b.Bytes(), nil
		case b.Len() > http.DefaultMaxHeaderBytes:
			return nil, fmt.Errorf("an HTTP header of more than %d bytes", http.DefaultMaxHeaderBytes)
		}
	}
}

// isUpgrade reports whether a request upgrades to a WebSocket.
func isUpgrade(head []byte) bool {
	for line := range strings.Lines(string(head)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Upgrade") && strings.EqualFold(strings.TrimSpace(value), "websocket") {
			return true
		}
	}
	return false
}

// closeAfter adds "Connection: close" to a request, so that the next request uses a new connection
// and the proxy reads its head.
func closeAfter(head []byte) []byte {
	var b bytes.Buffer
	for i, line := range bytes.SplitAfter(head, []byte("\n")) {
		if name, _, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Connection")) {
			continue
		}
		b.Write(line)
		if i == 0 {
			b.WriteString("Connection: close\r\n")
		}
	}
	return b.Bytes()
}
