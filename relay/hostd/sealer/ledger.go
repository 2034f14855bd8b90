package sealer

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// Kinds of records, in addition to not_applied and refused.
const kindDecision = "decision"

// subject identifies the request or the command of a record.
type subject struct {
	ID string `json:"id"`
}

// decisionData is the data of a decision.
type decisionData struct {
	ArgsSHA256    string      `json:"args_sha256,omitempty"`
	Decision      string      `json:"decision"`
	RequestSHA256 string      `json:"request_sha256"`
	Scope         string      `json:"scope"`
	Seal          seal.Signed `json:"seal"`
	Tool          string      `json:"tool,omitempty"`
}

// refusalData is the data of a refused command, and of a decision that was not applied.
type refusalData struct {
	Action string `json:"action"`
	Device string `json:"device,omitempty"` // as the command names it
	Reason string `json:"reason"`
}

// RecordDecision records a decision before it is applied: that of a device, whose statement was
// accepted, or that of a process on this machine, whose signature it sets. Without an account it
// does nothing.
func (s *Sealer) RecordDecision(run string, q *protocol.PermissionRequested, dec *approvals.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account == nil {
		return nil
	}
	var signed seal.Signed
	var st seal.Statement
	var err error
	name := "local"
	switch {
	case dec.Local != nil:
		if signed, st, err = s.signLocal(run, q, dec); err == nil {
			dec.Seal, err = json.Marshal(signed)
		}
	case dec.Seal != nil:
		name = dec.By
		if err = json.Unmarshal(dec.Seal, &signed); err == nil {
			err = json.Unmarshal(signed.Statement, &st)
		}
	default:
		return fmt.Errorf("the decision is neither signed nor local")
	}
	at := s.o.Now()
	if err == nil && signed.Guest != nil { // its link may have ended since the statement was checked
		_, _, err = s.account.roster.VerifyDecision(signed, at, st.ArgsSHA256)
	}
	if err != nil {
		return err
	}
	data := decisionData{ArgsSHA256: st.ArgsSHA256, Decision: st.Decision, RequestSHA256: st.RequestSHA256, Scope: st.Scope, Seal: signed, Tool: q.OpTool}
	return s.append(audit.Record{At: at, Run: run, Kind: kindDecision, Actor: audit.Actor{Type: "human", Name: name}}, subject{q.RequestID}, data)
}

// signLocal signs the decision of a process on this machine. The caller holds mu.
func (s *Sealer) signLocal(run string, q *protocol.PermissionRequested, dec *approvals.Decision) (seal.Signed, seal.Statement, error) {
	open, err := requestOf(q)
	if err != nil {
		return seal.Signed{}, seal.Statement{}, err
	}
	a := s.account
	st := seal.Statement{Account: a.id(), Host: a.machine, Run: run, Kind: seal.KindDecide, ID: q.RequestID, Roster: a.roster.Head(),
		RequestSHA256: open.SHA256, ArgsSHA256: open.ArgsSHA256, Decision: dec.Decision, Scope: "once"}
	if dec.Sent != "" {
		st.Decision = dec.Sent
	}
	if dec.Scope != "" {
		st.Scope = dec.Scope
	}
	data, err := json.Marshal(protocol.Decide{RequestID: q.RequestID, ArgsSHA256: dec.ArgsSHA256, Answer: dec.Answer, Answers: dec.Answers, Text: dec.Text, Scope: dec.Scope})
	if err != nil {
		return seal.Signed{}, st, err
	}
	c, err := st.SignLocal(a.keys, seal.Process{UID: dec.Local.UID, PID: dec.Local.PID}, data, s.o.Now())
	return c.Signed, st, err
}

// record records a command that was not performed. The caller holds mu.
func (s *Sealer) record(t *attempt, kind, reason string) {
	if s.ledger == nil {
		return
	}
	device := t.command.DeviceOf()
	err := s.append(audit.Record{Run: t.envelope.Run, Kind: kind, Actor: audit.Actor{Type: "device", Name: device}}, subject{t.envelope.ID}, refusalData{t.envelope.Kind, device, reason})
	if err != nil {
		s.o.Log.Error("could not record a refused command", "error", err)
	}
}

func (s *Sealer) append(r audit.Record, about subject, data any) error {
	var err error
	if r.Subject, err = json.Marshal(about); err != nil {
		return err
	}
	if r.Data, err = json.Marshal(data); err != nil {
		return err
	}
	if r.At.IsZero() {
		r.At = s.o.Now()
	}
	_, err = s.ledger.Append(r)
	return err
}

// maxRefusals is the maximum number of refusals that are recorded per minute, so that a server
// cannot fill the disk with them. All are logged.
const maxRefusals = 100

// refusals limits the recorded refusals.
type refusals struct {
	since time.Time
	n     int
}

func (r *refusals) allow(now time.Time) bool {
	if now.Sub(r.since).Abs() >= time.Minute {
		*r = refusals{since: now}
	}
	r.n++
	return r.n <= maxRefusals
}
