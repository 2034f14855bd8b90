// Package approvals holds the open requests of all runs of a machine (spec/relay.md): prompts of
// terminals, RPCs that require an approval, and questions of programs. Each request is submitted
// once and decided once. Its outcome is committed as an event of its run before anyone acts on it.
//
// The requester waits for the outcome. A request that is stored as a Row is open again after a
// restart. The state machine of a request is protocol.RequestMachine.
package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Event is an event of a run without a sequence number. Data is one of the structs of package
// protocol.
type Event struct {
	Type string
	Data any
}

// Row is the stored form of a request. A Row with nil Data deletes the stored one.
type Row struct {
	Run, ID string
	Data    json.RawMessage
}

// Events commits events of a run in order, together with rows of requests, in one transaction. The
// spool implements it.
type Events interface {
	Commit(ctx context.Context, run string, events []Event, rows []Row) error
}

// Request describes a request, and how a decision on it is checked and applied.
type Request struct {
	Data protocol.PermissionRequested
	// AwaitingInput is sent as an event together with the request if it is not nil. The run then
	// waits at its terminal.
	AwaitingInput *protocol.AwaitingInput
	// UsesTimeout reports whether Options.Timeout applies to the request. Data.ExpiresAt applies in
	// any case.
	UsesTimeout bool
	// Persistent requests stay open over a restart. The requester must then call Attach.
	Persistent bool
	// StoreAttempt makes the registry store a decision before it is applied. It is set if it cannot
	// be determined afterwards whether the decision was applied. ResolveRestored uses the stored
	// decision.
	StoreAttempt bool
	// Check validates the answer in an approval. Its error contains the name of the field. If Check
	// is nil, the answers are only checked against the questions in Data.
	Check func(Decision) error
	// Apply performs the decision before the outcome is committed, and returns events to commit
	// together with the outcome. If it returns an error, the request stays open. Apply is nil if
	// the requester itself performs the decision.
	Apply func(context.Context, Decision) ([]Event, error)
}

// The outcomes of a request.
const (
	Approve   = protocol.DecisionApprove
	Deny      = protocol.DecisionDeny
	Answer    = protocol.DecisionAnswer // an approval with an answer to a question
	Withdrawn = protocol.DecisionWithdrawn
	Expired   = protocol.DecisionExpired
)

// Decision is the outcome of a request. It is either the decision of a user, or describes why the
// request was closed without one.
type Decision struct {
	Decision string          `json:"decision"`
	Sent     string          `json:"said,omitempty"`  // the user's choice if Decision is answer: approve or deny
	Value    json.RawMessage `json:"value,omitempty"` // the answer; empty if it is secret
	Actor    string          `json:"actor,omitempty"` // where the decision was made: web, cli, system or local
	By       string          `json:"by,omitempty"`    // name of the user
	// ArgsSHA256 is the hash of the arguments that the user saw; "" if unknown.
	ArgsSHA256 string          `json:"-"`
	Answer     json.RawMessage `json:"-"`
	Answers    json.RawMessage `json:"-"` // JSON object with the answers by question id
	Text       string          `json:"-"` // the user's reason
	Scope      string          `json:"-"` // once, or session for all later calls with the same arguments
	// Seal is {sig, statement} of the device that has decided, which hostd has verified, or what
	// Options.Record has signed for a process on this machine. It is nil without an account.
	Seal  json.RawMessage `json:"seal,omitempty"`
	Local *Process        `json:"-"` // the process on this machine that has decided; nil for a device
	// AnswerSHA256 identifies the answer; "" if it is secret.
	AnswerSHA256 string `json:"answer_sha256,omitempty"`
	// Tried is a decision of which it is unknown whether it took effect before the request was
	// closed, or nil.
	Tried *Decision `json:"tried,omitempty"`
}

// Process is a process that has decided a request over the machine's Unix socket.
type Process struct{ UID, PID int64 }

// isSame reports whether two recorded decisions are the same choice of the same user.
func (d *Decision) isSame(other *Decision) bool {
	return cmp.Or(d.Sent, d.Decision) == cmp.Or(other.Sent, other.Decision) && d.By == other.By
}

// Error explains why a decision or request was refused. Unless Code is Internal, the state has not
// changed.
type Error struct {
	Code protocol.Code
	Why  string
	Err  error // the cause, or nil
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Why) }

func (e *Error) Unwrap() error { return e.Err }

// ErrIndeterminate is the error that Apply returns if it is unknown whether the decision was
// applied. The request is then closed.
var ErrIndeterminate = errors.New("it is unknown whether it took effect")

var indeterminateReason = "it was decided, and " + ErrIndeterminate.Error()

// Errorf returns an Error with a formatted message.
func Errorf(code protocol.Code, format string, args ...any) *Error {
	return &Error{Code: code, Why: fmt.Sprintf(format, args...)}
}

func errorf(code protocol.Code, format string, args ...any) *Error {
	return Errorf(code, format, args...)
}

// Options configures a Registry.
type Options struct {
	Events  Events
	Timeout time.Duration       // timeout of requests with UsesTimeout
	Redact  func(string) string // removes secrets from a user's reason; nil removes none
	// RedactJSON removes secrets from a recorded answer; nil removes none.
	RedactJSON func(json.RawMessage) json.RawMessage
	// Fresh returns the token of the machine's time for a new request; nil means none.
	Fresh func() string
	// Record records a decision before it is applied. Its error refuses the decision. Nil records
	// none.
	Record func(run string, q *protocol.PermissionRequested, dec *Decision) error
	Now    func() time.Time // nil means time.Now
	// After calls f after the duration d, unless stop is called before. Nil means time.AfterFunc.
	After func(d time.Duration, f func()) (stop func() bool)
}

