package analysis

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// maxRetained is the maximum total size of the results of programs without open files, in bytes of
// the checker's tables. Diagnostics are retained even if their result is dropped.
const maxRetained = 32 << 20

// perNode is the estimated size of the checker's tables for one syntax node, in bytes.
const perNode = 100

// results stores the last result of each root.
type results struct {
	mu    sync.Mutex
	slots map[string]*slot // keys are the paths of roots
	turns uint64
}

// slot holds the last result of a root. The goroutine that checks the root owns the token.
type slot struct {
	token chan struct{}

	last *result // nil if the root was never checked or its result was dropped
	seen map[string]*text
	list []*diag.Diagnostic
	// isVerified reports that list contains the errors of generating code, as driver.CheckProgram
	// returns them.
	isVerified bool

	worth // properties of last; guarded by the mutex of results
}

// worth decides which result is dropped first.
type worth struct {
	open bool   // a file of the root was open
	turn uint64 // sequence number of the last use
	size int
}

func newResults() *results { return &results{slots: map[string]*slot{}} }

// startFrom returns results for a new state of the workspace. They contain the previous results,
// except those that are being computed.
func (r *results) startFrom() *results {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := newResults()
	for path, s := range r.slots {
		if s.tryAcquire() {
			out.slots[path] = &slot{token: make(chan struct{}, 1), last: s.last, seen: s.seen, list: s.list, isVerified: s.isVerified, worth: s.worth}
			s.release()
		}
	}
	return out
}

// acquire waits for the slot of a root. The caller owns the slot until it calls leave. The only
// possible error is that of ctx.
func (r *results) acquire(ctx context.Context, path string) (*slot, error) {
	r.mu.Lock()
	s := r.slots[path]
	if s == nil {
		s = &slot{token: make(chan struct{}, 1)}
		r.slots[path] = s
	}
	r.mu.Unlock()
	select {
	case s.token <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

func (s *slot) release() { <-s.token }

// tryAcquire acquires the slot if no goroutine owns it.
func (s *slot) tryAcquire() bool {
	select {
	case s.token <- struct{}{}:
		return true
	default:
		return false
	}
}

// retainOnly drops the slots of all other roots.
func (r *results) retainOnly(roots []*root) {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := map[string]bool{}
	for _, x := range roots {
		have[x.path] = true
	}
	maps.DeleteFunc(r.slots, func(path string, _ *slot) bool { return !have[path] })
}

// markUsed records that the result of a slot was used. The caller owns the slot.
func (r *results) markUsed(s *slot, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turns++
	s.worth = worth{open, r.turns, s.last.size}
	r.evict(s)
}

// markListed records whether a program is open. It is called if the program's diagnostics were used
// but its result was not. The caller owns the slot.
func (r *results) markListed(s *slot, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.open != open {
		s.open = open
		r.evict(s)
	}
}

// evict drops the least recently used results until the limit is met. It never drops the result of
// mine, which the caller owns. The caller holds the lock.
func (r *results) evict(mine *slot) {
	total := 0
	var shut []*slot
	for _, s := range r.slots {
		if s.size > 0 && !s.open {
			shut = append(shut, s)
			total += s.size
		}
	}
	if total <= maxRetained {
		return
	}
	slices.SortFunc(shut, func(a, b *slot) int { return int(a.turn) - int(b.turn) })
	for _, s := range shut {
		if s == mine || total <= maxRetained || !s.tryAcquire() {
			continue
		}
		total -= s.size
		s.last, s.size = nil, 0
		s.release()
	}
}
