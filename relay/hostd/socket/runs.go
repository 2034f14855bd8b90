package socket

import (
	"context"
	"encoding/json"
	"net/http"
	"sort"
	"strconv"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

func (a *API) health(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, a.o.Health())
	return nil
}

func (a *API) account(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, a.o.Account.Status())
	return nil
}

// reloadAccount makes hostd read the files of its account, which the command line has changed.
func (a *API) reloadAccount(w http.ResponseWriter, _ *http.Request) error {
	s, err := a.o.Account.Reload()
	if err == nil {
		writeJSON(w, http.StatusOK, s)
	}
	return err
}

// rotateAccount begins an epoch, and refuses earlier statements.
func (a *API) rotateAccount(w http.ResponseWriter, _ *http.Request) error {
	s, err := a.o.Account.Rotate()
	if err == nil {
		writeJSON(w, http.StatusOK, s)
	}
	return err
}

func (a *API) list(w http.ResponseWriter, _ *http.Request) error {
	all := a.o.Runs.List()
	all = append(all, a.o.Programs.List()...)
	sort.SliceStable(all, func(i, j int) bool { return all[i].StartedAt < all[j].StartedAt })
	writeJSON(w, http.StatusOK, protocol.ListRunsResult{Runs: all})
	return nil
}

// StartRequest is the body of POST /runs.
type StartRequest struct {
	Tool  string  `json:"tool"`
	Cmd   string  `json:"cmd"`
	Cwd   *string `json:"cwd,omitempty"`
	Title string  `json:"title,omitempty"`
	Cols  int64   `json:"cols,omitempty"`
	Rows  int64   `json:"rows,omitempty"`
}

// check applies the same limits as rpc.run.start.
func (b *StartRequest) check() error {
	if b.Tool == "" {
		return nil // Manager.Start reports the missing command
	}
	s := protocol.StartRun{RequestID: newID(), MachineID: "local", Tool: b.Tool, Cmd: b.Cmd, Title: b.Title}
	if b.Cwd != nil {
		s.Cwd = *b.Cwd
	}
	if b.Cols != 0 || b.Rows != 0 {
		s.Cols, s.Rows = &b.Cols, &b.Rows
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if refused := protocol.Check(&protocol.Envelope{Type: protocol.RPCStartRun, Data: text}); refused != nil {
		return approvals.Errorf(refused.Code, "%s", refused.Why)
	}
	return nil
}

func (a *API) start(w http.ResponseWriter, q *http.Request) error {
	var b StartRequest
	if err := decodeBody(q, &b); err != nil {
		return err
	}
	if err := b.check(); err != nil {
		return err
	}
	spec := runs.Spec{Tool: b.Tool, Cmd: b.Cmd, Title: b.Title, Cols: b.Cols, Rows: b.Rows, Ancestors: a.CallerRuns(q)}
	if b.Cwd != nil {
		spec.Cwd = *b.Cwd
	}
	id, err := a.o.Runs.Start(context.WithoutCancel(q.Context()), spec)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, protocol.StartRunResult{RunID: id})
	return nil
}

func (a *API) input(w http.ResponseWriter, q *http.Request) error {
	b := protocol.SendInput{InputID: newID()}
	if err := decodeCommand(q, protocol.RunSendInput, &b, "input_id"); err != nil {
		return err
	}
	if err := a.requireTerminal(q); err != nil {
		return err
	}
	state, err := a.o.Runs.Input(context.WithoutCancel(q.Context()), q.PathValue("run"), runs.Input{ID: b.InputID, Text: b.Text, Actor: actorOf(b.Actor)})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]string{"input_id": b.InputID, "state": state})
	return nil
}

