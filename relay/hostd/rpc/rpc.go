// Package rpc does what apps ask of a host by rpc.* messages, spec/relay.md (its API promises
// nothing): in a run's directory by package scope, with bash, and of the host itself.
//
// Each request is done once, however often it comes. What changes something waits at the desk
// for a decision, bound by hash to what is then done. What is done in a run is told as events of it.
package rpc

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/hostd/workdirfs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Error is why a request is not done.
type Error = workdirfs.Error

// Run is what a request needs to know of a run.
type Run struct {
	Cwd   string // without links
	Ended bool
}

// Runs are a host's runs. Errors are of type *Error.
type Runs interface {
	Find(run string) (Run, bool)
	Start(ctx context.Context, q protocol.StartRun, actor string) (run string, err error)
	Stop(ctx context.Context, run string, q protocol.StopRun) error
	List() []protocol.RunListed
}

// Desk is where decisions come from.
type Desk interface {
	Ask(ctx context.Context, run string, r approvals.Request) (<-chan approvals.Decision, error)
	Withdraw(ctx context.Context, run, id, why string) error
	Outcome(run, id string) (approvals.Decision, bool) // of a request that is over
}

// Events takes what is told of a run, with notes of the dispatcher.
type Events interface {
	Tell(ctx context.Context, c spool.Change) error
}

// Options are what a Dispatcher is made of.
type Options struct {
	HostID, Version string
	Runs            Runs
	Desk            Desk
	Events          Events
	Redact          *redact.Redactor
	Remote          bool   // apps may start runs, write files and have commands run, if they are allowed to
	LogFile         string // "" when there is none
	Socket          string // of the local API
	Features        []string
	Doctor          func(context.Context) []protocol.Dep // what the host needs, and whether it is there
	Log             *slog.Logger                         // nil: nothing is logged
	Now             func() time.Time                     // nil is time.Now
	Environ         []string                             // of commands and of looking for tools; nil: the process's
}

// Call is a request. A local one came over the host's own socket.
type Call struct {
	Type, Run string
	Data      json.RawMessage // with the request_id
	Local     bool
}

// Dispatcher does requests. Safe for concurrent use.
type Dispatcher struct {
	o Options

	mu    sync.Mutex
	calls map[string]*call // by request_id
	order []*call          // those that are over, the oldest first
	kept  int              // bytes of their results
}

// New makes a dispatcher.
func New(o Options) *Dispatcher {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	return &Dispatcher{o: o, calls: map[string]*call{}}
}

// mostKept bounds the results that are kept for who asks again. Past it the oldest are given
// up of what changes nothing, and are done anew.
const mostKept = 64 << 20

// call is a request that is done, or was.
type call struct {
	Call
	message *protocol.Message
	id      string
	actor   string
	hash    [sha256.Size]byte // of type, run and data
	done    chan struct{}

	madeIn   string // the run that it has started
	response protocol.Response
	over     time.Time
}

// RPC does a request of the server's.
func (d *Dispatcher) RPC(ctx context.Context, e *protocol.Envelope) (run string, r protocol.Response) {
	return d.Do(ctx, Call{Type: e.Type, Run: e.RunID, Data: e.Data})
}

// Do does a request, or gives what became of it when it came before; run is the run that the answer is of.
func (d *Dispatcher) Do(ctx context.Context, q Call) (run string, r protocol.Response) {
	c, err := d.read(q)
	if err != nil {
		return q.Run, failed(c, err)
	}
	first, mine := d.remember(c)
	switch {
	case first.hash != c.hash:
		return q.Run, failed(c, refused(protocol.RPCCode(protocol.InputConflict), "the request_id %s was used for something else", c.id))
	case mine:
		d.serve(ctx, c)
	}
	select {
	case <-first.done:
		return cmp.Or(first.madeIn, q.Run), first.response
	case <-ctx.Done():
		return q.Run, failed(c, context.Cause(ctx))
	}
}

// read looks at a request.
func (d *Dispatcher) read(q Call) (*call, error) {
	c := &call{Call: q, message: protocol.Find(q.Type), done: make(chan struct{})}
	var known struct {
		RequestID string `json:"request_id"`
		Actor     string `json:"actor"`
	}
	_ = json.Unmarshal(q.Data, &known) // what is wrong is said below
	c.id, c.actor = known.RequestID, cmp.Or(known.Actor, "web")
	if q.Local {
		c.actor = "local"
	}
	if handlers[q.Type] == nil || c.message == nil {
		return c, refused(protocol.RPCCode(protocol.UnknownType), "hostd knows no %s", q.Type)
	}
	if bad := protocol.Check(&protocol.Envelope{Type: q.Type, Data: q.Data}); bad != nil {
		return c, refused(protocol.RPCCode(bad.Code), "%s", bad.Why)
	}
	plain, err := jcs.Canonical(q.Data)
	if err != nil {
		return c, refused(protocol.RPCCode(protocol.BadMessage), "%s: %v", q.Type, err)
	}
	if c.message.OfHost {
		c.Run = "" // an envelope's is ignored
	}
	c.hash = sha256.Sum256([]byte(q.Type + "\x00" + c.Run + "\x00" + string(plain)))
	return c, nil
}

