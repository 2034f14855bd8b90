package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	pure "github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

var tasks = effect.Queue{Store: effect.Store{File: "s.db", Kind: "queue", Name: "q"}, MaxAttempts: 3, RetryMS: 20}

// modelItem is an item of the model.
type modelItem struct {
	effect.QueueItem
	claim, since, until int64
	held                bool            // the claim has not ended, although its lease may have expired
	waits               map[string]bool // items of After that are not done
	gone                string
}

// modelQueue is a simple queue. It finds the states of all items whenever they are needed.
type modelQueue struct {
	items  []*modelItem
	number int
}

func (m *modelQueue) find(id string) *modelItem {
	for _, x := range m.items {
		if x.ID == id {
			return x
		}
	}
	return nil
}

// pass applies the passing of time.
func (m *modelQueue) pass(now int64) {
	for _, x := range m.items {
		if x.since > now {
			x.until -= x.since - now
			x.since = now
		}
		if x.State == "claimed" && x.until <= now {
			m.fails(x, "the lease expired", x.until, false)
		}
		if x.State == "open" && x.until <= now { // a wait that has ended does not begin again
			x.since, x.until = 0, 0
		}
	}
}

func (m *modelQueue) fails(x *modelItem, reason string, at int64, final bool) {
	x.Error = reason
	if x.State, x.since, x.until = "open", at, at+min(tasks.RetryMS<<(x.Attempts-1), 300_000); final || x.Attempts >= tasks.MaxAttempts {
		x.State, x.since, x.until = "dead", 0, 0
	}
}

// state returns the state of an item, and its error.
func (m *modelQueue) state(x *modelItem, now int64) (state, reason string) {
	if x.State != "open" {
		return x.State, x.Error
	}
	if x.gone != "" {
		return "blocked", x.gone + " was removed"
	}
	for _, id := range x.After {
		if !x.waits[id] {
			continue
		}
		switch other, why := m.state(m.find(id), now); other {
		case "dead":
			return "blocked", id + " is dead"
		case "blocked":
			return "blocked", why
		}
	}
	if len(x.waits) > 0 || x.until > now {
		return "waiting", x.Error
	}
	return "ready", x.Error
}

func (m *modelQueue) list(now int64) (all []effect.QueueItem) {
	m.pass(now)
	for _, x := range m.items {
		out := x.QueueItem
		out.State, out.Error = m.state(x, now)
		if out.State == "claimed" {
			out.LeaseUntil = x.until
		} else if out.State != "done" && out.State != "dead" {
			out.Worker = ""
		}
		all = append(all, out)
	}
	return all
}

// perform performs a request and returns its result as text.
func (m *modelQueue) perform(now int64, r effect.Request) string {
	m.pass(now)
	switch r := r.(type) {
	case *effect.QueueAdd:
		return m.add(now, r)
	case *effect.QueueClaim:
		var best *modelItem
		for _, x := range m.items {
			if state, _ := m.state(x, now); state == "ready" && (best == nil || x.Priority > best.Priority) {
				best = x
			}
		}
		if best == nil {
			return "none"
		}
		best.State, best.Worker, best.since, best.until, best.held = "claimed", r.Worker, now, now+r.LeaseMS, true
		if best.until == best.claim {
			best.until++
		}
		best.claim = best.until
		best.Attempts++
		return fmt.Sprint("claimed ", best.ID, " ", best.Attempts, " ", best.claim)
	case *effect.QueueUpdate:
		return m.update(now, r)
	}
	return "unknown request"
}

func (m *modelQueue) add(now int64, r *effect.QueueAdd) string {
	if old := m.find(r.ID); old != nil {
		if string(old.Value) != string(r.Value) {
			return "exists"
		}
		return "added " + r.ID
	}
	x := &modelItem{QueueItem: effect.QueueItem{ID: r.ID, Value: r.Value, State: "open", Priority: r.Priority, After: r.After, Created: now}, waits: map[string]bool{}}
	for _, id := range r.After {
		other := m.find(id)
		if other == nil {
			return "unknown"
		}
		if other.State != "done" {
			x.waits[id] = true
		}
	}
	for x.ID == "" {
		m.number++
		if id := "t" + strconv.Itoa(m.number); m.find(id) == nil {
			x.ID = id
		}
	}
	if r.DelayMS > 0 {
		x.since, x.until = now, now+r.DelayMS
	}
	m.items = append(m.items, x)
	return "added " + x.ID
}

