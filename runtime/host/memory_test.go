package host

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// memory is a transport whose hosts are Go functions. Such hosts use the time of the test's
// synctest bubble.
type memory struct {
	play []func(h *memHost) // play[n] is the function of the n-th started host; the last one also serves all further starts
	all  []*memHost
}

// memHost is the host's side of a connection over the memory transport.
type memHost struct {
	toHost   chan string
	out      *memPipe
	inClosed chan struct{}
	closing  sync.Once
	dying    sync.Once
	term     chan struct{} // closed when the host receives SIGTERM
	dead     chan struct{}
	exit     Exit
	began    time.Time

	mu     sync.Mutex
	events []event
}

// event is an event in a host's life, with the time since the host's start.
type event struct {
	what string
	at   time.Duration
}

// rank orders events that happen at the same time.
var rank = map[string]int{"eof": 1, "term": 2, "kill": 3, "exit": 4}

func (m *memory) Connect(*Config, Surroundings) (Conn, error) {
	h := &memHost{
		toHost: make(chan string), out: newMemPipe(), began: time.Now(),
		inClosed: make(chan struct{}), term: make(chan struct{}), dead: make(chan struct{}),
	}
	play := m.play[min(len(m.all), len(m.play)-1)]
	m.all = append(m.all, h)
	go func() {
		play(h)
		h.die(Exit{})
	}()
	return &memConn{h: h, lines: ndjson.NewReader(h.out, 0)}, nil
}

func (h *memHost) note(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, event{what, time.Since(h.began)})
}

// readLine returns the next line. It returns "" at the end of the input and after the host was
// killed.
func (h *memHost) readLine() string {
	select {
	case l := <-h.toHost:
		return l
	case <-h.inClosed:
	case <-h.dead:
	}
	return ""
}

func (h *memHost) writeLine(line string) { h.out.write(line + "\n") }

func (h *memHost) closeOutput() { h.out.close() }

// hang ignores signals and returns when the host is killed.
func (h *memHost) hang() { <-h.dead }

// untilTerm waits for SIGTERM.
func (h *memHost) untilTerm() {
	select {
	case <-h.term:
	case <-h.dead:
	}
}

func (h *memHost) die(e Exit) {
	h.dying.Do(func() {
		h.exit = e
		h.note("exit")
		h.out.close()
		close(h.dead)
	})
}

// memConn is Concerto's side of a connection over the memory transport.
type memConn struct {
	h     *memHost
	lines *ndjson.Reader
}

func (c *memConn) ReadLine() (ndjson.Line, error) { return c.lines.NextLine() }

func (c *memConn) Ready() bool { return c.lines.Ready() }

func (c *memConn) Interrupt() { c.h.out.interrupt(true) }

func (c *memConn) Resume() { c.h.out.interrupt(false) }

func (c *memConn) BytesSent() int64 { return c.h.out.written() }

func (c *memConn) Write(b []byte) (int, error) {
	for n, l := range strings.SplitAfter(string(b), "\n") {
		if l == "" {
			continue
		}
		select {
		case c.h.toHost <- strings.TrimSuffix(l, "\n"):
		case <-c.h.inClosed:
			return n, io.ErrClosedPipe
		case <-c.h.dead:
			return n, io.ErrClosedPipe
		}
	}
	return len(b), nil
}

func (c *memConn) TryWrite([]byte) int { return 0 }

func (c *memConn) CloseWrite() {
	c.h.closing.Do(func() {
		if !c.ended() {
			c.h.note("eof")
		}
		close(c.h.inClosed)
	})
}

func (c *memConn) ended() bool {
	select {
	case <-c.h.dead:
		return true
	default:
		return false
	}
}

func (c *memConn) Unread() int { return -1 }

func (c *memConn) Done() <-chan struct{} { return c.h.dead }

func (c *memConn) Stderr() string { return "" }

func (c *memConn) Exit() Exit { return c.h.exit }

func (c *memConn) End(grace time.Duration, stop <-chan struct{}) {
	if c.ended() {
		return
	}
	c.h.note("term")
	close(c.h.term)
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-c.h.dead:
		return
	case <-t.C:
	case <-stop:
	}
	c.h.note("kill")
	c.h.die(Exit{Code: 137})
}

// bubble holds Hosts with one host declaration, w, over the memory transport.
type bubble struct {
	*testing.T
	*Hosts
	mem *memory
}

func newBubble(t *testing.T, c Config, play ...func(*memHost)) *bubble {
	b := &bubble{T: t, mem: &memory{play: play}}
	c.Name, c.Connector, c.OutputFormat, c.Transport = "w", "w", "json", "memory"
	b.Hosts = New(Options{Configs: []Config{c}, Transports: map[string]Transport{"memory": b.mem}})
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bubble) openExchange() int64 {
	b.Helper()
	id, err := b.tryOpen()
	if err != nil {
		b.Fatal(err)
	}
	return id
}

func (b *bubble) tryOpen() (int64, error) {
	r, err := b.Perform(context.Background(), &effect.ExchangeOpen{Host: "w", Prompt: "go"})
	if err != nil {
		return 0, err
	}
	return r.(*effect.ExchangeOpened).ID, nil
}

// expectMessage compares the next message or failure of the exchange with want.
func (b *bubble) expectMessage(id int64, want string) {
	b.Helper()
	if got := b.nextOutcome(id); got != want {
		b.Errorf("got %s, want %s", got, want)
	}
}

// nextOutcome returns the next messages as "type payload", joined by "; ", or the text of the
// failure.
func (b *bubble) nextOutcome(id int64) string {
	r, err := b.Perform(context.Background(), &effect.ExchangeNext{ID: id})
	var e *effect.Error
	switch {
	case errors.As(err, &e):
		return e.Kind + ": " + e.Message
	case err != nil:
		return err.Error()
	}
	var all []string
	for _, m := range r.(*effect.ExchangeMessages).Messages {
		all = append(all, m.Type+" "+string(value.AppendJSON(nil, m.Payload)))
	}
	return strings.Join(all, "; ")
}

func (b *bubble) closeExchange(id int64, reason string) {
	b.Helper()
	if _, err := b.Perform(context.Background(), &effect.ExchangeClose{ID: id, Reason: reason}); err != nil {
		b.Fatal(err)
	}
}

// expectEvents compares the events of the n-th process with want.
func (b *bubble) expectEvents(n int, want string) {
	b.Helper()
	h := b.mem.all[n]
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.SortStableFunc(h.events, func(x, y event) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(rank[x.what], rank[y.what]))
	})
	var all []string
	for _, e := range h.events {
		// If the host still runs after the signal, its input is closed as well.
		if e.what == "eof" && slices.Contains(h.events, event{"term", e.at}) {
			continue
		}
		all = append(all, e.what+"@"+strconv.FormatFloat(e.at.Seconds(), 'f', -1, 64))
	}
	if got := strings.Join(all, " "); got != want {
		b.Errorf("process %d: %s, want %s", n, got, want)
	}
}

// since returns the seconds that have passed in the bubble since t.
func since(t time.Time) string { return strconv.FormatFloat(time.Since(t).Seconds(), 'f', -1, 64) }
