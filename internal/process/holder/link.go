// Package holder contains the code that runtime/keeper and relay/ptyholder share. Both are holders:
// processes that run a child process and store its output for a client, which may disconnect and
// reconnect. A holder runs in a separate session and listens on a Unix socket in a directory.
// Requests, answers and events are lines of JSON. The packages define what their holders store and
// which requests they answer.
package holder

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// Answer is a line from a holder.
type Answer interface {
	Number() int64 // number of the answered request; 0 for an event
	Err() error    // why the request failed
}

// ErrKilled is the error of Launch if a signal killed the holder before it accepted connections.
var ErrKilled = errors.New("it was killed before it was ready")

// Link is a client's connection to a holder. It is safe for concurrent use.
type Link[A Answer] struct {
	conn      io.ReadWriteCloser
	lostError func() error
	lost      chan struct{}

	writing sync.Mutex
	mu      sync.Mutex
	n       int64 // number of the last request
	waiting map[int64]chan A
}

// NewLink returns a link over a connection. With a nil conn the link is lost immediately. event
// receives the events in order. lostError returns the error for requests after the connection has
// ended.
func NewLink[A Answer](conn io.ReadWriteCloser, event func(A), lostError func() error) *Link[A] {
	l := &Link[A]{conn: conn, lostError: lostError, lost: make(chan struct{}), waiting: map[int64]chan A{}}
	if conn == nil {
		close(l.lost)
	} else {
		go l.read(event)
	}
	return l
}

// read passes answers to their requests, and events to event, until the connection ends.
func (l *Link[A]) read(event func(A)) {
	defer close(l.lost)
	defer l.conn.Close()
	for d := json.NewDecoder(bufio.NewReaderSize(l.conn, 64<<10)); ; {
		var a A
		if d.Decode(&a) != nil {
			return
		}
		n := a.Number()
		if n == 0 {
			event(a)
			continue
		}
		l.mu.Lock()
		wait := l.waiting[n]
		delete(l.waiting, n)
		l.mu.Unlock()
		if wait != nil {
			wait <- a
		}
	}
}

// Lost returns a channel that is closed when the connection has ended.
func (l *Link[A]) Lost() <-chan struct{} { return l.lost }

// IsLost reports whether the connection has ended.
func (l *Link[A]) IsLost() bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

// Send writes a request that has no answer.
func (l *Link[A]) Send(request any) error {
	if l.IsLost() {
		return l.lostError()
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if WriteLine(l.conn, request) != nil {
		return l.lostError()
	}
	return nil
}

// Ask writes a request and waits for the answer. numbered returns the request with the number n.
// Ask returns the answer's error, the link's error if the connection ends, or the cause of ctx.
func (l *Link[A]) Ask(ctx context.Context, numbered func(n int64) (request any)) (a A, err error) {
	wait := make(chan A, 1)
	l.mu.Lock()
	l.n++
	n := l.n
	l.waiting[n] = wait
	l.mu.Unlock()
	if err := l.Send(numbered(n)); err != nil {
		return a, err
	}
	select {
	case a = <-wait:
	case <-l.lost:
		select {
		case a = <-wait: // the answer arrived before the connection ended
		default:
			return a, l.lostError()
		}
	case <-ctx.Done():
		l.mu.Lock()
		delete(l.waiting, n)
		l.mu.Unlock()
		return a, context.Cause(ctx)
	}
	return a, a.Err()
}

// Close closes the connection. No events arrive afterwards.
func (l *Link[A]) Close() {
	if l.conn != nil {
		l.conn.Close()
	}
	<-l.lost
}

// WriteLine writes a value as a line of JSON.
func WriteLine(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
