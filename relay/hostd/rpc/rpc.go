// Package rpc performs the rpc.* requests of apps (spec/relay.md): reading and writing files, git
// in the directory of a run, bash, and requests to the machine itself.
//
// Each request is performed once, even if it is sent again. A request that changes something waits
// for a decision. A hash binds the decision to the operation. Operations in a run are recorded as
// events of the run.
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
	"github.com/concerto-lang/concerto/relay/seal"
)

// Error explains why a request was refused.
type Error = workdirfs.Error

// Run describes a run.
type Run struct {
	Cwd   string // absolute path without symbolic links; "" if the run has no directory
	Ended bool
}

// Runs manages the runs of a machine. Its methods return errors of type *Error.
type Runs interface {
	Find(run string) (Run, bool)
	Start(ctx context.Context, q protocol.StartRun, actor string) (run string, err error)
	Stop(ctx context.Context, run string, q protocol.StopRun) error
	List() []protocol.RunSummary
}

// Approvals opens requests and returns their outcomes.
type Approvals interface {
	Submit(ctx context.Context, run string, r approvals.Request) (<-chan approvals.Decision, error)
	Withdraw(ctx context.Context, run, id, why string) error
	Outcome(run, id string) (approvals.Decision, bool) // returns the outcome of a closed request
}

// Events commits events of a run together with notes of the dispatcher.
type Events interface {
	CommitChange(ctx context.Context, c spool.Change) error
}

// Shares shares sealed runs with those who have a link. The errors of its methods are shown.
type Shares interface {
	StartShare(ctx context.Context, q protocol.ShareStart, device string) (protocol.Share, error)
	EndShare(id string) (protocol.Share, error)
	Shares() []protocol.Share
}

// Options configures a Dispatcher.
type Options struct {
	MachineID, Version string
	Runs               Runs
	Approvals          Approvals
	Events             Events
	Shares             Shares
	Redact             *redact.Redactor
	RemoteExec         bool   // whether apps may start runs, write files and run commands
	LogFile            string // path of the log file; "" if there is none
	Socket             string // path of the local API's socket
	Features           []string
	Seal               func() protocol.SealInfo             // returns the machine's account
	Seals              func() bool                          // reports whether the server must not read what describes the machine; nil means that it may
	Doctor             func(context.Context) []protocol.Dep // checks the machine's dependencies
	Log                *slog.Logger                         // nil logs nothing
	Now                func() time.Time                     // nil means time.Now
	// Environ is the environment of commands and for finding tools; nil means the environment of
	// the process.
	Environ []string
}

// Call is an RPC.
type Call struct {
	Type, Run string
	Data      json.RawMessage // the data of the message, which includes the request_id
	Local     bool            // it arrived over the machine's Unix socket
	Repeated  bool            // it was performed before, and only its result is returned
	Unsigned  bool            // no device has signed it
	Device    string          // that has signed it, or ""
}

// Dispatcher performs RPCs. It is safe for concurrent use.
type Dispatcher struct {
	o Options

	mu       sync.Mutex
	calls    map[string]*call // calls by request_id
	finished []*call          // finished calls, oldest first
	retained int              // total size of the results of finished calls, in bytes
}

// New returns a Dispatcher.
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

// maxRetained is the maximum size in bytes of the results that are retained for repeated RPCs. When
// it is exceeded, the oldest results of read-only RPCs are dropped; such an RPC is performed again
// if it is repeated.
const maxRetained = 64 << 20

// call is an RPC with its result.
type call struct {
	Call
	message *protocol.Message
	id      string
	actor   string
	hash    [sha256.Size]byte // hash of the type, run and data
	done    chan struct{}

	startedRun string // id of the run that the call has started
	response   protocol.Response
	finishedAt time.Time
}