func (m *modelQueue) update(now int64, r *effect.QueueUpdate) string {
	x := m.find(r.ID)
	switch {
	case x == nil:
		return "unknown"
	case r.Op == effect.QueueRetry && x.State != "dead":
		return "not_dead"
	case r.Op == effect.QueueRemove && x.State == "claimed":
		return "claimed"
	case r.Op == effect.QueueRetry:
		x.State, x.Attempts, x.Error, x.held, x.since, x.until = "open", 0, "", false, 0, 0
		return "ok"
	case r.Op == effect.QueueRemove:
		m.items = slices.DeleteFunc(m.items, func(y *modelItem) bool { return y == x })
		for _, y := range m.items {
			if y.waits[x.ID] {
				delete(y.waits, x.ID)
				if y.gone == "" {
					y.gone = x.ID
				}
			}
		}
		return "ok"
	case !x.held || x.Worker != r.Worker || x.Attempts != r.Attempts || r.LeaseUntil != x.claim:
		return "lost"
	}
	if r.Op != effect.QueueFail && x.Error == "the lease expired" && (r.Op == effect.QueueRelease || x.State != "claimed") {
		x.Error = ""
	}
	switch r.Op {
	case effect.QueueComplete:
		x.State, x.Error, x.Result, x.held, x.since, x.until = "done", "", r.Result, false, 0, 0
		for _, y := range m.items {
			delete(y.waits, x.ID)
		}
	case effect.QueueFail:
		x.held = false
		m.fails(x, r.Reason, now, r.Final)
	case effect.QueueRelease:
		x.Attempts--
		x.State, x.held, x.since, x.until = "open", false, 0, 0
	case effect.QueueExtend:
		x.State, x.since, x.until = "claimed", now, now+r.LeaseMS
	}
	return "ok"
}

// resultText returns the result of a request as text, in the form of the model.
func resultText(result effect.Result, err error) string {
	var failed *effect.Error
	switch {
	case errors.As(err, &failed):
		return fmt.Sprint(failed.Fields["code"])
	case err != nil:
		return err.Error()
	}
	switch r := result.(type) {
	case *effect.QueueAdded:
		return "added " + r.ID
	case *effect.QueueClaimed:
		if r.Item == nil {
			return "none"
		}
		return fmt.Sprint("claimed ", r.Item.ID, " ", r.Item.Attempts, " ", r.Item.LeaseUntil)
	}
	return "ok"
}

// faulty is an engine with a fault that the test must detect.
type faulty struct {
	pure.QueueRows
	fault string
}

// faults lists the faults of faulty.
var faults = []string{"oldest first, whatever the priority", "a claim is stored only sometimes", "the last dependent is forgotten", "leases never expire"}

func (f faulty) Best() (*pure.QueueRow, error) {
	if all, err := f.List("ready"); f.fault == faults[0] && len(all) > 0 {
		return all[0], err
	}
	return f.QueueRows.Best()
}

func (f faulty) Put(r *pure.QueueRow) error {
	if f.fault == faults[1] && r.State == "claimed" && r.Until%7 == 0 {
		return nil
	}
	return f.QueueRows.Put(r)
}

func (f faulty) Dependents(id string) ([]*pure.QueueRow, error) {
	all, err := f.QueueRows.Dependents(id)
	if f.fault == faults[2] && len(all) > 1 {
		all = all[:len(all)-1]
	}
	return all, err
}

func (f faulty) Due(now int64) ([]*pure.QueueRow, error) {
	all, err := f.QueueRows.Due(now)
	if f.fault == faults[3] {
		all = slices.DeleteFunc(all, func(r *pure.QueueRow) bool { return r.State == "claimed" })
	}
	return all, err
}

// engine performs requests to a queue at a time.
type engine func(now int64, r effect.Request) (effect.Result, error)

