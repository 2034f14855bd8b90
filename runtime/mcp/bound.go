package mcp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Limits for the clients of Concerto's MCP server.
const (
	readTime       = 10 * time.Second // maximum time for the header of a request, and for its body
	idleConnection = 2 * time.Minute  // maximum time for which a connection may have no request
	maxBody        = 16 << 20         // maximum size of a request's body in bytes
	maxConnections = 1024             // maximum number of concurrent connections
)

// wholeBody reads the body of a request, within readTime, before the request is handled. The
// response may then take any time.
func wholeBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		connection := http.NewResponseController(w)
		if err := connection.SetReadDeadline(time.Now().Add(readTime)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			w.Header().Set("Connection", "close")
			http.Error(w, "the request did not arrive in time", http.StatusRequestTimeout)
			return
		case err != nil:
			http.Error(w, "the request is incomplete", http.StatusBadRequest)
			return
		}
		// removes the deadline, because the connection may be used for further requests
		_ = connection.SetReadDeadline(time.Time{})
		r.Body = io.NopCloser(bytes.NewReader(exactIn(body)))
		next.ServeHTTP(exactResponse{w}, r)
	})
}

// bounded is a listener that limits the number of concurrent connections. It refuses further
// connections with a retry hint.
type bounded struct {
	net.Listener
	free chan struct{} // semaphore with an element for each open connection
}

const busy = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// Accept returns the next connection that does not exceed the limit.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			return &counted{Conn: c, free: l.free}, nil
		default:
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(c, busy) // the connection is refused even if the write fails
			_ = c.Close()
		}
	}
}

// counted is a connection that reduces the number of connections when it is closed.
type counted struct {
	net.Conn
	free chan struct{}
	once sync.Once
}

// Close closes the connection.
func (c *counted) Close() error {
	c.once.Do(func() { <-c.free })
	return c.Conn.Close()
}
