package serve

import (
	"encoding/json"
	"slices"
	"time"
)

type named struct {
	SessionID string `json:"session_id"`
}

func getSession(r *request, p *named) (any, error) {
	s, err := r.srv.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	return s.describe(), nil
}

type ofState struct {
	State *string `json:"state,omitempty" enum:"running,done,failed,cancelled"`
}

// listSessions lists sessions in the order of their creation.
func listSessions(r *request, p *ofState) (any, error) {
	r.srv.mu.Lock()
	all := slices.Clone(r.srv.order)
	r.srv.mu.Unlock()
	out := struct {
		Sessions []description `json:"sessions"`
	}{[]description{}}
	for _, s := range all {
		if d := s.describe(); p.State == nil || d.State == *p.State {
			out.Sessions = append(out.Sessions, d)
		}
	}
	return out, nil
}

type cancelling struct {
	SessionID string `json:"session_id"`
	Reason    string `json:"reason,omitempty"`
}

// cancelSession cancels a session and waits until the session has ended.
func cancelSession(r *request, p *cancelling) (any, error) {
	s, err := r.srv.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	s.cancel(p.Reason)
	select {
	case <-s.ended:
	case <-r.ctx.Done():
	}
	return s.describe(), nil
}

type subscribing struct {
	SessionID string `json:"session_id"`
	After     int64  `json:"after,omitempty"`
	Answers   bool   `json:"answers,omitempty"`
}

// position is the number of the last event that a client has received from a session.
type position struct {
	Cursor int64  `json:"cursor"`
	State  string `json:"state"`
}

// subscribeSession subscribes the client to a session. The client receives the events after the
// cursor, and later each new event.
func subscribeSession(r *request, p *subscribing) (any, error) {
	s, err := r.srv.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	at := position{max(0, p.After), s.state.State}
	s.mu.Unlock()
	r.after = append(r.after, func() { s.subscribe(r.client, at.Cursor, p.Answers) })
	return at, nil
}

func unsubscribeSession(r *request, p *named) (any, error) {
	s, err := r.srv.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	cursor := s.unsubscribe(r.client)
	s.mu.Lock()
	defer s.mu.Unlock()
	return position{cursor, s.state.State}, nil
}

type pulling struct {
	SessionID string  `json:"session_id"`
	After     int64   `json:"after,omitempty"`
	Limit     int     `json:"limit,omitempty" min:"1" max:"10000"`
	WaitS     float64 `json:"wait_s,omitempty" min:"0" max:"86400"`
}

// pulled is a page of a session's events.
type pulled struct {
	Events []json.RawMessage `json:"events"`
	position
}

// sessionEvents returns the events after a number. If there are none, it waits for the next event.
func sessionEvents(r *request, p *pulling) (any, error) {
	s, err := r.srv.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	limit := p.Limit
	if limit == 0 {
		limit = 100
	}
	late := time.NewTimer(time.Duration(p.WaitS * float64(time.Second)))
	defer late.Stop()
	for {
		out, changed := s.pull(p.After, limit)
		if len(out.Events) > 0 || out.State != stateRunning || p.WaitS == 0 {
			return out, nil
		}
		select {
		case <-changed:
		case <-late.C:
			return out, nil
		case <-r.ctx.Done():
			return out, nil
		}
	}
}

// pull returns the events after a number, and a channel that is closed when another event is added.
func (s *session) pull(after int64, limit int) (out pulled, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, to, events, last := s.log.after(after, limit)
	out.Events = []json.RawMessage{}
	if to > 0 {
		out.Events = append(out.Events, gap(s.id, from, to))
	}
	out.Events = append(out.Events, events...)
	out.Cursor, out.State = last, s.state.State
	return out, s.changed
}
