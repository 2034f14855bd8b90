package host

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// An exchange settles from the end of its first turn until its host has ended the background work
// that the exchange has started. The adapter decides when that is; a process with a settling
// exchange has timers, because an adapter has no clock.

// settlePoll is the time between two lines that let the adapter check whether its agent still
// works.
const settlePoll = 2 * time.Second

// settling are the timers of a process while its exchange settles.
type settling struct {
	process *process
	mu      lock[settlingLock]
	polls   bool   // the timer poll runs
	waits   bool   // the exchange waits for tasks
	stops   bool   // the agent must stop its tasks
	late    string // what is wrong with the tasks, if background_timeout has passed; "" otherwise
	poll    clock.Timer
	limit   clock.Timer // of background_timeout, then of cancel_grace; zero without one

	tasks int64 // number of starts and ends of tasks; guarded by the adapter's lock
}

// background returns what the exchanges of the host do about background work.
func (c *Config) background() string {
	if c.Vendor.Background == "" {
		return adapter.BackgroundWait
	}
	return c.Vendor.Background
}

// work returns what the agent works on. It returns the zero value for a host that reports no tasks.
func (t *translation) work() adapter.Work {
	if inPage || t == nil {
		return adapter.Work{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a, ok := t.adapter.(adapter.Worker); ok {
		return a.Work()
	}
	return adapter.Work{}
}

// set starts or stops the timers. The arguments are described at settling. The caller may hold the
// adapter's lock.
func (s *settling) set(polls, waits, stops bool) {
	if inPage {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.process
	if stops && !s.stops {
		s.limit.Stop()
		s.limit = p.hosts.opts.Clock.AfterFunc(p.cfg.cancelGrace(), s.abort)
	}
	s.stops = stops
	if polls != s.polls {
		s.polls = polls
		if s.poll.Stop(); polls {
			s.poll = p.hosts.opts.Clock.AfterFunc(settlePoll, s.check)
		}
	}
	if waits == s.waits {
		return
	}
	if s.waits = waits; !waits {
		s.limit.Stop()
		return
	}
	s.late = ""
	if limit := orSeconds(0, p.cfg.Vendor.BackgroundTimeout); limit > 0 && !stops {
		s.limit = p.hosts.opts.Clock.AfterFunc(limit, s.expire)
	}
}

func (s *settling) isOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waits
}

// check lets the adapter check whether the agent still works.
func (s *settling) check() {
	if s.process.translation.polls() {
		s.send(adapter.Poll())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.polls {
		s.poll.Reset(settlePoll)
	}
}

// expire stops the tasks, because background_timeout has passed.
func (s *settling) expire() {
	why := "did not finish its background work within " + effect.Seconds(s.process.cfg.Vendor.BackgroundTimeout)
	s.mu.Lock()
	s.late = why
	s.mu.Unlock()
	s.send(adapter.Stop(why))
}

// abort fails the exchange, because its agent has not stopped its tasks within cancel_grace.
func (s *settling) abort() {
	s.mu.Lock()
	waits, late := s.waits, s.late
	s.mu.Unlock()
	p := s.process
	what := "did not stop its background work"
	if late != "" {
		what = late + ", and did not stop it"
	} else if problem := p.translation.work().Problem; problem != "" {
		what += " when its turn had failed: " + problem
	}
	if in, _ := p.lifecycle.currentExchange(); waits && in != nil && in.exchange != nil {
		in.exchange.abort(p.cfg.unknownErrorf("%s", what).With("code", "background"), "background")
	}
}

// hasTasks reports whether the agent works in the background.
func (t *translation) hasTasks() bool { return len(t.work().Tasks) > 0 }

// polls reports whether the adapter must check whether its agent still works.
func (t *translation) polls() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.adapter.(adapter.Worker)
	return ok && a.Polls()
}

// send sends the adapter a line that a resumed run does not produce again.
func (s *settling) send(text []byte) {
	s.process.sendLine(line{short: text, frame: lineFrame{kind: keeper.KindSent}}, true)
	t := s.process.translation
	t.mu.Lock()
	defer t.mu.Unlock()
	s.note(t.adapter)
}

// canServe reports whether a process whose exchange has ended can serve another one: unless tasks
// may be detached, only a quiet one can. It logs the tasks that end with the process.
func (s *settling) canServe() bool {
	if inPage {
		return true
	}
	p := s.process
	all := p.translation.work().Tasks
	if len(all) == 0 || p.cfg.background() == adapter.BackgroundDetach && p.dir == nil {
		return true
	}
	p.hosts.logf("warn", p.cfg, "is stopped, because it still works in the background: %s", adapter.Titles(all))
	return false
}

// await waits until the process, which another one must replace, has no detached tasks.
func (s *settling) await(ctx context.Context) error {
	if inPage {
		return nil
	}
	h := s.process.hosts
	for isFirst := true; ; isFirst = false {
		changed := h.tasks.change()
		all := s.process.translation.work().Tasks
		if len(all) == 0 || !s.process.isUsable() {
			return nil
		}
		if isFirst {
			h.logf("info", s.process.cfg, "is replaced when its background tasks have ended: %s", adapter.Titles(all))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-h.closing.Done():
			return ErrClosed
		}
	}
}

// warnOfTasks warns of the tasks that end with a process, because the run has ended.
func (s *settling) warnOfTasks() {
	if inPage {
		return
	}
	p := s.process
	all := p.translation.work().Tasks
	switch {
	case len(all) == 1:
		p.hosts.logf("warn", p.cfg, "ended: 1 background task was stopped when the run ended: %s", adapter.Titles(all))
	case len(all) > 1:
		p.hosts.logf("warn", p.cfg, "ended: %d background tasks were stopped when the run ended: %s", len(all), adapter.Titles(all))
	}
}

// addTo adds the tasks of an exchange, and the result of its last turn, to the error of an
// exchange whose process has ended: what had not ended is lost.
func (s *settling) addTo(e *effect.Error) {
	if inPage {
		return
	}
	w := s.process.translation.work()
	all := w.Ended
	for _, t := range w.Tasks {
		t.State = effect.TaskLost
		all = append(all, t)
	}
	if len(all) > 0 {
		e.With("tasks", json.RawMessage(jsonwrite.MustEncode(all)))
	}
	if w.Result != nil {
		e.With("result", w.Result)
	}
}

// listTasks lists the background tasks of a host, or waits until it has none.
func (h *Hosts) listTasks(ctx context.Context, r *effect.HostTasks) (*effect.HostTaskList, error) {
	if inPage {
		return &effect.HostTaskList{Tasks: []effect.HostTask{}}, nil
	}
	pool := h.pools[r.Host]
	if pool == nil {
		return nil, unconfiguredError(r.Host)
	}
	if !r.Settle {
		all, _ := h.tasksOf(r)
		return &effect.HostTaskList{Tasks: append([]effect.HostTask{}, all...)}, nil
	}
	var late <-chan struct{}
	if limit := orSeconds(0, r.Seconds); limit > 0 {
		over := make(chan struct{})
		late = over
		timer := h.opts.Clock.AfterFunc(limit, func() { close(over) })
		defer timer.Stop()
	}
	seen := map[string]effect.HostTask{} // by ID
	var order []string
	for {
		changed := h.tasks.change()
		all, ended := h.tasksOf(r)
		for _, t := range slices.Concat(ended, all) {
			if _, known := seen[t.ID]; !known {
				order = append(order, t.ID)
			}
			seen[t.ID] = t
		}
		if len(all) == 0 {
			out := []effect.HostTask{}
			for _, id := range order {
				t := seen[id]
				if t.State == effect.TaskRunning { // its process has ended
					t.State = effect.TaskLost
				}
				out = append(out, t)
			}
			return &effect.HostTaskList{Tasks: out}, nil
		}
		select {
		case <-changed:
		case <-late:
			return nil, pool.cfg.errorf("did not finish its background work within %s: %s", effect.Seconds(r.Seconds), adapter.Titles(all)).With("code", "timeout")
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-h.closing.Done():
			return nil, ErrClosed
		}
	}
}

// tasksOf returns the tasks of the processes that a request selects: those that have not ended, and
// those that have ended since the processes' last exchanges began.
func (h *Hosts) tasksOf(r *effect.HostTasks) (all, ended []effect.HostTask) {
	h.mu.Lock()
	processes := slices.SortedFunc(maps.Keys(h.processes), func(a, b *process) int { return cmp.Compare(a.number, b.number) })
	h.mu.Unlock()
	for _, p := range processes {
		if p.cfg.Name != r.Host || r.Workspace != "" && p.workspace != r.Workspace || r.Session != "" && p.sessionName() != r.Session {
			continue
		}
		w := p.translation.work()
		all, ended = append(all, w.Tasks...), append(ended, w.Ended...)
	}
	return all, ended
}

// note handles a change of the adapter's state. The caller must hold the adapter's lock.
func (s *settling) note(a adapter.Adapter) {
	w, ok := a.(adapter.Worker)
	if !ok {
		return
	}
	waits, stops := w.Settles()
	s.set(waits || w.Polls(), waits, stops)
	if n := w.Count(); n != s.tasks {
		s.tasks = n
		s.process.hosts.tasks.notify()
	}
}

// taskChanges notifies of starts and ends of tasks, and of the ends of processes.
type taskChanges struct {
	mu   lock[taskChangesLock]
	next chan struct{} // closed and replaced at each change
}

func (c *taskChanges) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.next)
	c.next = make(chan struct{})
}

// change returns a channel that is closed at the next change.
func (c *taskChanges) change() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}
