// Package approvals is where the open requests of all runs of a host lie, spec/relay.md (its API
// promises nothing): prompts of terminals, RPCs that need an approval, and what programs ask.
// A request is asked once, decided once, and what became of it is an event of its run before
// anybody acts on it.
//
// Whoever asks waits for the outcome; a request of which a Row is kept is open again after a
// restart. Steps are those of protocol.RequestMachine.
package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Event is an event of a run that has no seq yet. Data is one of protocol's structs.
type Event struct {
	Type string
	Data any
}

// Row is what is kept of a request over restarts; one whose Data is nil is to be deleted.
type Row struct {
	Run, ID string
	Data    json.RawMessage
}

// Events commits events of a run, in their order and with rows of the desk, in one
// transaction. The spool does.
type Events interface {
	Commit(ctx context.Context, run string, events []Event, rows []Row) error
}

// Request is what is asked.
type Request struct {
	Data protocol.PermissionRequested
	// Waits is told with the request when the run waits for it at a terminal.
	Waits *protocol.AwaitingInput
	// Expires says that the desk's time for approvals holds for it; Data.ExpiresAt holds in any case.
	Expires bool
	// Keep says that it is open after a restart. Whoever asked takes it up by Resume.
	Keep bool
	// Note says that a decision is kept before it is applied, as nobody can be asked afterwards
	// whether it was: Settle needs it.
	Note bool
	// Check says whether an approval's answer is one, in words that name the field; nil takes all
	// that the questions of Data take.
	Check func(Decision) error
	// Apply does what a decision asks for before it is told as the outcome, and gives what else
	// is to be told. An error leaves the request open. nil when who waits does all.
	Apply func(context.Context, Decision) ([]Event, error)
}

// The ends of a request.
const (
	Approve   = protocol.DecisionApprove
	Deny      = protocol.DecisionDeny
	Answer    = protocol.DecisionAnswer // of a question: what Approve is of the others
	Withdrawn = "withdrawn"
	Expired   = "expired"
)

// Decision is what becomes of a request: somebody's approval or denial, or an end without.
type Decision struct {
	Decision   string          `json:"decision"`
	Said       string          `json:"said,omitempty"`  // approve or deny, of what is recorded as an answer
	Value      json.RawMessage `json:"value,omitempty"` // of an answer that is no secret
	Actor      string          `json:"actor,omitempty"` // web, cli, system, local
	By         string          `json:"by,omitempty"`    // the user
	ArgsSHA256 string          `json:"-"`               // what was seen; "" when it is not said
	Answer     json.RawMessage `json:"-"`
	Answers    json.RawMessage `json:"-"` // an object: values by the questions' ids
	Text       string          `json:"-"` // why
	Scope      string          `json:"-"` // once, session
	// AnswerSHA256 is of an answer that is not known any more.
	AnswerSHA256 string `json:"answer_sha256,omitempty"`
}

// Error is why something is not done. After an Error other than Internal, nothing has changed.
type Error struct {
	Code protocol.Code
	Why  string
	Err  error // what it comes from; may be nil
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Why) }

func (e *Error) Unwrap() error { return e.Err }

// ErrIndeterminate is what Apply gives when nobody can know whether the decision took effect:
// the request is over then.
var ErrIndeterminate = errors.New("nobody can know whether it took effect")

var unsure = "it was decided, and " + ErrIndeterminate.Error()

// Refuse makes an Error.
func Refuse(code protocol.Code, format string, args ...any) *Error {
	return &Error{Code: code, Why: fmt.Sprintf(format, args...)}
}

func refused(code protocol.Code, format string, args ...any) *Error {
	return Refuse(code, format, args...)
}

// Options are what a Desk is made of.
type Options struct {
	Events  Events
	Timeout time.Duration       // for requests that expire
	Redact  func(string) string // what is told of a reason; nil tells it whole
	// RedactJSON removes secrets from an answer that is recorded; nil records it whole.
	RedactJSON func(json.RawMessage) json.RawMessage
	Now        func() time.Time // nil is time.Now
	// After calls f after d, until stop is called. nil is time.AfterFunc.
	After func(d time.Duration, f func()) (stop func() bool)
}

// Desk holds requests. Safe for concurrent use.
type Desk struct {
	o    Options
	mu   sync.Mutex
	runs map[string]*tray
}

