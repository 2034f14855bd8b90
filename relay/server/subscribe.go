package server

import (
	"context"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// wish is what somebody wants to follow.
type wish struct {
	re     *protocol.Envelope // what asked for it; nil when nobody wants to hear when it is caught up
	cursor map[string]int64
	rest   string // "" leaves it as it is
	output *bool  // nil leaves it as it is
	tells  bool   // that there is output, when it is left out
	// replace leaves all that was followed.
	replace bool
}

// fresh follows all runs from their end on.
func (f *follower) fresh() {
	h := f.srv.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest = restLive
	h.rest[f] = struct{}{}
}

// subscribe follows what is wanted. What cannot be is told by refused; the rest holds.
func (f *follower) subscribe(ctx context.Context, w wish, refused func(run string, why *Failure)) {
	if err := f.srv.others.ready(ctx, w.rest == restLive); err != nil {
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
			refused(id, refuse(protocol.BadCursor, "run %s ends at %d, and the cursor says %d", id, r.Prefix, seq))
			continue
		}
		runs[id] = r
	}
	f.install(w, runs)
	f.kick()
}

// install puts positions, with the hub's lock: what is published meanwhile comes before it or
// after it.
func (f *follower) install(w wish, runs map[string]*store.Run) {
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
	f.hearOutput(w)
	f.setRest(h, w.rest, g)
	for id, r := range runs {
		f.name(h, id, true)
		delete(f.behind, id)
		f.turn = slices.DeleteFunc(f.turn, func(run string) bool { return run == id })
		seq := w.cursor[id]
		f.place(id, seq) // also at its end: something may have come since that was read
		g.cursor[id] = seq
		if seq < r.Prefix {
			g.ends[id] = r.Prefix
		}
	}
	f.goals = append(f.goals, g)
}

func (f *follower) hearOutput(w wish) {
	switch {
	case w.output == nil:
	case *w.output:
		f.quiet = nil
	case f.quiet == nil:
		f.quiet = &quiet{tells: w.tells, runs: map[string]*progress{}}
	}
}

// setRest changes what it follows besides what it has named.
func (f *follower) setRest(h *hub, rest string, g *goal) {
	switch rest {
	case "":
		return
	case restNone:
		delete(h.rest, f)
		f.endScan()
		for run := range f.behind {
			if !f.named[run] {
				f.leave(run)
			}
		}
	case restStart:
		h.rest[f] = struct{}{}
		none := ""
		f.scan, g.scan, f.missed = &none, true, map[string]bool{}
		for run := range f.behind { // they are found again, and told from their beginning
			if !f.named[run] {
				f.leave(run)
			}
		}
	case restLive:
		h.rest[f] = struct{}{}
		f.endScan()
	}
	f.rest = rest
}

// endScan looks for no more runs to begin with.
func (f *follower) endScan() {
	f.scan, f.missed = nil, nil
	for _, g := range f.goals {
		g.scan = false
	}
}

// name notes whether a run is followed, whatever becomes of the rest.
func (f *follower) name(h *hub, run string, yes bool) {
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

// unsubscribe follows runs no longer, all when there are none.
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
		f.name(h, run, false)
		f.leave(run)
	}
}

// clear forgets all that is followed.
func (f *follower) clear(h *hub) {
	for run := range f.named {
		f.name(h, run, false)
	}
	delete(h.rest, f)
	f.rest, f.scan, f.missed, f.turn, f.goals = restNone, nil, nil, nil, nil
	clear(f.named)
	clear(f.behind)
}

// stop ends it.
func (f *follower) stop() {
	h := f.srv.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clear(h)
	f.stopped = true
}

// visible is a run, if there is one for who asks.
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
