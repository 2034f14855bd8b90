package sqlitestore

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestMain makes the test binary act as a writer if it is started as one.
func TestMain(m *testing.M) {
	if job := os.Getenv("STORE_WRITER"); job != "" {
		if err := writeOn(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// writing describes one writer: its number among the writers that share a file, its first
// operation, and the fault that it has, if any.
type writing struct {
	Seed  uint64
	N     int
	From  int
	Fault string // name of the fault; "" for none
}

// Faults of writers, which the test must detect.
const (
	acknowledgesEarly = "early" // before the operation has been performed
	writesInParts     = "parts" // performs one operation with several requests
)

// writeOn performs operations until the process is killed. It acknowledges each operation by
// printing the operation's number.
func writeOn(job string) error {
	time.AfterFunc(time.Minute, func() { os.Exit(99) })
	var w writing
	if err := json.Unmarshal([]byte(job), &w); err != nil {
		return err
	}
	s := New(Options{})
	for i := w.From; ; i++ {
		if w.Fault == acknowledgesEarly {
			fmt.Println(i)
		}
		for _, r := range w.operation(i).requests(w.N, w.Fault == writesInParts) {
			if _, err := s.Perform(context.Background(), r); err != nil {
				return fmt.Errorf("operation %d, %s: %w", i, r.Kind(), err)
			}
		}
		if w.Fault != acknowledgesEarly {
			fmt.Println(i)
		}
	}
}

// change is an operation on the stores of one writer, or on the number that all writers increment.
type change struct {
	number   int
	set      []int // keys of the hashmap whose value becomes the operation's number
	remove   int   // key to delete; -1 for none
	count    bool  // the common number is incremented
	note     int   // entry of the ledger whose value becomes the operation's number; -1 for none
	strike   int   // entry of the ledger to delete; -1 for none
	messages int   // number of messages to append
	add      bool  // an item whose id contains the operation's number is added to the queue
	claim    bool  // the oldest ready item of the queue is claimed
}

// operation returns the i-th operation of a writer.
func (w *writing) operation(i int) change {
	r := rand.New(rand.NewPCG(w.Seed, uint64(w.N)<<32|uint64(i)))
	c := change{number: i, remove: -1, note: -1, strike: -1}
	switch r.IntN(10) {
	case 0, 1, 2:
		c.set = r.Perm(8)[:2+r.IntN(4)]
	case 3:
		c.remove = r.IntN(8)
	case 4:
		c.count = true
	case 5:
		c.note = r.IntN(6)
	case 6:
		c.strike = r.IntN(6)
	case 7:
		c.add = true
	case 8:
		c.claim = true
	default:
		c.messages = 1 + r.IntN(3)
	}
	return c
}

// own returns a writer's store of the given kind.
func own(kind string, n int) effect.Store {
	return effect.Store{File: "kill.db", Kind: kind, Name: "own", Scope: fmt.Sprintf(`["p%d"]`, n)}
}

// common is the hashmap with the number that all writers increment.
var common = effect.Store{File: "kill.db", Kind: "hashmap", Name: "common"}

func jsonInt(v int) json.RawMessage { return json.RawMessage(strconv.Itoa(v)) }

// requests returns the requests that perform an operation: one request, or several for the fault
// writesInParts.
func (c change) requests(n int, parts bool) []effect.Request {
	switch {
	case len(c.set) > 0:
		var all []effect.StoreEntry
		var each []effect.Request
		for _, k := range c.set {
			e := effect.StoreEntry{Key: jsonInt(k), Value: jsonInt(c.number)}
			all = append(all, e)
			each = append(each, &effect.StoreWrite{Store: own("hashmap", n), Entries: []effect.StoreEntry{e}})
		}
		if parts {
			return each
		}
		return []effect.Request{&effect.StoreWrite{Store: own("hashmap", n), Entries: all}}
	case c.remove >= 0:
		return []effect.Request{&effect.StoreDelete{Store: own("hashmap", n), Key: jsonInt(c.remove)}}
	case c.count:
		return []effect.Request{&effect.StoreAdd{Store: common, Key: jsonInt(0), By: jsonInt(1)}}
	case c.note >= 0:
		return []effect.Request{&effect.LedgerPut{Store: own("ledger", n), Entry: effect.LedgerEntry{
			Identifier: fmt.Sprintf("note %d", c.note), Keys: []string{fmt.Sprintf("k%d", c.number%5)}, Value: strconv.Itoa(c.number),
		}}}
	case c.strike >= 0:
		return []effect.Request{&effect.LedgerDelete{Store: own("ledger", n), Identifier: fmt.Sprintf("note %d", c.strike)}}
	}
	queue := effect.Queue{Store: own("queue", n), MaxAttempts: 3}
	if c.add {
		return []effect.Request{&effect.QueueAdd{Queue: queue, ID: fmt.Sprintf("item %06d", c.number), Value: jsonInt(c.number)}}
	} else if c.claim {
		return []effect.Request{&effect.QueueClaim{Queue: queue, Worker: "w", LeaseMS: 3_600_000}}
	}
	var messages []effect.MemoryMessage
	for i := range c.messages {
		messages = append(messages, effect.MemoryMessage{Role: "user", Content: fmt.Sprintf("%d of %d", i, c.number)})
	}
	return []effect.Request{&effect.MemoryAppend{Store: own("memory", n), Messages: messages}}
}

// content is the content of a writer's stores.
type content struct {
	Numbers  map[string]string
	Notes    map[string]string
	Messages []string
	Items    map[string]string // states by id
}

// after returns the content after one more operation.
func (x content) after(c change) content {
	x = content{maps.Clone(x.Numbers), maps.Clone(x.Notes), slices.Clone(x.Messages), maps.Clone(x.Items)}
	for _, k := range c.set {
		x.Numbers[strconv.Itoa(k)] = strconv.Itoa(c.number)
	}
	delete(x.Numbers, strconv.Itoa(c.remove))
	if c.note >= 0 {
		x.Notes[fmt.Sprintf("note %d", c.note)] = fmt.Sprintf("k%d: %d", c.number%5, c.number)
	}
	delete(x.Notes, fmt.Sprintf("note %d", c.strike))
	if c.add {
		x.Items[fmt.Sprintf("item %06d", c.number)] = "ready"
	}
	if c.claim {
		for _, id := range slices.Sorted(maps.Keys(x.Items)) {
			if x.Items[id] == "ready" {
				x.Items[id] = "claimed"
				break
			}
		}
	}
	for i := range c.messages {
		x.Messages = append(x.Messages, fmt.Sprintf("%d of %d", i, c.number))
	}
	return x
}

func emptyContent() content {
	return content{Numbers: map[string]string{}, Notes: map[string]string{}, Items: map[string]string{}}
}

// contentOf reads the content of a writer's stores from the file.
func contentOf(t *testing.T, s *Stores, n int) content {
	x := emptyContent()
	for _, item := range do[*effect.QueueItems](t, s, &effect.QueueGet{Queue: effect.Queue{Store: own("queue", n), MaxAttempts: 3}}).Items {
		x.Items[item.ID] = item.State
	}
	for _, e := range do[*effect.StoreEntries](t, s, &effect.StoreList{Store: own("hashmap", n), Keys: true, Values: true}).Entries {
		x.Numbers[string(e.Key)] = string(e.Value)
	}
	for _, e := range do[*effect.LedgerEntries](t, s, &effect.LedgerFind{Store: own("ledger", n)}).Entries {
		x.Notes[e.Identifier] = strings.Join(e.Keys, ",") + ": " + e.Value
	}
	for _, m := range do[*effect.MemoryMessages](t, s, &effect.MemoryList{Store: own("memory", n), Last: -1}).Messages {
		x.Messages = append(x.Messages, m.Content)
	}
	return x
}

// killed runs a writer in dir, and kills it when the writer has acknowledged the given number of
// operations and the duration moment has passed. It returns the number of the first operation that
// was not acknowledged.
func killed(dir string, w writing, some int, moment time.Duration) (next int, err error) {
	job, err := json.Marshal(w)
	if err != nil {
		return 0, err
	}
	c := exec.Command(os.Args[0])
	c.Dir, c.Env = dir, append(os.Environ(), "STORE_WRITER="+string(job))
	var problem strings.Builder
	c.Stderr = &problem
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := c.Start(); err != nil {
		return 0, err
	}
	next = w.From
	acknowledged := bufio.NewReader(out)
	for {
		if next-w.From == some {
			defer time.AfterFunc(moment, func() { _ = c.Process.Kill() }).Stop()
		}
		line, err := acknowledged.ReadString('\n')
		if err != nil {
			break // an incomplete line acknowledges nothing
		}
		if line != strconv.Itoa(next)+"\n" {
			return 0, fmt.Errorf("the writer acknowledged operation %q, want %d", line, next)
		}
		next++
	}
	if err := c.Wait(); problem.Len() > 0 || err == nil {
		return 0, fmt.Errorf("the writer ended by itself: %v\n%s", err, problem.String())
	}
	return next, nil
}

// rounds repeatedly runs several writers on one file, kills them, and compares the content of the
// file with the acknowledged operations. It returns a description of the first difference, or "".
func rounds(t *testing.T, seed uint64, n int, fault string) string {
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	writers := make([]writing, 2+r.IntN(2))
	contents := make([]content, len(writers))
	for i := range writers {
		writers[i] = writing{Seed: seed, N: i, Fault: fault}
		contents[i] = emptyContent()
	}
	total := 0
	for round := range n {
		type end struct {
			n, next int
			err     error
		}
		ends := make(chan end)
		for i, w := range writers {
			some, moment := r.IntN(10), time.Duration(r.IntN(4000))*time.Microsecond
			go func() {
				next, err := killed(dir, w, some, moment)
				ends <- end{i, next, err}
			}()
		}
		counted := [2]int{total, total} // minimum and maximum of the common number
		s := New(Options{Dir: dir})
		wrong := ""
		for range writers {
			e := <-ends
			if e.err != nil {
				return e.err.Error()
			}
			w := &writers[e.n]
			for i := w.From; i < e.next; i++ {
				c := w.operation(i)
				contents[e.n] = contents[e.n].after(c)
				if c.count {
					counted[0]++
					counted[1]++
				}
			}
			// The operation that was in progress may or may not have been performed.
			under := w.operation(e.next)
			if under.count {
				counted[1]++
			}
			w.From = e.next + 1
			there, with := contentOf(t, s, e.n), contents[e.n].after(under)
			if with.is(there) {
				contents[e.n] = with
			} else if !contents[e.n].is(there) {
				wrong += fmt.Sprintf("round %d: writer %d acknowledged all operations before operation %d (%+v); content of its stores (-want +got):\n%s", round, e.n, e.next, under, cmp.Diff(contents[e.n], there))
			}
		}
		if e := do[*effect.StoreEntries](t, s, &effect.StoreRead{Store: common, Keys: []json.RawMessage{jsonInt(0)}}).Entries[0]; e.Value != nil {
			total, _ = strconv.Atoi(string(e.Value))
		}
		if total < counted[0] || total > counted[1] {
			wrong += fmt.Sprintf("round %d: counted %d, want %d to %d\n", round, total, counted[0], counted[1])
		}
		if err := s.Close(); err != nil {
			return err.Error()
		}
		if wrong != "" {
			return wrong
		}
	}
	return ""
}

func (x content) is(y content) bool {
	return maps.Equal(x.Numbers, y.Numbers) && maps.Equal(x.Notes, y.Notes) && slices.Equal(x.Messages, y.Messages) && maps.Equal(x.Items, y.Items)
}

// TestKilled kills processes that write to one file. The file must contain every acknowledged
// operation. It must contain the operation in progress completely or not at all.
func TestKilled(t *testing.T) {
	show := func(seed uint64) string {
		var b strings.Builder
		for i := range 20 {
			fmt.Fprintf(&b, "%+v\n", (&writing{Seed: seed}).operation(i))
		}
		return "the first writer begins with\n" + b.String()
	}
	randtest.Run(t, "runtime/world/sqlitestore", 8, show, func(t *testing.T, seed uint64) {
		if wrong := rounds(t, seed, 4, ""); wrong != "" {
			t.Error(wrong)
		}
	})
}

// TestKilledDetectsFaults checks that rounds detects each fault of the writers.
func TestKilledDetectsFaults(t *testing.T) {
	for _, fault := range []string{acknowledgesEarly, writesInParts} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(100) {
				if wrong := rounds(t, seed, 4, fault); wrong != "" {
					t.Logf("seed %d: %s", seed, wrong)
					return
				}
			}
			t.Error("rounds did not detect the fault")
		})
	}
}