// Registry holds the requests of all runs. It is safe for concurrent use.
type Registry struct {
	o    Options
	mu   sync.Mutex
	runs map[string]*runRequests
}

// runRequests holds the requests of one run. mu is held while changes of the run's requests are
// committed.
type runRequests struct {
	mu      lock
	ended   bool
	open    map[string]*entry
	order   []*entry            // open requests, oldest first
	done    map[string]Decision // outcomes of closed requests by request id
	granted map[grant]bool
}

// lock is a mutex that is held while its holder waits for the disk. Virtual time, in which crashes
// are simulated, does not stop for those who wait for a channel.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

func newRunRequests() *runRequests {
	return &runRequests{mu: make(lock, 1), open: map[string]*entry{}, done: map[string]Decision{}, granted: map[grant]bool{}}
}

// grant identifies a call that is approved until the end of its run.
type grant struct{ op, args string }

type entry struct {
	Request
	outcome   chan Decision
	applying  chan struct{} // non-nil while a decision is being applied; then closed
	attempted *Decision     // the decision that was being applied; only with StoreAttempt
	// detached is non-nil until the requester of a restored request attaches or the request is
	// closed. It is then closed.
	detached  chan struct{}
	stopTimer func() bool // stops the timer of the expiry
}

// New returns an empty Registry.
func New(o Options) *Registry {
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
	if o.Fresh == nil {
		o.Fresh = func() string { return "" }
	}
	if o.Record == nil {
		o.Record = func(string, *protocol.PermissionRequested, *Decision) error { return nil }
	}
	return &Registry{o: o, runs: map[string]*runRequests{}}
}

// lookup returns the requests of a run, or nil if the run has none.
func (d *Registry) lookup(run string) *runRequests {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[run]
}

// requestsOf returns the requests of a run. It registers the run if necessary.
func (d *Registry) requestsOf(run string) *runRequests {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.runs[run]
	if t == nil {
		t = newRunRequests()
		d.runs[run] = t
	}
	return t
}

// Submit opens a request and returns a channel that receives the outcome once. If the same call was
// approved for the session, Submit approves it at once without opening a request.
func (d *Registry) Submit(ctx context.Context, run string, r Request) (<-chan Decision, error) {
	t := d.requestsOf(run)
	t.mu.Lock()
	defer t.mu.Unlock()
	id := r.Data.RequestID
	_, decided := t.done[id]
	switch {
	case t.ended:
		return nil, errorf(protocol.RunHasExited, "run %s has ended", run)
	case !protocol.IsID(id):
		return nil, errorf(protocol.BadMessage, "%q is not a request id", id)
	case t.open[id] != nil || decided:
		return nil, errorf(protocol.InputConflict, "run %s already has a request %s", run, id)
	case len(t.open) >= protocol.MaxOpenRequests:
		return nil, errorf(protocol.RateLimited, "run %[2]s has %[1]d open requests: decide some first", len(t.open), run)
	}
	e := &entry{Request: r, outcome: make(chan Decision, 1)}
	if t.granted[grant{r.Data.OpTool, r.Data.ArgsSHA256}] {
		e.outcome <- Decision{Decision: Approve, Actor: "system", Scope: "session"}
		return e.outcome, nil
	}
	e.Data.Fresh = d.o.Fresh()
	left := d.setDeadline(&e.Request)
	events := []Event{{protocol.RunPermissionRequested, e.Data}}
	if e.AwaitingInput != nil {
		events = append(events, Event{protocol.RunAwaitingInput, *e.AwaitingInput})
	}
	if err := d.o.Events.Commit(ctx, run, events, e.rows(run, nil)); err != nil {
		return nil, fmt.Errorf("ask %s of run %s: %w", id, run, err)
	}
	d.insert(t, run, e, left)
	return e.outcome, nil
}

// insert adds an open request that expires after the duration left; 0 means never.
func (d *Registry) insert(t *runRequests, run string, e *entry, left time.Duration) {
	t.open[e.Data.RequestID] = e
	t.order = append(t.order, e)
	if left > 0 {
		e.stopTimer = d.o.After(left, func() {
			_ = d.closeWithout(context.Background(), run, e.Data.RequestID, Expired, "the request has expired")
		})
	}
}

// setDeadline sets the expiry of a request and returns the time until then, or 0 if the request
// does not expire. If the expiry is in the past, it returns one millisecond.
func (d *Registry) setDeadline(r *Request) time.Duration {
	if r.Data.ExpiresAt == "" {
		if !r.UsesTimeout || d.o.Timeout <= 0 {
			return 0
		}
		r.Data.ExpiresAt = protocol.Timestamp(d.o.Now().Add(d.o.Timeout))
		return d.o.Timeout
	}
	at, err := time.Parse(time.RFC3339, r.Data.ExpiresAt)
	if err != nil {
		return 0
	}
	return max(at.Sub(d.o.Now()), time.Millisecond)
}

// Open returns a run's open requests, oldest first.
func (d *Registry) Open(run string) []protocol.PermissionRequested {
	t := d.lookup(run)
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

// Find returns an open request of a run, or nil.
func (d *Registry) Find(run, id string) *protocol.PermissionRequested {
	t := d.lookup(run)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.open[id]
	if e == nil {
		return nil
	}
	data := e.Data
	return &data
}