// engines returns the engines by name: the one in memory, with a fault if one is named, and two
// connections to one file, which take turns.
func engines(t *testing.T, fault string) map[string]engine {
	memory := pure.NewQueue("q")
	all := map[string]engine{"memory": func(now int64, r effect.Request) (effect.Result, error) {
		if fault == "" {
			return memory.Perform(now, r)
		}
		return pure.QueueOn{Rows: faulty{memory.Rows(), fault}, Now: now}.Perform(r)
	}}
	if fault != "" {
		return all
	}
	now := new(atomic.Int64)
	o := Options{Dir: t.TempDir(), Now: func() time.Time { return time.UnixMilli(now.Load()) }}
	connections, turn := []*Stores{opened(t, o), opened(t, o)}, 0
	all["file"] = func(at int64, r effect.Request) (effect.Result, error) {
		now.Store(at)
		turn++
		return connections[turn%2].Perform(context.Background(), r)
	}
	return all
}

// play performs random operations of several workers with the engines and the model. It returns the
// first difference, or "".
func play(t *testing.T, seed uint64, fault string) string {
	r := rand.New(rand.NewPCG(seed, 5))
	all, model := engines(t, fault), &modelQueue{}
	now := int64(1_000_000)
	var claims []effect.QueueUpdate
	ids := func() string {
		if len(model.items) > 0 && r.IntN(8) > 0 {
			return model.items[r.IntN(len(model.items))].ID
		}
		return fmt.Sprint("x", r.IntN(4))
	}
	var history string
	for range 120 {
		now += int64(r.IntN(25))
		if r.IntN(40) == 0 {
			now = max(now-int64(r.IntN(200)), 1)
		}
		var q effect.Request
		switch n := r.IntN(12); {
		case n < 3:
			add := &effect.QueueAdd{Queue: tasks, Value: json.RawMessage(strconv.Itoa(r.IntN(2))), Priority: int64(r.IntN(3))}
			if r.IntN(3) == 0 {
				add.ID = fmt.Sprint("x", r.IntN(4))
			}
			for range r.IntN(3) {
				if id := ids(); !slices.Contains(add.After, id) {
					add.After = append(add.After, id)
				}
			}
			if r.IntN(4) == 0 {
				add.DelayMS = int64(r.IntN(80))
			}
			q = add
		case n < 7:
			q = &effect.QueueClaim{Queue: tasks, Worker: string(rune('a' + r.IntN(3))), LeaseMS: int64(5 + r.IntN(60))}
		case n < 11 && len(claims) > 0:
			c := claims[max(len(claims)-1-r.IntN(3), 0)]
			if r.IntN(10) == 0 {
				c.Worker = "z"
			}
			c.Op = []string{effect.QueueComplete, effect.QueueFail, effect.QueueExtend, effect.QueueRelease, effect.QueueComplete, effect.QueueFail}[r.IntN(6)]
			switch c.Op {
			case effect.QueueComplete:
				c.Result = json.RawMessage("7")
			case effect.QueueFail:
				c.Reason, c.Final = fmt.Sprint("reason ", r.IntN(3)), r.IntN(4) == 0
			case effect.QueueExtend:
				c.LeaseMS = int64(1 + r.IntN(50))
			}
			q = &c
		default:
			q = &effect.QueueUpdate{Queue: tasks, Op: []string{effect.QueueRetry, effect.QueueRemove}[r.IntN(2)], ID: ids()}
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		history += fmt.Sprintf("%d %s %s\n", now, q.Kind(), text)
		want := model.perform(now, q)
		list := model.list(now)
		for name, perform := range all {
			result, err := perform(now, q)
			if got := resultText(result, err); got != want {
				return fmt.Sprintf("%s%s: result %q, want %q", history, name, got, want)
			}
			items, err := perform(now, &effect.QueueGet{Queue: tasks})
			if err != nil {
				return err.Error()
			}
			if diff := cmp.Diff(list, items.(*effect.QueueItems).Items); diff != "" {
				return fmt.Sprintf("%s%s: items (-want +got):\n%s", history, name, diff)
			}
			if x, ok := result.(*effect.QueueClaimed); ok && x.Item != nil && name == "memory" {
				claims = append(claims, effect.QueueUpdate{Queue: tasks, ID: x.Item.ID, Worker: x.Item.Worker, Attempts: x.Item.Attempts, LeaseUntil: x.Item.LeaseUntil})
			}
		}
	}
	return ""
}

// TestQueueModel compares both engines with the model.
func TestQueueModel(t *testing.T) {
	show := func(seed uint64) string { return play(t, seed, faults[0]) }
	randtest.Run(t, "runtime/world/sqlitestore", 24, show, func(t *testing.T, seed uint64) {
		if wrong := play(t, seed, ""); wrong != "" {
			t.Error(wrong)
		}
	})
}

// TestQueueModelDetectsFaults checks that play detects each fault of an engine.
func TestQueueModelDetectsFaults(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault, func(t *testing.T) {
			for seed := range uint64(50) {
				if play(t, seed, fault) != "" {
					return
				}
			}
			t.Error("play did not detect the fault")
		})
	}
}

