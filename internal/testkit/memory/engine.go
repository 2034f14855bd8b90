package memory

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// row is what the store knows of a run besides its journal.
type row struct {
	id          string
	number      int // of its submission
	program, ir string
	start       json.RawMessage
	queue, key  string
	priority    int
	readyAt     time.Time
	state       string
	exit        *int
	owner       string // id of a worker, or direct; "" for none
	lapsed      bool   // the owner is direct and has expired
	epoch       int64  // number of the last owner
	crashes     int
	progress    int64 // number of the last effect
	wakeAt      *time.Time
	refusal     string
	groups      int // number of stored groups
}

// direct is the owner of the runs of a process that is no worker. It has no lease.
const direct = "process"

// worker is a registered worker.
type worker struct {
	until    time.Time // end of the lease
	queues   []string
	draining bool
}

// Queue contains the limits of a queue; 0 means none.
type Queue struct {
	Concurrency, PerKey int
	Paused              bool
}

// SetQueue sets the limits of a queue.
func (s *Store) SetQueue(name string, q Queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues == nil {
		s.queues = map[string]Queue{}
	}
	s.queues[name] = q
}

// Submitted is a run to store.
type Submitted struct {
	ID       string
	Program  string // name of the main file
	IR       []byte
	Start    json.RawMessage
	Queue    string
	Priority int
	Key      string
	Delay    time.Duration // time from now at which it becomes ready
}

// Submit stores a run. A run that exists is not stored again.
func (s *Store) Submit(x Submitted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[x.ID] != nil {
		return
	}
	s.number++
	c := newContent(x.ID)
	sum := hexsum.SHA256(x.IR)
	c.row = row{id: x.ID, number: s.number, program: x.Program, ir: sum, start: x.Start, queue: x.Queue, key: x.Key, priority: x.Priority, readyAt: time.Now().Add(x.Delay), state: "ready"}
	c.programs[sum] = x.IR
	s.put(c)
	s.notify(x.ID)
}

// State returns the state of a run and its exit code, which is nil if it has not ended.
func (s *Store) State(id string) (state string, exit *int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.runs[id]
	if c == nil {
		return "", nil, journal.ErrNoRun
	}
	return c.state, c.exit, nil
}

// Info describes a run.
type Info struct {
	State, Queue, Key    string
	Owner, Refusal       string
	Epoch                int64
	Records              uint64
	Lines, Answers       int
	Questions            []journal.Question
	IsLeased             bool      // the lease of its owner has not expired
	WakeAt               time.Time // zero if it does not wait for a time
	Crashes              int
	TransactionsOfOwners int // number of groups that its owners have stored
}

// Info describes a run that exists.
func (s *Store) Info(id string) Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.runs[id]
	x := Info{State: c.state, Queue: c.queue, Key: c.key, Owner: c.owner, Refusal: c.refusal, Epoch: c.epoch, Records: c.at.S, Lines: len(c.out), Answers: len(c.answers),
		Questions: slices.Clone(c.questions), IsLeased: s.isOwned(c), Crashes: c.crashes, TransactionsOfOwners: c.groups}
	if c.wakeAt != nil {
		x.WakeAt = *c.wakeAt
	}
	return x
}

// Lease returns until when the lease of a worker lasts; zero if there is no such worker.
func (s *Store) Lease(worker string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.workers[worker]; w != nil {
		return w.until
	}
	return time.Time{}
}

// isOwned reports whether a run has an owner that may write. The caller holds mu.
func (s *Store) isOwned(c *content) bool {
	if c.owner == direct {
		return !c.lapsed
	}
	return s.isLive(c.owner)
}

// isLive reports whether the lease of a worker has not expired.
func (s *Store) isLive(worker string) bool {
	w := s.workers[worker]
	return w != nil && time.Now().Before(w.until)
}

// register adds a worker and returns its id. The caller holds mu.
func (s *Store) register(queues []string, lease time.Duration) string {
	s.number++
	id := fmt.Sprintf("w_%d", s.number)
	if s.workers == nil {
		s.workers = map[string]*worker{}
	}
	s.workers[id] = &worker{until: time.Now().Add(lease), queues: queues}
	return id
}

// renew extends the lease of a worker. The caller holds mu.
func (s *Store) renew(id string, lease time.Duration, draining bool) error {
	if !s.isLive(id) {
		return journal.ErrLost
	}
	w := s.workers[id]
	w.until, w.draining = time.Now().Add(lease), draining
	return nil
}

// unregister removes a worker. Its runs become ready. The caller holds mu.
func (s *Store) unregister(id string) {
	for _, c := range s.inOrder() {
		if c.owner == id {
			c.state, c.owner, c.readyAt = "ready", "", time.Now()
			s.notify(c.id)
		}
	}
	delete(s.workers, id)
}

