// Package link implements the connection of hostd to the relay's server (spec/relay.md). It sends
// the events in the spool, those of each run in order, and deletes them when the server
// acknowledges them. It performs the server's commands and reports their results until the server
// acknowledges the results.
//
// When a connection closes, the link reconnects without limit. A closed connection loses nothing,
// because the server's welcome contains the positions at which the link resumes.
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

// Outcome is the result of a command. State is applied, rejected, expired or indeterminate. Error
// is the reason if State is not applied.
type Outcome struct {
	State protocol.InputState
	Error string
}

// Applied is the outcome of a successful command.
var Applied = Outcome{State: protocol.InputApplied}

// Commands performs commands for the runs of a machine. The commands of a run arrive one after
// another. The same command may arrive again with the same id, and must then have the same result.
type Commands interface {
	Input(ctx context.Context, run, by string, c protocol.SendInput) Outcome
	Keys(ctx context.Context, run string, c protocol.SendKeys)
	Stop(ctx context.Context, run string, c protocol.Stop) Outcome
	Resize(ctx context.Context, run string, c protocol.Resize)
	// Decide approves a request if the command is run.permission.approve, or else denies it.
	Decide(ctx context.Context, a Admission, by string, c protocol.Decide) Outcome
	// RPC performs an RPC. It returns the response, and the id of the run for the response's
	// envelope. It may be called concurrently. ctx is not cancelled when the connection closes.
	// If repeated is set, it was called before: the RPC must not be performed another time.
	RPC(ctx context.Context, a Admission) (run string, r protocol.Response)
}

// Clock provides the time.
type Clock interface {
	Now() time.Time
	After(time.Duration) <-chan time.Time
}

type wallClock struct{}

func (wallClock) Now() time.Time                         { return time.Now() }
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Options configures a Link.
type Options struct {
	URL       string                 // the server's URL: http, https, ws or wss
	MachineID string                 // the machine's id
	Token     func() (string, error) // returns the machine's token; called before each connection
	// Key returns the machine's key, or nil to authenticate by the token. It is called before each
	// connection and may be nil.
	Key      func() (*Key, error)
	Agent    string // name and version of this program, as NAME/VERSION
	Name     string // name of the machine; "" for none
	Instance string // UUID that identifies this process
	Features []string
	Spool    *spool.Spool
	Commands Commands
	Gate     Gate           // nil admits all commands
	Account  func() string  // returns the machine's account, or ""; nil means that it has none
	Sealed   func() bool    // reports whether events are sealed, which the server must support; nil means that they are not
	Welcomed func()         // called when the server has accepted a connection; may be nil
	Log      *slog.Logger   // nil logs nothing
	Clock    Clock          // nil means the system clock
	Random   func() float64 // returns a number in [0, 1) for the retry delays; nil means math/rand
	HTTP     *http.Client   // nil means http.DefaultClient
}

// State describes the current connection.
type State struct {
	Connected bool
	Protocol  int64         // protocol version of the server: 2, or 1 if it sends no welcome
	Server    string        // name and version of the server
	Since     time.Time     // time of the last change of this state
	Err       error         // why there is no connection; nil while connected
	Skew      time.Duration // how far the server's clock is ahead, according to its last welcome
}

// Link is a connection that reconnects.
type Link struct {
	o    Options
	url  string
	ctx  context.Context // context of Run; operations continue when a connection closes
	work sync.WaitGroup  // running commands and RPCs

	queues   commandQueues
	welcomed atomic.Bool   // the server sent a welcome on the last connection
	busy     chan struct{} // semaphore that limits the running RPCs
	running  sync.Map      // the running sealed RPCs, by callKey

	mu      sync.Mutex
	state   State
	current *session // nil while not connected
	query   bool     // the server accepts the token only as a query parameter
	lastKey *Key     // key for the last connection; nil if it used a token; only for the goroutine of Run
}

