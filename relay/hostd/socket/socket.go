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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
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
	Desk   *approvals.Registry
	RPC    RPC
	Source http.Handler // of POST /source; nil has none
	Health func() any   // what GET /health says
	// Refused records what was refused to a process of a run itself, or of a run that it started.
	Refused func(run string, what protocol.OwnRefused) error
	Log     *slog.Logger
	Others  Others
}

// Others are the runs that are none on a terminal: they tell of themselves.
type Others interface {
	List() []protocol.RunListed // those that go on
	PID(run string) int         // the process of one, 0 when it is not known
	Stop(ctx context.Context, run string, kill bool) error
	Has(run string) bool     // it goes on
	Follows(run string) bool // it can be followed, also a while after its end
	Follow(ctx context.Context, run string, give func(protocol.Envelope) error) error
	Ancestors(run string) []string // the runs that started it, the nearest first
}

// API serves a socket.
type API struct {
	o    Options
	http http.Server

	mu      sync.Mutex
	refused map[string]bool
}

// New makes the API; Serve serves it.
func New(o Options) *API {
	a := &API{o: o, refused: map[string]bool{}}
	mux := http.NewServeMux()
	for _, r := range routes {
		h := r.serve
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, q *http.Request) {
			if r.decides != "" && !a.permitted(w, q, r.decides) {
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
		fail(w, approvals.Errorf(protocol.UnknownType, "there is no %s %s", q.Method, q.URL.Path))
	})
	a.http = http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, peerOf(c))
		}}
	return a
}

// route is a row of the API.
type route struct {
	pattern string
	decides string // the action; "" of one that a run may also do to itself
	serve   func(*API, http.ResponseWriter, *http.Request) error
}

var routes = []route{
	{"GET /health", "", (*API).health},
	{"GET /runs", "", (*API).list},
	{"POST /runs", "", (*API).start},
	{"GET /runs/{run}/stream", "", (*API).stream},
	{"GET /runs/{run}/permissions", "", (*API).requests},
	{"POST /runs/{run}/permissions/{request}", "decide", (*API).decide},
	{"POST /runs/{run}/input", "input", (*API).input},
	{"POST /runs/{run}/keys", "keys", (*API).keys},
	{"POST /runs/{run}/stop", "stop", (*API).stop},
	{"POST /runs/{run}/resize", "", (*API).resize},
	{"GET /runs/{run}/fs/read", "", rpcOf("rpc.fs.read")},
	{"GET /runs/{run}/fs/search", "", rpcOf("rpc.fs.search")},
	{"GET /runs/{run}/fs/list", "", rpcOf("rpc.fs.list")},
	{"POST /runs/{run}/fs/write", "", rpcOf("rpc.fs.write")},
	{"GET /runs/{run}/git/status", "", rpcOf("rpc.git.status")},
	{"GET /runs/{run}/git/diff", "", rpcOf("rpc.git.diff")},
	{"POST /runs/{run}/bash", "", rpcOf("rpc.bash")},
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

// permitted refuses what an agent would decide for its own run: a process of the run itself, or
// of a run that it started, directly or not.
func (a *API) permitted(w http.ResponseWriter, q *http.Request, action string) bool {
	id := q.PathValue("run")
	p, _ := q.Context().Value(peerKey{}).(peer)
	by, why := a.ownedBy(p, id)
	if why == "" {
		return true
	}
	a.o.Log.Warn("audit: an agent may not decide for its own run", "run", id, "pid", p.pid, "asked", q.Pattern, "why", why)
	if a.o.Refused != nil && by != "" && a.first(id, by, action, q.PathValue("request")) {
		what := protocol.OwnRefused{Action: action, RequestID: q.PathValue("request"), ByRunID: by, PID: int64(p.pid), Reason: why}
		if err := a.o.Refused(id, what); err != nil {
			a.o.Log.Error("record a refused decision", "run", id, "error", err)
		}
	}
	fail(w, approvals.Errorf(protocol.Forbidden, "a run does not answer, write to or stop itself: %s", why))
	return false
}

// ownedBy returns the run by which a peer belongs to run id, and in words why it may not decide
// for that; "" when it may.
func (a *API) ownedBy(p peer, id string) (by, why string) {
	leader, err := a.o.Runs.PID(id)
	if err != nil {
		leader = a.o.Others.PID(id)
	}
	if why := p.within(id, leader, a.o.Runs.Holder(id)); why != "" {
		if !a.o.Runs.Has(id) && !a.o.Others.Has(id) {
			return "", why
		}
		return id, why
	}
	for _, run := range p.runs(a.live()) {
		if slices.Contains(a.ancestors(run), id) {
			return run, fmt.Sprintf("process %d belongs to run %s, which run %s has started", p.pid, run, id)
		}
	}
	return "", ""
}

// mostRefused bounds how many refusals are remembered, and recorded.
const mostRefused = 10_000

// first reports whether something is refused for the first time. An agent that tries without end
// does not fill the record.
func (a *API) first(what ...string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := strings.Join(what, " ")
	if a.refused[key] || len(a.refused) >= mostRefused {
		return false
	}
	a.refused[key] = true
	return true
}

// process is a run's: its leader, and the process that adopts what it leaves behind, 0 when there is none.
type process struct {
	run            string
	leader, keeper int
}

// live returns the processes of all runs that have not ended.
func (a *API) live() []process {
	var all []process
	for _, r := range a.o.Runs.List() {
		if pid, err := a.o.Runs.PID(r.RunID); err == nil && r.Status != protocol.HasExited {
			all = append(all, process{r.RunID, pid, a.o.Runs.Holder(r.RunID)})
		}
	}
	for _, r := range a.o.Others.List() {
		all = append(all, process{r.RunID, a.o.Others.PID(r.RunID), 0})
	}
	return all
}

// ancestors returns the runs that started a run, the nearest first.
func (a *API) ancestors(run string) []string {
	if all := a.o.Runs.Ancestors(run); len(all) > 0 {
		return all
	}
	return a.o.Others.Ancestors(run)
}

// Family returns the runs to which the process at the other end of a request's connection belongs,
// and the runs that started them, the nearest first.
func (a *API) Family(q *http.Request) []string {
	p, _ := q.Context().Value(peerKey{}).(peer)
	var all []string
	for _, run := range p.runs(a.live()) {
		for _, one := range append([]string{run}, a.ancestors(run)...) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	var why *approvals.Error
	if !errors.As(err, &why) {
		why = approvals.Errorf(protocol.Internal, "%v", err)
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
		return approvals.Errorf(protocol.BadMessage, "the body must be an object: %v", err)
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
