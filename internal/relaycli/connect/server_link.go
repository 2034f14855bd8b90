package connect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// linkOptions holds the settings of a serverLink.
type linkOptions struct {
	Server string // URL of the server, with the scheme http or https
	Token  string // access token
	Agent  string // name and version of this program, in the form NAME/VERSION
	HTTP   *http.Client

	// Begin sends the first messages of each new connection, after the welcome has arrived.
	Begin func(ctx context.Context) error
	// Lost is called with the reason when a connection is lost and Run reconnects. It may be nil.
	Lost func(error)
}

// ServerLink is a connection to a server that reconnects. Send may be called by any goroutine.
type ServerLink struct {
	o  linkOptions
	mu sync.Mutex
	// conn is the current connection after its welcome, or nil while there is none.
	conn *websocket.Conn
}

// newLink returns a link; Run connects it.
func newLink(o linkOptions) *ServerLink { return &ServerLink{o: o} }

// errAway is the error of Send while there is no connection. The message was not sent.
var errAway = errors.New("the server is not connected")

// refusedError is the server's reason for refusing this client. Run does not reconnect after it.
type refusedError struct{ Why string }

func (r *refusedError) Error() string { return r.Why }

const (
	helloWithin = 30 * time.Second // maximum time for connecting and receiving the welcome
	shortLife   = 5 * time.Second  // a connection that closes sooner counts as a failed attempt
	helloID     = "hello"
)

// handlerError is an error that the message handler returned, which closed the connection.
type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }

// Run connects to the server and passes each message to handle, beginning with the welcome. It
// reconnects when a connection is lost. It returns an error if the first connection fails, handle
// returns an error, ctx is cancelled, or the server refuses this client.
func (c *ServerLink) Run(ctx context.Context, handle func(protocol.Envelope) error) error {
	for tries, was := 0, false; ; {
		began := time.Now()
		good, err := c.connect(ctx, handle)
		var over *handlerError
		var refused *refusedError
		switch {
		case errors.As(err, &over):
			return over.err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &refused) || !good && !was:
			return err
		}
		if good && c.o.Lost != nil {
			c.o.Lost(err)
		}
		if was = true; good && time.Since(began) > shortLife {
			tries = 0
		} else {
			tries++
		}
		if err := sleep(ctx, protocol.RetryAfter(tries, rand.Float64())); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// connect opens one connection, handles its messages, and returns why the connection closed. good
// reports whether the welcome arrived.
func (c *ServerLink) connect(ctx context.Context, handle func(protocol.Envelope) error) (good bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(helloWithin, func() {
		cancel(fmt.Errorf("%s sent no welcome: check that it is a relay's server", c.o.Server))
	})
	defer late.Stop()
	conn, err := c.dial(ctx)
	if err != nil {
		return false, linkCause(ctx, err)
	}
	defer conn.CloseNow()
	hello := protocol.New(protocol.Hello, time.Now(), protocol.HelloData{Protocol: protocol.Version, Agent: c.o.Agent})
	hello.ID = helloID
	if err := conn.Write(ctx, websocket.MessageText, hello.Append(nil)); err != nil {
		return false, linkCause(ctx, err)
	}
	var beat sync.WaitGroup
	defer beat.Wait()
	defer cancel(nil)
	beat.Go(func() { keepAlive(ctx, conn) })
	defer c.setConn(nil)
	for {
		e, err := readEnvelope(ctx, conn)
		if err != nil {
			return good, linkCause(ctx, err)
		}
		if e.Type == protocol.Failure && e.Re == helloID {
			return good, &refusedError{fmt.Sprintf("%s rejected the hello message: it uses another protocol", c.o.Server)}
		}
		if err := handle(e); err != nil {
			_ = conn.Close(websocket.StatusNormalClosure, "") // the server may have disconnected
			return good, &handlerError{err}
		}
		if e.Type != protocol.Welcome || good {
			continue
		}
		good = true
		late.Stop()
		c.setConn(conn)
		if err := c.o.Begin(ctx); err != nil {
			return good, linkCause(ctx, err)
		}
	}
}

// linkCause returns the cause of ctx if it is cancelled, and the described err otherwise.
func linkCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return closeError(err)
}

