package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// MaxHistoryPage is the usual and the maximum number of decisions in a response.
const MaxHistoryPage = 100

// historyRoute returns the route for the decisions on all requests, the newest first.
func historyRoute(s *Server) auth.Route {
	return auth.Route{Method: "GET", Path: "/decisions", Right: auth.Read, Handle: func(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
		q, f := HistoryQuery(r.URL.Query())
		if len(q.Runs) == 0 && !slices.ContainsFunc(who.Runs, isGlob) {
			q.Runs = who.Runs // the store finds them by an index
		}
		if f != nil {
			httpguard.Fail(w, f)
			return
		}
		page, err := History(r.Context(), s.store, q, who.Sees)
		if err != nil {
			httpguard.Fail(w, s.failed(err, protocol.Internal))
			return
		}
		httpguard.Answer(w, http.StatusOK, page)
	}}
}

// HistoryQuery parses the parameters of GET /decisions.
func HistoryQuery(params url.Values) (q store.HistoryQuery, f *Failure) {
	limit, f := numberIn(params, "limit", MaxHistoryPage, 1, MaxHistoryPage)
	q = store.HistoryQuery{Machine: params.Get("host"), Decision: params.Get("decision"), By: params.Get("by"), Limit: int(limit)}
	if run := params.Get("run"); run != "" {
		q.Runs = []string{run}
	}
	if q.Decision != "" && !slices.Contains(store.HistoryDecisions, q.Decision) {
		f = firstFailure(f, refuse(protocol.BadMessage, "decision must be one of %s", strings.Join(store.HistoryDecisions, ", ")))
	}
	if before := params.Get("before"); before != "" {
		at, n, _ := strings.Cut(before, "-")
		var errs [2]error
		q.Before, errs[0] = strconv.ParseInt(at, 10, 64)
		q.BeforeN, errs[1] = strconv.ParseInt(n, 10, 64)
		if errors.Join(errs[:]...) != nil || q.Before < 1 {
			f = firstFailure(f, refuse(protocol.BadMessage, "before must be the member next of another page"))
		}
	}
	return q, f
}

// isGlob reports whether a pattern of path.Match can match another name than itself.
func isGlob(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }

// HistoryPage is a page of decisions. Next is the position after it, or "" if it is the last page.
type HistoryPage struct {
	Decisions []HistoryRow `json:"decisions"`
	Next      string       `json:"next"`
}

// HistoryRow is a decision as apps see it.
type HistoryRow struct {
	At        string `json:"at"`
	RunID     string `json:"run_id"`
	RunTitle  string `json:"run_title"`
	MachineID string `json:"host_id"`
	RequestID string `json:"request_id,omitempty"`
	Title     string `json:"title"`
	Line      string `json:"line,omitempty"`
	Decision  string `json:"decision"`
	By        string `json:"by,omitempty"`
	Actor     string `json:"actor,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Answer    string `json:"answer,omitempty"` // JSON text
	// Sealed has the events of a sealed run that only a device opens: the request and its decision.
	Sealed []json.RawMessage `json:"sealed,omitempty"`
}

// History returns a page of decisions on requests of runs for which sees returns true. It reads as
// many pages of the store as are necessary to fill the page.
func History(ctx context.Context, db *store.Store, q store.HistoryQuery, sees func(run string) bool) (*HistoryPage, error) {
	page := &HistoryPage{Decisions: []HistoryRow{}}
	for limit := q.Limit; ; {
		all, err := store.History(ctx, db, q)
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			q.Before, q.BeforeN = e.At, e.N
			if !sees(e.RunID) {
				continue
			}
			sealed, err := sealedDecision(ctx, db, e)
			if err != nil {
				return nil, err
			}
			page.Decisions = append(page.Decisions, HistoryRow{Sealed: sealed, At: *timeText(e.At), RunID: e.RunID, RunTitle: e.RunTitle, MachineID: e.MachineID, RequestID: e.RequestID, Title: e.Title, Line: e.Line,
				Decision: e.Decision, By: e.By, Actor: e.Actor, Reason: e.Reason, Answer: e.Answer})
			if len(page.Decisions) == limit {
				page.Next = fmt.Sprintf("%d-%d", e.At, e.N)
				return page, nil
			}
		}
		if len(all) < q.Limit {
			return page, nil
		}
	}
}

// sealedDecision returns the frames of the events of a sealed decision.
func sealedDecision(ctx context.Context, db *store.Store, e *store.HistoryEntry) (frames []json.RawMessage, err error) {
	if e.Seq == 0 {
		return nil, nil
	}
	events, err := store.SealedDecision(ctx, db, e)
	for _, one := range events {
		frame := one.Envelope(e.MachineID)
		frames = append(frames, frame.Append(nil))
	}
	return frames, err
}
