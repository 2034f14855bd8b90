// Package client reports a run to the hostd of this machine, so that people can follow the run
// elsewhere and answer its questions (spec/24-relay.md).
//
// Reporting must not slow the run down. Events are stored in memory, and a separate goroutine
// encodes them and writes them to hostd's socket. Without a hostd, nothing waits and no event is
// encoded. The package needs neither a network nor a database.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Options describes a run.
type Options struct {
	Socket  string           // path of hostd's socket
	Started protocol.Started // description of the run
	// Dial connects to hostd; nil means a connection to Socket.
	Dial func(ctx context.Context) (net.Conn, error)
}

// Source reports one run. It is safe for concurrent use. A nil *Source reports nothing.
type Source struct {
	o       Options
	ctx     context.Context
	cancel  context.CancelFunc
	secrets Secrets // nil if the secrets are unknown
	used    func() protocol.Usage
	steer   func(protocol.Steering) error // nil before the run has begun
	stopped chan struct{}                 // closed when the writing goroutine has exited
	tried   chan struct{}                 // closed after the first attempt to connect
	joined  chan struct{}                 // closed when hostd is reached for the first time

	mu            sync.Mutex
	queue         queue
	requests      requests
	first         sync.Once
	wake          chan struct{} // contains an element if there is something to write
	urgent        chan struct{} // contains an element if something must be written immediately
	connErr       error         // error of the last attempt to connect
	ended         bool          // no more events are accepted
	asked         int64         // number of request ids assigned so far
	runID         string        // the relay's id of the run; "" until hostd assigns one
	line          protocol.Place
	conversations conversations
	places        places
}

// New starts to report a run. It makes the first attempt to connect to hostd; Absent returns the
// result.
func New(o Options) *Source {
	if o.Dial == nil {
		o.Dial = func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", o.Socket) }
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Source{o: o, ctx: ctx, cancel: cancel, stopped: make(chan struct{}), tried: make(chan struct{}), joined: make(chan struct{}), wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}
	s.requests.open, s.requests.asked = map[string]*openRequest{}, map[string]string{}
	s.places.init()
	s.conversations.open, s.conversations.calls = map[string]conversation{}, map[int64]string{}
	s.report(protocol.RunStarted, o.Started)
	conn, err := s.connect(firstTimeout)
	s.connErr = err
	go s.run(conn, err)
	return s
}

// Absent returns the error of the last attempt to reach hostd. It returns nil if hostd was ever
// reached.
func (s *Source) Absent() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wasReached() {
		return nil
	}
	return s.connErr
}

// wasReached reports whether hostd was reached at least once.
func (s *Source) wasReached() bool {
	select {
	case <-s.joined:
		return true
	default:
		return false
	}
}

// Await waits until hostd was reached, but at most for limit. The first attempt to connect may be
// too short for hostd on a busy machine. Await returns nil if hostd was reached, and otherwise the
// reason or the error of ctx; after an error the Source is closed. If the socket does not exist,
// Await returns nil immediately, and Absent returns the reason.
func (s *Source) Await(ctx context.Context, limit time.Duration) error {
	if _, err := os.Stat(s.o.Socket); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	var err error
	select {
	case <-s.joined:
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		s.mu.Lock()
		if !s.wasReached() {
			err = cmp.Or(s.connErr, fmt.Errorf("no answer within %s", limit))
		}
		s.mu.Unlock()
	}
	if err != nil {
		s.cancel()
		<-s.stopped
	}
	return err
}

// Run returns the relay's id of the run. It waits for the first attempt to connect. It returns ""
// if hostd was not reached or ctx is cancelled.
func (s *Source) Run(ctx context.Context) string {
	if !s.Reachable(ctx) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runID
}

// Secrets replaces the secrets of a run in its events.
type Secrets interface {
	Empty() bool // reports whether there are no secrets
	Contains(text string) bool
	JSON(text []byte) []byte // returns a JSON text in which the secrets are replaced
}

// Begin reports that the program starts. id is the run id of the program. structure is the graph of
// the program (graph.Placed), or nil. used returns the program's usage of models.
func (s *Source) Begin(id string, structure json.RawMessage, secrets Secrets, used func() protocol.Usage) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.secrets, s.used = secrets, used
	_ = json.Unmarshal(structure, &s.places.graph) // nil for a program without a graph
	s.mu.Unlock()
	s.report(protocol.RunMeta, protocol.Meta{Labels: map[string]string{"run": id}, Structure: structure})
}

// Steers sets the function that sends a message of a user to a host of the run. Its error explains
// why no host has received the message.
func (s *Source) Steers(steer func(protocol.Steering) error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.steer = steer
	s.mu.Unlock()
}

