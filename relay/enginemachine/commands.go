package enginemachine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// commands performs the commands that users send through the server.
type commands struct{ *Machine }

// outcomeOf converts the result of a command to the outcome that the server receives.
func outcomeOf(err error) link.Outcome {
	var why *approvals.Error
	switch {
	case err == nil:
		return link.Applied
	case errors.As(err, &why) && why.Code == protocol.Expired:
		return link.Outcome{State: protocol.InputExpired, Error: err.Error()}
	}
	return link.Outcome{State: protocol.InputRejected, Error: err.Error()}
}

// Input refuses an input, because runs of an engine read none.
func (c commands) Input(context.Context, string, string, protocol.SendInput) link.Outcome {
	return outcomeOf(approvals.Errorf(protocol.Forbidden, "a run of an engine has no terminal"))
}

// Keys ignores keys.
func (c commands) Keys(context.Context, string, protocol.SendKeys) {}

// Resize ignores the size of a terminal.
func (c commands) Resize(context.Context, string, protocol.Resize) {}

// Stop requests that a run stops.
func (c commands) Stop(_ context.Context, id string, _ protocol.Stop) link.Outcome {
	return outcomeOf(c.Source.Stop(id))
}

// Stop requests that a run stops.
func (s *Source) Stop(id string) error {
	r := s.find(id)
	if r == nil {
		return approvals.Errorf(protocol.RunHasExited, "run %s has ended", id)
	}
	if err := s.o.Engine.Run(r.Run).RequestStop(); err != nil {
		return approvals.Errorf(protocol.Internal, "%v", s.o.Engine.Explain(err, postgres.Client))
	}
	return nil
}

// Decide stores the answer to a question in the engine.
func (c commands) Decide(ctx context.Context, a link.Admission, by string, q protocol.Decide) link.Outcome {
	d := approvals.Decision{Decision: approvals.Deny, Actor: q.Actor, By: by, ArgsSHA256: q.ArgsSHA256, Answer: q.Answer, Answers: q.Answers, Text: q.Text, Scope: q.Scope}
	if a.Command.Type == protocol.RunApprove {
		d.Decision = approvals.Approve
	}
	if d.Actor == "" {
		d.Actor = "web"
	}
	return outcomeOf(c.requests.Decide(ctx, a.Command.RunID, q.RequestID, d))
}

// RPC performs a request of an app. An engine has no files and starts no runs for apps.
func (c commands) RPC(_ context.Context, a link.Admission) (string, protocol.Response) {
	e := a.Command
	var q struct {
		RequestID string `json:"request_id"`
	}
	_ = json.Unmarshal(e.Data, &q) // the link has read the id
	r := protocol.Response{RequestID: q.RequestID, RPCType: e.Type, OK: true}
	var result any
	var err error
	switch e.Type {
	case protocol.RPCMachineInfo:
		result = c.info()
	case protocol.RPCMachineDoctor:
		result = protocol.MachineDoctor{MachineInfo: c.info(), Deps: []protocol.Dep{c.health()}}
	case protocol.RPCStopRun:
		result, err = protocol.StopRunResult{Signal: "term"}, c.Source.Stop(e.RunID)
	default:
		err = approvals.Errorf(protocol.UnknownType, "an engine does not support %s", e.Type)
	}
	if err == nil {
		r.Result, err = json.Marshal(result)
	}
	if err != nil {
		r.OK, r.Error, r.ErrorCode = false, err.Error(), protocol.RPCCode(protocol.Internal)
		var why *approvals.Error
		if errors.As(err, &why) {
			r.Error, r.ErrorCode = why.Why, protocol.RPCCode(why.Code)
		}
	}
	return e.RunID, r
}

func (h *Machine) info() protocol.MachineInfo {
	return protocol.MachineInfo{MachineID: h.o.ID, PID: int64(os.Getpid()), OS: runtime.GOOS, Arch: runtime.GOARCH, Version: h.o.Version, Tools: []protocol.ToolInfo{}}
}

// health reports whether the engine can be read.
func (h *Machine) health() protocol.Dep {
	if err := h.Err(); err != nil {
		return protocol.Dep{Name: "engine", Detail: err.Error()}
	}
	return protocol.Dep{Name: "engine", OK: true, Detail: h.o.Engine.Address()}
}
