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

// peer is a running host whose output is read line by line.
type peer struct {
	conn      host.Conn
	events    chan event
	stop      chan struct{}
	read      chan struct{} // closed when the reading goroutine has ended
	bytesRead atomic.Int64  // number of output bytes up to the end of the last line that was put into events
	spoken    bool          // the host has sent a protocol message
}

// event is a line of the host, or the error that ended its output.
type event struct {
	line ndjson.Line
	err  error
}

// ahead is the number of unprocessed lines of a host that are buffered.
const ahead = 1024

func newPeer(conn host.Conn) *peer {
	p := &peer{conn: conn, events: make(chan event, ahead), stop: make(chan struct{}), read: make(chan struct{})}
	go func() {
		defer close(p.read)
		for {
			l, err := conn.ReadLine()
			select {
			case p.events <- event{l, err}:
			case <-p.stop:
				return
			}
			if err != nil {
				return
			}
			p.bytesRead.Store(l.Offset + int64(len(l.Text)) + 1)
		}
	}()
	return p
}

// receiveEvent waits at most d for the next event. ok is false if there was none.
func (p *peer) receiveEvent(ctx context.Context, d time.Duration) (e event, ok bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case e = <-p.events:
		return e, true
	case <-t.C:
	case <-ctx.Done():
	}
	return e, false
}

// waits reports whether the host waits for its input and all its output so far was processed. known
// is false if the system does not report whether a process waits.
func (p *peer) waits() (waits, known bool) {
	waits, known = host.AwaitsInput(p.conn)
	// The order matters: a line is put into the channel before its bytes are counted.
	return waits && p.conn.BytesSent() <= p.bytesRead.Load() && len(p.events) == 0, known
}

// sendLine writes a line. It returns false if the host does not read the line within d. A write
// error is ignored, because the next event then reports the end of the host.
func (p *peer) sendLine(ctx context.Context, line []byte, d time.Duration) bool {
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

// endReason describes the end of the host's output for a verdict. err is the error of reading.
func (p *peer) endReason(ctx context.Context, err error) string {
	if !errors.Is(err, io.EOF) {
		return err.Error()
	}
	t := time.NewTimer(leaving)
	defer t.Stop()
	select {
	case <-p.conn.Done():
	case <-t.C:
		return "it closed its output, but is still running"
	case <-ctx.Done():
		return "it closed its output"
	}
	exit := p.conn.Exit()
	what := fmt.Sprintf("exit code %d", exit.Code)
	if lines := strings.Split(strings.TrimSpace(exit.Stderr), "\n"); lines[0] != "" {
		what += ": " + quoteLine([]byte(lines[len(lines)-1]))
	}
	return what
}

// endHost stops the host and its child processes.
func (p *peer) endHost() {
	close(p.stop)
	p.conn.CloseWrite()
	p.conn.End(leaving, nil)
	<-p.read
}
