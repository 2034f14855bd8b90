package spool_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// model is a spool, its connection and the server, with everything that was committed to the spool.
type model struct {
	t         *rapid.T
	dir       string
	file      string
	s         *spool.Spool
	n         int                 // of the token that was last committed
	committed map[string][]string // what was committed, by run
	at        map[string]int64    // what was sent, by run; nil without a connection
	has       map[string]*server
}

// server is what a server has of a run.
type server struct {
	prefix int64
	log    []string // tokens, and "gap REASON"
}

const modelMax = 6000

// TestModel checks that with any order of commits, sends, acks, disconnections, kills and losses,
// the server receives each event once and in order, or a gap with the reason, and gaps only after a
// loss.
func TestModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Hidden in a struct, t has no deadline, which a bubble does not allow.
		rapid.Check(struct{ testing.TB }{t}, func(r *rapid.T) {
			dir, err := os.MkdirTemp(t.TempDir(), "model")
			if err != nil {
				r.Fatal(err)
			}
			m := &model{t: r, dir: dir, committed: map[string][]string{}, has: map[string]*server{}}
			m.file = m.path("spool.db")
			m.open()
			defer func() { _ = m.s.Close() }()
			r.Repeat(map[string]func(*rapid.T){
				"append": m.append, "append more": m.append, "send": m.send, "send more": m.send, "ack": m.ack, "fault": m.fault, "": m.check,
			})
			m.connect(r)
			m.drain()
		})
	})
}

func (m *model) path(name string) string { return filepath.Join(m.dir, name) }

func (m *model) open() {
	s, err := spool.Open(ctx, m.file, spool.Options{Max: modelMax})
	if err != nil {
		m.t.Fatal(err)
	}
	m.s = s
}

var runs = []string{"run_a", "run_b", "run_c"}

func (m *model) append(t *rapid.T) {
	run := rapid.SampledFrom(runs).Draw(t, "run")
	for range rapid.IntRange(1, 8).Draw(t, "events") {
		m.appendOne(t, run)
	}
}

func (m *model) appendOne(t *rapid.T, run string) {
	m.n++
	token := fmt.Sprintf("<%d>", m.n)
	e := output(token + strings.Repeat("x", rapid.IntRange(0, 500).Draw(t, "long")))
	if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
		e = spool.Event{Type: protocol.RunAwaitingInput, Data: protocol.AwaitingInput{Reason: "prompt", Prompt: token}}
		token = "!" + token // never given up
	}
	off := int64(m.n)
	if _, err := m.s.Commit(ctx, spool.Change{Run: run, Events: []spool.Event{e}, Offset: &off}); err != nil {
		t.Fatal(err)
	}
	m.committed[run] = append(m.committed[run], token)
	if r, _ := m.s.Run(run); r.Offset != off {
		t.Fatalf("the offset is %d, and %d was committed", r.Offset, off)
	}
}

// send has the connection send some events of a run, which the server stores at once.
func (m *model) send(t *rapid.T) {
	if m.at == nil {
		m.connect(t)
	} else {
		m.sendSome(rapid.SampledFrom(runs).Draw(t, "run"), rapid.IntRange(1, 10).Draw(t, "events"))
	}
}

func (m *model) sendSome(run string, n int) (sent int) {
	all, err := m.s.Next(ctx, run, m.at[run], n)
	if err != nil {
		m.t.Fatal(err)
	}
	for i := range all {
		m.store(run, &all[i])
	}
	return len(all)
}

// store is the server's side of an event.
func (m *model) store(run string, e *protocol.Envelope) {
	from := e.Seq
	var tokens []string
	switch e.Type {
	case protocol.RunGap:
		gap, err := protocol.Decode[protocol.Gap](e)
		if err != nil {
			m.t.Fatal(err)
		}
		from, tokens = gap.From, []string{"gap " + gap.Reason}
	case protocol.RunOutput:
		tokens = tokensOf(textOf(m.t, *e))
	default:
		in, err := protocol.Decode[protocol.AwaitingInput](e)
		if err != nil {
			m.t.Fatal(err)
		}
		tokens = []string{"!" + in.Prompt}
	}
	s := m.server(run)
	switch {
	case from != m.at[run]+1:
		m.t.Fatalf("%s: %d (from %d) was sent after %d", run, e.Seq, from, m.at[run])
	case from != s.prefix+1:
		m.t.Fatalf("%s: %d (from %d) came, and the server has %d", run, e.Seq, from, s.prefix)
	}
	m.at[run], s.prefix, s.log = e.Seq, e.Seq, append(s.log, tokens...)
}

func (m *model) server(run string) *server {
	if m.has[run] == nil {
		m.has[run] = &server{}
	}
	return m.has[run]
}

func tokensOf(text string) (all []string) {
	for part := range strings.SplitSeq(text, "<") {
		if token, _, ok := strings.Cut(part, ">"); ok {
			all = append(all, "<"+token+">")
		}
	}
	return all
}