// Do performs an RPC. If an RPC with the same id was performed before, Do returns that result. run
// is the run that the response refers to.
func (d *Dispatcher) Do(ctx context.Context, q Call) (run string, r protocol.Response) {
	c, err := d.parse(q)
	if err != nil {
		return q.Run, failureResponse(c, err)
	}
	if c.Unsigned && c.Type == protocol.RPCMachineInfo { // its result is not that of a signed call with the same id
		return q.Run, d.respond(ctx, c)
	}
	first, mine := d.register(c)
	switch {
	case first == nil:
		return q.Run, failureResponse(c, errorf(protocol.RPCCode(protocol.Replayed), "this machine no longer has the result of request_id %s: use a new id", c.id))
	case first.hash != c.hash:
		return q.Run, failureResponse(c, errorf(protocol.RPCCode(protocol.InputConflict), "the request_id %s was used for another call: use a new id", c.id))
	case mine:
		d.serve(ctx, c)
	}
	select {
	case <-first.done:
		return cmp.Or(first.startedRun, q.Run), first.response
	case <-ctx.Done():
		return q.Run, failureResponse(c, context.Cause(ctx))
	}
}

// parse validates an RPC and returns its call.
func (d *Dispatcher) parse(q Call) (*call, error) {
	c := &call{Call: q, message: protocol.Find(q.Type), done: make(chan struct{})}
	var target struct {
		RequestID string `json:"request_id"`
		Actor     string `json:"actor"`
	}
	_ = json.Unmarshal(q.Data, &target) // ignore the error: the data is validated below
	c.id, c.actor = target.RequestID, cmp.Or(target.Actor, "web")
	if q.Local {
		c.actor = "local"
	}
	if handlers[q.Type] == nil || c.message == nil {
		return c, errorf(protocol.RPCCode(protocol.UnknownType), "hostd does not support %s", q.Type)
	}
	if bad := protocol.Check(&protocol.Envelope{Type: q.Type, Data: q.Data}); bad != nil {
		return c, errorf(protocol.RPCCode(bad.Code), "%s", bad.Why)
	}
	plain, err := jcs.Canonical(q.Data)
	if err != nil {
		return c, errorf(protocol.RPCCode(protocol.BadMessage), "%s: %v", q.Type, err)
	}
	if c.message.OfMachine {
		c.Run = "" // the run in the envelope of an RPC to the machine is ignored
	}
	c.hash = sha256.Sum256([]byte(q.Type + "\x00" + c.Run + "\x00" + string(plain)))
	return c, nil
}

// register registers a call. If there is a call with the same id, register returns that call. mine
// reports whether c was registered. first is nil if a repeated call has no earlier one.
func (d *Dispatcher) register(c *call) (first *call, mine bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.finished) > 0 && d.o.Now().Sub(d.finished[0].finishedAt) >= protocol.RPCRetention {
		d.forget(0)
	}
	if first = d.calls[c.id]; first != nil || c.Repeated {
		return first, false
	}
	d.calls[c.id] = c
	return c, true
}

// forget removes a finished call by its index. The caller holds mu.
func (d *Dispatcher) forget(i int) {
	c := d.finished[i]
	d.retained -= len(c.response.Result)
	delete(d.calls, c.id)
	d.finished = append(d.finished[:i:i], d.finished[i+1:]...)
}

// respond performs a call and returns its response.
func (d *Dispatcher) respond(ctx context.Context, c *call) protocol.Response {
	result, err := d.perform(ctx, c)
	if err == nil {
		return protocol.Response{RequestID: c.id, OK: true, RPCType: c.Type, Result: result}
	}
	r := failureResponse(c, err)
	if r.ErrorCode == protocol.RPCCode(protocol.Internal) {
		d.o.Log.Error("a request failed", "type", c.Type, "run", c.Run, "error", err)
	}
	return r
}

// serve performs a call and stores its response.
func (d *Dispatcher) serve(ctx context.Context, c *call) {
	c.response = d.respond(ctx, c)
	d.mu.Lock()
	c.finishedAt = d.o.Now()
	d.finished = append(d.finished, c)
	d.retained += len(c.response.Result)
	for i := 0; i < len(d.finished) && d.retained > maxRetained; {
		if d.finished[i].message.Gated {
			i++
			continue
		}
		d.forget(i)
	}
	d.mu.Unlock()
	close(c.done)
}