// decodeCommand decodes the body of a request as a command of the protocol and validates it. id is
// the name of the member that contains the command's id. If the body lacks it, the value in into is
// used.
func decodeCommand[T any](q *http.Request, typ string, into *T, id string) error {
	text, err := json.Marshal(into)
	if err != nil {
		return err
	}
	var own, all map[string]json.RawMessage
	if err := json.Unmarshal(text, &own); err != nil {
		return err
	}
	if err := decodeBody(q, &all); err != nil {
		return err
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if value := string(all[id]); id != "" && (value == "" || value == `""` || value == "null") {
		all[id] = own[id]
	}
	if string(all["actor"]) == `"local"` { // local is a valid actor in this API, but not in a command of the protocol
		delete(all, "actor")
	}
	if text, err = json.Marshal(all); err != nil {
		return err
	}
	e := &protocol.Envelope{Type: typ, RunID: q.PathValue("run"), Data: text}
	if refused := protocol.Check(e); refused != nil {
		return approvals.Errorf(refused.Code, "%s", refused.Why)
	}
	*into, err = protocol.Decode[T](e)
	return err
}

// requireTerminal returns an error if the run has no terminal.
func (a *API) requireTerminal(q *http.Request) error {
	if id := q.PathValue("run"); a.o.Programs.Has(id) {
		return approvals.Errorf(protocol.Forbidden, "run %s has no terminal and accepts no input: answer its requests", id)
	}
	return nil
}

// actorOf returns the actor of an input. The default over this socket is the command line.
func actorOf(actor string) string {
	if actor == "" {
		return "cli"
	}
	return actor
}

func (a *API) keys(w http.ResponseWriter, q *http.Request) error {
	var b protocol.SendKeys
	if err := decodeCommand(q, protocol.RunSendKeys, &b, ""); err != nil {
		return err
	}
	if err := a.requireTerminal(q); err != nil {
		return err
	}
	if err := a.o.Runs.Keys(q.PathValue("run"), b.Keys); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, protocol.Empty{})
	return nil
}

func (a *API) stop(w http.ResponseWriter, q *http.Request) error {
	var b protocol.Stop
	if err := decodeCommand(q, protocol.RunStop, &b, ""); err != nil {
		return err
	}
	grace := int64(runs.DefaultGrace)
	if b.GraceS != nil {
		grace = *b.GraceS
	}
	if b.Signal == "" {
		b.Signal = "term"
	}
	id, kill := q.PathValue("run"), b.Signal == "kill"
	var err error
	if !a.o.Runs.Has(id) {
		err = a.o.Programs.Stop(q.Context(), id, kill)
	} else {
		err = a.o.Runs.Stop(q.Context(), id, kill, grace)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, protocol.StopRunResult{Signal: b.Signal})
	return nil
}

func (a *API) resize(w http.ResponseWriter, q *http.Request) error {
	var b protocol.Resize
	if err := decodeCommand(q, protocol.RunResize, &b, ""); err != nil {
		return err
	}
	if err := a.o.Runs.Resize(q.Context(), q.PathValue("run"), b.Cols, b.Rows, ""); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, protocol.Empty{})
	return nil
}

// stream writes the events of a run until its end, one envelope per line. The parameter off is the
// offset in bytes at which the output begins. A negative offset is counted from the end of the
// output.
func (a *API) stream(w http.ResponseWriter, q *http.Request) error {
	off := int64(0)
	if text := q.URL.Query().Get("off"); text != "" {
		var err error
		if off, err = strconv.ParseInt(text, 10, 64); err != nil {
			return approvals.Errorf(protocol.BadMessage, "off must be a number of bytes, not %q", text)
		}
	}
	id := q.PathValue("run")
	follow := func(ctx context.Context, handle func(protocol.Envelope) error) error {
		return a.o.Runs.Follow(ctx, id, off, handle)
	}
	if a.o.Programs.Follows(id) {
		follow = func(ctx context.Context, handle func(protocol.Envelope) error) error {
			return a.o.Programs.Follow(ctx, id, handle)
		}
	} else if _, err := a.o.Runs.Dir(id); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	line := make([]byte, 0, 1<<10)
	err := follow(q.Context(), func(e protocol.Envelope) error {
		line = append(e.Append(line[:0]), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
		return flush.Flush()
	})
	if err != nil && q.Context().Err() == nil {
		panic(http.ErrAbortHandler) // aborts the response, so that the client does not take it for complete
	}
	return nil
}

func (a *API) listRequests(w http.ResponseWriter, q *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"requests": a.o.Approvals.Open(q.PathValue("run"))})
	return nil
}

