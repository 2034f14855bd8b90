package servertest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// SilentPeer is the connection of a peer that does not read.
type SilentPeer struct {
	t testing.TB
	c *websocket.Conn
}

// SilentApp connects an app that does not read.
func (r *Relay) SilentApp(token string) *SilentPeer {
	r.T.Helper()
	return r.deaf("/ws/app?token=" + token)
}

// SilentMachine connects a machine that does not read.
func (r *Relay) SilentMachine(id string) *SilentPeer {
	r.T.Helper()
	return r.deaf("/ws/host?host_id=" + id + "&host_token=token-" + id)
}

// sockets returns the number of the server's open sockets.
func (r *Relay) sockets() float64 {
	f := r.Server.Figures()
	return f["relay_hosts_connected"] + f["relay_apps_connected"]
}

func (r *Relay) deaf(path string) *SilentPeer {
	r.T.Helper()
	before := r.sockets()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	small := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if tcp, ok := c.(*net.TCPConn); ok {
			err = errors.Join(err, tcp.SetReadBuffer(64<<10))
		}
		return c, err
	}}
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(r.URL, "http")+path, &websocket.DialOptions{HTTPClient: &http.Client{Transport: small}})
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() { _ = c.CloseNow() })
	for r.sockets() == before { // until the server has registered the socket
		runtime.Gosched()
	}
	return &SilentPeer{r.T, c}
}

// ReadToEnd reads until the connection is closed, and returns the close code or -1.
func (d *SilentPeer) ReadToEnd() int {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d.c.SetReadLimit(2 * protocol.MaxFrame)
	for {
		if _, _, err := d.c.Read(ctx); err != nil {
			if ctx.Err() != nil {
				d.t.Fatal("the connection was not closed")
			}
			return int(websocket.CloseStatus(err))
		}
	}
}
