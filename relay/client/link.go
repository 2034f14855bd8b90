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
	firstTimeout   = 100 * time.Millisecond // time limit for the first attempt to connect, during which the run waits
	connectTimeout = 5 * time.Second        // time limit for later attempts, and for hostd's response to the upgrade
	gather         = 2 * time.Millisecond   // time for which events are collected, unless they are urgent, to write them together
	retryFirst     = 100 * time.Millisecond
	maxRetryDelay  = time.Second
)

// run sends events to hostd until the run has ended and everything is sent, or until ctx is
// cancelled. conn and err are the result of the first attempt to connect.
func (s *Source) run(conn net.Conn, err error) {
	defer close(s.stopped)
	run, pause := "", retryFirst
	brief := 0 // number of the last connections that were closed at once
	for {
		var l *link
		if err == nil {
			l, err = s.open(conn, run)
		}
		if err == nil {
			s.mu.Lock()
			s.runID = l.run
			s.mu.Unlock()
		}
		s.setReached(err)
		mustWait := err != nil
		if err == nil {
			run = l.run
			began := time.Now()
			if done := s.serve(l); done {
				return
			}
			if brief++; time.Since(began) >= retryFirst {
				brief = 0
			}
			mustWait = brief > 1
		}
		if !mustWait {
			pause = retryFirst
		} else {
			if !s.wait(pause) {
				return
			}
			pause = min(2*pause, maxRetryDelay)
		}
		conn, err = s.connect(connectTimeout)
	}
}

// setReached records the result of an attempt to connect to hostd.
func (s *Source) setReached(err error) {
	s.mu.Lock()
	if err == nil && !s.wasReached() {
		close(s.joined)
	}
	s.connErr = err
	s.mu.Unlock()
	s.first.Do(func() { close(s.tried) })
}

// wait waits for the duration pause. It returns false as soon as the run ends.
func (s *Source) wait(pause time.Duration) bool {
	retry := time.NewTimer(pause)
	defer retry.Stop()
	for {
		s.mu.Lock()
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return false
		}
		select {
		case <-retry.C:
			return true
		case <-s.urgent: // a request, or the end of the run
		case <-s.ctx.Done():
			return false
		}
	}
}

// link is a connection to hostd.
type link struct {
	net.Conn
	in           *bufio.Reader
	out          encoder
	run          string   // the relay's id of the run
	hasAcks      bool     // hostd acknowledges events
	acked        int64    // number of events that hostd had acknowledged when the connection began
	openRequests [][]byte // encoded requests to people that were open when the connection began
	broken       chan struct{}
}

// connect connects to hostd's socket within a time limit.
func (s *Source) connect(within time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, within)
	defer cancel()
	conn, err := s.o.Dial(ctx)
	if err != nil {
		return nil, reason(err)
	}
	return conn, nil
}

// open starts the source protocol on a connection. run is the relay's id of the run, or "" if it is
// not assigned yet.
func (s *Source) open(conn net.Conn, run string) (*link, error) {
	ctx, cancel := context.WithTimeout(s.ctx, connectTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	s.mu.Lock()
	ids, lines := s.requests.all()
	s.mu.Unlock()
	l, err := upgrade(conn, run, ids)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	l.openRequests = lines
	return l, nil
}

// reason returns the innermost cause of a dial error, which does not repeat the operation and the
// address.
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

// upgrade requests the source protocol. It sends the ids of the open requests.
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
		return nil, fmt.Errorf("its answer is not HTTP: %w", reason(err))
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 500)) // the text only completes the error message
		return nil, fmt.Errorf("it answered %s: %q", answer.Status, text)
	}
	l := &link{Conn: conn, in: in, run: answer.Header.Get(protocol.SourceRun), broken: make(chan struct{})}
	if counts := answer.Header.Get(protocol.SourceCounts); counts != "" {
		n, err := strconv.ParseInt(counts, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("its answer has an invalid number of stored events, %q", counts)
		}
		l.hasAcks, l.acked = true, n
	}
	return l, nil
}

