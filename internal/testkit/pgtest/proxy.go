package pgtest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Action is what a proxy does with a piece of data.
type Action int

// The actions of a proxy.
const (
	Forward     Action = iota
	Cut                // close both connections
	CutResponse        // forward the request, and close both connections instead of forwarding the response
	Swallow            // forward nothing more in this direction, and leave both connections open
)

// Proxy forwards connections to a PostgreSQL server on a Unix socket. A plan selects what it does
// with each piece of data.
type Proxy struct {
	URL  string // of the database through the proxy
	plan atomic.Pointer[func(request bool, data []byte) Action]
}

// StartProxy starts a proxy to the database with this URL. It forwards everything until SetPlan.
func StartProxy(t testing.TB, url string) *Proxy {
	t.Helper()
	base, socket, _ := strings.Cut(url, "?host=")
	dir, err := os.MkdirTemp("", "pg") // a short path without commas, which separate the hosts of a URL
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{URL: base + "?host=" + dir}
	var conns sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); conns.Wait() })
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	conns.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(socket, ".s.PGSQL.5432"))
			if err != nil { // the server has stopped
				client.Close()
				continue
			}
			done := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
			var isCut atomic.Bool
			conns.Go(func() { p.forward(server, client, &isCut, true) })
			conns.Go(func() { p.forward(client, server, &isCut, false); done() })
		}
	})
	return p
}

// SetPlan sets what to do with each piece of data from now on; nil means to forward everything.
// Calls of plan are concurrent. A plan that blocks delays the data.
func (p *Proxy) SetPlan(plan func(request bool, data []byte) Action) {
	if plan == nil {
		p.plan.Store(nil)
		return
	}
	p.plan.Store(&plan)
}

// forward copies until one side closes its connection, and then closes both. isCut means that the
// responses of this connection are cut.
func (p *Proxy) forward(to, from net.Conn, isCut *atomic.Bool, requests bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 64<<10)
	for swallows := false; ; {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		action := Forward
		if plan := p.plan.Load(); plan != nil {
			action = (*plan)(requests, buffer[:n])
		}
		switch {
		case action == Cut || !requests && isCut.Load():
			return
		case action == CutResponse:
			isCut.Store(true)
		case action == Swallow:
			swallows = true
		}
		if swallows {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
