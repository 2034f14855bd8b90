package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"
)

// subprotocol is the WebSocket subprotocol. Each message is one text frame.
const subprotocol = "concerto.v1"

// webSocket accepts a WebSocket connection and serves the client on it.
func (s *Server) webSocket(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(subprotocols(r), subprotocol) {
		http.Error(w, "the subprotocol must be "+subprotocol, http.StatusBadRequest)
		return
	}
	// The middleware guard has already checked the caller's permission.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}, InsecureSkipVerify: true})
	if err != nil {
		return // Accept has already sent an error response
	}
	s.sockets.Add(1)
	defer s.sockets.Done()
	conn.SetReadLimit(int64(s.config.Message))
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer cancel(nil)
	x := &socket{srv: s, conn: conn, ctx: ctx, end: cancel}
	x.close(x.serve())
}

// socket is a WebSocket connection of a client.
type socket struct {
	srv  *Server
	conn *websocket.Conn
	ctx  context.Context
	end  context.CancelCauseFunc
}

var errBinary = errors.New("a message must be a text frame")

// serve reads the client's messages and sends the server's messages. It returns the reason why the
// connection ends, or nil if the server stops.
func (x *socket) serve() error {
	c, err := x.enter()
	if c != nil {
		defer c.leave(x.srv.config.grace())
	}
	if err != nil {
		return err
	}
	go func() { x.end(x.read(c)) }()
	go x.beats()
	return c.stream(x.ctx, c.start(), x.write)
}

// beats sends pings and closes the connection if the client does not respond.
func (x *socket) beats() {
	t := time.NewTicker(beat)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-x.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(x.ctx, patience)
		err := x.conn.Ping(ctx)
		cancel()
		if err != nil {
			x.end(errDeaf)
			return
		}
	}
}

// enter waits for initialize. It registers the client before it sends the response.
func (x *socket) enter() (*client, error) {
	stop := context.AfterFunc(x.srv.ctx, func() { x.end(errStopping()) })
	defer stop()
	for {
		m, bad, err := x.next()
		switch {
		case err != nil:
			return nil, err
		case bad != nil:
			err = x.write(x.ctx, 0, response(m.ID, nil, bad))
		case m.kind() == isRequest:
			c, hello, failed := x.srv.initialize(m, true)
			if failed == nil {
				c.arrive()
				return c, x.write(x.ctx, 0, response(m.ID, hello, nil))
			}
			err = x.write(x.ctx, 0, response(m.ID, nil, failed))
		}
		if err != nil {
			return nil, err
		}
	}
}

// next returns the next message. bad is the error of an invalid message, and err the error of the
// connection.
func (x *socket) next() (m *message, bad *Error, err error) {
	kind, text, err := x.conn.Read(x.ctx)
	if err != nil {
		return nil, nil, errors.Join(context.Cause(x.ctx), err)
	}
	if kind != websocket.MessageText {
		return nil, nil, errBinary
	}
	m, bad = parse(text)
	return m, bad, nil
}

// read handles the client's messages. Messages to the client, including responses, have consecutive
// numbers.
func (x *socket) read(c *client) error {
	reply := func(text []byte) { c.out.Add(outgoing{text: text}) }
	for {
		for c.out.Full() {
			select {
			case <-c.out.room:
			case <-x.ctx.Done():
				return context.Cause(x.ctx)
			}
		}
		m, bad, err := x.next()
		switch {
		case err != nil:
			return err
		case bad != nil:
			reply(response(m.ID, nil, bad))
		default:
			c.receive(x.srv.ctx, m, true, reply)
		}
	}
}

// write writes one message as a text frame.
func (x *socket) write(ctx context.Context, _ int64, m []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errDeaf)
	defer cancel()
	if err := x.conn.Write(ctx, websocket.MessageText, m); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return nil
}

// close closes the connection and sends the reason to the client.
func (x *socket) close(why error) {
	defer x.end(why)
	switch {
	case why == nil:
		_ = x.conn.Close(websocket.StatusGoingAway, "the server has stopped")
	case errors.Is(why, errSlow):
		_ = x.conn.Close(websocket.StatusTryAgainLater, errSlow.Error())
	case errors.Is(why, errReplaced):
		_ = x.conn.Close(websocket.StatusPolicyViolation, errReplaced.Error())
	case errors.Is(why, errBinary):
		_ = x.conn.Close(websocket.StatusUnsupportedData, errBinary.Error())
	}
	_ = x.conn.CloseNow() // fails only if the connection is already closed
}
