package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
)

// remoteSession is a view of a run at a server: a WebSocket that reconnects with the run's cursor.
type remoteSession struct {
	x     *attachment
	end   *endpoint
	whole bool
	link  *serverLink
	pace  rateLimiter
	row   serverRun
	asked map[string]bool // requests that were displayed, by id

	once  sync.Once     // for notes that are printed once
	ready chan struct{} // closed after the first welcome
	after int64         // sequence number of the last displayed event

	mu   sync.Mutex
	size *protocol.Resize // the terminal's size if it was not sent yet; nil otherwise
	only bool             // the token permits only viewing the run
}

// serverRun is a run in the server's JSON.
type serverRun struct {
	HostID   string                         `json:"host_id"`
	Status   protocol.Status                `json:"status"`
	ExitCode *int64                         `json:"exit_code"`
	LastSeq  int64                          `json:"last_seq"`
	Pending  []protocol.PermissionRequested `json:"pending"`
}

// The identifiers of our messages in the server's responses.
const (
	followID = "follow"
	keysID   = "keys"
	sizeID   = "size"
	stopID   = "stop"
)

// errOver reports that the run has ended.
var errOver = errors.New("the run has ended")

func newRemoteSession(x *attachment, e *endpoint, whole bool) *remoteSession {
	s := &remoteSession{x: x, end: e, whole: whole, asked: map[string]bool{}, ready: make(chan struct{})}
	s.link = e.socket(s.subscribe, func(err error) {
		x.note("the connection to %s is lost; reconnecting. Keys that you type until then are not sent", e.name)
	})
	return s
}

func (s *remoteSession) follow(ctx context.Context, handle func(protocol.Envelope) error) error {
	if err := s.end.call(ctx, http.MethodGet, runPath(s.x.run), nil, &s.row); err != nil {
		return err
	}
	if err := s.findTail(ctx, handle); err != nil {
		return err
	}
	err := s.link.Run(ctx, func(e protocol.Envelope) error { return s.handle(e, handle) })
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

const (
	tailBytes  = 16 << 10 // maximum size of earlier output that is displayed, in bytes
	tailEvents = 1024     // maximum number of events that are searched for it
)

// findTail finds where the shown part of the run's output begins, and returns the event that
// contains it.
func (s *remoteSession) findTail(ctx context.Context, handle func(protocol.Envelope) error) error {
	if s.whole {
		return nil
	}
	started, err := s.readPage(ctx, 0, 1)
	if err != nil {
		return err
	}
	for i := range started {
		if started[i].Type == protocol.RunStarted {
			if err := handle(started[i]); err != nil {
				return err
			}
		}
	}
	for most := int64(tailEvents / 16); ; most *= 2 {
		s.after = max(s.row.LastSeq-most, 0)
		all, err := s.readPage(ctx, s.after, most)
		if err != nil {
			return err
		}
		bytes := 0
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Type == protocol.RunOutput {
				bytes += len(all[i].Data)
			}
			if bytes > tailBytes && i > 0 {
				s.after = all[i-1].Seq
				return nil
			}
		}
		if s.after == 0 || most >= tailEvents {
			return nil
		}
	}
}

// readPage returns events of the run.
func (s *remoteSession) readPage(ctx context.Context, after, most int64) ([]protocol.Envelope, error) {
	var page struct {
		Events []json.RawMessage `json:"events"`
	}
	path := fmt.Sprintf("%s/events?after=%d&limit=%d", runPath(s.x.run), after, min(most, 1000))
	if err := s.end.call(ctx, http.MethodGet, path, nil, &page); err != nil {
		return nil, err
	}
	var all []protocol.Envelope
	for _, text := range page.Events {
		e, refused := protocol.Parse(text)
		if refused != nil {
			return nil, fmt.Errorf("%s sent an invalid message: %w", s.end.name, refused)
		}
		all = append(all, e)
	}
	return all, nil
}

// subscribe subscribes to the events after the last shown one, on each connection.
func (s *remoteSession) subscribe(ctx context.Context) error {
	cursor := protocol.Subscribe{Cursor: map[string]int64{s.x.run: s.after}, Rest: "none"}
	if err := s.link.Send(ctx, protocol.RunSubscribe, "", followID, cursor); err != nil {
		return err
	}
	s.mu.Lock()
	size := s.size
	s.mu.Unlock()
	if size != nil {
		s.resize(ctx, size.Cols, size.Rows)
	}
	if s.hasConnected() {
		s.x.note("connected again")
		return nil
	}
	close(s.ready)
	return nil
}

// handle handles a message of the server.
func (s *remoteSession) handle(e protocol.Envelope, handle func(protocol.Envelope) error) error {
	switch e.Type {
	case protocol.Welcome:
		return showAs(&e, s.handleWelcome)
	case protocol.CaughtUp:
		return s.showOpenRequests(handle)
	case protocol.Failure:
		return showAs(&e, func(f *protocol.ErrorData) error { return s.failed(e.Re, f) })
	case protocol.CommandState:
		return showAs(&e, s.state)
	}
	if e.RunID != s.x.run || e.Seq != 0 && e.Seq <= s.after {
		return nil
	}
	if e.Seq != 0 {
		s.after = e.Seq
	}
	if e.Type == protocol.RunPermissionRequested {
		if q, err := protocol.Decode[protocol.PermissionRequested](&e); err == nil {
			s.asked[q.RequestID] = true
		}
	}
	if err := handle(e); err != nil {
		return err
	}
	if e.Type == protocol.RunExited {
		return errOver
	}
	return nil
}