// New returns a Link, which Run connects. It returns an error if the URL or the machine id is
// invalid.
func New(o Options) (*Link, error) {
	url, err := endpoint(o.URL, o.MachineID)
	if err != nil {
		return nil, err
	}
	if o.Sealed == nil {
		o.Sealed = func() bool { return false }
	}
	if o.Clock == nil {
		o.Clock = wallClock{}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Gate == nil {
		o.Gate = openGate{}
	}
	if o.Account == nil {
		o.Account = func() string { return "" }
	}
	if o.Welcomed == nil {
		o.Welcomed = func() {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Link{o: o, url: url, busy: make(chan struct{}, maxConcurrentRPCs)}
	l.state = State{Since: o.Clock.Now(), Err: errors.New("not connected yet")}
	return l, nil
}

// State returns the state of the connection.
func (l *Link) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

func (l *Link) session() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// errReconnect closes a connection so that the next one has a new hello.
var errReconnect = errors.New("hostd reconnects because its account has changed")

// Reconnect closes the connection, if there is one. The next one sends a new hello.
func (l *Link) Reconnect() {
	if s := l.session(); s != nil {
		s.useful.Store(true) // the next attempt follows at once
		s.end(errReconnect)
	}
}

// replacedDelay is the retry delay after another machine with the same id has taken over.
const replacedDelay = 30 * time.Second

// Run connects and reconnects until ctx is done. It returns when all commands have finished.
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
		wait := l.retryDelay(tries, err)
		tries++
		l.setState(State{Since: l.o.Clock.Now(), Err: err})
		l.o.Log.Warn("no connection to the server", "why", err, "again_in", wait)
		if wait == 0 {
			continue
		}
		l.sleep(ctx, wait)
	}
}

// sleep waits for a duration. It returns early if the machine's key changes.
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
		if l.keyChanged() {
			return
		}
	}
}

func (l *Link) setState(s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
}

// retryDelay returns the delay before the next attempt. tries is the number of consecutive
// failures, and err the last one.
func (l *Link) retryDelay(tries int, err error) time.Duration {
	if errors.Is(err, errServerKey) {
		return replacedDelay
	}
	switch websocket.CloseStatus(err) {
	case protocol.CloseSuperseded, protocol.CloseStaleEpoch, protocol.CloseUnauthorized, protocol.CloseForbidden:
		return replacedDelay
	}
	return protocol.RetryAfter(tries, l.o.Random())
}

// explainClose adds the meaning of the server's close code to an error.
func explainClose(err error) error {
	switch websocket.CloseStatus(err) {
	case protocol.CloseSuperseded:
		return fmt.Errorf("another hostd with this machine's id has taken over: stop one of them, or give it another id and state: %w", err)
	case protocol.CloseStaleEpoch:
		return fmt.Errorf("the server has a newer state of this machine: this one is an old copy; stop it or give it another id: %w", err)
	case protocol.CloseUnauthorized:
		return fmt.Errorf("the server no longer accepts this machine's key or token: %w", err)
	case protocol.CloseForbidden:
		return fmt.Errorf("the server refuses this machine: %w", err)
	}
	return err
}

// connect opens and serves one connection. It returns why the connection closed. good reports
// whether the connection was useful, which resets the retry delay.
func (l *Link) connect(ctx context.Context) (good bool, err error) {
	key, err := l.loadKey()
	if err != nil {
		return false, err
	}
	l.lastKey = key
	conn, err := l.dial(ctx, key)
	if err != nil {
		return false, err
	}
	s := newSession(l, conn)
	if key != nil {
		if s.proof, err = l.answerChallenge(ctx, conn, key); err != nil {
			_ = conn.CloseNow() // ignore the error: the connection has already failed
			return false, explainClose(err)
		}
	}
	l.mu.Lock()
	l.current = s
	l.mu.Unlock()
	err = s.run(ctx)
	l.mu.Lock()
	l.current = nil
	l.mu.Unlock()
	return s.useful.Load(), explainClose(err)
}

// send sends a message that is not stored. It is sent after the events of its run up to sequence
// number after. Without a connection the message is dropped.
func (l *Link) send(e protocol.Envelope, after int64) {
	if s := l.session(); s != nil {
		s.sendAfter(e, after)
	}
}

func (l *Link) envelope(typ string, data any) protocol.Envelope {
	text, err := json.Marshal(data)
	if err != nil {
		panic("link: " + typ + " is no JSON: " + err.Error())
	}
	e := protocol.New(typ, l.o.Clock.Now(), json.RawMessage(text))
	e.MachineID = l.o.MachineID
	return e
}
