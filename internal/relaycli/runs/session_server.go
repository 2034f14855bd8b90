package runs

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

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/auth"
)

// remoteSession follows a run through a server. After a lost connection it subscribes again, from
// the last event that it showed.
type remoteSession struct {
	x      *attachment
	end    *connect.Endpoint
	whole  bool
	link   *connect.ServerLink
	pace   rateLimiter
	row    serverRun
	sign   *device.Signer // nil if the run's machine has no account, or this command line is no device of it
	open   *opener
	sealed bool            // the run is sealed, and so must be what is sent
	asked  map[string]bool // ids of the requests that are already displayed

	once  sync.Once     // prints the note about a run that is only shown only once
	ready chan struct{} // closed when the first connection has its welcome
	after int64         // sequence number of the last displayed event

	mu   sync.Mutex
	size *protocol.Resize // size of the terminal if it must still be sent; otherwise nil
	only bool             // the run is only shown

	readOnly string // why the run is only shown
}

// serverRun is a run in the server's JSON response.
type serverRun struct {
	MachineID string            `json:"host_id"`
	Status    protocol.Status   `json:"status"`
	ExitCode  *int64            `json:"exit_code"`
	LastSeq   int64             `json:"last_seq"`
	Sealed    bool              `json:"sealed"`
	Pending   []json.RawMessage `json:"pending"`
}

// Ids of the messages of this client, to which the server's responses refer.
const (
	followID = "follow"
	keysID   = "keys"
	sizeID   = "size"
	stopID   = "stop"
)

// errOver stops the link because the run has ended.
var errOver = errors.New("the run has ended")

func newRemoteSession(x *attachment, e *connect.Endpoint, whole bool) *remoteSession {
	s := &remoteSession{x: x, end: e, whole: whole, asked: map[string]bool{}, ready: make(chan struct{})}
	s.link = e.Socket(s.subscribe, func(err error) {
		x.note("the connection to %s is lost; reconnecting. Keys that you type until then are not sent", e.Name)
	})
	return s
}