// tray is a run's. mu is held while something of the run is committed.
type tray struct {
	mu      sync.Mutex
	ended   bool
	open    map[string]*entry
	order   []*entry            // the open ones, the oldest first
	done    map[string]Decision // what has been decided
	granted map[grant]bool
}

func newTray() *tray {
	return &tray{open: map[string]*entry{}, done: map[string]Decision{}, granted: map[grant]bool{}}
}

// grant is an approval for the rest of a run.
type grant struct{ op, args string }

type entry struct {
	Request
	wait    chan Decision
	applied chan struct{} // not nil while a decision is applied; closed then
	tried   *Decision     // that was being applied; of requests with Note
	away    chan struct{} // not nil until who asked has taken it up again, or it is over; closed then
	stop    func() bool   // of its time
}

// New makes a desk on which nothing lies.
func New(o Options) *Desk {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	if o.RedactJSON == nil {
		o.RedactJSON = func(v json.RawMessage) json.RawMessage { return v }
	}
	return &Desk{o: o, runs: map[string]*tray{}}
}

// look is a run's tray; nil when nothing of it was ever here.
func (d *Desk) look(run string) *tray {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[run]
}

// tray is a run's tray, made when there is none.
func (d *Desk) tray(run string) *tray {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.runs[run]
	if t == nil {
		t = newTray()
		d.runs[run] = t
	}
	return t
}

// Ask lays a request on the desk and gives where its outcome comes, once. What has an
// approval for the session is approved at once, and not asked.
func (d *Desk) Ask(ctx context.Context, run string, r Request) (<-chan Decision, error) {
	t := d.tray(run)
	t.mu.Lock()
	defer t.mu.Unlock()
	id := r.Data.RequestID
	_, decided := t.done[id]
	switch {
	case t.ended:
		return nil, refused(protocol.RunHasExited, "run %s has ended", run)
	case !protocol.IsID(id):
		return nil, refused(protocol.BadMessage, "%q is no id of a request", id)
	case t.open[id] != nil || decided:
		return nil, refused(protocol.InputConflict, "run %s has a request %s already", run, id)
	case len(t.open) >= protocol.OpenRequests:
		return nil, refused(protocol.RateLimited, "%d requests of run %s are open: decide them first", len(t.open), run)
	}
	e := &entry{Request: r, wait: make(chan Decision, 1)}
	if t.granted[grant{r.Data.OpTool, r.Data.ArgsSHA256}] {
		e.wait <- Decision{Decision: Approve, Actor: "system", Scope: "session"}
		return e.wait, nil
	}
	left := d.deadline(&e.Request)
	events := []Event{{protocol.RunPermissionRequested, e.Data}}
	if e.Waits != nil {
		events = append(events, Event{protocol.RunAwaitingInput, *e.Waits})
	}
	if err := d.o.Events.Commit(ctx, run, events, e.rows(run, nil)); err != nil {
		return nil, fmt.Errorf("ask %s of run %s: %w", id, run, err)
	}
	d.lay(t, run, e, left)
	return e.wait, nil
}

// lay puts an entry on its tray; left is how long it may lie there, 0 is for ever.
func (d *Desk) lay(t *tray, run string, e *entry, left time.Duration) {
	t.open[e.Data.RequestID] = e
	t.order = append(t.order, e)
	if left > 0 {
		e.stop = d.o.After(left, func() { _ = d.end(context.Background(), run, e.Data.RequestID, Expired, "its time is over") })
	}
}

// deadline gives how long a request may lie, and writes it into it. A time that is over
// already is a moment.
func (d *Desk) deadline(r *Request) time.Duration {
	if r.Data.ExpiresAt == "" {
		if !r.Expires || d.o.Timeout <= 0 {
			return 0
		}
		r.Data.ExpiresAt = d.o.Now().Add(d.o.Timeout).UTC().Format("2006-01-02T15:04:05.000Z")
		return d.o.Timeout
	}
	at, err := time.Parse(time.RFC3339, r.Data.ExpiresAt)
	if err != nil {
		return 0
	}
	return max(at.Sub(d.o.Now()), time.Millisecond)
}

// Open are a run's open requests, the oldest first.
func (d *Desk) Open(run string) []protocol.PermissionRequested {
	t := d.look(run)
	if t == nil {
		return []protocol.PermissionRequested{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]protocol.PermissionRequested, 0, len(t.order))
	for _, e := range t.order {
		all = append(all, e.Data)
	}
	return all
}
