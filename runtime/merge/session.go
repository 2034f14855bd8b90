package merge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// session is a merge of a program: a queue of events for it, and of its answers.
type session struct {
	request    *effect.MergeOpen
	cancel     context.CancelCauseFunc
	finished   chan struct{} // closed by MergeFinish
	finishOnce sync.Once

	mu      sync.Mutex
	events  []*effect.MergeEvent
	state   effect.QueueState // that was added last
	done    bool              // the last event is in events, or err is set
	err     error             // with which the merge has ended
	number  int64
	waiting map[int64]chan *effect.MergeReply // questions without an answer
	more    chan struct{}                     // has an element if something was added
}

// add adds an event.
func (s *session) add(e *effect.MergeEvent, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // it consists of texts and numbers
	}
	e.Data = text
	s.mu.Lock()
	s.events = append(s.events, e)
	s.mu.Unlock()
	s.notify()
}

func (s *session) notify() {
	select {
	case s.more <- struct{}{}:
	default: // next has not yet read the signal
	}
}

// end adds the last event, or the error.
func (s *session) end(result any, err error) {
	if err == nil {
		s.add(&effect.MergeEvent{Kind: effect.MergeEnd}, result)
	}
	s.mu.Lock()
	s.done, s.err = true, err
	s.mu.Unlock()
	s.notify()
}

// next returns the next event. The error is that of ctx, or that with which the merge has ended.
func (s *session) next(ctx context.Context) (*effect.MergeEvent, error) {
	for {
		s.mu.Lock()
		if len(s.events) > 0 {
			e := s.events[0]
			s.events = s.events[1:]
			s.mu.Unlock()
			return e, nil
		}
		done, err := s.done, s.err
		s.mu.Unlock()
		if done && err == nil {
			err = errors.New("the merge has ended")
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ask adds an event and waits for its answer.
func (s *session) ask(ctx context.Context, kind string, data any) (*effect.MergeReply, error) {
	answer := make(chan *effect.MergeReply, 1)
	s.mu.Lock()
	s.number++
	n := s.number
	s.waiting[n] = answer
	s.mu.Unlock()
	s.add(&effect.MergeEvent{Kind: kind, Number: n}, data)
	select {
	case r := <-answer:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answer passes on an answer. One to an event of an earlier process is ignored: that event is
// repeated.
func (s *session) answer(r *effect.MergeReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to := s.waiting[r.Answer]; to != nil {
		delete(s.waiting, r.Answer)
		to <- r
	}
}

// check passes a gate to the program's function.
func (s *session) check(ctx context.Context, store *workspace.Store, w *workspace.Workspace) error {
	name, end := store.Lend(w)
	defer end()
	r, err := s.ask(ctx, "gate", effect.WorkspaceInfo{Name: name, Dir: w.Dir, Base: w.Base, Repo: store.From()})
	if err == nil && !r.OK {
		err = errors.New(r.Message)
	}
	return err
}

// problem is a Problem as JSON.
type problem struct {
	Change        *Change               `json:"change"`
	Kind          State                 `json:"kind"`
	Paths         []string              `json:"paths"`
	ConflictsWith []string              `json:"conflicts_with"`
	Output        string                `json:"output"`
	Workspace     *effect.WorkspaceInfo `json:"workspace"`
}

// resolve passes a problem to the program's function.
func (s *session) resolve(ctx context.Context, p *Problem) (bool, error) {
	r, err := s.ask(ctx, "problem", problem{p.Change, p.Kind, append([]string{}, p.Paths...), append([]string{}, p.ConflictsWith...), p.Output, p.Workspace.Info()})
	if err != nil {
		return false, err
	}
	if r.Message != "" {
		return false, errors.New(r.Message)
	}
	return r.OK, nil
}

// progressed adds the state of the queue, unless it is the same as before. Only the newest state
// waits to be read.
func (s *session) progressed(now effect.QueueState) {
	s.mu.Lock()
	same := now == s.state
	s.state = now
	if n := len(s.events); !same && n > 0 && s.events[n-1].Kind == effect.MergeProgress {
		s.events = s.events[:n-1]
	}
	s.mu.Unlock()
	if !same {
		s.add(&effect.MergeEvent{Kind: effect.MergeProgress}, now)
	}
}

// The following methods add emits.

func (s *session) gated(e GateEvent) {
	s.add(&effect.MergeEvent{Kind: "emit", Channel: effect.ChannelGate}, e)
}

func (s *session) landed(queue, into, commit string, changes []string) {
	s.add(&effect.MergeEvent{Kind: "emit", Channel: effect.ChannelLanded, Key: "landed " + commit + " " + strings.Join(changes, " ")}, struct {
		Queue   string   `json:"queue"`
		Into    string   `json:"into"`
		Commit  string   `json:"commit"`
		Changes []string `json:"changes"`
	}{queue, into, commit, changes})
}

func (s *session) failed(queue string, c *Change) {
	s.add(&effect.MergeEvent{Kind: "emit", Channel: effect.ChannelFailed, Key: "failed " + c.Commit + " " + c.ID}, struct {
		Queue         string   `json:"queue"`
		Change        string   `json:"change"`
		Kind          State    `json:"kind"`
		Paths         []string `json:"paths"`
		ConflictsWith []string `json:"conflicts_with"`
		Message       string   `json:"message"`
	}{queue, c.ID, c.State, append([]string{}, c.Paths...), append([]string{}, c.ConflictsWith...), c.Message})
}
