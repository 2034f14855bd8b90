package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/process/holder"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// system is the operating system as a keeper or its client uses it. It is a keeper.System.
type system struct {
	w *world
	p *process
}

func (s *system) Files(dir string) disk.Files { return s.p.view.At(dir) }

func (s *system) Boot() string { return "boot" }

// Launch starts a keeper, and waits until it is ready or dead.
func (s *system) Launch(_ *keeper.Options, spec, ready any) error {
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if !s.w.gate.pass(s.p, "starts a keeper") {
		return simdisk.ErrDead
	}
	k := s.w.startKeeper(text)
	select {
	case text := <-k.ready:
		return json.Unmarshal(text, ready)
	case <-k.ended:
		return fmt.Errorf("%w by the simulation", holder.ErrKilled)
	case <-s.p.ended:
		return simdisk.ErrDead
	}
}

// Start starts a host. Its number is in its environment.
func (s *system) Start(c procgroup.Command, _ func(procgroup.Command) (*procgroup.Process, error)) (keeper.Child, error) {
	if s.p.dead.Load() {
		return nil, simdisk.ErrDead
	}
	return s.w.newHost(s.p, c.Name, (*hostProcess).run), nil
}

// Terminated returns a channel that receives a signal when the process is dead, so that its
// goroutines end. None of their calls has an effect.
func (s *system) Terminated() <-chan os.Signal {
	stop := make(chan os.Signal, 1)
	go func() {
		<-s.p.ended
		stop <- syscall.SIGKILL
	}()
	return stop
}

// keeperProcess is a keeper. It survives the process that has started it.
type keeperProcess struct {
	*process
	ready  chan []byte   // the first line of its output
	gone   chan struct{} // closed when its goroutine has ended
	orphan bool          // it has ended because no process ran the run for an hour
}

// startKeeper starts a keeper with the text of its standard input.
func (w *world) startKeeper(input []byte) *keeperProcess {
	w.mu.Lock()
	k := &keeperProcess{ready: make(chan []byte, 1), gone: make(chan struct{})}
	w.keepers = append(w.keepers, k)
	name := fmt.Sprintf("keeper#%d", len(w.keepers))
	w.mu.Unlock()
	k.process = w.start(name)
	go func() {
		defer close(k.gone)
		err := keeper.MainOn(&system{w, k.process}, bytes.NewReader(input), k, &keeperLog{k}, nil)
		w.mu.Lock()
		if !k.dead.Load() {
			w.note(k.name, "exits: %v", err)
		}
		w.mu.Unlock()
		w.end(k.process)
	}()
	return k
}

// Write receives the standard output of the keeper: one line.
func (k *keeperProcess) Write(line []byte) (int, error) {
	k.ready <- bytes.Clone(line)
	return len(line), nil
}

// keeperLog receives the log of a keeper.
type keeperLog struct{ k *keeperProcess }

func (l *keeperLog) Write(line []byte) (int, error) {
	k := l.k
	if k.dead.Load() {
		return 0, simdisk.ErrDead
	}
	_, text, _ := strings.Cut(strings.TrimSpace(string(line)), " ") // the time precedes it
	k.world.mu.Lock()
	defer k.world.mu.Unlock()
	k.orphan = k.orphan || text == "ends: no client has reconnected"
	k.world.note(k.name, "%s", text)
	return len(line), nil
}

// hasOrphaned reports whether a keeper has ended its hosts because no process ran the run.
func (w *world) hasOrphaned() bool {
	return slices.ContainsFunc(w.keepers, func(k *keeperProcess) bool { return k.orphan })
}

// endKeepers ends the keepers that still run, and their hosts.
func (w *world) endKeepers() {
	for _, k := range w.keepers {
		w.end(k.process)
		<-k.gone
	}
}

// sockets contains the sockets of a machine.
type sockets struct {
	mu    sync.Mutex
	doors map[string]*door // those to which Dial connects, by path; they may be closed
	every []*door
	all   []*socket
}

// end closes the sockets of a dead process.
func (s *sockets) end(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.every {
		if l.p == p {
			_ = l.Close() // it may be closed already
		}
	}
	for _, x := range s.all {
		if x.p == p {
			_ = x.Close()
		}
	}
}

// door is a socket to which clients connect.
type door struct {
	p       *process
	mu      sync.Mutex
	changed sync.Cond
	waiting []*socket
	closed  bool
}

func (s *system) Listen(dir, name string) (keeper.Listener, string, error) {
	if s.p.dead.Load() {
		return nil, "", simdisk.ErrDead
	}
	if _, err := s.p.view.Stat(dir); err != nil {
		return nil, "", err
	}
	l := &door{p: s.p}
	l.changed.L = &l.mu
	all := &s.w.sockets
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.doors == nil {
		all.doors = map[string]*door{}
	}
	all.doors[filepath.Join(dir, name)] = l
	all.every = append(all.every, l)
	return l, name, nil
}

func (s *system) Dial(dir, at string) (keeper.Socket, error) {
	if !s.w.gate.pass(s.p, "connects to the keeper") {
		return nil, simdisk.ErrDead
	}
	all := &s.w.sockets
	all.mu.Lock()
	defer all.mu.Unlock()
	l := all.doors[filepath.Join(dir, at)]
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: syscall.ENOENT}
	}
	to, from := newStream(), newStream()
	client, server := &socket{p: s.p, in: from, out: to}, &socket{p: l.p, in: to, out: from}
	client.from = fmt.Sprintf("the keeper on %d", len(all.all)/2+1)
	server.from = fmt.Sprintf("the program on %d", len(all.all)/2+1)
	all.all = append(all.all, client, server)
	if !l.offer(server) {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: syscall.ECONNREFUSED}
	}
	return client, nil
}

