// Package serve implements `concerto guard serve`, the process in which the calls of guarded agents
// wait for a person (spec/51-guard.md). There is one process per user. A hook connects to its
// socket, and starts it if it does not run. Each session with a waiting call is shown by `concerto
// top` and, if a hostd runs on this machine, by the relay. The process decides nothing and stores
// nothing: the hooks record the answers, and ask again if the process ends.
package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/process/holder"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/relay/client"
)

// Files in the directory of the ledgers.
const (
	socketName = "serve.sock"
	lockName   = "serve.lock"
	logName    = "serve.log"
)

// Idle is the time without a waiting call after which the process ends.
const Idle = 10 * time.Minute

// helloTimeout limits the time for the line of a hook.
const helloTimeout = 10 * time.Second

// maxRequest is the maximum size of the line of a hook in bytes. It is more than its input.
const maxRequest = 2 * guard.MaxInput

// Options configures Serve.
type Options struct {
	Dir     string         // directory of the ledgers
	Shown   string         // directory of the sockets that `concerto top` reads; "" for none
	Hostd   string         // path of hostd's socket
	Secrets client.Secrets // that the relay must not receive
	Idle    time.Duration  // 0 means Idle
	Log     io.Writer      // receives problems, a line each
}

// request is the line of a hook, and reply the line that it receives. Then the connection closes.
// A hook that closes its connection before no longer waits.
type (
	request struct {
		Ask      *guard.Question `json:"ask,omitempty"`
		Withdraw *withdrawal     `json:"withdraw,omitempty"`
	}
	withdrawal struct {
		Session string `json:"session"`
		Hash    string `json:"hash"` // of the arguments; "" for all calls, because the session has ended
	}
	reply struct {
		Answer *guard.Answer `json:"answer"` // nil if the question was withdrawn
	}
)

// server is the state of the process.
type server struct {
	o    Options
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup // connections, and sessions that end

	mu       sync.Mutex
	idle     *time.Timer
	waiting  int
	sessions map[string]*session
}

// Serve serves the hooks until ctx ends, or until no call has waited for some time. It prints a
// line to out when it accepts connections. If another process serves them, it returns nil.
func Serve(ctx context.Context, o Options, out io.Writer) error {
	l, unlock, err := listen(o.Dir)
	status := ready{PID: os.Getpid()}
	held := errors.Is(err, lockfile.ErrHeld)
	if err != nil && !held {
		status.Error = err.Error()
	}
	_ = holder.WriteLine(out, status) // if the hook has ended, another one connects
	if held {
		return nil
	}
	if err != nil {
		return err
	}
	s := newServer(ctx, o)
	defer unlock()
	defer os.Remove(filepath.Join(o.Dir, socketName))
	defer s.close()
	go func() {
		<-s.ctx.Done()
		l.Close()
	}()
	for {
		conn, err := l.Accept()
		if s.ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		s.work.Go(func() { s.serve(conn) })
	}
}

// listen creates the socket, for this user alone.
func listen(dir string) (l net.Listener, unlock func(), err error) {
	if err := live.Prepare(dir); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	if unlock, err = lockfile.LockAs(filepath.Join(dir, lockName)); err != nil {
		return nil, nil, err
	}
	l, at, err := holder.Listen(dir, socketName)
	if err == nil && at != socketName {
		l.Close()
		err = fmt.Errorf("the path of %s is too long for a socket", dir)
	}
	if err != nil {
		unlock()
	}
	return l, unlock, err
}

func newServer(ctx context.Context, o Options) *server {
	if o.Idle == 0 {
		o.Idle = Idle
	}
	s := &server{o: o, sessions: map[string]*session{}}
	s.ctx, s.stop = context.WithCancel(ctx)
	s.idle = time.AfterFunc(o.Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waiting == 0 {
			s.stop()
		}
	})
	return s
}

// close ends all sessions.
func (s *server) close() {
	s.stop()
	s.mu.Lock()
	s.idle.Stop()
	for _, x := range s.sessions {
		s.end(x)
	}
	s.mu.Unlock()
	s.work.Wait()
}

// serve serves a connection.
func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(s.ctx, func() { conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(helloTimeout)) // a connection without deadlines has ended
	in := bufio.NewReader(io.LimitReader(conn, maxRequest))
	line, err := in.ReadBytes('\n')
	var q request
	if err != nil || json.Unmarshal(line, &q) != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	switch {
	case q.Withdraw != nil:
		s.withdraw(q.Withdraw)
		_ = holder.WriteLine(conn, reply{}) // the hook does not depend on it
	case q.Ask != nil && q.Ask.Session != "":
		s.ask(conn, in, q.Ask)
	}
}

// ask waits for the answer of a person, until the hook closes the connection.
func (s *server) ask(conn net.Conn, in io.Reader, q *guard.Question) {
	ctx, leave := context.WithCancel(s.ctx)
	defer leave()
	x, w := s.begin(ctx, q)
	if x == nil {
		return // the process ends, and the hook starts another one
	}
	s.work.Go(func() {
		_, _ = io.Copy(io.Discard, in) // until the hook has ended, or conn is closed
		leave()
	})
	answer := x.perform(w)
	isWithdrawn := errors.Is(context.Cause(w.ctx), errWithdrawn)
	s.finish(x, w)
	if answer != nil || isWithdrawn {
		_ = holder.WriteLine(conn, reply{answer}) // without the hook, the call does not run
	}
}

// begin adds a waiting call to its session. It returns nil if the process ends.
func (s *server) begin(ctx context.Context, q *guard.Question) (*session, *waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, nil
	}
	x := s.sessions[q.Session]
	if x == nil {
		x = s.newSession(q)
		s.sessions[q.Session] = x
	}
	s.waiting++
	return x, x.add(ctx, q)
}

// finish removes a call that no longer waits.
func (s *server) finish(x *session, w *waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.remove(w)
	s.waiting--
	s.idle.Reset(s.o.Idle)
	if len(x.open) == 0 {
		x.timer.Reset(s.o.Idle)
	}
}

// withdraw withdraws the oldest call of a session with a hash, or all, and ends the session.
func (s *server) withdraw(q *withdrawal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[q.Session]
	if x == nil {
		return
	}
	for _, w := range x.open {
		if w.ctx.Err() == nil && (q.Hash == "" || w.hash == q.Hash) {
			w.cancel(errWithdrawn)
			if q.Hash != "" {
				return
			}
		}
	}
	if q.Hash == "" {
		s.end(x)
	}
}

// end ends a session. The caller holds mu.
func (s *server) end(x *session) {
	if s.sessions[x.id] != x {
		return
	}
	delete(s.sessions, x.id)
	x.timer.Stop()
	s.work.Go(x.end)
}
