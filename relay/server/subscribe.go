package server

import (
	"context"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// subscription describes a subscription.
type subscription struct {
	re       *protocol.Envelope // the request, which run.caught_up answers; may be nil
	cursor   map[string]int64
	rest     string // how other runs are followed; "" means unchanged
	output   *bool  // whether output is sent; nil means unchanged
	progress bool   // send run.progress instead of omitted output
	// replace ends all earlier subscriptions of the follower.
	replace bool
}

// followAll makes the follower receive all events of all runs that are stored from now on.
func (f *follower) followAll() {
	h := f.srv.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest = restLive
	h.rest[f] = struct{}{}
}

// subscribe applies a subscription. It calls refused for each run that cannot be followed, and
// follows the other runs.
func (f *follower) subscribe(ctx context.Context, w subscription, refused func(run string, why *Failure)) {
	if err := f.srv.peers.ready(ctx, w.rest == restLive); err != nil {
		refused("", f.srv.failed(err, protocol.Internal))
		return
	}
	runs := map[string]*store.Run{}
	for _, id := range slices.Sorted(maps.Keys(w.cursor)) {
		r, err := f.srv.visible(ctx, f.sees, id)
		if err != nil {
			refused(id, f.srv.failed(err, protocol.UnknownRun))
			continue
		}
		if seq := w.cursor[id]; seq > r.Prefix || seq < 0 {
			refused(id, refuse(protocol.BadCursor, "the cursor %d is after the last event of run %s, %d", seq, id, r.Prefix))
			continue
		}
		runs[id] = r
	}
	f.setPositions(w, runs)
	f.kick()
}

// setPositions sets the positions while the hub is locked. Each concurrent publish therefore
// happens completely before or completely after it.
func (f *follower) setPositions(w subscription, runs map[string]*store.Run) {
	h := f.srv.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	if w.replace {
		f.clear(h)
	}
	g := &goal{re: w.re, ends: map[string]int64{}, cursor: map[string]int64{}}
	f.setOutput(w)
	f.setRest(h, w.rest, g)
	for id, r := range runs {
		f.setNamed(h, id, true)
		delete(f.backlog, id)
		f.turn = slices.DeleteFunc(f.turn, func(run string) bool { return run == id })
		seq := w.cursor[id]
		f.setPosition(id, seq) // required even at the run's end, because events may have been stored since the run was read
		g.cursor[id] = seq
		if seq < r.Prefix {
			g.ends[id] = r.Prefix
		}
	}
	f.goals = append(f.goals, g)
}

func (f *follower) setOutput(w subscription) {
	switch {
	case w.output == nil:
	case *w.output:
		f.quiet = nil
	case f.quiet == nil:
		f.quiet = &outputCounter{enabled: w.progress, runs: map[string]*progress{}}
	}
}

// setRest sets how the follower follows runs that no subscription names.
func (f *follower) setRest(h *hub, rest string, g *goal) {
	switch rest {
	case "":
		return
	case restNone:
		delete(h.rest, f)
		f.endScan()
		for run := range f.backlog {
			if !f.named[run] {
				f.markRead(run)
			}
		}
	case restStart:
		h.rest[f] = struct{}{}
		none := ""
		f.scan, g.scan, f.missed = &none, true, map[string]bool{}
		for run := range f.backlog { // the scan lists these runs again, and their events are sent from the first
			if !f.named[run] {
				f.markRead(run)
			}
		}
	case restLive:
		h.rest[f] = struct{}{}
		f.endScan()
	}
	f.rest = rest
}

// endScan stops the scan of all runs.
func (f *follower) endScan() {
	f.scan, f.missed = nil, nil
	for _, g := range f.goals {
		g.scan = false
	}
}

// setNamed records explicitly that a run is followed or not followed. The explicit value takes
// precedence over rest.
func (f *follower) setNamed(h *hub, run string, yes bool) {
	f.named[run] = yes
	if yes {
		if h.named[run] == nil {
			h.named[run] = map[*follower]struct{}{}
		}
		h.named[run][f] = struct{}{}
		return
	}
	delete(h.named[run], f)
	if len(h.named[run]) == 0 {
		delete(h.named, run)
	}
}

// unsubscribe stops following the given runs, or all runs if runs is empty.
func (f *follower) unsubscribe(runs []string) {
	h := f.srv.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(runs) == 0 {
		f.clear(h)
		return
	}
	for _, run := range runs {
		f.setNamed(h, run, false)
		f.markRead(run)
	}
}

// clear ends all subscriptions.
func (f *follower) clear(h *hub) {
	for run := range f.named {
		f.setNamed(h, run, false)
	}
	delete(h.rest, f)
	f.rest, f.scan, f.missed, f.turn, f.goals = restNone, nil, nil, nil, nil
	clear(f.named)
	clear(f.backlog)
}

// stop stops the follower.
func (f *follower) stop() {
	h := f.srv.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clear(h)
	f.stopped = true
}

// visible returns a run, or a Failure if the caller may not see the run.
func (s *Server) visible(ctx context.Context, sees func(string) bool, run string) (*store.Run, error) {
	if !protocol.IsID(run) || !sees(run) {
		return nil, refuse(protocol.UnknownRun, "there is no run %q", run)
	}
	r, err := s.store.Run(ctx, run)
	if err != nil {
		f := s.failed(err, protocol.UnknownRun)
		if f.Code == protocol.UnknownRun {
			f.Why = "there is no run \"" + run + "\""
		}
		return nil, f
	}
	return r, nil
}