// TestQueueWorkers runs workers with their own connections to one file. Each item must be completed
// exactly once, and the waits of idle workers must end.
func TestQueueWorkers(t *testing.T) {
	dir := t.TempDir()
	const items = 40
	var mu sync.Mutex
	done := map[string]int{}
	work := func(s *Stores, name string) error {
		for {
			got, err := s.Perform(context.Background(), &effect.QueueClaim{Queue: tasks, Worker: name, LeaseMS: 600_000})
			if err != nil {
				return err
			}
			claimed := got.(*effect.QueueClaimed)
			if claimed.Item == nil {
				if claimed.Until == 0 {
					return nil
				}
				if _, err := s.Perform(context.Background(), &effect.QueueWait{Queue: tasks, Until: claimed.Until}); err != nil {
					return err
				}
				continue
			}
			x := claimed.Item
			if _, err := s.Perform(context.Background(), &effect.QueueUpdate{Queue: tasks, Op: effect.QueueComplete, ID: x.ID, Worker: name, Attempts: x.Attempts, LeaseUntil: x.LeaseUntil}); err != nil {
				return err
			}
			mu.Lock()
			done[x.ID]++
			mu.Unlock()
		}
	}
	first := opened(t, Options{Dir: dir})
	var after []string
	for i := range items {
		if i%4 == 0 {
			after = nil
		}
		after = []string{do[*effect.QueueAdded](t, first, &effect.QueueAdd{Queue: tasks, Value: json.RawMessage("1"), After: after}).ID}
	}
	errs := make(chan error)
	for i := range 4 {
		s := opened(t, Options{Dir: dir})
		go func() { errs <- work(s, fmt.Sprint("w", i)) }()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for id, n := range done {
		if n != 1 {
			t.Errorf("item %s was completed %d times", id, n)
		}
	}
	if len(done) != items {
		t.Errorf("%d items were completed, want %d", len(done), items)
	}
}

// TestQueueFile checks the format of files: a file receives the tables of queues when its first
// queue is used, and a damaged item is refused.
func TestQueueFile(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, Options{Dir: dir})
	format := func() byte {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "s.db"))
		if err != nil {
			t.Fatal(err)
		}
		return b[63]
	}
	do[any](t, s, &effect.StoreWrite{Store: at("hashmap"), Entries: []effect.StoreEntry{set(`"a"`, `1`)}})
	if got := do[*effect.QueueItems](t, s, &effect.QueueGet{Queue: tasks}); len(got.Items) != 0 {
		t.Errorf("items %v, want none", got.Items)
	}
	if got := format(); got != 2 {
		t.Errorf("format %d without a queue, want 2", got)
	}
	do[*effect.QueueAdded](t, s, &effect.QueueAdd{Queue: tasks, Value: json.RawMessage(`"marked text"`)})
	if got := format(); got != 3 {
		t.Errorf("format %d with a queue, want 3", got)
	}
	path := filepath.Join(dir, "s.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), "marked text", "marred text", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = s.Perform(context.Background(), &effect.QueueClaim{Queue: tasks, Worker: "w", LeaseMS: 1000})
	failed, ok := errors.AsType[*effect.Error](err)
	if want := `cannot use s.db: the item "t1" of the queue q is damaged: its checksum does not match; replace the file by a copy`; !ok || failed.Kind != "QueueError" || failed.Message != want || failed.Fields["code"] != "file" {
		t.Errorf("error %v (%+v), want %s", err, failed, want)
	}
}
