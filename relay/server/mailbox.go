package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// Limits of enrolments.
const (
	enrolmentTTL      = 10 * time.Minute
	maxEnrolments     = 100
	maxEnrolmentMails = 8       // of each side
	maxEnrolmentMail  = 8 << 10 // in bytes
	maxEnrolmentWait  = 25      // of a request for messages, in seconds
)

// enrolments passes messages between the two sides of an enrolment (relay/seal). They are only in
// memory: both sides must use the same server.
type enrolments struct {
	mu      sync.Mutex
	of      map[string]*enrolment
	changed chan struct{} // closed and replaced at each message
}

type enrolment struct {
	ends time.Time
	sent map[string][]string // messages by the side that has sent them
}

// enrolmentSides are the sides, each with the other one.
var enrolmentSides = map[string]string{"add": "join", "join": "add"}

func newEnrolments() *enrolments {
	return &enrolments{of: map[string]*enrolment{}, changed: make(chan struct{})}
}

// send adds a message of a side.
func (m *enrolments) send(now time.Time, session, side, text string) *Failure {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now)
	one := m.of[session]
	switch {
	case one == nil && len(m.of) >= maxEnrolments:
		return &Failure{Code: protocol.RateLimited, Why: "too many devices are being enrolled: try again later", After: time.Minute}
	case one == nil:
		one = &enrolment{ends: now.Add(enrolmentTTL), sent: map[string][]string{}}
		m.of[session] = one
	case len(one.sent[side]) >= maxEnrolmentMails:
		return refuse(protocol.TooLarge, "a side of an enrolment sends at most %d messages: start again", maxEnrolmentMails)
	}
	one.sent[side] = append(one.sent[side], text)
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

// receive returns the messages of a side after the first after ones, and a channel that is closed
// at the next message of any enrolment.
func (m *enrolments) receive(now time.Time, session, side string, after int64) (all []string, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now)
	if one := m.of[session]; one != nil && after < int64(len(one.sent[side])) {
		all = slices.Clone(one.sent[side][after:])
	}
	return all, m.changed
}

func (m *enrolments) sweep(now time.Time) {
	for id, one := range m.of {
		if !now.Before(one.ends) {
			delete(m.of, id)
		}
	}
}

// postMail serves POST /seal/join/SESSION.
func (s sealAPI) postMail(w http.ResponseWriter, r *http.Request, who *auth.Identity, session string) error {
	body, f := readAtMost(w, r, 8*maxEnrolmentMail) // a character may take six bytes in JSON
	if f != nil {
		return f
	}
	var d struct{ Side, Text string }
	switch err := json.Unmarshal(body, &d); {
	case err != nil:
		return refuse(protocol.BadMessage, "the body must be {side, text}: %v", err)
	case !protocol.IsID(session):
		return refuse(protocol.BadMessage, "%q is no session", session)
	case enrolmentSides[d.Side] == "":
		return refuse(protocol.BadMessage, "side must be add or join")
	case d.Text == "":
		return refuse(protocol.BadMessage, "text is missing")
	case len(d.Text) > maxEnrolmentMail:
		return refuse(protocol.TooLarge, "a message has at most %d bytes", maxEnrolmentMail)
	}
	if f := s.rates.allow(callerID(r, who)); f != nil {
		return f
	}
	if f := s.enrolments.send(s.clock.Now(), session, d.Side, d.Text); f != nil {
		return f
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// callerID identifies a user's session or a machine for the limit of rates.
func callerID(r *http.Request, who *auth.Identity) string {
	if who == nil {
		return "host " + r.URL.Query().Get("host_id")
	}
	return who.ID
}

// mail is the response with the messages of the other side.
type mail struct {
	Messages []string `json:"messages"`
	Next     int64    `json:"next"` // number of messages of the other side so far
}

// receiveMail serves GET /seal/join/SESSION. It waits until there is a message.
func (s sealAPI) receiveMail(w http.ResponseWriter, r *http.Request, _ *auth.Identity, session string) error {
	from := enrolmentSides[r.URL.Query().Get("side")]
	if from == "" || !protocol.IsID(session) {
		return refuse(protocol.BadMessage, "side must be add or join, and %q a session", session)
	}
	after, f := number(r, "after", 0, 0, maxEnrolmentMails)
	wait, f2 := number(r, "wait", 0, 0, maxEnrolmentWait)
	if f := firstFailure(f, f2); f != nil {
		return f
	}
	over := make(chan struct{})
	stop := s.clock.After(time.Duration(wait)*time.Second, func() { close(over) })
	defer stop()
	for waiting := wait > 0; ; {
		all, changed := s.enrolments.receive(s.clock.Now(), session, from, after)
		if len(all) > 0 || !waiting {
			httpguard.Answer(w, http.StatusOK, mail{append([]string{}, all...), after + int64(len(all))})
			return nil
		}
		select {
		case <-changed:
		case <-over:
			waiting = false
		case <-s.ctx.Done():
			waiting = false
		case <-r.Context().Done():
			return nil
		}
	}
}