// handleSteering sends a message of a user to a host, and reports the outcome.
func (s *Source) handleSteering(m protocol.Steering) {
	s.mu.Lock()
	steer := s.steer
	s.mu.Unlock()
	done := protocol.SourceMessage{Steered: m.ID}
	if steer == nil {
		done.Error = "the run has not begun"
	} else if err := steer(m); err != nil {
		done.Error = err.Error()
	}
	line, err := json.Marshal(done)
	if err != nil {
		panic("relay: a reply is no JSON: " + err.Error())
	}
	s.mu.Lock()
	s.requests.control = append(s.requests.control, append(line, '\n'))
	s.mu.Unlock()
	s.notifyWriter(true)
}

// closeTimeout is the maximum time that End waits for a hostd that does not read.
const closeTimeout = time.Second

// End reports the exit code of the process. It returns when hostd has received all events, or after
// closeTimeout.
func (s *Source) End(code int) {
	if s == nil {
		return
	}
	s.withdrawAll()
	s.reportUsage()
	s.endPlaces()
	s.mu.Lock()
	s.queue.finish()
	s.queue.addAlways(encodeEvent(protocol.RunExited, protocol.Exited{ExitCode: int64(code), Reason: protocol.ExitedItself}))
	s.ended = true
	s.mu.Unlock()
	s.notifyWriter(true)
	late := time.NewTimer(closeTimeout)
	defer late.Stop()
	select {
	case <-s.stopped:
	case <-late.C:
	}
	s.cancel()
	<-s.stopped
}

// report adds an event with the given type and data.
func (s *Source) report(typ string, data any) {
	line := encodeEvent(typ, data)
	s.mu.Lock()
	fresh := !s.ended && s.queue.add(line)
	s.mu.Unlock()
	if fresh {
		s.notifyWriter(false)
	}
}

// encodeEvent returns the line of an event.
func encodeEvent(typ string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic("relay: an event is no JSON: " + err.Error())
	}
	line := make([]byte, 0, len(text)+len(typ)+24)
	line = append(append(append(line, `{"event":"`...), typ...), `","data":`...)
	return append(append(line, text...), '}', '\n')
}

// notifyWriter wakes up the writing goroutine. Unless it is urgent, that goroutine first waits
// briefly for more events.
func (s *Source) notifyWriter(urgent bool) {
	if urgent {
		select {
		case s.urgent <- struct{}{}:
		default:
		}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Emitted reports an emit. It stores the payload without copying it, so the caller must not modify
// it. For an awaited emit, it returns the id for the request that may follow.
func (s *Source) Emitted(channel string, payload json.RawMessage, awaited bool) (id string) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return ""
	}
	var fresh bool
	if awaited {
		id = s.nextID()
		fresh = s.queue.put(item{shorten(payload), &about{kind: isAwaited, name: channel, id: id}})
	} else {
		fresh = s.queue.emit(channel, shorten(payload))
	}
	s.mu.Unlock()
	if fresh {
		s.notifyWriter(false)
	}
	return id
}

// nextID returns an unused request id. The caller holds mu.
func (s *Source) nextID() string {
	s.asked++
	return "q" + strconv.FormatInt(s.asked, 10)
}

// The streams of a run.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Printed reports text that the program has printed.
func (s *Source) Printed(text string, newline bool) {
	if newline {
		text += "\n"
	}
	s.Wrote(Stdout, text)
}

// Wrote reports text that was written to one of the streams.
func (s *Source) Wrote(stream, text string) {
	if s == nil || text == "" {
		return
	}
	s.mu.Lock()
	fresh := !s.ended && s.queue.print(stream, text)
	s.mu.Unlock()
	if fresh {
		s.notifyWriter(false)
	}
}

const (
	maxValue   = 64 << 10 // maximum bytes of a payload that is sent completely
	maxPreview = 2000     // bytes of the preview of a longer payload
)

// Shorten returns payload, or an object with a preview if the payload is too long for an event.
func Shorten(payload json.RawMessage) json.RawMessage { return shorten(payload) }

// shorten returns payload, or an object with a preview if the payload is too long.
func shorten(payload json.RawMessage) json.RawMessage {
	switch {
	case len(payload) == 0:
		return json.RawMessage("null")
	case len(payload) <= maxValue:
		return payload
	}
	text, err := json.Marshal(map[string]any{"$truncated": len(payload), "preview": validText(payload[:maxPreview])})
	if err != nil {
		panic("relay: a preview is no JSON: " + err.Error())
	}
	return text
}
