package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Limits of accounts.
const (
	maxRosterBody  = 64 << 10 // of a request with lines of a roster, in bytes
	maxKeyBody     = 1 << 20  // of a request with a key record or a history, in bytes
	maxRosterLines = 1000
	maxHistories   = 100 // of a host for one device
	maxShareLines  = 1000
)

// joinSection is the first part of /seal/join/SESSION, the messages of an enrolment, and
// shareSection that of /seal/share/SHARE, the keys of a share. The other routes are
// /seal/ACCOUNT/PART. http.ServeMux refuses separate patterns for them, because /seal/join/roster
// would match both.
const (
	joinSection  = "join"
	shareSection = "share"
)

// sealAPI serves the routes for accounts and for the enrolment of devices.
type sealAPI struct{ *Server }

// sealHandler serves a request about an account or a session of an enrolment. who is nil for a
// machine.
type sealHandler func(s sealAPI, w http.ResponseWriter, r *http.Request, who *auth.Identity, id string) error

// sealParts are the parts of an account.
var sealParts = map[string]struct{ get, post sealHandler }{
	"roster":   {sealAPI.getRoster, sealAPI.postRoster},
	"keys":     {sealAPI.getKeys, sealAPI.postKeys},
	"oldest":   {get: sealAPI.getOldest},
	"history":  {sealAPI.getHistory, sealAPI.postHistory},
	"passkeys": {sealAPI.getPasskeys, sealAPI.postPasskey},
}

// sealRoutes returns the routes for accounts and for the enrolment of devices.
func sealRoutes(s *Server) []auth.Route {
	a := sealAPI{s}
	return []auth.Route{
		{Method: "GET", Path: "/seal/{account}/{part}", Right: auth.Self, Machine: true, Handle: func(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
			a.serve(w, r, who, sealParts[r.PathValue("part")].get, map[string]sealHandler{joinSection: sealAPI.receiveMail, shareSection: sealAPI.getShare})
		}},
		{Method: "POST", Path: "/seal/{account}/{part}", Right: auth.Self, Machine: true, Handle: func(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
			a.serve(w, r, who, sealParts[r.PathValue("part")].post, map[string]sealHandler{joinSection: sealAPI.postMail, shareSection: sealAPI.postShare})
		}},
	}
}

// serve calls the handler for a part of an account, or that of a section.
func (s sealAPI) serve(w http.ResponseWriter, r *http.Request, who *auth.Identity, part sealHandler, sections map[string]sealHandler) {
	account := r.PathValue("account")
	var err error
	switch section := sections[account]; {
	case section != nil:
		err = section(s, w, r, who, r.PathValue("part"))
	case part != nil:
		err = part(s, w, r, who, account)
	default:
		err = &Failure{Code: "unknown_path", Why: "there is nothing at this path", Status: http.StatusNotFound}
	}
	if err != nil {
		httpguard.Fail(w, err)
	}
}

// getRoster serves GET /seal/ACCOUNT/roster.
func (s sealAPI) getRoster(w http.ResponseWriter, r *http.Request, _ *auth.Identity, account string) error {
	return s.getLog(w, r, store.RosterLog(account))
}

// getKeys serves GET /seal/ACCOUNT/keys: the key records of a host.
func (s sealAPI) getKeys(w http.ResponseWriter, r *http.Request, _ *auth.Identity, account string) error {
	host, f := idParam(r, "host")
	if f != nil {
		return f
	}
	return s.getLog(w, r, store.KeyLog(account, host))
}

// getOldest serves GET /seal/ACCOUNT/oldest: the lowest epoch of the stored events of a host, or 0
// if it is unknown. The host deletes the secrets of earlier epochs.
func (s sealAPI) getOldest(w http.ResponseWriter, r *http.Request, _ *auth.Identity, account string) error {
	host, f := idParam(r, "host")
	if f != nil {
		return f
	}
	n, err := store.OldestEpoch(r.Context(), s.store, account, host)
	if err != nil {
		return s.failed(err, protocol.UnknownAccount)
	}
	w.Header().Set("Cache-Control", "no-store")
	httpguard.Answer(w, http.StatusOK, map[string]int64{"epoch": n})
	return nil
}

// getLog responds with the lines of a log.
func (s sealAPI) getLog(w http.ResponseWriter, r *http.Request, log string) error {
	after, f := number(r, "after", 0, 0, protocol.MaxSeq)
	if f != nil {
		return f
	}
	lines, err := store.SealLog(r.Context(), s.store, log, after)
	if err != nil {
		return s.failed(err, protocol.UnknownAccount)
	}
	return respondLines(w, lines...)
}

// getHistory serves GET /seal/ACCOUNT/history: the newest history of a host for a device.
func (s sealAPI) getHistory(w http.ResponseWriter, r *http.Request, _ *auth.Identity, account string) error {
	host, f := idParam(r, "host")
	device, f2 := idParam(r, "device")
	if f = firstFailure(f, f2); f != nil {
		return f
	}
	last, err := store.LastOfLog(r.Context(), s.store, store.HistoryLog(account, host, device))
	if err != nil {
		return s.failed(err, protocol.UnknownAccount)
	}
	return respondLines(w, last)
}

