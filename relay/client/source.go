// Package client reports a run to the hostd of this machine and lets people who follow the run
// elsewhere answer its questions (spec/24-relay.md). The compatibility promise does not cover this
// API.
//
// Reporting must not slow the run down: events are stored in memory, and a goroutine encodes them
// and writes them to hostd's socket. Without a hostd nothing waits or is encoded. This package
// needs neither network nor database.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Options describes a run.
type Options struct {
	Socket  string           // path of hostd's socket
	Started protocol.Started // describes the run
}

// Source reports one run. It is safe for concurrent use. A nil *Source reports nothing.
type Source struct {
	o       Options
	ctx     context.Context
	cancel  context.CancelFunc
	secrets Secrets // nil if unknown
	used    func() protocol.Usage
	stopped chan struct{} // closed when the goroutine has ended
	tried   chan struct{} // closed after the first attempt to connect
	joined  chan struct{} // closed when hostd was first reached

	mu            sync.Mutex
	queue         queue
	requests      requests
	first         sync.Once
	wake          chan struct{} // signals something to write
	urgent        chan struct{} // signals something urgent to write
	connErr       error         // error of the last attempt to connect
	ended         bool          // no more events are accepted
	asked         int64         // number of request ids assigned
	runID         string        // the relay's id of the run; "" until hostd assigns one
	line          protocol.Place
	conversations conversations
}

// New starts reporting a run. Absent returns afterwards whether a hostd is there.
func New(o Options) *Source {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Source{o: o, ctx: ctx, cancel: cancel, stopped: make(chan struct{}), tried: make(chan struct{}), joined: make(chan struct{}), wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}
	s.requests.open = map[string]*openRequest{}
	s.conversations.open = map[string]conversation{}
	s.report(protocol.RunStarted, o.Started)
	conn, err := s.connect(firstTimeout)
	s.connErr = err
	go s.run(conn, err)
	return s
}

// Absent returns why the last attempt to reach hostd failed, or nil if hostd was ever reached.
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

// wasReached reports whether hostd was ever reached.
func (s *Source) wasReached() bool {
	select {
	case <-s.joined:
		return true
	default:
		return false
	}
}

// Await waits until hostd was reached, for at most limit. On a busy machine hostd may need longer
// to answer than the first attempt waits. Await returns why hostd could not be reached, the
// context's error, or nil; after an error the Source is closed. It does not wait when the socket
// does not exist, and then returns nil, too: Absent reports that.
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

// Run returns the relay's id of the run after the first attempt to connect, or "" if there is no
// hostd or ctx is done.
func (s *Source) Run(ctx context.Context) string {
	if !s.Reachable(ctx) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runID
}

// Secrets removes a run's secrets from its events.
type Secrets interface {
	Empty() bool // reports whether there are none
	Contains(text string) bool
	JSON(text []byte) []byte // returns a JSON text with its secrets replaced
}

// Begin reports that a program starts: its run id, structure, secrets and a function that returns
// its usage.
func (s *Source) Begin(id string, structure *Structure, secrets Secrets, used func() protocol.Usage) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.secrets, s.used = secrets, used
	s.mu.Unlock()
	text, err := json.Marshal(structure)
	if err != nil {
		panic("relay: a structure is no JSON: " + err.Error())
	}
	s.report(protocol.RunMeta, protocol.Meta{Labels: map[string]string{"run": id}, Structure: text})
}

// closeTimeout is how long End waits for a hostd that does not read.
const closeTimeout = time.Second

// End reports the exit code of the process. It returns when hostd has received everything, or
// closeTimeout has passed.
func (s *Source) End(code int) {
	if s == nil {
		return
	}
	s.withdrawAll()
	s.reportUsage()
	s.mu.Lock()
	s.queue.finish()
	s.queue.addAlways(encodeEvent(protocol.RunExited, protocol.Exited{ExitCode: int64(code), Reason: "exited"}))
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

// report adds an event.
func (s *Source) report(typ string, data any) {
	line := encodeEvent(typ, data)
	s.mu.Lock()
	fresh := !s.ended && s.queue.add(line)
	s.mu.Unlock()
	if fresh {
		s.notifyWriter(false)
	}
}

// encodeEvent returns an event's line.
func encodeEvent(typ string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic("relay: an event is no JSON: " + err.Error())
	}
	line := make([]byte, 0, len(text)+len(typ)+24)
	line = append(append(append(line, `{"event":"`...), typ...), `","data":`...)
	return append(append(line, text...), '}', '\n')
}

// notifyWriter wakes the writing goroutine, which collects more first unless it is urgent.
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

// Emitted reports an emit and retains its payload without copying it. For an awaited emit it
// returns the id of the request that may follow.
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

// nextID returns the next request id. The caller holds mu.
func (s *Source) nextID() string {
	s.asked++
	return "q" + strconv.FormatInt(s.asked, 10)
}

// The streams of a run.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Printed reports printed text.
func (s *Source) Printed(text string, newline bool) {
	if newline {
		text += "\n"
	}
	s.Wrote(Stdout, text)
}

// Wrote reports text on one of the streams.
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
	maxValue   = 64 << 10 // bytes of a payload that is sent completely
	maxPreview = 2000     // bytes of the preview of a longer one
)

// shorten returns a payload, or a preview if it is too long.
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
