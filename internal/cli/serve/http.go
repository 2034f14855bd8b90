package serve

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"time"
)

// clientHeader is the header with the id of the client that sends the request.
const clientHeader = "Concerto-Client"

// Time limits for requests and for idle connections.
const (
	headerTime = 10 * time.Second
	bodyTime   = time.Minute
	idleTime   = 2 * time.Minute
)

// Handler returns the handler for HTTP and WebSocket.
func (s *Server) Handler(w Web) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /rpc", s.rpc)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /sessions/{id}/events", s.sessionStream)
	mux.HandleFunc("GET /ws", s.webSocket)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.Stopping() {
			http.Error(w, errStopping().Message, http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	return w.guard(mux)
}

// ServeHTTP serves clients over HTTP until ctx is cancelled or a client requests the stop of the
// server. It closes the listener.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, w Web) error {
	h := &http.Server{Handler: s.Handler(w), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	var reason string
	var why error
	select {
	case why = <-failed:
		reason = "the listener failed"
	case reason = <-s.stopRequests:
	case <-ctx.Done():
		reason = context.Cause(ctx).Error()
	}
	s.Stop(reason)
	ending, cancel := context.WithTimeout(context.Background(), s.config.slow())
	defer cancel()
	stop := context.AfterFunc(ending, func() { _ = h.Close() }) // do not wait for a client that does not read
	defer stop()
	go func() {
		select {
		case <-s.config.Kill:
			cancel()
		case <-ending.Done():
		}
	}()
	_ = h.Shutdown(ending)
	s.sockets.Wait()
	if errors.Is(why, http.ErrServerClosed) {
		return nil
	}
	return why
}

// rpc handles one JSON-RPC message.
func (s *Server) rpc(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "the content type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	text, ok := s.body(w, r)
	if !ok {
		return
	}
	m, bad := parse(text)
	if bad != nil {
		respond(w, http.StatusOK, response(m.ID, nil, bad))
		return
	}
	if m.kind() == isRequest && *m.Method == "initialize" && r.Header.Get(clientHeader) == "" {
		s.initializeHTTP(w, m)
		return
	}
	c := s.client(r.Header.Get(clientHeader))
	switch {
	case c == nil && m.kind() == isRequest:
		respond(w, http.StatusOK, response(m.ID, nil, unknownClient(r)))
	case c == nil:
		respond(w, http.StatusOK, response(nil, nil, unknownClient(r)))
	default:
		c.receiveHTTP(w, r, m)
	}
}

// body reads the message in a request.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // the connection supports deadlines
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.config.Message)))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		respond(w, http.StatusRequestEntityTooLarge, response(nil, nil, s.tooLong()))
	case err != nil:
		http.Error(w, "could not read the message: "+err.Error(), http.StatusBadRequest)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return text, err == nil
}

func (s *Server) tooLong() *Error {
	return failure(codeLimit, "the message is longer than %d bytes", s.config.Message).with("limit", "max_message")
}

func unknownClient(r *http.Request) *Error {
	id := r.Header.Get(clientHeader)
	if id == "" {
		return failure(codeNotInitialized, "missing header %s: set it to the client_id of `initialize`", clientHeader)
	}
	return failure(codeNotInitialized, "unknown client '%s': call `initialize` first", id)
}

// initializeHTTP handles initialize over HTTP. The new client counts as disconnected until it
// requests its events.
func (s *Server) initializeHTTP(w http.ResponseWriter, m *message) {
	c, hello, err := s.initialize(m, true)
	if err != nil {
		respond(w, http.StatusOK, response(m.ID, nil, err))
		return
	}
	c.arrive()
	defer c.leave(s.config.grace())
	respond(w, http.StatusOK, response(m.ID, hello, nil))
}

// receiveHTTP handles a message from the client over HTTP.
func (c *client) receiveHTTP(w http.ResponseWriter, r *http.Request, m *message) {
	c.arrive()
	defer c.leave(c.srv.config.grace())
	replied := make(chan []byte, 1)
	c.receive(r.Context(), m, true, func(text []byte) { replied <- text })
	if m.kind() != isRequest {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	respond(w, http.StatusOK, <-replied)
}

// respond writes a response.
func respond(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience))
	w.WriteHeader(status)
	_, _ = w.Write(text) // an error means that the client has disconnected
}
