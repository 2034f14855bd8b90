package sealer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// kinds maps the types of commands to the kinds of their statements. All RPCs have the kind rpc. A
// type of command that is not in this table is refused.
var kinds = map[string]string{
	protocol.RunApprove: seal.KindDecide, protocol.RunDeny: seal.KindDecide, protocol.RunDecide: seal.KindDecide, protocol.RunSendInput: seal.KindInput,
	protocol.RunSendKeys: seal.KindKeys, protocol.RunStop: seal.KindStop, protocol.RunResize: seal.KindResize,
}

// unsigned lists the RPCs that are performed without a statement. An app needs the token in the
// result of rpc.host.info to sign.
var unsigned = map[string]bool{protocol.RPCMachineInfo: true}

// decisions maps the types of decisions to the member of the statement.
var decisions = map[string]string{protocol.RunApprove: protocol.DecisionApprove, protocol.RunDeny: protocol.DecisionDeny}

func kindOf(typ string) string {
	if strings.HasPrefix(typ, "rpc.") {
		return seal.KindRPC
	}
	return kinds[typ]
}

// attempt is a command whose statement is checked.
type attempt struct {
	e        *protocol.Envelope
	data     json.RawMessage // of the command, opened
	command  seal.Command
	envelope seal.Envelope
	sum      string // hash of the statement; "" if it has another form

	// The sealed command, and its keys; nil if it was not sealed, or could not be opened.
	sealed *seal.SealedCommand
	epoch  *seal.Epoch
}

// rosterTimeout is the time limit for reading the server's roster when a statement names a line
// that this machine does not have.
const rosterTimeout = 5 * time.Second

// Admit implements link.Gate. A refused command is recorded in the ledger and as an event of its
// run.
func (s *Sealer) Admit(ctx context.Context, e *protocol.Envelope, isLast bool) link.Admission {
	if e.Enc == nil && (s.Account() == "" || unsigned[e.Type]) {
		return link.Admission{Command: e, Unsigned: true}
	}
	t, err := s.newAttempt(e)
	a := s.admitSigned(ctx, t, err, isLast)
	if a.Sealed = t.epoch != nil; a.Sealed && t.envelope.Kind == seal.KindRPC {
		a.Seal = t.sealResponse
	}
	return a
}

// admitSigned admits a command that newAttempt has returned with an error or nil.
func (s *Sealer) admitSigned(ctx context.Context, t *attempt, err error, isLast bool) link.Admission {
	if err != nil {
		return s.refused(t, err)
	}
	a, err := s.check(t)
	var why *seal.Refusal
	if errors.As(err, &why) && why.Retry && why.Code == seal.RosterFork {
		soon, cancel := context.WithTimeout(ctx, rosterTimeout)
		if err := s.readRoster(soon); err != nil {
			s.o.Log.Warn("could not read the roster of the account", "error", err)
		}
		cancel()
		a, err = s.check(t)
	}
	switch {
	case err == nil:
		return a
	case errors.As(err, &why) && why.Retry && why.Code == seal.Reordered && !isLast:
		return link.Admission{Later: true}
	}
	return s.refused(t, err)
}

// newAttempt opens a command and takes it apart. The attempt is not nil if it fails.
func (s *Sealer) newAttempt(e *protocol.Envelope) (*attempt, error) {
	t := &attempt{e: e, envelope: seal.Envelope{Kind: kindOf(e.Type), Run: e.RunID, ID: link.CommandID(e)}}
	m := protocol.Find(e.Type)
	if m != nil && m.OfMachine {
		t.envelope.Run = "" // the run in the envelope of an RPC to the machine is ignored
	}
	if m == nil || t.envelope.Kind == "" {
		return t, refuse(seal.Forbidden, "a machine with an account does not support %s", e.Type)
	}
	if e.Enc == nil {
		return t, refuse(seal.UnknownDevice, "the command is not sealed, and this machine has an account: enrol the device (on this machine: concerto-relay devices add), reload the page, or update the app")
	}
	return t, s.openCommand(t)
}