func respondLines(w http.ResponseWriter, lines ...store.LogLine) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	for _, l := range lines {
		_, _ = io.WriteString(w, l.Line+"\n") // an error means that the client has disconnected
	}
	return nil
}

// idParam returns a parameter of a request that is an id.
func idParam(r *http.Request, name string) (string, *Failure) {
	id := r.URL.Query().Get(name)
	if !protocol.IsID(id) {
		return "", refuse(protocol.BadMessage, "%s must be an id", name)
	}
	return id, nil
}

// change is a change of an account that a request contains.
type change struct {
	actor  audit.Actor
	roster *seal.Roster // the stored one
	lines  int64        // of the roster; 0 if there is none
	body   []byte
}

// receive reads a request that changes an account. Users need the right to manage machines.
func (s sealAPI) receive(w http.ResponseWriter, r *http.Request, who *auth.Identity, account string, most int64) (*change, error) {
	c := &change{actor: audit.Actor{Type: "host", Name: r.URL.Query().Get("host_id")}, roster: &seal.Roster{}}
	if who != nil {
		if err := s.may(r.Context(), who, auth.ManageMachines, ""); err != nil {
			return nil, err
		}
		c.actor = who.Actor()
	}
	if f := s.rates.allow(callerID(r, who)); f != nil {
		return nil, f
	}
	var f *Failure
	if c.body, f = readAtMost(w, r, most); f != nil {
		return nil, f
	}
	c.body = bytes.TrimSuffix(c.body, []byte("\n"))
	stored, err := store.SealLog(r.Context(), s.store, store.RosterLog(account), 0)
	if err != nil && !errors.Is(err, store.ErrUnknown) {
		return nil, s.failed(err, protocol.UnknownAccount)
	}
	for _, l := range stored {
		if err := c.roster.Append([]byte(l.Line)); err != nil {
			return nil, refuse(protocol.Internal, "the stored roster is damaged: %v", err)
		}
	}
	c.lines = int64(len(stored))
	return c, nil
}

