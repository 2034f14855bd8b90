package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

const (
	pageEvents = 128       // maximum number of events that are read at a time
	pageBytes  = 256 << 10 // maximum size of their data in bytes
	liveFrames = 256       // maximum number of queued events without a sequence number
	liveBytes  = 512 << 10
)

// The values of follower.rest: which runs are followed that no subscription names.
const (
	restLive  = "live"
	restStart = "start"
	restNone  = "none"
)

// follower follows runs on behalf of a client. For each run with unread events it stores a
// position, and reads the events at the client's pace. For a run without unread events it stores
// the last sequence number.
type follower struct {
	srv  *Server
	sees func(run string) bool
	kick func() // signals that there is something to send

	mu      sync.Mutex
	rest    string
	named   map[string]bool      // explicitly followed (true) and explicitly not followed (false) runs
	backlog map[string]*position // positions in runs with unread events
	// last sequence number that was read, by run; the hub may announce a commit after its events
	// were read
	read map[string]int64
	turn []string // the runs in backlog, in sending order
	// the last run that the scan listed with rest "start"; nil when the scan is finished
	scan    *string
	goals   []*goal  // subscriptions whose run.caught_up is not sent yet
	loose   [][]byte // queued events without a sequence number
	size    int
	lost    bool // some events without a sequence number were dropped
	quiet   *outputCounter
	missed  map[string]bool // runs that the hub announced during the scan
	stopped bool
}

// position is a position in a run with unread events.
type position struct {
	seq    int64
	hasNew bool // new events were announced since the last read
}

// goal describes the stored events that must be sent before a subscription has caught up.
type goal struct {
	re     *protocol.Envelope
	ends   map[string]int64 // last event to send, by run; a reached run is removed
	cursor map[string]int64
	scan   bool // the scan of runs is not finished
}

func (s *Server) newFollower(sees func(string) bool, kick func()) *follower {
	return &follower{srv: s, sees: sees, kick: kick, rest: restNone, named: map[string]bool{}, backlog: map[string]*position{}, read: map[string]int64{}}
}

// follows reports whether the follower follows a run.
func (f *follower) follows(run string) bool {
	if yes, named := f.named[run]; named {
		return yes
	}
	return f.rest != restNone && f.sees(run)
}

// announce notifies the follower that a run has events after sequence number before. It reports
// whether the follower follows the run.
func (f *follower) announce(run string, before int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.follows(run) {
		return false
	}
	switch at := f.backlog[run]; {
	case at != nil:
		at.hasNew = true
	case f.scan != nil && run > *f.scan && !f.named[run]:
		f.missed[run] = true // the scan later adds the run from its first event
	default:
		f.setPosition(run, max(before, f.read[run]))
	}
	return true
}

// setPosition sets the sequence number after which the events of a run are sent.
func (f *follower) setPosition(run string, seq int64) {
	if f.backlog[run] == nil {
		f.turn = append(f.turn, run)
	}
	f.backlog[run] = &position{seq: seq}
}

// queueLive queues an event without a sequence number.
func (f *follower) queueLive(run, typ string, frame []byte) {
	f.mu.Lock()
	if !f.follows(run) || f.quiet != nil && typ == protocol.RunOutput {
		f.mu.Unlock()
		return
	}
	if len(f.loose) >= liveFrames || f.size > liveBytes {
		f.lost = true
	} else {
		f.loose, f.size = append(f.loose, frame), f.size+len(frame)
	}
	f.mu.Unlock()
	f.kick()
}

// errSlowReader reports that the client reads more slowly than events without a sequence number
// arrive. These events are lost, because they are not stored.
var errSlowReader = errors.New("events without a seq arrived faster than they were read")

// next returns the next events to send, if any.
func (f *follower) next(ctx context.Context, limit int) ([]entry, error) {
	for {
		out, run, at, err := f.begin()
		if err != nil || len(out) > 0 {
			return out, err
		}
		if run == "" {
			found, err := f.listRuns(ctx)
			if err != nil || !found {
				return nil, err
			}
			continue
		}
		all, more, err := f.srv.page(ctx, run, at.seq, limit, f.isBacklog(run))
		if err != nil {
			return nil, err
		}
		if out := f.advance(run, at, all, more); len(out) > 0 {
			return out, nil
		}
	}
}

// begin returns the queued events that are in memory. If there are none, it returns a run with
// unread events and the position in that run.
func (f *follower) begin() (out []entry, run string, at *position, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost {
		return nil, "", nil, errSlowReader
	}
	for _, frame := range f.loose {
		out = append(out, entry{frame: frame})
	}
	f.loose, f.size = nil, 0
	out = append(out, f.caughtUp()...)
	if f.quiet != nil {
		out = append(out, f.quiet.takeElapsed(f.srv.clock.Now())...)
	}
	if len(out) > 0 || len(f.turn) == 0 {
		return out, "", nil, nil
	}
	run = f.turn[0]
	f.turn = append(f.turn[1:], run)
	at = f.backlog[run]
	at.hasNew = false
	return nil, run, at, nil
}

// hasMore reports whether the follower has something to send.
func (f *follower) hasMore() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.turn) > 0 || f.scan != nil || len(f.loose) > 0
}

// advance records that events of a run were read, and returns those that must be sent. It returns
// none if the position has changed since the read.
func (f *follower) advance(run string, at *position, all []entry, more bool) (out []entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.backlog[run] != at {
		return nil
	}
	for _, e := range all {
		at.seq = e.seq
		if f.quiet != nil && e.typ == protocol.RunOutput {
			out = append(out, f.quiet.count(e, f.srv.clock, f.kick)...)
			continue
		}
		out = append(out, e)
	}
	for _, g := range f.goals {
		g.reached(run, at.seq, !more)
	}
	if !more && !at.hasNew {
		f.read[run] = at.seq
		f.markRead(run)
	}
	return out
}