// perform performs a call. A call that needs no approval has a time limit.
func (d *Dispatcher) perform(ctx context.Context, c *call) (json.RawMessage, error) {
	h := handlers[c.Type]
	if !c.message.Gated {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, protocol.RPCTimeout)
		defer cancel()
	}
	run, err := d.resolveRun(c, h)
	if err != nil {
		return nil, err
	}
	result, err := h.do(ctx, d, c, run)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// resolveRun returns the run of a call, or an error if the call is not allowed. A read-only call
// may refer to an ended run.
func (d *Dispatcher) resolveRun(c *call, h *handler) (*Run, error) {
	var q struct {
		MachineID string `json:"host_id"`
	}
	_ = json.Unmarshal(c.Data, &q) // ignore the error: the data was validated
	switch {
	case q.MachineID != "" && q.MachineID != d.o.MachineID && !c.Local:
		return nil, errorf(protocol.RPCCode(protocol.UnknownMachine), "this machine is %s", d.o.MachineID)
	case changesMachine(c.message) && !d.o.RemoteExec && !c.Local:
		return nil, errorf(protocol.RPCCode(protocol.Forbidden), "%s is disabled on this machine (--remote-exec off)", c.Type)
	case !h.needsRun:
		return nil, nil
	case c.Run == "":
		return nil, errorf(protocol.RPCCode(protocol.UnknownRun), "%s requires run_id, the run in whose directory it works", c.Type)
	}
	run, ok := d.o.Runs.Find(c.Run)
	switch {
	case !ok:
		return nil, errorf(protocol.RPCCode(protocol.UnknownRun), "there is no run %s on this machine", c.Run)
	case run.Cwd == "" && c.Type != protocol.RPCStopRun:
		return nil, errorf(protocol.RPCCode(protocol.Forbidden), "run %s has no directory", c.Run)
	case run.Ended && (c.message.Gated || h.needsLiveRun):
		return nil, errorf(protocol.RPCCode(protocol.RunHasExited), "run %s has ended", c.Run)
	}
	return &run, nil
}

func errorf(code protocol.RPCCode, format string, args ...any) *Error {
	return workdirfs.Errorf(code, format, args...)
}

// failureResponse returns the response of a call that has failed with an error.
func failureResponse(c *call, err error) protocol.Response {
	r := protocol.Response{RequestID: c.id, RPCType: c.Type}
	r.ErrorCode, r.Error = errorCode(err), errorText(err)
	return r
}

func errorCode(err error) protocol.RPCCode {
	var coded *Error
	var ofDesk *approvals.Error
	var sealed *seal.Refusal
	switch {
	case errors.As(err, &coded):
		return coded.Code
	case errors.As(err, &ofDesk) && ofDesk.Code == protocol.RateLimited:
		return protocol.RPCCode(protocol.Forbidden)
	case errors.As(err, &ofDesk):
		return protocol.RPCCode(ofDesk.Code)
	case errors.As(err, &sealed):
		return protocol.RPCCode(sealed.Code)
	case errors.Is(err, context.DeadlineExceeded):
		return protocol.Timeout
	case errors.Is(err, context.Canceled):
		return protocol.Withdrawn
	case errors.Is(err, spool.ErrEnded):
		return protocol.RPCCode(protocol.RunHasExited)
	}
	return protocol.RPCCode(protocol.Internal)
}

func errorText(err error) string {
	var coded *Error
	var ofDesk *approvals.Error
	var sealed *seal.Refusal
	switch {
	case errors.As(err, &coded):
		return coded.Why
	case errors.As(err, &ofDesk):
		return ofDesk.Why
	case errors.As(err, &sealed):
		return sealed.Why
	case errors.Is(err, context.Canceled):
		return "hostd is stopping"
	}
	return err.Error()
}