// append appends verified lines to a log of an account.
func (s sealAPI) append(w http.ResponseWriter, r *http.Request, log string, lines []store.LogLine, records ...audit.Record) error {
	if len(lines) > 0 {
		err := store.AppendSealLog(r.Context(), s.store, log, s.now(), lines, records...)
		if errors.Is(err, store.ErrRoster) {
			return refuse(protocol.RosterConflict, "another line was appended at the same time: read the lines, and sign the change again")
		}
		if err != nil {
			return s.failed(err, protocol.UnknownAccount)
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// postRoster appends lines to the roster of an account. Each member verifies the roster itself. The
// server verifies the lines too, so that no client can make a roster useless.
func (s sealAPI) postRoster(w http.ResponseWriter, r *http.Request, who *auth.Identity, account string) error {
	c, err := s.receive(w, r, who, account, maxRosterBody)
	if err != nil {
		return err
	}
	n := c.lines
	var more []store.LogLine
	for l := range bytes.SplitSeq(c.body, []byte("\n")) {
		if err := c.roster.Append(l); err != nil {
			return sealFailure(err)
		}
		if c.roster.Account() != account {
			return &Failure{Code: protocol.WrongRequest, Why: "the roster is that of account " + c.roster.Account() + ": post it there", Status: http.StatusBadRequest}
		}
		if head := c.roster.Head(); head.N > n {
			n = head.N
			more = append(more, logLine(n, l))
		}
	}
	if n > maxRosterLines {
		return refuse(protocol.TooLarge, "a roster has at most %d lines: create a new account", maxRosterLines)
	}
	about := mustJSON(map[string]any{"account": account, "n": n})
	return s.append(w, r, store.RosterLog(account), more, audit.Record{Kind: "roster_changed", Actor: c.actor, Subject: about})
}

func logLine(n int64, line []byte) store.LogLine {
	return store.LogLine{N: n, Line: string(line), SHA256: hexsum.SHA256(line)}
}

// postKeys appends a key record of the machine that sends it.
func (s sealAPI) postKeys(w http.ResponseWriter, r *http.Request, who *auth.Identity, account string) error {
	if who != nil {
		return refuse(protocol.Forbidden, "only a machine publishes its key records")
	}
	c, err := s.receive(w, r, who, account, maxKeyBody)
	if err != nil {
		return err
	}
	if c.lines == 0 {
		return s.failed(store.ErrUnknown, protocol.UnknownAccount)
	}
	host := c.actor.Name
	log := store.KeyLog(account, host)
	var known seal.EpochPosition
	switch last, err := store.LastOfLog(r.Context(), s.store, log); {
	case errors.Is(err, store.ErrUnknown):
	case err != nil:
		return s.failed(err, protocol.UnknownAccount)
	default:
		k, err := c.roster.VerifyKeyRecord([]byte(last.Line), host, known)
		if err != nil {
			return refuse(protocol.Internal, "the stored key record of epoch %d is damaged: %v", last.N, err)
		}
		known = k.Position()
	}
	k, err := c.roster.VerifyKeyRecord(c.body, host, known)
	switch {
	case err != nil:
		return sealFailure(err)
	case k.Position() == known:
		return s.append(w, r, log, nil)
	}
	return s.append(w, r, log, []store.LogLine{logLine(k.Epoch, c.body)})
}

// postHistory stores a history for a device: of the machine that sends it, or of another one for
// which an owner's device sends it.
func (s sealAPI) postHistory(w http.ResponseWriter, r *http.Request, who *auth.Identity, account string) error {
	host, f := idParam(r, "host")
	device, f2 := idParam(r, "device")
	if f = firstFailure(f, f2); f != nil {
		return f
	}
	c, err := s.receive(w, r, who, account, maxKeyBody)
	if err != nil {
		return err
	}
	if c.lines == 0 {
		return s.failed(store.ErrUnknown, protocol.UnknownAccount)
	}
	if who == nil && c.actor.Name != host {
		return refuse(protocol.Forbidden, "a machine sends only histories of its own runs")
	}
	if err := c.roster.VerifyHistory(c.body, host, device); err != nil {
		return sealFailure(err)
	}
	log := store.HistoryLog(account, host, device)
	return s.replaceLast(w, r, log, c.body, maxHistories, "the device has too many histories of "+host+": remove the device, and enrol it again")
}

// replaceLast appends a text to a log of which only the last line counts. If the log would have
// more than most lines, the text is refused with tooMany.
func (s sealAPI) replaceLast(w http.ResponseWriter, r *http.Request, log string, text []byte, most int64, tooMany string) error {
	for tries := 1; ; tries++ {
		last, err := store.LastOfLog(r.Context(), s.store, log)
		if err != nil && !errors.Is(err, store.ErrUnknown) {
			return s.failed(err, protocol.UnknownAccount)
		}
		next := logLine(last.N+1, text)
		switch {
		case last.SHA256 == next.SHA256:
			return s.append(w, r, log, nil)
		case next.N > most:
			return refuse(protocol.TooLarge, "%s", tooMany)
		}
		err = s.append(w, r, log, []store.LogLine{next})
		var f *Failure
		if !errors.As(err, &f) || f.Code != protocol.RosterConflict || tries == 5 {
			return err
		} // the machine and an owner's device send the same at the same time
	}
}

// postShare stores the keys of a share, for those who have its link. Only its machine sends them,
// and the share's id is known only to it and to them.
func (s sealAPI) postShare(w http.ResponseWriter, r *http.Request, who *auth.Identity, id string) error {
	if who != nil {
		return refuse(protocol.Forbidden, "only a machine publishes the keys of a share")
	}
	account, f := idParam(r, "account")
	if f != nil {
		return f
	}
	c, err := s.receive(w, r, who, account, maxKeyBody)
	if err != nil {
		return err
	}
	if err := seal.CheckShare(c.body, account, c.actor.Name, id); err != nil {
		return sealFailure(err)
	}
	log := store.ShareLog(id)
	last, err := store.LastOfLog(r.Context(), s.store, log)
	if err == nil && seal.CheckShare([]byte(last.Line), account, c.actor.Name, id) != nil {
		return refuse(protocol.Forbidden, "the share is of another machine")
	}
	return s.replaceLast(w, r, log, c.body, maxShareLines, "the share has too many records: end it, and share the runs again")
}

// getShare serves GET /seal/share/SHARE. Every user who knows the id may read it: it is
// encrypted.
func (s sealAPI) getShare(w http.ResponseWriter, r *http.Request, _ *auth.Identity, id string) error {
	last, err := store.LastOfLog(r.Context(), s.store, store.ShareLog(id))
	if err != nil {
		return s.failed(err, protocol.UnknownAccount)
	}
	return respondLines(w, last)
}

// sealFailure converts the refusal of a text.
func sealFailure(err error) *Failure {
	var why *seal.Refusal
	switch {
	case !errors.As(err, &why):
		return refuse(protocol.Internal, "%v", err)
	case why.Code == seal.RosterFork:
		return refuse(protocol.RosterConflict, "%s: read the stored lines, and sign the change again", why.Why)
	}
	return &Failure{Code: protocol.Code(why.Code), Why: why.Why, Status: http.StatusBadRequest}
}

const byMember = "by"

// withUser adds the user's name to a command, and returns its data and its other fields. The name
// is in the data, or in the envelope of a sealed command. One that the app itself has sent there
// is removed.
func withUser(e *protocol.Envelope, name string) (data json.RawMessage, extra []protocol.Member) {
	for _, m := range e.Extra {
		if m.Name != byMember {
			extra = append(extra, m)
		}
	}
	if e.Enc == nil {
		return withBy(e.Data, name), extra
	}
	return e.Data, append(extra, protocol.Member{Name: byMember, Value: mustJSON(name)})
}
