// Package link is hostd's connection to the relay's server, spec/relay.md (its API promises
// nothing). What is in the spool is sent from there, a run's events in their order and
// none before it is on the disk; what the server has is deleted when it says so. Commands
// are taken whenever they come, and what became of them is told until the server has it.
//
// A connection that ends is made anew, without end. Nothing that is sent or done depends on
// one: a server that has greeted says from where to go on.
package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Outcome is what became of a command: applied, rejected, expired or indeterminate, and why.
type Outcome struct{ State, Error string }

// Applied is the outcome of what was done.
var Applied = Outcome{State: "applied"}

// Commands are what an app may ask of a host's runs. Those of a run come one after the other,
// in their order; a command may come again, with its id, and then has the outcome that it had.
type Commands interface {
	Input(ctx context.Context, run string, c protocol.SendInput) Outcome
	Keys(ctx context.Context, run string, c protocol.SendKeys)
	Stop(ctx context.Context, run string, c protocol.Stop) Outcome
	Resize(ctx context.Context, run string, c protocol.Resize)
	Decide(ctx context.Context, run string, approve bool, by string, c protocol.Decide) Outcome
	// RPC answers a request; run is that of the response's envelope. It may be called many
	// times at once. ctx does not end with the connection.
	RPC(ctx context.Context, e *protocol.Envelope) (run string, r protocol.Response)
}

// Clock is where time comes from.
type Clock interface {
	Now() time.Time
	After(time.Duration) <-chan time.Time
}

type wall struct{}

func (wall) Now() time.Time                         { return time.Now() }
func (wall) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Options are what a Link is made of.
type Options struct {
	URL      string                 // the server's: http, https, ws or wss
	HostID   string                 //
	Token    func() (string, error) // the host's; asked for at each connection
	Key      func() (*Key, error)   // instead of the token when it gives one; asked for at each connection; nil: there is none
	Agent    string                 // name/version
	Name     string                 // of the machine; "" says none
	Instance string                 // a UUID of this process
	Features []string
	Spool    *spool.Spool
	Commands Commands
	Log      *slog.Logger   // nil: nothing is logged
	Clock    Clock          // nil: the machine's
	Random   func() float64 // in [0, 1), for pauses; nil: the machine's
	HTTP     *http.Client   // nil: http.DefaultClient
}

// State is how a link is.
type State struct {
	Connected bool
	Protocol  int64         // of the server: 2, or 1 when it does not greet
	Server    string        // its agent
	Since     time.Time     // it is as it is
	Err       error         // why there is no connection
	Skew      time.Duration // the server's clock is so much ahead, by its last greeting
}

// Link is a connection that comes back.
type Link struct {
	o    Options
	url  string
	ctx  context.Context // of Run: what is at work does not end with a connection
	work sync.WaitGroup  // commands and RPCs

	lanes  lanes
	greets atomic.Bool   // the server did when it was connected last
	busy   chan struct{} // has a place for each RPC at work

	mu    sync.Mutex
	state State
	now   *session // nil when there is none
	query bool     // the server takes the token as a parameter alone
	by    *Key     // by which it connected last; nil by its token. Run's goroutine has it alone
}

// New makes a link; Run connects it. The error tells of a URL or an id that cannot be.
func New(o Options) (*Link, error) {
	url, err := endpoint(o.URL, o.HostID)
	if err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = wall{}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Link{o: o, url: url, busy: make(chan struct{}, rpcsAtOnce)}
	l.state = State{Since: o.Clock.Now(), Err: errors.New("not connected yet")}
	return l, nil
}

// State is how the link is.
func (l *Link) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

func (l *Link) session() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// superseded is how long a host waits that another one with its id has replaced.
const superseded = 30 * time.Second

// Run connects, again and again, until ctx ends. It returns when nothing is at work any more.
func (l *Link) Run(ctx context.Context) {
	l.ctx = ctx
	defer l.work.Wait()
	for tries := 0; ctx.Err() == nil; {
		good, err := l.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		if good {
			tries = 0
		}
		wait := l.pause(tries, err)
		tries++
		l.note(State{Since: l.o.Clock.Now(), Err: err})
		l.o.Log.Warn("no connection to the server", "why", err, "again_in", wait)
		if wait == 0 {
			continue
		}
		l.sleep(ctx, wait)
	}
}

// sleep waits, until the host is known by something else.
func (l *Link) sleep(ctx context.Context, wait time.Duration) {
	for wait > 0 && ctx.Err() == nil {
		part := wait
		if l.o.Key != nil {
			part = min(wait, time.Second)
		}
		select {
		case <-l.o.Clock.After(part):
		case <-ctx.Done():
		}
		wait -= part
		if l.changed() {
			return
		}
	}
}

func (l *Link) note(s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
}

// pause is how long to wait after so many failures in a row, of which the last was err.
func (l *Link) pause(tries int, err error) time.Duration {
	if errors.Is(err, errServerKey) {
		return superseded
	}
	switch websocket.CloseStatus(err) {
	case protocol.CloseSuperseded, protocol.CloseStaleEpoch, protocol.CloseUnauthorized, protocol.CloseForbidden:
		return superseded
	}
	return protocol.RetryAfter(tries, l.o.Random())
}

// explained says in words what a close code means.
func explained(err error) error {
	switch websocket.CloseStatus(err) {
	case protocol.CloseSuperseded:
		return fmt.Errorf("another hostd with this host's id has taken over: end one of them, or give it an id and a state of its own: %w", err)
	case protocol.CloseStaleEpoch:
		return fmt.Errorf("the server knows a newer state of this host: this one is an old copy, end it or give it an id of its own: %w", err)
	case protocol.CloseUnauthorized:
		return fmt.Errorf("the server takes this host's key or token no more: %w", err)
	case protocol.CloseForbidden:
		return fmt.Errorf("the server refuses this host: %w", err)
	}
	return err
}

// connect makes one connection, and gives why it ended. good says that it was of use.
func (l *Link) connect(ctx context.Context) (good bool, err error) {
	key, err := l.key()
	if err != nil {
		return false, err
	}
	l.by = key
	conn, err := l.dial(ctx, key)
	if err != nil {
		return false, err
	}
	s := newSession(l, conn)
	if key != nil {
		if s.proof, err = l.prove(ctx, conn, key); err != nil {
			_ = conn.CloseNow() // the error is what counts
			return false, explained(err)
		}
	}
	l.mu.Lock()
	l.now = s
	l.mu.Unlock()
	err = s.run(ctx)
	l.mu.Lock()
	l.now = nil
	l.mu.Unlock()
	return s.good.Load(), explained(err)
}

// tell sends what is not kept, after its run's events up to a seq: to the server that is connected,
// else to nobody.
func (l *Link) tell(e protocol.Envelope, after int64) {
	if s := l.session(); s != nil {
		s.tellAfter(e, after)
	}
}

func (l *Link) envelope(typ string, data any) protocol.Envelope {
	text, err := json.Marshal(data)
	if err != nil {
		panic("link: " + typ + " is no JSON: " + err.Error())
	}
	e := protocol.New(typ, l.o.Clock.Now(), json.RawMessage(text))
	e.HostID = l.o.HostID
	return e
}
