package hostcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host"
)

// peer is a running host, line by line.
type peer struct {
	conn   host.Conn
	said   chan event
	stop   chan struct{}
	read   chan struct{} // closed when nothing reads any more
	heard  atomic.Int64  // how many bytes of its output have been read, up to the last line that was handed on
	spoken bool          // it has sent a message
}

// event is a line of the host's, or why there are no more.
type event struct {
	line ndjson.Line
	err  error
}

// ahead is how many lines of a host may wait to be looked at.
const ahead = 1024

func newPeer(conn host.Conn) *peer {
	p := &peer{conn: conn, said: make(chan event, ahead), stop: make(chan struct{}), read: make(chan struct{})}
	go func() {
		defer close(p.read)
		for {
			l, err := conn.Read()
			select {
			case p.said <- event{l, err}:
			case <-p.stop:
				return
			}
			if err != nil {
				return
			}
			p.heard.Store(l.Offset + int64(len(l.Text)) + 1)
		}
	}()
	return p
}

// receive waits for the next event; ok is false when none came in time.
func (p *peer) receive(ctx context.Context, d time.Duration) (e event, ok bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case e = <-p.said:
		return e, true
	case <-t.C:
	case <-ctx.Done():
	}
	return e, false
}

// waits says whether the host waits for its input, and has been heard in all that it said
// before. known is false when that cannot be seen.
func (p *peer) waits() (waits, known bool) {
	waits, known = host.AwaitsInput(p.conn)
	// In this order: what has been read by now was handed on before it was counted.
	return waits && p.conn.BytesSent() <= p.heard.Load() && len(p.said) == 0, known
}

// send writes a line; it gives false when the host has not read the line in
// time. The next event tells when the host has ended.
func (p *peer) send(ctx context.Context, line []byte, d time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = p.conn.Write(line)
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// ended says why nothing more came, as what was got.
func (p *peer) ended(ctx context.Context, err error) string {
	if !errors.Is(err, io.EOF) {
		return err.Error()
	}
	t := time.NewTimer(leaving)
	defer t.Stop()
	select {
	case <-p.conn.Done():
	case <-t.C:
		return "the end of its output, though it goes on running"
	case <-ctx.Done():
		return "the end of its output"
	}
	exit := p.conn.Exit()
	what := fmt.Sprintf("its end with exit code %d", exit.Code)
	if lines := strings.Split(strings.TrimSpace(exit.Stderr), "\n"); lines[0] != "" {
		what += ": " + quote([]byte(lines[len(lines)-1]))
	}
	return what
}

// end ends the host, with all that it has started.
func (p *peer) end() {
	close(p.stop)
	p.conn.CloseWrite()
	p.conn.End(leaving, nil)
	<-p.read
}
