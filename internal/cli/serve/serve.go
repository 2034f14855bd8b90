// Package serve is `concerto serve` (spec/22-serve.md): applications in other processes
// register tools, run programs as sessions, follow them and answer what they ask, by
// JSON-RPC 2.0 over stdio, HTTP or WebSocket. It uses package engine as the other commands do.
//
//	transport ── receive ──> client ── methods ──> sessions, registry
//	transport <── outbox <── client <── events, questions
//
// A transport reads messages and passes them to receive, in their order; it writes what a
// client's outbox has. All else is the same for all transports. Of goroutines there are,
// for each connection one that reads and one that writes, for each session one that runs
// the program, and for each request that may take its time one that answers it.
//
// Nothing waits for a client. An event goes into its session's log, which is bounded, and
// into the outbox of each client that follows the session, as long as there is room. A
// client that has no room is behind: its writer goes on from the log once it has written.
// What has been forgotten by then is told as a gap. Locks are taken in this order: server,
// session, client, outbox.
package serve

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// Config configures a server.
type Config struct {
	Version    string
	Tools      *tool.Registry // of all sessions; clients add theirs
	Roots      []string       // absolute, without links; programs and cwds lie below one
	Environ    []string
	PassEnv    []string   // variables of Environ for programs without a file over HTTP
	Source     bool       // such programs are accepted over HTTP
	Executable string     // the command concerto
	Audit      *audit.Log // where calls of tools are recorded; nil: nowhere
	Sessions   int        // at most so many run
	Message    int        // the longest message, in bytes
	Drain      time.Duration
	LogLevel   string
	Log        func(level, message string)
	Kill       <-chan struct{} // closed: nothing is waited for any more
	Grace      time.Duration   // how long requests to a disconnected client stay open; 0: 10 s
	Slow       time.Duration   // how long a client with a full outbox may read nothing; 0: 5 s
}

// Server is what all clients share. Safe for concurrent use.
type Server struct {
	config Config
	ctx    context.Context // ends when all sessions have
	end    context.CancelCauseFunc
	run    *procgroup.Run // of the tools that clients call without a session
	wanted chan string    // the reason for a requested stop
	// sockets are the WebSockets, which the HTTP server does not know.
	sockets sync.WaitGroup

	mu       sync.Mutex
	clients  map[string]*client
	sessions map[string]*session
	order    []*session // as they were made
	running  int
	quiet    chan struct{} // closed when stopping and no session runs
	stopping bool

	marks marks // in the audit log
}

// New makes a server.
func New(c Config) *Server {
	s := &Server{config: c, clients: map[string]*client{}, sessions: map[string]*session{}, quiet: make(chan struct{}), wanted: make(chan string, 1), run: &procgroup.Run{ID: procgroup.NewID(), Executable: c.Executable}}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

func (s *Server) log(level, message string) {
	if s.config.Log != nil {
		s.config.Log(level, message)
	}
}

// Stopping reports whether new sessions are refused.
func (s *Server) Stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// want requests the end.
func (s *Server) want(reason string) {
	select {
	case s.wanted <- reason:
	default: // it was requested already
	}
}

// keptClients bounds how many clients are known.
const keptClients = 1000

// newID returns an id that cannot be guessed.
func newID() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // it never fails: the process ends before
	return hex.EncodeToString(b)
}

// enter registers a client. The longest disconnected one makes space.
func (s *Server) enter(c *client) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) >= keptClients {
		for id, old := range s.clients {
			if old.forgettable() && !slices.ContainsFunc(s.order, func(x *session) bool { return x.creator == old && !x.over() }) {
				delete(s.clients, id)
				break
			}
		}
	}
	if len(s.clients) >= keptClients {
		return failure(codeLimit, "there are %d clients, more are not served", keptClients).with("limit", "max_clients")
	}
	s.clients[c.id] = c
	return nil
}

func (s *Server) client(id string) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients[id]
}

func (s *Server) everybody() []*client {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*client, 0, len(s.clients))
	for _, c := range s.clients {
		all = append(all, c)
	}
	return all
}

// changed notifies all other clients that the tools have changed.
func (s *Server) changed(by *client) {
	revision := s.config.Tools.Revision()
	for _, c := range s.everybody() {
		if c != by {
			c.tell("tools/changed", struct {
				Revision uint64 `json:"revision"`
			}{revision})
		}
	}
}

// session returns a session, or the error that there is none.
func (s *Server) session(id string) (*session, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[id]; x != nil {
		return x, nil
	}
	return nil, failure(codeNoSession, "there is no session '%s'", id)
}

// sessionsOf are the sessions of a client that run.
func (s *Server) sessionsOf(c *client) []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*session
	for _, x := range s.order {
		if x.creator == c && !x.over() {
			out = append(out, x)
		}
	}
	return out
}

// add makes a session known, unless there are too many.
func (s *Server) add(x *session) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return errStopping()
	case s.running >= s.config.Sessions:
		return failure(codeLimit, "%d sessions are running, and more may not", s.running).with("limit", "max_sessions")
	}
	s.running++
	s.sessions[x.id] = x
	s.order = append(s.order, x)
	return nil
}

func errStopping() *Error { return failure(codeStopping, "the server is shutting down") }

// finished records the end of a session. The number of stored ended sessions is that of running
// ones.
func (s *Server) finished(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if over := len(s.order) - s.running - s.config.Sessions; over > 0 {
		i := slices.IndexFunc(s.order, func(x *session) bool { return x.over() })
		delete(s.sessions, s.order[i].id)
		s.order = slices.Delete(s.order, i, i+1)
	}
	if s.stopping && s.running == 0 {
		close(s.quiet)
	}
}

// Stop ends the server: running sessions have their time, the rest is cancelled, and clients are
// notified. Transports end after it.
func (s *Server) Stop(reason string) {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return
	}
	s.stopping = true
	if s.running == 0 {
		close(s.quiet)
	}
	s.mu.Unlock()
	drained := time.NewTimer(s.config.Drain)
	defer drained.Stop()
	select {
	case <-s.quiet:
	case <-drained.C:
	case <-s.config.Kill:
	}
	s.mu.Lock()
	for _, x := range s.order {
		x.cancel("the server is shutting down")
	}
	s.mu.Unlock()
	<-s.quiet
	for _, c := range s.everybody() {
		c.cancelAll(errStopping())
		c.busy.Wait()
		c.tell("server/stopping", struct {
			Reason string `json:"reason"`
		}{reason})
		close(c.closing)
		_ = c.tools.Close() // results of its handlers are no longer needed
	}
	s.run.End()
	s.end(errStopping())
}