// remember gives the call that came first with an id; mine when it is this one.
func (d *Dispatcher) remember(c *call) (first *call, mine bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.order) > 0 && d.o.Now().Sub(d.order[0].over) >= protocol.RPCRemembered {
		d.forget(0)
	}
	if first = d.calls[c.id]; first != nil {
		return first, false
	}
	d.calls[c.id] = c
	return c, true
}

// forget drops what is known of a call that is over. Called with mu.
func (d *Dispatcher) forget(i int) {
	c := d.order[i]
	d.kept -= len(c.response.Result)
	delete(d.calls, c.id)
	d.order = append(d.order[:i:i], d.order[i+1:]...)
}

// serve does a call and notes what became of it.
func (d *Dispatcher) serve(ctx context.Context, c *call) {
	result, err := d.answer(ctx, c)
	if err != nil {
		c.response = failed(c, err)
		if c.response.ErrorCode == protocol.RPCCode(protocol.Internal) {
			d.o.Log.Error("a request fails", "type", c.Type, "run", c.Run, "error", err)
		}
	} else {
		c.response = protocol.Response{RequestID: c.id, OK: true, RPCType: c.Type, Result: result}
	}
	d.mu.Lock()
	c.over = d.o.Now()
	d.order = append(d.order, c)
	d.kept += len(c.response.Result)
	for i := 0; i < len(d.order) && d.kept > mostKept; {
		if d.order[i].message.Gated {
			i++
			continue
		}
		d.forget(i)
	}
	d.mu.Unlock()
	close(c.done)
}

// answer does a call. What waits for nobody has the time that an RPC has.
func (d *Dispatcher) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	h := handlers[c.Type]
	if !c.message.Gated {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, protocol.RPCWithin)
		defer cancel()
	}
	run, err := d.run(c, h)
	if err != nil {
		return nil, err
	}
	result, err := h.do(ctx, d, c, run)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// run is the run of a call, or why it is not done. What changes nothing may be asked of a run
// that has ended, too.
func (d *Dispatcher) run(c *call, h *handler) (*Run, error) {
	var q struct {
		HostID string `json:"host_id"`
	}
	_ = json.Unmarshal(c.Data, &q) // it was checked
	switch {
	case q.HostID != "" && q.HostID != d.o.HostID && !c.Local:
		return nil, refused(protocol.RPCCode(protocol.UnknownHost), "this is %s", d.o.HostID)
	case changes(c.message) && !d.o.Remote && !c.Local:
		return nil, refused(protocol.RPCCode(protocol.Forbidden), "%s is off at this host (--remote-exec off)", c.Type)
	case !h.ofRun:
		return nil, nil
	}
	run, known := d.o.Runs.Find(c.Run)
	switch {
	case !known:
		return nil, refused(protocol.RPCCode(protocol.UnknownRun), "there is no run %s at this host", c.Run)
	case run.Ended && (c.message.Gated || h.alive):
		return nil, refused(protocol.RPCCode(protocol.RunHasExited), "run %s has ended", c.Run)
	}
	return &run, nil
}

func refused(code protocol.RPCCode, format string, args ...any) *Error {
	return workdirfs.Refused(code, format, args...)
}

// failed is the response that says why.
func failed(c *call, err error) protocol.Response {
	r := protocol.Response{RequestID: c.id, RPCType: c.Type}
	r.ErrorCode, r.Error = code(err), why(err)
	return r
}

func code(err error) protocol.RPCCode {
	var known *Error
	var ofDesk *approvals.Error
	switch {
	case errors.As(err, &known):
		return known.Code
	case errors.As(err, &ofDesk) && ofDesk.Code == protocol.RateLimited:
		return protocol.RPCCode(protocol.Forbidden)
	case errors.As(err, &ofDesk):
		return protocol.RPCCode(ofDesk.Code)
	case errors.Is(err, context.DeadlineExceeded):
		return protocol.Timeout
	case errors.Is(err, context.Canceled):
		return protocol.Withdrawn
	case errors.Is(err, spool.ErrEnded):
		return protocol.RPCCode(protocol.RunHasExited)
	}
	return protocol.RPCCode(protocol.Internal)
}

func why(err error) string {
	var known *Error
	var ofDesk *approvals.Error
	switch {
	case errors.As(err, &known):
		return known.Why
	case errors.As(err, &ofDesk):
		return ofDesk.Why
	case errors.Is(err, context.Canceled):
		return "hostd ends"
	}
	return err.Error()
}