// serve uses a connection until it closes. done is true if everything was sent.
func (s *Source) serve(l *link) (done bool) {
	stop := context.AfterFunc(s.ctx, func() { l.Close() })
	defer stop()
	received := make(chan struct{})
	go func() {
		defer close(received)
		defer close(l.broken)
		s.readAll(l)
	}()
	if done = s.writeAll(l); !done {
		_ = l.SetReadDeadline(time.Now().Add(maxRetryDelay)) // read the messages that hostd sent before it closed the connection
		<-received
	}
	l.Close()
	<-received
	return done
}

// writeAll writes events until the run ends or the connection closes. done is true if everything
// was written.
func (s *Source) writeAll(l *link) (done bool) {
	s.mu.Lock()
	if l.hasAcks {
		s.queue.resend(l.acked)
	}
	s.mu.Unlock()
	pending := l.openRequests
	if !s.sendStart(l) {
		return s.ctx.Err() != nil
	}
	for {
		s.mu.Lock()
		chunks := s.queue.take()
		pending = append(pending, s.requests.takeControl()...)
		secrets, ended := s.secrets, s.ended
		s.mu.Unlock()
		if err := l.send(chunks, pending, secrets); err != nil {
			s.mu.Lock()
			s.queue.waiting = append(chunks, s.queue.waiting...)
			s.mu.Unlock()
			return s.ctx.Err() != nil
		}
		s.mu.Lock()
		s.queue.setWritten(chunks, l.hasAcks)
		s.mu.Unlock()
		if pending = nil; ended {
			return true
		}
		if !s.waitForMore(l) {
			return s.ctx.Err() != nil
		}
	}
}

// sendStart sends run.started again if hostd does not know the run any more, although an earlier
// hostd has received the event. A gap replaces what that one has acknowledged.
func (s *Source) sendStart(l *link) bool {
	s.mu.Lock()
	received := s.queue.acked
	s.mu.Unlock()
	if received == 0 || l.acked > 0 {
		return true
	}
	lines := encodeEvent(protocol.RunStarted, s.o.Started)
	if l.hasAcks && received > 1 {
		var e encoder
		lines = append(lines, e.encode(&chunk{items: []item{{of: &about{kind: isGap, lost: received - 1}}}})...)
	}
	_, err := l.Write(lines)
	return err == nil
}

// waitForMore waits until there is more to write. If it is not urgent, waitForMore waits a little
// longer to collect more. It returns false when the connection has closed.
func (s *Source) waitForMore(l *link) bool {
	select {
	case <-s.urgent:
		return true
	case <-s.wake:
	case <-l.broken:
		return false
	}
	soon := time.NewTimer(gather)
	defer soon.Stop()
	select {
	case <-s.urgent:
	case <-soon.C:
	case <-l.broken:
		return false
	}
	return true
}

// send writes the chunks and then the lines.
func (l *link) send(chunks []*chunk, lines [][]byte, secrets Secrets) error {
	for _, c := range chunks {
		if _, err := l.Write(redactLines(l.out.encode(c), secrets)); err != nil {
			return err
		}
	}
	for _, line := range lines {
		if _, err := l.Write(redactLines(line, secrets)); err != nil {
			return err
		}
	}
	return nil
}

// redactLines replaces the secrets in lines of JSON.
func redactLines(text []byte, secrets Secrets) []byte {
	if secrets == nil || secrets.Empty() || !secrets.Contains(string(text)) {
		return text
	}
	var out []byte
	for line := range bytes.Lines(text) {
		out = append(append(out, secrets.JSON(bytes.TrimSuffix(line, []byte{'\n'}))...), '\n')
	}
	return out
}

// readAll handles hostd's messages until the connection closes.
func (s *Source) readAll(l *link) {
	in := bufio.NewScanner(l.in)
	in.Buffer(nil, protocol.SourceLine)
	for in.Scan() {
		var m protocol.HostdMessage
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue // ignore an unknown message of another version
		}
		s.mu.Lock()
		if m.Committed > 0 {
			s.queue.ack(m.Committed)
		}
		if m.Answer != "" {
			s.requests.answer(m)
		}
		s.mu.Unlock()
		if m.Steer != nil {
			go s.handleSteering(*m.Steer)
		}
	}
}