// openCommand opens a sealed command. The attempt is then that of the command in it, which no
// server can have written or changed.
func (s *Sealer) openCommand(t *attempt) error {
	c, err := s.openSealed(t)
	if err != nil {
		return err
	}
	t.command = c
	var content struct {
		Data json.RawMessage `json:"data"`
	}
	var named struct {
		RPCType string `json:"rpc_type"`
	}
	var st seal.Statement
	if err := errors.Join(json.Unmarshal(c.Content, &content), json.Unmarshal(content.Data, &named), json.Unmarshal(c.Statement, &st)); err != nil {
		return refuse(seal.BadMessage, "%v", err)
	}
	plain := *t.e
	plain.Enc, plain.Data = nil, content.Data
	switch {
	case t.e.Type == protocol.RPCSealed:
		plain.Type = named.RPCType
		switch m := protocol.Find(plain.Type); {
		case m == nil || m.Kind != protocol.RPC || plain.Type == protocol.RPCSealed:
			return refuse(seal.WrongRequest, "rpc_type is %q", plain.Type)
		case t.e.RunID != "" && (m.OfMachine || plain.Type == protocol.RPCListRuns): // the server checks another right for a run
			return refuse(seal.WrongRequest, "%s names a run", plain.Type)
		}
	case t.envelope.Kind == seal.KindRPC:
		return refuse(seal.WrongRequest, "a sealed RPC has the type %s, not %s", protocol.RPCSealed, t.e.Type)
	case t.e.Type == protocol.RunDecide:
		plain.Type = protocol.RunDeny
		if st.Decision == protocol.DecisionApprove {
			plain.Type = protocol.RunApprove
		}
	}
	if link.CommandID(&plain) != t.envelope.ID {
		return refuse(seal.WrongRequest, "the id in the data differs from that of the envelope")
	}
	t.e, t.data = &plain, content.Data
	if text, err := jcs.Canonical(c.Statement); err == nil {
		t.sum = hexsum.SHA256(text)
	}
	if t.envelope.Kind == seal.KindDecide {
		t.envelope.Request, err = requestOf(s.o.Request(t.e.RunID, t.envelope.ID))
	}
	return err
}