func (l *door) offer(s *socket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.waiting = append(l.waiting, s)
	l.changed.Signal()
	return true
}

func (l *door) Accept() (keeper.Socket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 && !l.closed {
		l.changed.Wait()
	}
	if l.closed {
		return nil, net.ErrClosed
	}
	s := l.waiting[0]
	l.waiting = l.waiting[1:]
	return s, nil
}

// Close resets the connections that were not accepted.
func (l *door) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	l.closed = true
	for _, s := range l.waiting {
		_ = s.close(true) // it may be closed already
	}
	l.waiting = nil
	l.changed.Broadcast()
	return nil
}

// stream is one direction of a connection.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte
	offered int  // bytes that Read may return without passing the gate
	ended   bool // no more data arrives
	broken  bool // writes fail
	closed  bool // reads fail
	reset   bool // the writer has closed its end with unread bytes; one read fails after the data
	expired bool // the deadline of the reader has passed
	timer   *time.Timer
	writeBy time.Time // the deadline of the writer; zero for none
}

func newStream() *stream {
	s := new(stream)
	s.changed.L = &s.mu
	return s
}

// set changes the state of a stream.
func (s *stream) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.changed.Broadcast()
}

// socket is one end of a connection. Writes never wait, and reads pass the gate. It is a
// keeper.Socket.
type socket struct {
	p       *process
	from    string // the other end, with the number of the connection
	in, out *stream
}

// Read returns what has arrived when the process passes the gate.
func (s *socket) Read(b []byte) (int, error) {
	in := s.in
	in.mu.Lock()
	defer in.mu.Unlock()
	passed := false
	for {
		switch {
		case in.closed:
			return 0, net.ErrClosed
		case in.expired: // even if there is data
			return 0, os.ErrDeadlineExceeded
		case in.offered > 0:
			n := copy(b, in.data[:in.offered])
			in.data, in.offered = in.data[n:], in.offered-n
			return n, nil
		case len(in.data) == 0 && !in.ended:
			in.changed.Wait()
		case !passed:
			in.mu.Unlock()
			ok := s.p.world.gate.pass(s.p, "receives from "+s.from)
			in.mu.Lock()
			if !ok {
				return 0, simdisk.ErrDead
			}
			passed = true
		case len(in.data) > 0:
			in.offered = len(in.data)
		case in.reset:
			in.reset = false
			return 0, &net.OpError{Op: "read", Net: "unix", Err: syscall.ECONNRESET}
		default:
			return 0, io.EOF
		}
	}
}

func (s *socket) Write(b []byte) (n int, err error) {
	out := s.out
	err = s.change(out, func() error {
		switch by := out.writeBy; {
		case !by.IsZero() && !by.After(time.Now()):
			return os.ErrDeadlineExceeded
		case out.broken, out.ended, s.p.dead.Load():
			return &net.OpError{Op: "write", Net: "unix", Err: syscall.EPIPE}
		}
		n, out.data = len(b), append(out.data, b...)
		return nil
	})
	return n, err
}

// change changes a direction of the connection, unless this end is closed.
func (s *socket) change(of *stream, do func() error) (err error) {
	s.in.mu.Lock()
	closed := s.in.closed
	s.in.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	of.set(func() { err = do() })
	return err
}

func (s *socket) WriteNow(b []byte) int {
	n, _ := s.Write(b) // the next Write returns the error
	return n
}

// CloseRead lets reads end after the data that has arrived.
func (s *socket) CloseRead() error {
	return s.change(s.in, func() error {
		s.in.broken, s.in.ended = true, true
		return nil
	})
}

func (s *socket) CloseWrite() error {
	return s.change(s.out, func() error {
		s.out.ended = true
		return nil
	})
}

// Close resets the connection if it contains bytes that were not read.
func (s *socket) Close() error { return s.close(false) }

func (s *socket) close(reset bool) error {
	was := false
	s.in.set(func() {
		was, reset = s.in.closed, reset || len(s.in.data) > 0
		s.in.broken, s.in.closed = true, true
	})
	if was {
		return net.ErrClosed
	}
	s.out.set(func() { s.out.ended, s.out.reset = true, reset })
	return nil
}

// SetReadDeadline lets reads fail that wait at a time; the zero time removes the limit.
func (s *socket) SetReadDeadline(at time.Time) error {
	in := s.in
	return s.change(in, func() error {
		if in.timer != nil {
			in.timer.Stop()
		}
		in.expired = !at.IsZero() && !at.After(time.Now())
		if at.After(time.Now()) {
			in.timer = time.AfterFunc(time.Until(at), func() { in.set(func() { in.expired = true }) })
		}
		return nil
	})
}

// SetWriteDeadline lets writes fail after a time.
func (s *socket) SetWriteDeadline(at time.Time) error {
	return s.change(s.out, func() error {
		s.out.writeBy = at
		return nil
	})
}

func (s *socket) SetDeadline(at time.Time) error {
	return errors.Join(s.SetReadDeadline(at), s.SetWriteDeadline(at))
}

func (s *socket) LocalAddr() net.Addr            { return &net.UnixAddr{Net: "unix"} }
func (s *socket) RemoteAddr() net.Addr           { return &net.UnixAddr{Net: "unix"} }
func (s *socket) PassesFiles() bool              { return false }
func (s *socket) SendFiles([]byte, ...int) error { return errors.ErrUnsupported }

func (s *socket) ReceiveByte() (byte, []*os.File, error) {
	var b [1]byte
	_, err := io.ReadFull(s, b[:])
	return b[0], nil, err
}