// DecideRequest is the body of POST /runs/ID/permissions/REQUEST.
type DecideRequest struct {
	// Decision is approve, deny or answer. answer is an approval that contains an answer.
	Decision   string          `json:"decision"`
	ArgsSHA256 string          `json:"args_sha256,omitempty"`
	Answer     json.RawMessage `json:"answer,omitempty"`
	Answers    json.RawMessage `json:"answers,omitempty"`
	Text       string          `json:"text,omitempty"`
	Scope      string          `json:"scope,omitempty"`
}

func (a *API) decide(w http.ResponseWriter, q *http.Request) error {
	var b DecideRequest
	if err := decodeBody(q, &b); err != nil {
		return err
	}
	p, _ := q.Context().Value(peerKey{}).(peer)
	local := p.process()
	err := a.o.Approvals.Decide(context.WithoutCancel(q.Context()), q.PathValue("run"), q.PathValue("request"),
		approvals.Decision{Decision: b.Decision, Actor: "cli", ArgsSHA256: b.ArgsSHA256, Answer: b.Answer, Answers: b.Answers, Text: b.Text, Scope: b.Scope, Local: &local})
	if err != nil {
		return err
	}
	made, _ := a.o.Approvals.Outcome(q.PathValue("run"), q.PathValue("request"))
	writeJSON(w, http.StatusOK, DecideResponse{State: protocol.InputApplied, Decision: made.Decision, Answer: made.Value})
	return nil
}

// DecideResponse is the response to a decision. It contains the decision as it is recorded.
type DecideResponse struct {
	State    protocol.InputState `json:"state"`
	Decision string              `json:"decision,omitempty"`
	Answer   json.RawMessage     `json:"answer,omitempty"`
}

// rpcHandler returns a handler that performs an RPC. The data of the RPC consists of the members of
// the body and the query parameters.
func rpcHandler(typ string) func(*API, http.ResponseWriter, *http.Request) error {
	return func(a *API, w http.ResponseWriter, q *http.Request) error {
		data := map[string]any{}
		if q.Method == http.MethodPost {
			if err := decodeBody(q, &data); err != nil {
				return err
			}
		}
		for name, all := range q.URL.Query() {
			data[name] = all[0]
			if n, err := strconv.ParseInt(all[0], 10, 64); err == nil && (name == "offset" || name == "limit") {
				data[name] = n
			}
		}
		if _, has := data["request_id"]; !has {
			data["request_id"] = newID()
		}
		text, err := json.Marshal(data)
		if err != nil {
			return err
		}
		e := &protocol.Envelope{Type: typ, RunID: q.PathValue("run"), Data: text}
		if refused := protocol.Check(e); refused != nil {
			return approvals.Errorf(refused.Code, "%s", refused.Why)
		}
		r := a.o.RPC.PerformLocal(q.Context(), e)
		if r.OK {
			writeJSON(w, http.StatusOK, r.Result)
			return nil
		}
		writeErrorCode(w, httpStatus(r.ErrorCode), string(r.ErrorCode), r.Error)
		return nil
	}
}

// httpStatus returns the HTTP status of an RPC's error code.
func httpStatus(code protocol.RPCCode) int {
	switch code {
	case protocol.NotFound:
		return http.StatusNotFound
	case protocol.OutOfScope, protocol.Denied:
		return http.StatusForbidden
	case protocol.BadPattern, protocol.NotText, protocol.NotRegular:
		return http.StatusBadRequest
	case protocol.Changed, protocol.Withdrawn, protocol.NoLog:
		return http.StatusConflict
	case protocol.Timeout:
		return http.StatusGatewayTimeout
	case protocol.MissingDependency:
		return http.StatusNotImplemented
	}
	return protocol.HTTPStatus(protocol.Code(code))
}