// Claimed is a run that a worker has claimed, or that has become held. Its fields are those of
// postgres.Claimed.
type Claimed struct {
	Run       string
	Epoch     int64
	Held      bool
	TakenOver bool
	Begun     bool
	Stop      bool
	Program   string
	IR        string
	Start     json.RawMessage
}

// inOrder returns the runs in the order in which they are claimed.
func (s *Store) inOrder() []*content {
	all := make([]*content, 0, len(s.runs))
	for _, c := range s.runs {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *content) int {
		return cmp.Or(b.priority-a.priority, a.readyAt.Compare(b.readyAt), a.number-b.number)
	})
	return all
}

// claim makes a worker the owner of at most n runs. The caller holds mu.
func (s *Store) claim(id string, n, maxCrashes int, refused []string) (all []Claimed) {
	w := s.workers[id]
	if !s.isLive(id) || w.draining {
		return nil
	}
	for _, c := range s.inOrder() {
		if n <= 0 {
			break
		}
		if !slices.Contains(w.queues, c.queue) || slices.Contains(refused, c.id) || !s.isClaimable(c) {
			continue
		}
		crashed := c.state == "running"
		if !crashed && !c.stop && s.isAtLimit(c) {
			continue
		}
		if crashed {
			c.crashes++
		}
		held := crashed && c.crashes >= maxCrashes
		if held {
			c.state, c.owner = "held", ""
		} else {
			c.epoch++
			c.state, c.owner, c.wakeAt, c.refusal = "running", id, nil, ""
			n--
		}
		x := c.claimed()
		x.Held, x.TakenOver = held, crashed
		all = append(all, x)
	}
	return all
}

// claimed returns the run as its owner receives it.
func (c *content) claimed() Claimed {
	return Claimed{Run: c.id, Epoch: c.epoch, Begun: c.at.S > 0, Stop: c.stop, Program: c.program, IR: c.ir, Start: c.start}
}

// isClaimable reports whether a worker may claim a run now, except for the limits of its queue.
func (s *Store) isClaimable(c *content) bool {
	now := time.Now()
	switch {
	case s.queues[c.queue].Paused && !c.stop:
		return false
	case c.state == "ready":
		return !now.Before(c.readyAt) || c.stop
	case c.state == "waiting":
		return c.stop || c.wakeAt != nil && !now.Before(*c.wakeAt) || len(c.answers) > 0
	case c.state == "running" && c.owner != direct:
		w := s.workers[c.owner]
		return w == nil || !now.Before(w.until.Add(delay(c.crashes)))
	}
	return false
}

// delay returns the time after the end of a lease before another worker continues a run.
func delay(crashes int) time.Duration {
	if crashes < 2 {
		return 0
	}
	return min(time.Second<<min(crashes-2, 10), 300*time.Second)
}

// isAtLimit reports whether a limit of the queue prevents that a run is claimed.
func (s *Store) isAtLimit(c *content) bool {
	q := s.queues[c.queue]
	all, key := 0, 0
	for _, x := range s.runs {
		if x.queue == c.queue && x.owner != "" {
			all++
			if x.key == c.key {
				key++
			}
		}
	}
	return q.Concurrency > 0 && all >= q.Concurrency || q.PerKey > 0 && c.key != "" && key >= q.PerKey
}

// leave ends the ownership of a run. A run that cannot wait, because an answer has arrived, becomes
// ready. A process that is not the owner changes nothing.
func (r *run) leave(epoch int64, state string, wake *time.Time, code *int) error {
	err := r.transact("leave", func() error {
		s := r.store
		c := s.runs[r.id]
		if c == nil || c.epoch != epoch || c.owner == "" {
			return nil
		}
		if state == "waiting" && (len(c.answers) > 0 || c.stop) {
			state, wake = "ready", nil
		}
		c.state, c.owner, c.wakeAt, c.exit, c.crashes, c.readyAt = state, "", wake, code, 0, time.Now()
		switch state {
		case "finished", "failed":
			if r.session != nil {
				clear(c.answers)
				c.questions = nil
			}
		case "ready":
			s.notify(c.id)
		}
		return nil
	})
	if errors.Is(err, journal.ErrFenced) { // other workers may own the run already
		return nil
	}
	return err
}

// refuse releases a run that a worker cannot execute. The caller holds mu.
func (s *Store) refuse(id string, epoch int64, state, reason string, delay time.Duration) {
	c := s.runs[id]
	if c.epoch == epoch && (c.state == "ready" || c.state == "running") {
		c.state, c.owner, c.refusal, c.readyAt = state, "", reason, time.Now().Add(delay)
	}
}

// owner returns the owner that the process becomes.
func (r *run) owner() string {
	if r.session != nil {
		return r.session.id
	}
	return direct
}