// openSealed opens a command with the keys of its epoch.
func (s *Sealer) openSealed(t *attempt) (seal.Command, error) {
	sealed, err := seal.ParseSealedCommand(t.e.Data)
	if err != nil {
		return seal.Command{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account == nil {
		return seal.Command{}, refuse(seal.Forbidden, "the machine has no account")
	}
	e, err := seal.CommandEpoch(s.account.epochs.All, sealed.Epoch, s.o.Now())
	if err != nil {
		return seal.Command{}, err
	}
	var c seal.Command
	if x := s.account.shareOf(sealed.Device, s.o.Now()); x != nil {
		c, err = s.account.openGuest(x, e, t, sealed)
	} else {
		c, err = e.OpenCommand(t.envelope.Run, t.envelope.Kind, sealed)
	}
	if err == nil {
		t.sealed, t.epoch = sealed, e
	}
	return c, err
}

// sealResponse seals the response to an RPC for the device that has sent it.
func (t *attempt) sealResponse(r protocol.Response) (enc, data json.RawMessage, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, nil, err
	}
	ct, err := t.epoch.SealResponse(t.envelope.Run, t.sealed, text)
	if err != nil {
		return nil, nil, err
	}
	data, err = json.Marshal(protocol.SealedResponse{CT: ct})
	return seal.EncOf(t.epoch.N), data, err
}

// requestOf returns what a statement must contain about a request, or nil if there is none.
func requestOf(q *protocol.PermissionRequested) (*seal.Request, error) {
	if q == nil {
		return nil, nil
	}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	sum, err := seal.HashRequest(text)
	return &seal.Request{SHA256: sum, ArgsSHA256: q.ArgsSHA256, Risk: q.Risk}, err
}

// check checks the statement of a command, and stores that it is accepted.
func (s *Sealer) check(t *attempt) (link.Admission, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account
	switch {
	case a == nil:
		return link.Admission{}, refuse(seal.Forbidden, "the machine has left its account: send the command again")
	case a.fork != "":
		return link.Admission{}, refuse(seal.RosterFork, "%s: run concerto-relay seal status --resolve on this machine", a.fork)
	}
	c := &seal.Checker{Roster: a.roster, Host: a.machine, Fresh: a.fresh}
	now := s.o.Now()
	id := t.command.DeviceOf()
	state, repeated := a.state(id, t.sum)
	if _, known := s.results.of[t.sum]; known || repeated {
		return s.repeat(c, t, now)
	}
	ok, err := c.Check(t.command, t.envelope, state, now)
	if err == nil {
		err = t.checkFrame(ok)
	}
	if err != nil {
		return link.Admission{}, err
	}
	if t.envelope.Guest != nil {
		if err := a.bind(t.sealed.Device, t.envelope.Guest); err != nil {
			return link.Admission{}, err
		}
	}
	s.dropEnded(&ok.State)
	if err := a.accept(id, ok.State, ok.Statement, t.sum); err != nil {
		return link.Admission{}, err
	}
	return s.admit(t, ok.Device, ok.Data), nil
}

// checkFrame checks the parts of a frame that the checker does not know: the type of the message,
// and the scope in the data.
func (t *attempt) checkFrame(ok *seal.Accepted) error {
	var d struct {
		Scope   string `json:"scope"`
		RPCType string `json:"rpc_type"`
	}
	if err := json.Unmarshal(ok.Data, &d); err != nil {
		return refuse(seal.BadMessage, "data: %v", err)
	}
	st := ok.Statement
	switch {
	case st.Kind == seal.KindDecide && st.Decision != decisions[t.e.Type]:
		return refuse(seal.WrongRequest, "the statement is to %s, and the message is %s", st.Decision, t.e.Type)
	case st.Kind == seal.KindDecide && st.Scope != cmp.Or(d.Scope, "once"):
		return refuse(seal.WrongRequest, "the scope of the statement is %s, and that of the data %s", st.Scope, cmp.Or(d.Scope, "once"))
	case strings.HasPrefix(t.e.Type, "rpc.share.") && ok.Device.Role != seal.Owner:
		return refuse(seal.Forbidden, "only an owner's device shares runs")
	case st.Kind == seal.KindRPC && d.RPCType != t.e.Type:
		return refuse(seal.WrongRequest, "rpc_type is %q, and the message is %s", d.RPCType, t.e.Type)
	}
	return nil
}

// admit returns the command with the signed data and the user of the device. Nothing else of the
// frame is used, because the server can change it.
func (s *Sealer) admit(t *attempt, by seal.Member, data json.RawMessage) link.Admission {
	e := &protocol.Envelope{Type: t.e.Type, TS: t.e.TS, MachineID: s.o.MachineID, RunID: t.envelope.Run, ID: t.envelope.ID, Data: data}
	e.Extra = []protocol.Member{{Name: "by", Value: mustMarshal(by.User)}}
	a := link.Admission{Command: e, Device: by.ID, Done: func(out link.Outcome) { s.done(t, out) }}
	if t.envelope.Kind == seal.KindDecide {
		a.Signed = mustMarshal(t.command.Signed)
	}
	return a
}

// mustMarshal encodes a text, or a signed statement, which was decoded before.
func mustMarshal(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic("sealer: a part of a command is no JSON: " + err.Error())
	}
	return text
}

// done records the outcome of a performed command. A decision that was not applied is recorded,
// because its record in the ledger precedes the attempt.
func (s *Sealer) done(t *attempt, out link.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.envelope.Kind != seal.KindKeys && t.envelope.Kind != seal.KindResize {
		s.results.add(t.sum, out)
	}
	if t.envelope.Kind == seal.KindDecide && out.State != protocol.InputApplied {
		s.record(t, "not_applied", out.Error)
	}
}

