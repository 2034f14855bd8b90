package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

const (
	connectWithin = 100 * time.Millisecond // the run waits for it
	dialWithin    = 5 * time.Second        // a hostd that takes longer to answer is none
	gather        = 2 * time.Millisecond
	retryFirst    = 100 * time.Millisecond
	retryAtMost   = time.Second
)

// speak speaks with hostd until all is told and the run has ended, or ctx ends. It begins with a
// connection, or with why there is none.
func (s *Source) speak(conn net.Conn, err error) {
	defer close(s.stopped)
	run, pause := "", retryFirst
	for {
		var l *link
		if err == nil {
			l, err = s.open(conn, run)
		}
		if err == nil {
			s.mu.Lock()
			s.run = l.run
			s.mu.Unlock()
		}
		s.reached(err)
		if err == nil {
			run, pause = l.run, retryFirst
			if done := s.over(l); done {
				return
			}
		} else {
			if !s.wait(pause) {
				return
			}
			pause = min(2*pause, retryAtMost)
		}
		conn, err = s.connect(dialWithin)
	}
}

// reached notes whether hostd is there.
func (s *Source) reached(err error) {
	s.mu.Lock()
	if err == nil && !s.wasReached() {
		close(s.joined)
	}
	s.why = err
	s.mu.Unlock()
	s.first.Do(func() { close(s.tried) })
}

// wait waits until it is time for another attempt; false when the run has ended.
func (s *Source) wait(pause time.Duration) bool {
	again := time.NewTimer(pause)
	defer again.Stop()
	for {
		s.mu.Lock()
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return false
		}
		select {
		case <-again.C:
			return true
		case <-s.hurry: // a request, or the run's end
		case <-s.ctx.Done():
			return false
		}
	}
}

// link is a connection to hostd.
type link struct {
	net.Conn
	in     *bufio.Reader
	out    writer
	run    string   // the relay's id of the run
	counts bool     // hostd says how many events it has taken
	taken  int64    // as it was when the connection began
	asks   [][]byte // lines of what is asked since before it
	broken chan struct{}
}

// connect connects to hostd's socket.
func (s *Source) connect(within time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, within)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", s.o.Socket)
	if err != nil {
		return nil, reason(err)
	}
	return conn, nil
}

// open begins to speak over a connection; run is the run's id at hostd, "" when it has none yet.
func (s *Source) open(conn net.Conn, run string) (*link, error) {
	ctx, cancel := context.WithTimeout(s.ctx, dialWithin)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	s.mu.Lock()
	ids, lines := s.asks.all()
	s.mu.Unlock()
	l, err := upgrade(conn, run, ids)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	l.asks = lines
	return l, nil
}

// reason is an error of dialling without what the message says anyway.
func reason(err error) error {
	for {
		switch x := err.(type) {
		case *net.OpError:
			err = x.Err
		case interface{ Unwrap() error }:
			if inner := x.Unwrap(); inner != nil {
				err = inner
				continue
			}
			return err
		default:
			return err
		}
	}
}

// upgrade asks for the protocol of sources. What is asked still is named.
func upgrade(conn net.Conn, run string, asks []string) (*link, error) {
	header := "POST " + protocol.SourcePath + " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: " + protocol.SourceUpgrade +
		"\r\nContent-Length: 0\r\n" + protocol.SourceCounts + ": 0\r\n"
	if run != "" {
		header += protocol.SourceRun + ": " + run + "\r\n" + protocol.SourceAsks + ": " + strings.Join(asks, ",") + "\r\n"
	}
	if _, err := io.WriteString(conn, header+"\r\n"); err != nil {
		return nil, reason(err)
	}
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
	if err != nil {
		return nil, fmt.Errorf("it answers in no HTTP: %w", reason(err))
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 500)) // what can be read of it
		return nil, fmt.Errorf("it answers %s: %q", answer.Status, text)
	}
	l := &link{Conn: conn, in: in, run: answer.Header.Get(protocol.SourceRun), broken: make(chan struct{})}
	if counts := answer.Header.Get(protocol.SourceCounts); counts != "" {
		n, err := strconv.ParseInt(counts, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("it has taken %q events", counts)
		}
		l.counts, l.taken = true, n
	}
	return l, nil
}

