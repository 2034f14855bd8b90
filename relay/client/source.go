// Package client is a run's end of the relay (its API promises nothing): it sends the hostd of this machine what the run
// does, and has people who follow it from elsewhere answer what nobody here does
// (spec/24-relay.md).
//
// A run must not notice it. Whatever is told is noted in memory at once; a goroutine makes lines of
// it and writes them to hostd's socket. Without a hostd nothing waits, and no line is made. It needs neither network nor database:
// those are hostd's, which is another program.
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

// Options say who is told of what.
type Options struct {
	Socket  string           // hostd's
	Started protocol.Started // what the run is
}

// Source tells of one run. Safe for concurrent use; a nil *Source tells nobody.
type Source struct {
	o       Options
	ctx     context.Context
	cancel  context.CancelFunc
	secrets Secrets // nil as long as none are known
	used    func() protocol.Usage
	stopped chan struct{} // the goroutine that speaks with hostd has ended
	tried   chan struct{} // the first attempt to reach hostd has come to its end
	joined  chan struct{} // closed when hostd was reached for the first time

	mu     sync.Mutex
	queue  queue
	asks   asks
	first  sync.Once
	wake   chan struct{} // there is something to write
	hurry  chan struct{} // it does not wait for more
	why    error         // why not, the last time
	ended  bool          // nothing is told any more
	asked  int64         // how many ids of requests were given
	run    string        // the relay's id of the run; "" before hostd has given it one
	line   protocol.Place
	listen listens
}

// New begins to tell of a run. Absent says then whether a hostd is there.
func New(o Options) *Source {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Source{o: o, ctx: ctx, cancel: cancel, stopped: make(chan struct{}), tried: make(chan struct{}), joined: make(chan struct{}), wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
	s.asks.open = map[string]*ask{}
	s.listen.open = map[string]begun{}
	s.tell(protocol.RunStarted, o.Started)
	conn, err := s.connect(connectWithin)
	s.why = err
	go s.speak(conn, err)
	return s
}

// Absent says why no hostd could be reached, the last time that it was tried; nil when one is
// there, or was.
func (s *Source) Absent() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wasReached() {
		return nil
	}
	return s.why
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
			err = cmp.Or(s.why, fmt.Errorf("no answer within %s", limit))
		}
		s.mu.Unlock()
	}
	if err != nil {
		s.cancel()
		<-s.stopped
	}
	return err
}

// Run is the relay's id of the run, once the first attempt to reach a hostd has come to its end; ""
// when there is none, or ctx has ended.
func (s *Source) Run(ctx context.Context) string {
	if !s.Reachable(ctx) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// Secrets are the run's: what is told is told without them.
type Secrets interface {
	Empty() bool // there are none
	Holds(text string) bool
	JSON(text []byte) []byte // a JSON text with marks in their places
}

// Begins tells that a program begins to run: the run's id, what it is made of, which secrets
// it has, and what it has used.
func (s *Source) Begins(id string, structure *Structure, secrets Secrets, used func() protocol.Usage) {
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
	s.tell(protocol.RunMeta, protocol.Meta{Labels: map[string]string{"run": id}, Structure: text})
}

// farewell is how long the end of a run waits for a hostd that does not read.
const farewell = time.Second

// End tells that the process ends, and with which code; when it returns, all has been handed to
// hostd, if there is one that takes it.
func (s *Source) End(code int) {
	if s == nil {
		return
	}
	s.withdrawAll()
	s.tellUse()
	s.mu.Lock()
	s.queue.finish()
	s.queue.must(event(protocol.RunExited, protocol.Exited{ExitCode: int64(code), Reason: "exited"}))
	s.ended = true
	s.mu.Unlock()
	s.awake(true)
	late := time.NewTimer(farewell)
	defer late.Stop()
	select {
	case <-s.stopped:
	case <-late.C:
	}
	s.cancel()
	<-s.stopped
}

// tell adds an event.
func (s *Source) tell(typ string, data any) {
	line := event(typ, data)
	s.mu.Lock()
	fresh := !s.ended && s.queue.add(line)
	s.mu.Unlock()
	if fresh {
		s.awake(false)
	}
}

// event is an event's line.
func event(typ string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic("relay: an event is no JSON: " + err.Error())
	}
	line := make([]byte, 0, len(text)+len(typ)+24)
	line = append(append(append(line, `{"event":"`...), typ...), `","data":`...)
	return append(append(line, text...), '}', '\n')
}

// awake wakes the goroutine that writes, which waits for more unless it is urgent.
func (s *Source) awake(urgent bool) {
	if urgent {
		select {
		case s.hurry <- struct{}{}:
		default:
		}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Emitted tells of an emit; its payload is kept, and not copied. An awaited one gets the id under which it is asked, when it comes to
// that.
func (s *Source) Emitted(channel string, payload json.RawMessage, awaited bool) (id string) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return ""
	}
	var fresh bool
	if awaited {
		id = s.next()
		fresh = s.queue.put(item{short(payload), &about{kind: isAwaited, name: channel, id: id}})
	} else {
		fresh = s.queue.emit(channel, short(payload))
	}
	s.mu.Unlock()
	if fresh {
		s.awake(false)
	}
	return id
}

// next is the next id of a request; mu is held.
func (s *Source) next() string {
	s.asked++
	return "q" + strconv.FormatInt(s.asked, 10)
}

// The streams of a run.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Printed tells of printed text.
func (s *Source) Printed(text string, newline bool) {
	if newline {
		text += "\n"
	}
	s.Wrote(Stdout, text)
}

// Wrote tells of text on one of the streams.
func (s *Source) Wrote(stream, text string) {
	if s == nil || text == "" {
		return
	}
	s.mu.Lock()
	fresh := !s.ended && s.queue.print(stream, text)
	s.mu.Unlock()
	if fresh {
		s.awake(false)
	}
}

const (
	maxValue   = 64 << 10 // bytes of a payload that is told whole
	maxPreview = 2000     // bytes of one that is not
)

// short is a payload, or what stands for one that is too long.
func short(payload json.RawMessage) json.RawMessage {
	switch {
	case len(payload) == 0:
		return json.RawMessage("null")
	case len(payload) <= maxValue:
		return payload
	}
	text, err := json.Marshal(map[string]any{"$truncated": len(payload), "preview": whole(payload[:maxPreview])})
	if err != nil {
		panic("relay: a preview is no JSON: " + err.Error())
	}
	return text
}