// fault injects a fault into a connection, hostd, or the state of either side.
func (m *model) fault(t *rapid.T) {
	faults := map[string]func(*rapid.T){"cut": m.cut, "kill": m.kill, "the store": m.loseStore, "the spool": m.loseSpool}
	faults[rapid.SampledFrom([]string{"cut", "cut", "kill", "the store", "the spool"}).Draw(t, "what")](t)
}

func (m *model) ack(t *rapid.T) {
	if m.at == nil {
		return
	}
	run := rapid.SampledFrom(runs).Draw(t, "run")
	s := m.server(run)
	m.s.Ack(run, s.prefix-rapid.Int64Range(0, min(3, s.prefix)).Draw(t, "late"))
	synctest.Wait()
}

func (m *model) cut(*rapid.T) { m.at = nil }

func (m *model) connect(*rapid.T) {
	m.at = map[string]int64{}
	for _, run := range runs {
		after, first, err := m.s.Resume(ctx, run, m.server(run).prefix)
		if err != nil {
			m.t.Fatal(err)
		}
		m.at[run] = after
		if first != nil {
			m.at[run] = m.server(run).prefix
			m.store(run, first)
		}
	}
}

// kill is the end of hostd, or of its machine: what another finds are the files as they are.
func (m *model) kill(*rapid.T) {
	m.at = nil
	to := m.path(fmt.Sprintf("spool%d.db", m.n))
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(m.file + end)
		if err == nil {
			err = os.WriteFile(to+end, b, 0o600)
		}
		if err != nil && !os.IsNotExist(err) {
			m.t.Fatal(err)
		}
	}
	epoch, before := m.s.Epoch(), m.s.Runs()
	if err := m.s.Close(); err != nil {
		m.t.Fatal(err)
	}
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		_ = os.Remove(m.file + end)
	}
	m.file = to
	if err := os.Rename(to, m.path("next.db")); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(to+"-wal", m.path("next.db-wal")); err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	m.file = m.path("spool.db")
	for _, end := range []string{"", "-wal"} {
		if err := os.Rename(m.path("next.db"+end), m.file+end); err != nil && !os.IsNotExist(err) {
			m.t.Fatal(err)
		}
	}
	m.open()
	if m.s.Epoch() != epoch+1 || !slices.EqualFunc(before, m.s.Runs(), func(a, b spool.Run) bool { return a.Last == b.Last && a.Offset == b.Offset }) {
		m.t.Fatalf("%+v before, %+v after; epoch %d after %d", before, m.s.Runs(), m.s.Epoch(), epoch)
	}
}

func (m *model) loseStore(*rapid.T) {
	m.at = nil
	for _, s := range m.has {
		s.prefix, s.log = 0, nil
	}
}

func (m *model) loseSpool(*rapid.T) {
	m.at = nil
	if err := m.s.Close(); err != nil {
		m.t.Fatal(err)
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(m.file + end)
	}
	m.open()
	for _, run := range runs {
		if err := m.s.Adopt(ctx, run); err != nil {
			m.t.Fatal(err)
		}
	}
}

// check compares the server's events of each run with the committed ones: the same tokens in the
// same order; where some are missing there is a gap, and events that are never dropped are missing
// only after a loss.
func (m *model) check(t *rapid.T) {
	for run, s := range m.has {
		rest, gap := m.committed[run], ""
		for _, have := range s.log {
			if reason, ok := strings.CutPrefix(have, "gap "); ok {
				gap += reason + " "
				continue
			}
			i := slices.Index(rest, have)
			switch {
			case i < 0:
				t.Fatalf("%s: %s is there twice, too late, or was never committed: %v", run, have, s.log)
			case i > 0 && gap == "":
				t.Fatalf("%s: %v are missing, and no gap event lists them: %v", run, rest[:i], s.log)
			case strings.TrimSpace(strings.ReplaceAll(gap, "spool_full", "")) == "" && slices.ContainsFunc(rest[:i], func(token string) bool { return token[0] == '!' }):
				t.Fatalf("%s: %v were dropped: %v", run, rest[:i], s.log)
			}
			rest, gap = rest[i+1:], ""
		}
	}
}

// drain sends and acknowledges everything: then the spool is empty and the end of each run is
// stored.
func (m *model) drain() {
	for _, run := range runs {
		for m.sendSome(run, 7) > 0 {
			m.s.Ack(run, m.server(run).prefix)
			synctest.Wait()
		}
		if r, ok := m.s.Run(run); ok && r.Last != m.server(run).prefix {
			m.t.Fatalf("%s: %+v, and the server has %d", run, r, m.server(run).prefix)
		}
	}
	m.check(m.t)
}

// The model's schedules are the same each time, unless flags say otherwise: -rapid.checks and
// -rapid.seed select more.
func init() {
	for name, value := range map[string]string{"rapid.checks": "12", "rapid.steps": "120", "rapid.seed": "20", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}
