package spool_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// model is a spool with its connection and server, and the record of everything that was committed
// to the spool.
type model struct {
	t         *rapid.T
	dir       string
	file      string
	s         *spool.Spool
	n         int                 // number in the last committed token
	committed map[string][]string // committed tokens by run, in order
	at        map[string]int64    // last sent sequence number by run; nil without a connection
	has       map[string]*server

	max      int64
	account  *account                    // nil in a model without an account
	isSealed map[string]bool             // by run in the spool
	isEnded  map[string]bool             // by run
	sent     map[string]map[int64]string // frames that were sent, by run and sequence number
}

// server is the state of a run on the server.
type server struct {
	prefix int64
	log    []string // received tokens, and "gap REASON" for a gap
	reader *reader  // a device that reads the events of a sealed run from this server
}

const modelMax, modelMaxSealed = 6000, 20000

// TestModel runs random sequences of commits, sends, acknowledgements, disconnections, kills and
// losses of data. The server must receive each event once and in order, or a gap with the reason.
// There must be no gap without a loss.
func TestModel(t *testing.T) { testModel(t, modelMax, nil) }

// TestModelSealed does the same on a machine with an account, which begins epochs, and leaves and
// joins the account. A reader must be able to open and follow all events of sealed runs, and heads
// must confirm them.
func TestModelSealed(t *testing.T) { testModel(t, modelMaxSealed, newAccount("a_1")) }

func testModel(t *testing.T, max int64, a *account) {
	synctest.Test(t, func(t *testing.T) {
		// The struct hides that t has a deadline, because a synctest bubble does not allow one.
		rapid.Check(struct{ testing.TB }{t}, func(r *rapid.T) {
			dir, err := os.MkdirTemp(t.TempDir(), "model")
			if err != nil {
				r.Fatal(err)
			}
			m := &model{t: r, dir: dir, committed: map[string][]string{}, has: map[string]*server{}, max: max, account: a,
				isSealed: map[string]bool{}, isEnded: map[string]bool{}, sent: map[string]map[int64]string{}}
			m.file = m.path("spool.db")
			m.open()
			defer func() { _ = m.s.Close() }()
			actions := map[string]func(*rapid.T){
				"append": m.append, "append more": m.append, "send": m.send, "send more": m.send, "ack": m.ack, "fault": m.fault, "": m.check,
			}
			if a != nil {
				a.set(false, nil)
				actions["keys"], actions["wait"], actions["resend"], actions["exit"] = m.changeKeys, m.wait, m.resend, m.exit
			}
			r.Repeat(actions)
			if a != nil {
				a.set(false, nil)
			}
			m.connect(r)
			time.Sleep(2 * time.Minute) // until all heads are sealed
			synctest.Wait()
			m.drain()
		})
	})
}

func (m *model) path(name string) string { return filepath.Join(m.dir, name) }

func (m *model) open() {
	o := spool.Options{Max: m.max}
	if m.account != nil {
		o.Keys = m.account
	}
	s, err := spool.Open(ctx, m.file, o)
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
		token = "!" + token // a token that begins with ! must never be dropped
	}
	events := []spool.Event{e}
	if m.account != nil && rapid.IntRange(0, 9).Draw(t, "lag") == 0 {
		events = append(events, lag(rapid.Int64Range(1, 20).Draw(t, "lost")))
	}
	off := int64(m.n)
	if !m.commit(t, spool.Change{Run: run, Events: events, Offset: &off}) {
		return
	}
	m.committed[run] = append(m.committed[run], token)
	if r, _ := m.s.Run(run); r.Offset != off {
		t.Fatalf("offset = %d, want the committed %d", r.Offset, off)
	}
}