// over is a connection from its beginning to its end. done says that all is told.
func (s *Source) over(l *link) (done bool) {
	stop := context.AfterFunc(s.ctx, func() { l.Close() })
	defer stop()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer close(l.broken)
		s.hear(l)
	}()
	if done = s.write(l); !done {
		_ = l.SetReadDeadline(time.Now().Add(retryAtMost)) // what hostd said before it ended counts
		<-heard
	}
	l.Close()
	<-heard
	return done
}

// write writes what there is until the run has ended, or the connection has. done says that
// all is written.
func (s *Source) write(l *link) (done bool) {
	s.mu.Lock()
	if l.counts {
		s.queue.again(l.taken)
	}
	s.mu.Unlock()
	pending := l.asks
	if !s.greet(l) {
		return s.ctx.Err() != nil
	}
	for {
		s.mu.Lock()
		chunks := s.queue.take()
		pending = append(pending, s.asks.take()...)
		secrets, ended := s.secrets, s.ended
		s.mu.Unlock()
		if err := l.all(chunks, pending, secrets); err != nil {
			s.mu.Lock()
			s.queue.waiting = append(chunks, s.queue.waiting...)
			s.mu.Unlock()
			return s.ctx.Err() != nil
		}
		s.mu.Lock()
		s.queue.wrote(chunks, l.counts)
		s.mu.Unlock()
		if pending = nil; ended {
			return true
		}
		if !s.more(l) {
			return s.ctx.Err() != nil
		}
	}
}

// greet begins a connection to a hostd that does not know the run, and does not say what it
// has of it, with what the run is.
func (s *Source) greet(l *link) bool {
	s.mu.Lock()
	known := l.counts || s.queue.taken == 0
	s.mu.Unlock()
	if known {
		return true
	}
	_, err := l.Write(event(protocol.RunStarted, s.o.Started))
	return err == nil
}

// more waits until there is more to write, and a moment longer when that is not urgent. It is
// false when the connection has ended.
func (s *Source) more(l *link) bool {
	select {
	case <-s.hurry:
		return true
	case <-s.wake:
	case <-l.broken:
		return false
	}
	soon := time.NewTimer(gather)
	defer soon.Stop()
	select {
	case <-s.hurry:
	case <-soon.C:
	case <-l.broken:
		return false
	}
	return true
}

// all writes chunks, then lines.
func (l *link) all(chunks []*chunk, lines [][]byte, secrets Secrets) error {
	for _, c := range chunks {
		if _, err := l.Write(cleaned(l.out.lines(c), secrets)); err != nil {
			return err
		}
	}
	for _, line := range lines {
		if _, err := l.Write(cleaned(line, secrets)); err != nil {
			return err
		}
	}
	return nil
}

// cleaned is lines without secrets.
func cleaned(text []byte, secrets Secrets) []byte {
	if secrets == nil || secrets.Empty() || !secrets.Holds(string(text)) {
		return text
	}
	var out []byte
	for line := range bytes.Lines(text) {
		out = append(append(out, secrets.JSON(bytes.TrimSuffix(line, []byte{'\n'}))...), '\n')
	}
	return out
}

// hear takes what hostd says until the connection ends.
func (s *Source) hear(l *link) {
	in := bufio.NewScanner(l.in)
	in.Buffer(nil, protocol.SourceLine)
	for in.Scan() {
		var m protocol.SourceHears
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue // of another hostd than we know
		}
		s.mu.Lock()
		if m.Taken > 0 {
			s.queue.counted(m.Taken)
		}
		if m.Answer != "" {
			s.asks.answer(m)
		}
		s.mu.Unlock()
	}
}