// repeat returns what to do with a command whose statement was accepted before. The server sends a
// command again if it has not received its result. The caller holds mu.
func (s *Sealer) repeat(c *seal.Checker, t *attempt, now time.Time) (link.Admission, error) {
	var st seal.Statement
	if err := json.Unmarshal(t.command.Statement, &st); err != nil {
		return link.Admission{}, refuse(seal.BadMessage, "%v", err)
	}
	// With this state, only the counter passes that was already used.
	ok, err := c.Check(t.command, t.envelope, seal.DeviceState{Inputs: map[string]int64{st.Run: st.After}}, now)
	if err == nil {
		err = t.checkFrame(ok)
	}
	var why *seal.Refusal
	isOver := errors.As(err, &why) && (why.Code == seal.UnknownRequest || why.Code == seal.Stale)
	if err != nil && !isOver {
		return link.Admission{}, err
	}
	out, known := s.results.of[t.sum]
	switch {
	case t.envelope.Kind == seal.KindRPC && err == nil:
		again := s.admit(t, ok.Device, ok.Data)
		again.Repeated = true
		return again, nil
	case t.envelope.Kind == seal.KindRPC:
		return link.Admission{}, err
	case t.envelope.Kind == seal.KindDecide && err != nil && why.Code == seal.UnknownRequest:
		// All other checks have passed. The registry returns the outcome of a closed request.
		if err := t.checkFrame(&seal.Accepted{Statement: &st, Data: t.data}); err != nil {
			return link.Admission{}, err
		}
		m, err := c.Signer(&st, t.envelope, now)
		if err != nil {
			return link.Admission{}, err
		}
		again := s.admit(t, m, t.data)
		again.Repeated = true
		again.Done = func(link.Outcome) {} // the first attempt is recorded, and the server can repeat it without end
		return again, nil
	case known:
		return link.Admission{Outcome: out}, nil
	case err == nil && (t.envelope.Kind == seal.KindDecide || t.envelope.Kind == seal.KindInput):
		// hostd was killed before it had the result. Decisions and inputs are applied at most once,
		// by their ids, and this one may not have been applied at all.
		again := s.admit(t, ok.Device, ok.Data)
		again.Repeated = true
		return again, nil
	}
	return link.Admission{Outcome: link.Outcome{State: protocol.InputIndeterminate, Error: "hostd was restarted after it had accepted this command: check the run"}}, nil
}

// maxInputs is the number of runs in the state of a device above which ended runs are removed.
const maxInputs = 64

// dropEnded removes the runs from the state of a device that have ended.
func (s *Sealer) dropEnded(d *seal.DeviceState) {
	if len(d.Inputs) <= maxInputs {
		return
	}
	for run := range d.Inputs {
		if !s.o.IsLive(run) {
			delete(d.Inputs, run)
		}
	}
}

// refused records the refusal of a command and returns its admission.
func (s *Sealer) refused(t *attempt, err error) link.Admission {
	code := protocol.Internal
	reason := fmt.Sprintf("%s: %v", code, err)
	var why *seal.Refusal
	if errors.As(err, &why) {
		code, reason = protocol.Code(why.Code), why.Error()
	}
	s.o.Log.Warn("refused a command of the server", "type", t.e.Type, "run", t.e.RunID, "reason", reason)
	device := t.command.DeviceOf()
	what := protocol.OwnRefused{Action: t.envelope.Kind, Reason: reason, Code: code, Device: device}
	if t.envelope.Kind == seal.KindDecide || t.envelope.Kind == seal.KindRPC {
		what.RequestID = t.envelope.ID
	}
	s.mu.Lock()
	records := s.refusals.allow(s.o.Now())
	if code == protocol.Reordered && s.account != nil {
		state, _ := s.account.state(device, "")
		what.After = state.Inputs[t.envelope.Run]
	}
	if records {
		s.record(t, "refused", reason)
	}
	s.mu.Unlock()
	if records && t.envelope.Run != "" {
		if err := s.o.Refused(t.envelope.Run, what); err != nil {
			s.o.Log.Error("could not commit a refusal", "run", t.envelope.Run, "error", err)
		}
	}
	return link.Admission{Outcome: link.Outcome{State: protocol.InputRejected, Error: reason}, Code: code}
}