func (s *remoteSession) follow(ctx context.Context, handle func(protocol.Envelope) error) error {
	if err := s.end.Call(ctx, http.MethodGet, RunPath(s.x.run), nil, &s.row); err != nil {
		return err
	}
	var err error
	if s.open, err = newOpener(ctx, s.x.state, s.end, s.row.MachineID, s.x.note); err != nil {
		return err
	}
	if err := s.findTail(ctx, handle); err != nil {
		return err
	}
	s.sealed = s.row.Sealed || s.open.sealed[s.x.run]
	if err := s.findSigner(ctx); err != nil {
		return err
	}
	if s.sealed {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go s.open.watchEnd(watching, s.x.run)
	}
	err = s.link.Run(ctx, func(e protocol.Envelope) error { return s.handle(ctx, e, handle) })
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// findSigner sets the signer if the run's machine has an account. Without a device of the account,
// the run is only shown.
func (s *remoteSession) findSigner(ctx context.Context) (err error) {
	if s.row.Status == protocol.StatusExited {
		return nil
	}
	s.sign, err = device.NewSigner(ctx, s.x.state, s.end, s.row.MachineID)
	var none *console.UsageError
	if !errors.As(err, &none) {
		return err
	}
	s.only = true
	s.readOnly = fmt.Sprintf("%s: the run is shown, and what is typed is not sent (%s)", none.Message, none.Hint)
	if s.x.t.Keys && !s.x.asJSON {
		s.reportReadOnly()
	}
	return nil
}

// send sends a command to the run, signed if its machine has an account.
func (s *remoteSession) send(ctx context.Context, kind, typ, id string, data any) error {
	if s.sealed && s.sign == nil {
		return errUnsealed(s.x.run)
	}
	if s.sign == nil {
		return s.link.Send(ctx, typ, s.x.run, id, data)
	}
	c, err := s.sign.Sign(ctx, kind, typ, s.x.run, id, data)
	if err != nil {
		return err
	}
	return s.link.SendCommand(ctx, s.x.run, id, c)
}

const (
	tailBytes  = 16 << 10 // maximum size of the earlier output that is displayed, in bytes
	tailEvents = 1024     // maximum number of events that are searched for earlier output
)

// findTail sets s.after so that the session begins with the last part of the run's output. It
// passes the event run.started to handle, which shows whether the run has a terminal. If the whole
// run is displayed, it does nothing.
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

// readPage returns the events of the run, after one, that can be shown; see the function readPage.
func (s *remoteSession) readPage(ctx context.Context, after, limit int64) ([]protocol.Envelope, error) {
	page, err := readPage(ctx, s.end, s.x.run, after, limit)
	var all []protocol.Envelope
	for _, e := range page {
		if s.open.event(ctx, &e) {
			all = append(all, e)
		}
	}
	return all, err
}

// subscribe requests the events after the last displayed one. The link calls it on each new
// connection.
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

// handle processes a message of the server, and passes events of the run to the function handle.
func (s *remoteSession) handle(ctx context.Context, e protocol.Envelope, handle func(protocol.Envelope) error) error {
	switch e.Type {
	case protocol.Welcome:
		return showAs(&e, s.handleWelcome)
	case protocol.CaughtUp:
		return s.showOpenRequests(ctx, handle)
	case protocol.Failure:
		return showAs(&e, func(f *protocol.ErrorData) error { return s.failed(e.Re, f) })
	case protocol.CommandState:
		return showAs(&e, s.state)
	}
	if e.RunID != s.x.run || e.Seq <= s.after { // also one without a number, which is no event of the run
		return nil
	}
	s.after = e.Seq
	if !s.open.next(ctx, &e) {
		return nil
	}
	if e.Type == protocol.RunPermissionRequested {
		if q, err := protocol.Decode[protocol.PermissionRequested](&e); err == nil {
			s.asked[q.RequestID] = true
		}
	}
	if e.Type == protocol.RunRefused && s.sign != nil {
		if err := showAs(&e, s.refused); err != nil {
			return err
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

// handleWelcome stores whether the token only permits viewing.
func (s *remoteSession) handleWelcome(w *protocol.WelcomeData) error {
	s.mu.Lock()
	if w.Role == string(auth.Viewer) && !s.only {
		s.only, s.readOnly = true, "this token is a viewer's: the run is shown, and what is typed is not sent"
	}
	only := s.only
	s.mu.Unlock()
	if only && s.x.t.Keys && !s.x.asJSON {
		s.reportReadOnly()
	}
	return nil
}

// hasConnected reports whether the first connection has been established.
func (s *remoteSession) hasConnected() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// reportReadOnly prints once why no input is sent to the run.
func (s *remoteSession) reportReadOnly() {
	s.once.Do(func() { s.x.note("%s", s.readOnly) })
}

// showOpenRequests displays the run's open requests whose events were not displayed. It also
// handles a run that has ended or is lost.
func (s *remoteSession) showOpenRequests(ctx context.Context, handle func(protocol.Envelope) error) error {
	pending := s.row.Pending
	s.row.Pending = nil
	for _, text := range pending {
		q, _, err := s.open.request(ctx, s.x.run, text)
		if err != nil {
			return err
		}
		if s.x.asJSON || s.asked[q.RequestID] {
			continue
		}
		e := protocol.New(protocol.RunPermissionRequested, time.Now(), q)
		e.RunID = s.x.run
		if err := handle(e); err != nil {
			return err
		}
	}
	switch s.row.Status {
	case protocol.StatusExited: // the server no longer has the event run.exited
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
		s.x.note("run %s is lost: its machine %s does not know it any more", s.x.run, s.row.MachineID)
	}
	return nil
}

// failed handles an error response of the server. re is the id of the refused message.
func (s *remoteSession) failed(re string, f *protocol.ErrorData) error {
	err := &connect.ResponseError{Code: f.Code, Message: f.Message}
	switch {
	case re == followID:
		return err
	case re == keysID:
		s.x.note("could not send the input: %v", err)
	case strings.HasPrefix(re, stopID):
		s.x.note("could not stop the run: %v", err)
	}
	return nil
}

// refused prints a note if the machine has refused a command of this command line. Decisions are
// those of another process of the same device.
func (s *remoteSession) refused(r *protocol.OwnRefused) error {
	if s.sign.Refused(s.x.run, r) && r.Action != seal.KindDecide {
		s.x.note("the machine refused %s: %s", console.DisplayText(r.Action, 20), console.DisplayText(r.Reason, console.MostValue))
	}
	return nil
}

// state prints a note if the request to stop the run failed.
func (s *remoteSession) state(c *protocol.State) error {
	if c.Kind != "stop" || !strings.HasPrefix(c.ID, stopID) || c.RunID != s.x.run {
		return nil
	}
	switch c.State {
	case protocol.InputRejected, protocol.InputExpired, protocol.InputIndeterminate:
		s.x.note("could not stop the run: %s %s", c.State, c.Error)
	}
	return nil
}

// canWrite waits for the first connection, and reports whether the token permits sending input.
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

// keys sends keys to the run. It returns an error if there is no connection; keys are lost if the
// connection breaks while they are sent.
func (s *remoteSession) keys(ctx context.Context, text string) error {
	may, err := s.canWrite(ctx)
	if !may || err != nil {
		return err
	}
	if err := s.pace.wait(ctx); err != nil {
		return err
	}
	return s.send(ctx, seal.KindKeys, protocol.RunSendKeys, keysID, protocol.SendKeys{Keys: text})
}

func (s *remoteSession) stop(ctx context.Context) error {
	may, err := s.canWrite(ctx)
	if !may || err != nil {
		return err
	}
	id := stopID + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	return s.send(ctx, seal.KindStop, protocol.RunStop, id, protocol.Stop{Actor: "cli"})
}

// resize sends the terminal's size now or, if there is no connection, on the next one.
func (s *remoteSession) resize(ctx context.Context, cols, rows int64) {
	size := protocol.Resize{Cols: cols, Rows: rows}
	s.mu.Lock()
	s.size = &size
	only := s.only
	s.mu.Unlock()
	if only || s.x.spoken.Load() {
		return
	}
	if s.send(ctx, seal.KindResize, protocol.RunResize, sizeID, size) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size != nil && *s.size == size {
		s.size = nil
	}
}

// rateLimiter limits the rate at which keys are sent to the rate that a server accepts.
type rateLimiter struct {
	last time.Time
	room float64
}

// wait waits until one more message may be sent.
func (p *rateLimiter) wait(ctx context.Context) error {
	const most = protocol.CommandBurst / 2 // the other half is for other clients with the same token
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