// commit commits a change. It returns false if the spool has refused it, which it must do exactly
// if the run has ended, or is sealed and the machine is not in the account.
func (m *model) commit(t *rapid.T, c spool.Change) bool {
	if _, exists := m.s.Run(c.Run); !exists {
		m.isSealed[c.Run] = m.account != nil && !m.account.isAbsent
	}
	before, _ := m.s.Run(c.Run)
	_, err := m.s.Commit(ctx, c)
	switch {
	case m.isEnded[c.Run]:
		if !errors.Is(err, spool.ErrEnded) {
			t.Fatalf("commit after the exit: error = %v", err)
		}
	case m.isSealed[c.Run] && m.account.isAbsent:
		if !errors.Is(err, spool.ErrAccount) {
			t.Fatalf("commit without the account: error = %v", err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		return true
	}
	if after, _ := m.s.Run(c.Run); after.Offset != before.Offset {
		t.Fatalf("run before a refused change = %+v, after = %+v", before, after)
	}
	return false
}

// changeKeys begins an epoch, or leaves or joins the account.
func (m *model) changeKeys(t *rapid.T) {
	switch rapid.IntRange(0, 3).Draw(t, "keys") {
	case 0:
		m.account.set(true, nil)
	case 1:
		m.account.rotate()
	default:
		m.account.set(false, nil)
	}
}

// wait waits until all present events are covered by heads.
func (m *model) wait(*rapid.T) {
	time.Sleep(seal.HeadInterval)
	synctest.Wait()
}

// exit commits the end of a run. It seldom does, because such a run accepts no more events.
func (m *model) exit(t *rapid.T) {
	if run := runs[0]; rapid.IntRange(0, 9).Draw(t, "exit") == 0 && m.commit(t, spool.Change{Run: run, Events: []spool.Event{request("r1"), exited}}) {
		m.isEnded[run] = true
	}
}

// resend checks that the events which the spool still has are those that were sent. A gap may have
// replaced them.
func (m *model) resend(t *rapid.T) {
	run := rapid.SampledFrom(runs).Draw(t, "run")
	all, err := m.s.Next(ctx, run, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		was, ok := m.sent[run][all[i].Seq]
		if now := string(all[i].Append(nil)); ok && now != was && all[i].Type != protocol.RunGap {
			t.Fatalf("event %d was sent as\n%s\nand would be sent again as\n%s", all[i].Seq, was, now)
		}
	}
}

// send sends some events of a run, which the server stores at once. If there is no connection, it
// connects instead.
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
		if m.sent[run] == nil {
			m.sent[run] = map[int64]string{}
		}
		m.sent[run][all[i].Seq] = string(all[i].Append(nil))
		m.store(run, &all[i])
	}
	return len(all)
}

// plain returns the plaintext of an event.
func (m *model) plain(run string, e *protocol.Envelope) *protocol.Envelope {
	if !m.isSealed[run] {
		if e.Enc != nil {
			m.t.Fatalf("%s: event %d is sealed", run, e.Seq)
		}
		return e
	}
	plain, err := m.server(run).reader.read(e)
	if err != nil {
		m.t.Fatalf("%s: %v", run, err)
	}
	chain := m.server(run).reader.chain
	if end, ok := m.s.Ends(m.account.name, 100)[run]; e.Enc != nil && (!ok || end.Seq < chain.Seq || end.Seq == chain.Seq && end.Tag != chain.Tag) {
		m.t.Fatalf("%s: the end is %+v, and the reader has %d %s", run, end, chain.Seq, chain.Tag)
	}
	return plain
}

// store stores an event on the server.
func (m *model) store(run string, sent *protocol.Envelope) {
	s := m.server(run)
	e := m.plain(run, sent)
	from := e.Seq
	var tokens []string
	switch e.Type {
	case seal.TypeHead, protocol.RunPermissionRequested, protocol.RunExited:
	case protocol.RunGap:
		gap, err := protocol.Decode[protocol.Gap](e)
		if err != nil {
			m.t.Fatal(err)
		}
		from, tokens = gap.From, []string{"gap " + gap.Reason}
		if sent.Enc != nil { // an acknowledgement does not shorten it
			from = max(from, min(e.Seq, s.prefix+1))
		}
	case protocol.RunOutput:
		tokens = tokensOf(textOf(m.t, *e))
	default:
		in, err := protocol.Decode[protocol.AwaitingInput](e)
		if err != nil {
			m.t.Fatal(err)
		}
		tokens = []string{"!" + in.Prompt}
	}
	switch {
	case from != m.at[run]+1:
		m.t.Fatalf("%s: event %d (from %d) was sent after %d", run, e.Seq, from, m.at[run])
	case from != s.prefix+1:
		m.t.Fatalf("%s: event %d (from %d) was sent, and the server has %d", run, e.Seq, from, s.prefix)
	}
	m.at[run], s.prefix, s.log = e.Seq, e.Seq, append(s.log, tokens...)
}