// markRead records that a run has no unread events.
func (f *follower) markRead(run string) {
	delete(f.backlog, run)
	f.turn = slices.DeleteFunc(f.turn, func(r string) bool { return r == run })
	for _, g := range f.goals {
		delete(g.ends, run)
	}
}

// listRuns continues the scan: it finds more runs that are followed from their first event.
func (f *follower) listRuns(ctx context.Context) (found bool, err error) {
	f.mu.Lock()
	scan := f.scan
	f.mu.Unlock()
	if scan == nil {
		return false, nil
	}
	ids, err := f.srv.store.RunIDs(ctx, *scan, pageEvents)
	if err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.scan != scan {
		return true, nil // a concurrent subscription has replaced the scan
	}
	if len(ids) == 0 {
		for id := range f.missed {
			f.setPosition(id, 0)
		}
		f.scan, f.missed = nil, nil
		for _, g := range f.goals {
			g.scan = false
		}
		return true, nil
	}
	last := ids[len(ids)-1]
	for id := range f.missed { // runs that were created after the query
		if id <= last {
			ids = append(ids, id)
			delete(f.missed, id)
		}
	}
	for _, id := range ids {
		if _, named := f.named[id]; !named && f.sees(id) && f.backlog[id] == nil {
			f.setPosition(id, 0)
			for _, g := range f.goals {
				if g.scan {
					g.ends[id] = protocol.MaxSeq // until the run is read to its end
				}
			}
		}
	}
	f.scan = &last
	return true, nil
}

// caughtUp returns the run.caught_up messages of the subscriptions that have caught up.
func (f *follower) caughtUp() (out []entry) {
	f.goals = slices.DeleteFunc(f.goals, func(g *goal) bool {
		if len(g.ends) > 0 || g.scan {
			return false
		}
		if g.re == nil {
			return true
		}
		e := protocol.New(protocol.CaughtUp, f.srv.clock.Now(), protocol.Cursor{Cursor: g.cursor})
		e.Re = g.re.ID
		out = append(out, entry{frame: e.Append(nil)})
		return true
	})
	return out
}

func (g *goal) reached(run string, seq int64, all bool) {
	end, wanted := g.ends[run]
	if !wanted {
		return
	}
	g.cursor[run] = seq
	if seq >= end || all {
		delete(g.ends, run)
	}
}

// isBacklog reports whether a subscription has not yet caught up with a run.
func (f *follower) isBacklog(run string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.goals, func(g *goal) bool { _, wanted := g.ends[run]; return wanted })
}

// page returns events of a run after a sequence number. If several servers share the database, a
// backlog is read from the store, because the events in memory may lack the last ones.
func (s *Server) page(ctx context.Context, run string, after int64, limit int, backlog bool) (all []entry, more bool, err error) {
	if all, ok := s.hub.recent(run, after); ok && !(backlog && s.peers.shared) {
		if len(all) > limit {
			return all[:limit], true, nil
		}
		return all, false, nil
	}
	r, err := s.store.Run(ctx, run)
	if errors.Is(err, store.ErrUnknown) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	events, more, err := s.store.Page(ctx, store.PageQuery{Run: run, After: after, Limit: limit, Bytes: pageBytes})
	for _, e := range events {
		env := e.Envelope(r.MachineID)
		all = append(all, entry{run, e.Seq, e.Type, env.Append(nil)})
	}
	return all, more, err
}

// outputCounter counts the output that is omitted for a client that subscribed without output.
type outputCounter struct {
	enabled bool // send run.progress; only clients that have sent a hello support it
	runs    map[string]*progress
}

type progress struct {
	seq, bytes int64
	reported   time.Time
	timer      bool
}

const progressInterval = time.Second

// count counts an output event. For the first output of a run it returns run.progress at once.
// Later it returns at most one run.progress a second for the run.
func (q *outputCounter) count(e entry, clock Clock, kick func()) []entry {
	if !q.enabled {
		return nil
	}
	p := q.runs[e.run]
	if p == nil {
		p = &progress{}
		q.runs[e.run] = p
	}
	p.seq, p.bytes = e.seq, p.bytes+outputBytes(e.frame)
	now := clock.Now()
	if now.Sub(p.reported) >= progressInterval {
		return q.report(e.run, p, now)
	}
	if !p.timer {
		p.timer = true
		clock.After(p.reported.Add(progressInterval).Sub(now), kick)
	}
	return nil
}

// takeElapsed returns run.progress for the runs whose last run.progress is a second old.
func (q *outputCounter) takeElapsed(now time.Time) (out []entry) {
	for _, run := range slices.Sorted(maps.Keys(q.runs)) {
		p := q.runs[run]
		switch {
		case now.Sub(p.reported) < progressInterval:
		case p.bytes > 0:
			out = append(out, q.report(run, p, now)...)
		default:
			delete(q.runs, run)
		}
	}
	return out
}

func (q *outputCounter) report(run string, p *progress, now time.Time) []entry {
	e := protocol.New(protocol.Progress, now, protocol.ProgressData{Seq: p.seq, Bytes: p.bytes})
	e.RunID = run
	p.bytes, p.reported, p.timer = 0, now, false
	return []entry{{frame: e.Append(nil)}}
}

// outputBytes returns the length of the text of a run.output.
func outputBytes(frame []byte) int64 {
	var e struct{ Data struct{ Text string } }
	if json.Unmarshal(frame, &e) != nil {
		return 0
	}
	return int64(len(e.Data.Text))
}
