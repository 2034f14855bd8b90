// Package socket is hostd's API on its unix socket, spec/relay.md (its API promises nothing):
// HTTP for the command line and programs of the same user. Who connects is known by its
// process: an agent decides nothing for its own run.
package socket

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/desk"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// RPC performs what an app may ask of the host. actor is who asks.
type RPC interface {
	Local(ctx context.Context, e *protocol.Envelope) protocol.Response
}

// Options are what the API is made of.
type Options struct {
	Runs   *runs.Manager
	Desk   *desk.Desk
	RPC    RPC
	Source http.Handler // of POST /source; nil has none
	Health func() any   // what GET /health says
	Log    *slog.Logger
	Others Others
}

// Others are the runs that are none on a terminal: they tell of themselves.
type Others interface {
	List() []protocol.RunListed // those that go on
	PID(run string) int         // the process of one, 0 when it is not known
	Stop(ctx context.Context, run string, kill bool) error
	Has(run string) bool     // it goes on
	Follows(run string) bool // it can be followed, also a while after its end
	Follow(ctx context.Context, run string, give func(protocol.Envelope) error) error
}

// API serves a socket.
type API struct {
	o    Options
	http http.Server
}

// New makes the API; Serve serves it.
func New(o Options) *API {
	a := &API{o: o}
	mux := http.NewServeMux()
	for _, r := range routes {
		h := r.serve
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, q *http.Request) {
			if r.decides && !a.permitted(w, q) {
				return
			}
			if err := h(a, w, q); err != nil {
				fail(w, err)
			}
		})
	}
	if o.Source != nil {
		mux.Handle("POST /source", o.Source)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		fail(w, desk.Refuse(protocol.UnknownType, "there is no %s %s", q.Method, q.URL.Path))
	})
	a.http = http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, peerOf(c))
		}}
	return a
}

// route is a row of the API. decides says that a process of the run's own tree may not.
type route struct {
	pattern string
	decides bool
	serve   func(*API, http.ResponseWriter, *http.Request) error
}

var routes = []route{
	{"GET /health", false, (*API).health},
	{"GET /runs", false, (*API).list},
	{"POST /runs", false, (*API).start},
	{"GET /runs/{run}/stream", false, (*API).stream},
	{"GET /runs/{run}/permissions", false, (*API).requests},
	{"POST /runs/{run}/permissions/{request}", true, (*API).decide},
	{"POST /runs/{run}/input", true, (*API).input},
	{"POST /runs/{run}/keys", true, (*API).keys},
	{"POST /runs/{run}/stop", true, (*API).stop},
	{"POST /runs/{run}/resize", false, (*API).resize},
	{"GET /runs/{run}/fs/read", false, rpcOf("rpc.fs.read")},
	{"GET /runs/{run}/fs/search", false, rpcOf("rpc.fs.search")},
	{"GET /runs/{run}/fs/list", false, rpcOf("rpc.fs.list")},
	{"POST /runs/{run}/fs/write", false, rpcOf("rpc.fs.write")},
	{"GET /runs/{run}/git/status", false, rpcOf("rpc.git.status")},
	{"GET /runs/{run}/git/diff", false, rpcOf("rpc.git.diff")},
	{"POST /runs/{run}/bash", false, rpcOf("rpc.bash")},
}

// Free says when another hostd serves a socket.
func Free(path string) error {
	c, err := net.Dial("unix", path)
	if err != nil {
		return nil
	}
	c.Close()
	return fmt.Errorf("another hostd serves %s: end it, or name another --socket", path)
}

// Listen makes the socket, for this user alone, where no other hostd serves it. The error says when one
// does, and when its path is too long.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the socket's directory: %w", err)
	}
	if err := Free(path); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		_ = os.Remove(path) // of a hostd that was killed
	}
	old := umask(0o177)
	l, err := net.Listen("unix", path)
	umask(old)
	if errors.Is(err, syscall.EINVAL) {
		return nil, fmt.Errorf("listen on %s: the path of a socket has at most 107 bytes: name a shorter --socket", path)
	}
	if err != nil {
		return nil, fmt.Errorf("listen for the command line: %w", err)
	}
	return &ours{l}, nil
}

// ours takes connections of this user alone.
type ours struct{ net.Listener }

func (l *ours) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || peerOf(c).ours() {
			return c, err
		}
		c.Close()
	}
}

// Serve serves until Close.
func (a *API) Serve(l net.Listener) error {
	if err := a.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends all connections.
func (a *API) Close() { a.http.Close() }

// permitted refuses what an agent would decide for itself.
func (a *API) permitted(w http.ResponseWriter, q *http.Request) bool {
	id := q.PathValue("run")
	p, _ := q.Context().Value(peerKey{}).(peer)
	leader, err := a.o.Runs.PID(id)
	if err != nil {
		leader = a.o.Others.PID(id)
	}
	if why := p.within(id, leader, a.o.Runs.Keeper(id)); why != "" {
		a.o.Log.Warn("audit: an agent may not decide for its own run", "run", id, "pid", p.pid, "asked", q.Pattern, "why", why)
		fail(w, desk.Refuse(protocol.Forbidden, "a run does not answer, write to or stop itself: %s", why))
		return false
	}
	return true
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	var why *desk.Error
	if !errors.As(err, &why) {
		why = desk.Refuse(protocol.Internal, "%v", err)
	}
	failed(w, statusOf(protocol.RPCCode(why.Code)), string(why.Code), why.Why)
}

func failed(w http.ResponseWriter, status int, code, message string) {
	type said struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	answer(w, status, struct {
		Error said `json:"error"`
	}{said{code, message}})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // who went away is not told
}

// body reads what a request carries: an object, or nothing.
func body(q *http.Request, into any) error {
	text := http.MaxBytesReader(nil, q.Body, protocol.MaxFrame)
	d := json.NewDecoder(text)
	if err := d.Decode(into); err != nil && q.ContentLength != 0 {
		return desk.Refuse(protocol.BadMessage, "the body must be an object: %v", err)
	}
	return nil
}

// newID is an id for what a caller gave none.
func newID() string { return "local_" + rand.Text() }

// PID is the process at the other end of a request's connection, 0 when it is not known.
func PID(q *http.Request) int {
	p, _ := q.Context().Value(peerKey{}).(peer)
	return p.pid
}