func (m *model) server(run string) *server {
	if m.has[run] == nil {
		m.has[run] = &server{reader: newReader(m.account)}
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

// fault injects a fault: it closes the connection, kills hostd, or loses the state of hostd or of
// the server.
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

// resume connects to a server that has reported its last sequence number, or to one that has none
// and reports nothing.
func (m *model) resume(t *rapid.T, run string) (after int64, first *protocol.Envelope, err error) {
	r, _ := m.s.Run(run)
	if m.server(run).prefix == 0 && r.Acked == 0 && rapid.Bool().Draw(t, "unreported") {
		after, err = m.s.ResumeUnreported(ctx, run)
		return after, nil, err
	}
	return m.s.Resume(ctx, run, m.server(run).prefix)
}

func (m *model) connect(t *rapid.T) {
	m.at = map[string]int64{}
	for _, run := range runs {
		after, first, err := m.resume(t, run)
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

// kill kills hostd or its machine. The next hostd opens a copy of the files at that moment.
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
	epoch, before, used := m.s.Epoch(), m.s.Runs(), m.s.Health().Used
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
		m.t.Fatalf("runs before the kill = %+v, after = %+v; epoch = %d after %d", before, m.s.Runs(), m.s.Epoch(), epoch)
	}
	if now := m.s.Health().Used; now != used {
		m.t.Fatalf("size of all events before the kill = %d, after = %d", used, now)
	}
}

func (m *model) loseStore(*rapid.T) {
	m.at = nil
	for _, s := range m.has {
		s.prefix, s.log, s.reader = 0, nil, newReader(m.account)
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
	m.sent, m.isEnded = map[string]map[int64]string{}, map[string]bool{}
	for _, run := range runs {
		m.isSealed[run] = m.account != nil && !m.account.isAbsent
		if err := m.s.Adopt(ctx, run); err != nil {
			m.t.Fatal(err)
		}
	}
}

// check compares the events on the server with the committed ones. The server must have the same
// tokens in the same order. Where tokens are missing, there must be a gap. Tokens that must never
// be dropped may be missing only after a loss.
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
				t.Fatalf("%s: token %s was received twice, too late, or was never committed: %v", run, have, s.log)
			case i > 0 && gap == "":
				t.Fatalf("%s: tokens %v are missing without a gap: %v", run, rest[:i], s.log)
			case strings.TrimSpace(strings.ReplaceAll(gap, "spool_full", "")) == "" && slices.ContainsFunc(rest[:i], func(token string) bool { return token[0] == '!' }):
				t.Fatalf("%s: tokens %v must not be dropped: %v", run, rest[:i], s.log)
			}
			rest, gap = rest[i+1:], ""
		}
	}
}

// drain sends and acknowledges everything. The spool must then be empty, and the server must have
// all events.
func (m *model) drain() {
	for _, run := range runs {
		for m.sendSome(run, 7) > 0 {
			m.s.Ack(run, m.server(run).prefix)
			synctest.Wait()
		}
		if r, ok := m.s.Run(run); ok && r.Last != m.server(run).prefix {
			m.t.Fatalf("%s: run = %+v, but the server has %d", run, r, m.server(run).prefix)
		}
		if pending := m.server(run).reader.pending; m.isSealed[run] && len(pending) > 0 {
			m.t.Fatalf("%s: no head confirms the events %v", run, pending)
		}
	}
	m.check(m.t)
}

// The sequences are the same in each test run, unless the flags -rapid.checks and -rapid.seed
// select others.
func init() {
	for name, value := range map[string]string{"rapid.checks": "12", "rapid.steps": "120", "rapid.seed": "20", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}
