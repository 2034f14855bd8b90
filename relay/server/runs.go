package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// runRow is a run as apps see it.
type runRow struct {
	ID           string          `json:"id"`
	MachineID    string          `json:"host_id"`
	Tool         string          `json:"tool"`
	Cwd          string          `json:"cwd"`
	Command      string          `json:"command"`
	Title        string          `json:"title"`
	Status       protocol.Status `json:"status"`
	StartedAt    *string         `json:"started_at"`
	LastActiveAt *string         `json:"last_active_at"`
	EndedAt      *string         `json:"ended_at"`
	ExitCode     *int64          `json:"exit_code"`
	LastSeq      int64           `json:"last_seq"` // sequence number of the last event that can be read
	Meta         json.RawMessage `json:"meta,omitempty"`
	Sealed       bool            `json:"sealed,omitempty"`
	pendingRow
}

// pendingRow describes the open requests of a run. It contains all of them, and the fields of the
// oldest as in protocol 1.
type pendingRow struct {
	RequestID     *string           `json:"pending_request_id"`
	Reason        *string           `json:"pending_reason"`
	Prompt        *string           `json:"pending_prompt"`
	OpTool        *string           `json:"pending_op_tool"`
	OpArgsSummary *string           `json:"pending_op_args_summary"`
	Pending       []json.RawMessage `json:"pending"`
}

// timeText formats a time in Unix ms. It returns nil for 0.
func timeText(ms int64) *string {
	if ms == 0 {
		return nil
	}
	t := protocol.Timestamp(time.UnixMilli(ms))
	return &t
}

func (s *Server) row(ctx context.Context, r *store.Run) (*runRow, error) {
	row := &runRow{ID: r.ID, MachineID: r.MachineID, Tool: r.Tool, Cwd: r.Cwd, Command: r.Command, Title: r.Title, Status: r.Status, StartedAt: timeText(r.StartedAt),
		LastActiveAt: timeText(r.LastActiveAt), EndedAt: timeText(r.EndedAt), ExitCode: r.ExitCode, LastSeq: r.Prefix, Meta: r.Meta, Sealed: r.Sealed, pendingRow: pendingRow{Pending: []json.RawMessage{}}}
	if r.Status != protocol.StatusAwaitingApproval && r.Status != protocol.StatusLost {
		return row, nil
	}
	open, err := s.store.Requests(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	for i, q := range open {
		if i == 0 {
			row.setFirst(q)
		}
		row.Pending = append(row.Pending, requestRow(q, nil))
	}
	return row, nil
}

// setFirst sets the fields that describe the oldest request.
func (p *pendingRow) setFirst(q *store.Request) {
	text := func(name string) *string {
		if t := store.Text(q.Data, name); t != "" {
			return &t
		}
		return nil
	}
	p.RequestID, p.Reason, p.Prompt, p.OpTool, p.OpArgsSummary = &q.ID, text("reason"), text("prompt"), text("op_tool"), text("op_args_summary")
}

// requestRow returns the data of a request with its run, its state and the members of more.
func requestRow(q *store.Request, more map[string]any) json.RawMessage {
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(q.Data, &all) // of a sealed run, it has ct instead of the members
	all["request_id"], all["run_id"], all["seq"], all["state"] = mustJSON(q.ID), mustJSON(q.RunID), mustJSON(q.Seq), mustJSON(q.State)
	for name, v := range more {
		all[name] = mustJSON(v)
	}
	return mustJSON(all)
}

// number returns an integer parameter of a request. It returns otherwise if the parameter is
// missing, and a Failure if it is not between from and to.
func number(r *http.Request, name string, otherwise, from, to int64) (int64, *Failure) {
	return numberIn(r.URL.Query(), name, otherwise, from, to)
}

func numberIn(params url.Values, name string, otherwise, from, to int64) (int64, *Failure) {
	text := params.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < from || n > to {
		return 0, refuse(protocol.BadMessage, "%s must be an integer from %d to %d", name, from, to)
	}
	return n, nil
}

var statuses = []protocol.Status{protocol.StatusRunning, protocol.StatusAwaitingInput, protocol.StatusAwaitingApproval, protocol.StatusExited, protocol.StatusLost}

// runsQuery parses the parameters of GET /runs.
func (s *Server) runsQuery(r *http.Request) (q store.RunsQuery, f *Failure) {
	limit, f := number(r, "limit", 100, 1, 1000)
	if f != nil {
		return q, f
	}
	params := r.URL.Query()
	q = store.RunsQuery{Status: protocol.Status(params.Get("status")), Machine: params.Get("host"), Limit: int(limit)}
	if q.Status != "" && !slices.Contains(statuses, q.Status) {
		return q, refuse(protocol.BadMessage, "there is no status %q", q.Status)
	}
	switch before := params.Get("before"); {
	case before == "":
	case s.beforeTime(before, &q):
	default: // a run's id
		run, err := s.store.Run(r.Context(), before)
		if err != nil {
			return q, refuse(protocol.BadMessage, "before must be a run's id, or a time in RFC 3339")
		}
		q.Before, q.BeforeID = run.LastActiveAt, run.ID
	}
	return q, nil
}

func (s *Server) beforeTime(text string, q *store.RunsQuery) bool {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return false
	}
	q.Before = at.UnixMilli()
	return true
}