// handleWelcome reads the permissions of the token.
func (s *remoteSession) handleWelcome(w *protocol.WelcomeData) error {
	s.mu.Lock()
	s.only = w.Role == string(auth.Viewer)
	only := s.only
	s.mu.Unlock()
	if only && s.x.t.keys && !s.x.asJSON {
		s.reportReadOnly()
	}
	return nil
}

// hasConnected reports whether there was a connection before.
func (s *remoteSession) hasConnected() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// reportReadOnly reports once the permissions of a viewer's token.
func (s *remoteSession) reportReadOnly() {
	s.once.Do(func() {
		s.x.note("this token is a viewer's: the run is shown, and what is typed is not sent")
	})
}

// showOpenRequests shows, once, the run's open requests that precede the shown output.
func (s *remoteSession) showOpenRequests(handle func(protocol.Envelope) error) error {
	pending := s.row.Pending
	s.row.Pending = nil
	for i := range pending {
		if s.x.asJSON || s.asked[pending[i].RequestID] {
			continue
		}
		e := protocol.New(protocol.RunPermissionRequested, time.Now(), pending[i])
		e.RunID = s.x.run
		if err := handle(e); err != nil {
			return err
		}
	}
	switch s.row.Status {
	case protocol.StatusExited: // and the event no longer exists
		x := protocol.Exited{ExitCode: -1}
		if s.row.ExitCode != nil {
			x.ExitCode = *s.row.ExitCode
		}
		s.x.note("run %s has ended, and the server has forgotten its events", s.x.run)
		e := protocol.New(protocol.RunExited, time.Now(), x)
		e.RunID = s.x.run
		if err := handle(e); err != nil {
			return err
		}
		return errOver
	case protocol.StatusLost:
		s.x.note("run %s is lost: its host %s does not know it any more", s.x.run, s.row.HostID)
	}
	return nil
}

// failed handles the server's refusal of a message.
func (s *remoteSession) failed(re string, f *protocol.ErrorData) error {
	err := &responseError{string(f.Code), f.Message}
	switch {
	case re == followID:
		return err
	case re == keysID:
		s.x.note("what was typed is not written: %v", err)
	case strings.HasPrefix(re, stopID):
		s.x.note("it is not stopped: %v", err)
	}
	return nil
}

// state handles the outcome of a stop.
func (s *remoteSession) state(c *protocol.State) error {
	if c.Kind != "stop" || !strings.HasPrefix(c.ID, stopID) || c.RunID != s.x.run {
		return nil
	}
	switch c.State {
	case "rejected", "expired", "indeterminate":
		s.x.note("it is not stopped: %s %s", c.State, c.Error)
	}
	return nil
}

// canWrite waits for the first connection, and reports whether the token permits more than viewing.
func (s *remoteSession) canWrite(ctx context.Context) (bool, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.only {
		s.reportReadOnly()
	}
	return !s.only, nil
}

// keys sends keys. Without a connection it sends none, and keys may be lost with a connection.
func (s *remoteSession) keys(ctx context.Context, text string) error {
	may, err := s.canWrite(ctx)
	if !may || err != nil {
		return err
	}
	if err := s.pace.wait(ctx); err != nil {
		return err
	}
	return s.link.Send(ctx, protocol.RunSendKeys, s.x.run, keysID, protocol.SendKeys{Keys: text})
}

func (s *remoteSession) stop(ctx context.Context) error {
	may, err := s.canWrite(ctx)
	if !may || err != nil {
		return err
	}
	id := stopID + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	return s.link.Send(ctx, protocol.RunStop, s.x.run, id, protocol.Stop{Actor: "cli"})
}

// resize sends the terminal's size, on the next connection if there is none now.
func (s *remoteSession) resize(ctx context.Context, cols, rows int64) {
	size := protocol.Resize{Cols: cols, Rows: rows}
	s.mu.Lock()
	s.size = &size
	only := s.only
	s.mu.Unlock()
	if only || s.x.spoken.Load() {
		return
	}
	if s.link.Send(ctx, protocol.RunResize, s.x.run, sizeID, size) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size != nil && *s.size == size {
		s.size = nil
	}
}

// rateLimiter limits the rate of commands to what a server accepts.
type rateLimiter struct {
	last time.Time
	room float64
}

// wait waits until there is room for one more.
func (p *rateLimiter) wait(ctx context.Context) error {
	const most = protocol.CommandBurst / 2 // the rest is left to other clients with the same token
	now := time.Now()
	if p.last.IsZero() {
		p.room = most
	}
	p.room = min(most, p.room+now.Sub(p.last).Seconds()*protocol.CommandRate)
	p.last = now
	if p.room--; p.room >= 0 {
		return nil
	}
	t := time.NewTimer(time.Duration(-p.room / protocol.CommandRate * float64(time.Second)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
