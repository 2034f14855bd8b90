// Package serve implements `concerto serve` (spec/22-serve.md). Applications in other processes
// register tools, run programs as sessions, receive their events and answer their questions, by
// JSON-RPC 2.0 over stdio, HTTP or WebSocket.
//
//	transport ── receive ──> client ── methods ──> sessions, registry
//	transport <── outbox <── client <── events, questions
//
// A transport reads messages and passes them to receive in order, and it writes the messages of a
// client's outbox. Everything else is independent of the transport. Each connection has a goroutine
// that reads and one that writes. Each session has a goroutine that runs the program. A request
// that may wait has its own goroutine.
//
// Nothing waits for a client. An event is added to its session's log, which is bounded, and to the
// outbox of each subscribed client that has room. A client without room later receives the events
// from the log. If the log no longer contains them, the client receives a gap event instead. Locks
// are acquired in this order: server, session, client, outbox.
package serve

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// Config configures a server.
type Config struct {
	Version    string
	Tools      *tool.Registry // tools of all sessions; clients add their own
	Programs   string         // directory of the cache of compiled programs; "" for none
	Roots      []string       // absolute paths without links; programs and working directories must be inside one of them
	Environ    []string
	PassEnv    []string   // variables of Environ that are passed over HTTP to programs without a file
	Source     bool       // the server accepts programs without a file over HTTP
	Executable string     // path of the command concerto
	Audit      *audit.Log // log for calls of tools; nil if calls are not recorded
	// Telemetry exports the sessions; nil for none.
	Telemetry *telemetry.Telemetry
	LiveDir   string // Records.LiveDir of the sessions
	Sessions  int    // maximum number of running sessions
	Message   int    // maximum length of a message, in bytes
	Drain     time.Duration
	LogLevel  string
	Log       func(level, message string)
	Kill      <-chan struct{} // after it is closed, the server waits for nothing
	Grace     time.Duration   // time for which requests to a disconnected client stay open; 0 for 10 s
	Slow      time.Duration   // time after which a client that does not read is disconnected if its outbox is full; 0 for 5 s
}

// Server is the state that all clients share. It is safe for concurrent use.
type Server struct {
	config       Config
	ctx          context.Context // cancelled after all sessions have ended
	end          context.CancelCauseFunc
	run          *procgroup.Run // owner of the processes of tools that clients call outside a session
	stopRequests chan string    // receives the reason when a stop is requested
	// sockets counts the WebSocket connections, which the HTTP server does not track.
	sockets sync.WaitGroup

	mu       sync.Mutex
	clients  map[string]*client
	sessions map[string]*session
	order    []*session // sessions in the order of their creation
	running  int
	quiet    chan struct{} // closed when the server is stopping and no session is running
	stopping bool

	marks marks // positions in the audit log where pages have ended
}

// New returns a server.
func New(c Config) *Server {
	s := &Server{config: c, clients: map[string]*client{}, sessions: map[string]*session{}, quiet: make(chan struct{}), stopRequests: make(chan string, 1), run: &procgroup.Run{ID: procgroup.NewID(), Executable: c.Executable}}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

func (s *Server) log(level, message string) {
	if s.config.Log != nil {
		s.config.Log(level, message)
	}
}

// Stopping reports whether the server refuses new sessions because it is stopping.
func (s *Server) Stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// requestStop requests the stop of the server.
func (s *Server) requestStop(reason string) {
	select {
	case s.stopRequests <- reason:
	default: // a stop has already been requested
	}
}

// maxClients is the maximum number of clients.
const maxClients = 1000

// newID returns a random id that other clients cannot guess.
func newID() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // rand.Read never returns an error
	return hex.EncodeToString(b)
}

// enter registers a client. If there are too many clients, it removes the client that has been
// disconnected for the longest time.
func (s *Server) enter(c *client) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) >= maxClients {
		for id, old := range s.clients {
			if old.forgettable() && !slices.ContainsFunc(s.order, func(x *session) bool { return x.creator == old && !x.hasEnded() }) {
				delete(s.clients, id)
				break
			}
		}
	}
	if len(s.clients) >= maxClients {
		return failure(codeLimit, "%d clients are connected, which is the limit", maxClients).with("limit", "max_clients")
	}
	s.clients[c.id] = c
	return nil
}

func (s *Server) client(id string) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients[id]
}

func (s *Server) allClients() []*client {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*client, 0, len(s.clients))
	for _, c := range s.clients {
		all = append(all, c)
	}
	return all
}

// changed notifies all clients except by that the tools have changed.
func (s *Server) changed(by *client) {
	revision := s.config.Tools.Revision()
	for _, c := range s.allClients() {
		if c != by {
			c.notify("tools/changed", struct {
				Revision uint64 `json:"revision"`
			}{revision})
		}
	}
}

// session returns the session with the given id, or an error if there is none.
func (s *Server) session(id string) (*session, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[id]; x != nil {
		return x, nil
	}
	return nil, failure(codeNoSession, "unknown session '%s'", id)
}

// sessionsOf returns the running sessions of a client.
func (s *Server) sessionsOf(c *client) []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*session
	for _, x := range s.order {
		if x.creator == c && !x.hasEnded() {
			out = append(out, x)
		}
	}
	return out
}

// add registers a session. It returns an error if too many sessions are running.
func (s *Server) add(x *session) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return errStopping()
	case s.running >= s.config.Sessions:
		return failure(codeLimit, "%d sessions are running, which is the limit", s.running).with("limit", "max_sessions")
	}
	s.running++
	s.sessions[x.id] = x
	s.order = append(s.order, x)
	return nil
}

func errStopping() *Error { return failure(codeStopping, "the server is shutting down") }

// finished records that a session has ended. The server stores at most as many ended sessions as
// may run at the same time.
func (s *Server) finished(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if over := len(s.order) - s.running - s.config.Sessions; over > 0 {
		i := slices.IndexFunc(s.order, func(x *session) bool { return x.hasEnded() })
		delete(s.sessions, s.order[i].id)
		s.order = slices.Delete(s.order, i, i+1)
	}
	if s.stopping && s.running == 0 {
		close(s.quiet)
	}
}

// Stop stops the server. Running sessions have the drain time to finish; then they are cancelled.
// Clients are notified. Transports close their connections afterwards.
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
	for _, c := range s.allClients() {
		c.cancelAll(errStopping())
		c.busy.Wait()
		c.notify("server/stopping", struct {
			Reason string `json:"reason"`
		}{reason})
		close(c.closing)
		_ = c.tools.Close() // the results of the tool's handlers are no longer needed
	}
	s.run.End()
	s.end(errStopping())
}