func (s *Server) runs(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	q, f := s.runsQuery(r)
	if f != nil {
		httpguard.Fail(w, f)
		return
	}
	rows := []*runRow{}
	for want := q.Limit; len(rows) < want; { // reads several pages if the caller may not see all runs
		all, err := s.store.Runs(r.Context(), q)
		for i := 0; err == nil && i < len(all) && len(rows) < want; i++ {
			if !who.Sees(all[i].ID) {
				continue
			}
			var row *runRow
			if row, err = s.row(r.Context(), all[i]); err == nil {
				rows = append(rows, row)
			}
		}
		if err != nil {
			httpguard.Fail(w, s.failed(err, protocol.Internal))
			return
		}
		if len(all) < q.Limit {
			break
		}
		q.Before, q.BeforeID = all[len(all)-1].LastActiveAt, all[len(all)-1].ID
	}
	httpguard.Answer(w, http.StatusOK, rows)
}

func (s *Server) run(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	run, err := s.visible(r.Context(), who.Sees, r.PathValue("run"))
	if err != nil {
		httpguard.Fail(w, s.failed(err, protocol.UnknownRun))
		return
	}
	row, err := s.row(r.Context(), run)
	if err != nil {
		httpguard.Fail(w, s.failed(err, protocol.Internal))
		return
	}
	httpguard.Answer(w, http.StatusOK, row)
}

// eventsPage is a page of events with the position after it.
type eventsPage struct {
	Events []json.RawMessage `json:"events"`
	Cursor map[string]int64  `json:"cursor"`
	More   bool              `json:"more"`
}

const answerBytes = 4 << 20 // maximum size of the events in a response, in bytes; a larger event is returned alone

// parsePage parses the parameters that select a part of a run's events.
func (s *Server) parsePage(r *http.Request, who *auth.Identity, usual, most int64) (*store.Run, store.PageQuery, *Failure) {
	run, err := s.visible(r.Context(), who.Sees, r.PathValue("run"))
	if err != nil {
		return nil, store.PageQuery{}, s.failed(err, protocol.UnknownRun)
	}
	after, f := number(r, "after", 0, 0, protocol.MaxSeq)
	limit, f2 := number(r, "limit", usual, 1, most)
	return run, store.PageQuery{Run: run.ID, After: after, Limit: int(limit), Bytes: answerBytes}, firstFailure(f, f2)
}

func (s *Server) runEvents(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	run, q, f := s.parsePage(r, who, 200, 1000)
	if f != nil {
		httpguard.Fail(w, f)
		return
	}
	if types := r.URL.Query().Get("types"); types != "" {
		q.Types = strings.Split(types, ",")
	}
	events, more, err := s.store.Page(r.Context(), q)
	if err != nil {
		httpguard.Fail(w, s.failed(err, protocol.Internal))
		return
	}
	out := eventsPage{Events: []json.RawMessage{}, Cursor: map[string]int64{run.ID: max(q.After, run.Prefix)}, More: more}
	for _, e := range events {
		env := e.Envelope(run.MachineID)
		out.Events = append(out.Events, env.Append(nil))
		if more || e.Seq > out.Cursor[run.ID] {
			out.Cursor[run.ID] = e.Seq
		}
	}
	httpguard.Answer(w, http.StatusOK, out)
}

func firstFailure(all ...*Failure) *Failure {
	for _, f := range all {
		if f != nil {
			return f
		}
	}
	return nil
}

// inbox responds with the open requests of all runs.
func (s *Server) inbox(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	all, err := s.store.Requests(r.Context(), "")
	rows := []json.RawMessage{}
	runs := map[string]*store.Run{}
	for i := 0; err == nil && i < len(all); i++ {
		q := all[i]
		if !who.Sees(q.RunID) {
			continue
		}
		if runs[q.RunID] == nil {
			if runs[q.RunID], err = s.store.Run(r.Context(), q.RunID); err != nil {
				break
			}
		}
		run := runs[q.RunID]
		rows = append(rows, requestRow(q, map[string]any{"host_id": run.MachineID, "tool": run.Tool, "title": run.Title, "cwd": run.Cwd}))
	}
	if err != nil {
		httpguard.Fail(w, s.failed(err, protocol.Internal))
		return
	}
	httpguard.Answer(w, http.StatusOK, rows)
}