func (c *ServerLink) setConn(conn *websocket.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
}

// dial opens the WebSocket. The token is sent in a header, because servers and proxies log URLs.
func (c *ServerLink) dial(ctx context.Context) (*websocket.Conn, error) {
	o := &websocket.DialOptions{HTTPClient: c.o.HTTP, HTTPHeader: http.Header{"Authorization": {"Bearer " + c.o.Token}}}
	conn, response, err := websocket.Dial(ctx, strings.TrimSuffix(c.o.Server, "/")+"/ws/app?follow=none", o)
	if err == nil {
		conn.SetReadLimit(protocol.MaxFrame)
		return conn, nil
	}
	if response == nil {
		return nil, fmt.Errorf("connect to %s: %w", c.o.Server, err)
	}
	switch response.StatusCode {
	case http.StatusUnauthorized:
		return nil, &refusedError{c.o.Server + " did not accept the access token: it is wrong, has ended, or was revoked (unauthorized)"}
	case http.StatusForbidden:
		return nil, &refusedError{c.o.Server + " refuses the connection (forbidden)"}
	case http.StatusNotFound, http.StatusOK:
		return nil, &refusedError{fmt.Sprintf("%s answered %s: check that it is a relay's server", c.o.Server, response.Status)}
	}
	return nil, fmt.Errorf("%s answered %s", c.o.Server, response.Status)
}

// closeError returns a refusedError for a close code after which the link must not reconnect, and
// err otherwise.
func closeError(err error) error {
	switch code := websocket.CloseStatus(err); code {
	case protocol.CloseUnauthorized:
		return &refusedError{"the access token has ended, or was revoked (unauthorized)"}
	case protocol.CloseForbidden, protocol.ClosePolicy, protocol.CloseTooBig, protocol.CloseInvalidUTF8, protocol.CloseBinary:
		return &refusedError{fmt.Sprintf("the server has closed the connection: %v", err)}
	}
	return err
}

// readEnvelope reads the next valid envelope. It skips invalid messages.
func readEnvelope(ctx context.Context, conn *websocket.Conn) (protocol.Envelope, error) {
	for {
		kind, frame, err := conn.Read(ctx)
		if err != nil {
			return protocol.Envelope{}, err
		}
		if e, refused := protocol.Parse(frame); refused == nil && kind == websocket.MessageText {
			return e, nil
		}
	}
}

// keepAlive pings the peer until ctx is cancelled, and closes the connection if a response does not
// arrive in time.
func keepAlive(ctx context.Context, conn *websocket.Conn) {
	for sleep(ctx, protocol.PingAfter) == nil {
		within, cancel := context.WithTimeout(ctx, protocol.DeadAfter-protocol.PingAfter)
		err := conn.Ping(within)
		cancel()
		if err != nil {
			_ = conn.CloseNow() // the peer is silent, so a close handshake would fail
			return
		}
	}
}

// Send sends a message on the current connection. It does not repeat the message, and returns
// errAway if there is no connection.
func (c *ServerLink) Send(ctx context.Context, typ, run, id string, data any) error {
	e := protocol.New(typ, time.Now(), data)
	return c.SendCommand(ctx, run, id, &Command{Type: typ, Data: e.Data})
}

// Command is a command to a run. ID and Enc are set if it is sealed.
type Command struct {
	Type, ID  string
	Enc, Data json.RawMessage
}

// SendCommand sends a command as Send does. id is that of the envelope if the command has none.
func (c *ServerLink) SendCommand(ctx context.Context, run, id string, m *Command) error {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn == nil {
		return errAway
	}
	e := protocol.New(m.Type, time.Now(), m.Data)
	e.RunID, e.ID, e.Enc = run, cmp.Or(m.ID, id), m.Enc
	ctx, cancel := context.WithTimeout(ctx, protocol.WriteTimeout)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, e.Append(nil))
}
