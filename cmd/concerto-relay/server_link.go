package main

import (
	"context"
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

// linkOptions say how an app connects.
type linkOptions struct {
	Server string // its URL, http or https
	Token  string // an access token
	Agent  string // name/version
	HTTP   *http.Client

	// Begin sends the first messages on each connection, after the greeting.
	Begin func(ctx context.Context) error
	// Lost is called when the connection was lost, with the reason; Run reconnects. It may be nil.
	Lost func(error)
}

// serverLink is a connection to a server. Send may be called by any goroutine.
type serverLink struct {
	o  linkOptions
	mu sync.Mutex
	// conn has greeted; nil while there is none.
	conn *websocket.Conn
}

// newLink makes one; Run connects it.
func newLink(o linkOptions) *serverLink { return &serverLink{o: o} }

// errAway: there is no connection now, and nothing was sent.
var errAway = errors.New("the server is not connected")

// linkRefused is why a server does not take an app, or no longer: it is not asked again.
type linkRefused struct{ Why string }

func (r *linkRefused) Error() string { return r.Why }

const (
	helloWithin = 30 * time.Second // connecting, up to the welcome
	shortLife   = 5 * time.Second  // who is lost sooner counts as a try that failed
	helloID     = "hello"
)

// heardEnd is the error with which hear ended a connection.
type heardEnd struct{ err error }

func (e *heardEnd) Error() string { return e.err.Error() }

// Run connects, and passes the server's messages, its welcome first, to hear, until hear fails, the
// context ends or the server refuses; it returns their error. If the first connection fails, that
// is an error, too; a connection that is lost later is established again.
func (c *serverLink) Run(ctx context.Context, hear func(protocol.Envelope) error) error {
	for tries, was := 0, false; ; {
		began := time.Now()
		good, err := c.connect(ctx, hear)
		var over *heardEnd
		var refused *linkRefused
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
		if err := pause(ctx, protocol.RetryAfter(tries, rand.Float64())); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// connect makes one connection, and returns why it ended. good means that it has greeted.
func (c *serverLink) connect(ctx context.Context, hear func(protocol.Envelope) error) (good bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(helloWithin, func() {
		cancel(fmt.Errorf("%s does not greet: is it a relay's server?", c.o.Server))
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
	beat.Go(func() { beats(ctx, conn) })
	defer c.use(nil)
	for {
		e, err := readEnvelope(ctx, conn)
		if err != nil {
			return good, linkCause(ctx, err)
		}
		if e.Type == protocol.Failure && e.Re == helloID {
			return good, &linkRefused{fmt.Sprintf("%s takes no hello: it speaks another protocol", c.o.Server)}
		}
		if err := hear(e); err != nil {
			_ = conn.Close(websocket.StatusNormalClosure, "") // whoever has gone hears no farewell
			return good, &heardEnd{err}
		}
		if e.Type != protocol.Welcome || good {
			continue
		}
		good = true
		late.Stop()
		c.use(conn)
		if err := c.o.Begin(ctx); err != nil {
			return good, linkCause(ctx, err)
		}
	}
}

// linkCause is why a context has ended, when it has, instead of what that led to.
func linkCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return linkEnded(err)
}

func (c *serverLink) use(conn *websocket.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
}

// dial connects. The token goes into a header, where no log shows it.
func (c *serverLink) dial(ctx context.Context) (*websocket.Conn, error) {
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
		return nil, &linkRefused{c.o.Server + " does not take the access token: it is wrong, has ended, or was revoked (unauthorized)"}
	case http.StatusForbidden:
		return nil, &linkRefused{c.o.Server + " refuses the connection (forbidden)"}
	case http.StatusNotFound, http.StatusOK:
		return nil, &linkRefused{fmt.Sprintf("%s answers %s: is it a relay's server?", c.o.Server, response.Status)}
	}
	return nil, fmt.Errorf("%s answers %s", c.o.Server, response.Status)
}

// linkEnded describes a close code, and reports whether it ends the link.
func linkEnded(err error) error {
	switch code := websocket.CloseStatus(err); code {
	case protocol.CloseUnauthorized:
		return &linkRefused{"the access token has ended, or was revoked (unauthorized)"}
	case protocol.CloseForbidden, protocol.ClosePolicy, protocol.CloseTooBig, protocol.CloseInvalidUTF8, protocol.CloseBinary:
		return &linkRefused{fmt.Sprintf("the server has closed the connection: %v", err)}
	}
	return err
}

// readEnvelope reads an envelope; what is none is passed over.
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

// beats ends a connection whose other end is silent.
func beats(ctx context.Context, conn *websocket.Conn) {
	for pause(ctx, protocol.PingAfter) == nil {
		within, cancel := context.WithTimeout(ctx, protocol.DeadAfter-protocol.PingAfter)
		err := conn.Ping(within)
		cancel()
		if err != nil {
			_ = conn.CloseNow() // it is lost already
			return
		}
	}
}

// Send sends a message, once, by the connection that is there; errAway without one.
func (c *serverLink) Send(ctx context.Context, typ, run, id string, data any) error {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn == nil {
		return errAway
	}
	e := protocol.New(typ, time.Now(), data)
	e.RunID, e.ID = run, id
	ctx, cancel := context.WithTimeout(ctx, protocol.WriteTimeout)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, e.Append(nil))
}
