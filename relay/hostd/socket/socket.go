// Package socket implements the HTTP API of hostd on its Unix socket (spec/relay.md). The command
// line and programs of the same user call it. The API identifies the calling process, because an
// agent must not decide requests of its own run.
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
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// RPC performs the RPCs that apps can send to a machine.
type RPC interface {
	PerformLocal(ctx context.Context, e *protocol.Envelope) protocol.Response
}

// Options configures an API.
type Options struct {
	Runs      *runs.Manager
	Approvals *approvals.Registry
	RPC       RPC
	Source    http.Handler // handles POST /source; may be nil
	Health    func() any   // returns the body of GET /health
	// RecordRefused records that an action was refused, because the caller is a process of the run
	// itself or of a run that it started.
	RecordRefused func(run string, what protocol.OwnRefused) error
	Log           *slog.Logger
	Programs      ProgramRuns
	Account       Account
}

// ProgramRuns manages the runs that have no terminal. Their programs report the events.
type ProgramRuns interface {
	List() []protocol.RunSummary // returns the live runs
	PID(run string) int          // returns the process id of a run, or 0 if it is unknown
	Stop(ctx context.Context, run string, kill bool) error
	Has(run string) bool     // reports whether the run is live
	Follows(run string) bool // reports whether the run can be followed, which is possible for some time after its end
	Follow(ctx context.Context, run string, handle func(protocol.Envelope) error) error
	Ancestors(run string) []string // returns the runs that started the run, the nearest first
}

// Account is the machine's membership in an account (relay/seal).
type Account interface {
	Status() sealer.Status
	// Reload reads the files of the account again.
	Reload() (sealer.Status, error)
	// Rotate begins an epoch, and refuses earlier statements.
	Rotate() (sealer.Status, error)
}

// API serves the socket.
type API struct {
	o    Options
	http http.Server

	mu      sync.Mutex
	refused map[string]bool
}

// New returns an API.
func New(o Options) *API {
	a := &API{o: o, refused: map[string]bool{}}
	mux := http.NewServeMux()
	for _, r := range routes {
		h := r.serve
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, q *http.Request) {
			if r.action != "" && !a.authorize(w, q, r.action) {
				return
			}
			if err := h(a, w, q); err != nil {
				writeError(w, err)
			}
		})
	}
	if o.Source != nil {
		mux.Handle("POST /source", o.Source)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		writeError(w, approvals.Errorf(protocol.UnknownType, "there is no %s %s", q.Method, q.URL.Path))
	})
	a.http = http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, peerOf(c))
		}}
	return a
}

// route is a row of the routing table.
type route struct {
	pattern string
	action  string // name of the action for refusals; "" if a run may perform it on itself
	serve   func(*API, http.ResponseWriter, *http.Request) error
}

var routes = []route{
	{"GET /health", "", (*API).health},
	{"GET /seal", "", (*API).account},
	{"POST /seal/reload", "", (*API).reloadAccount},
	{"POST /seal/rotate", "", (*API).rotateAccount},
	{"GET /runs", "", (*API).list},
	{"POST /runs", "", (*API).start},
	{"GET /runs/{run}/stream", "", (*API).stream},
	{"GET /runs/{run}/permissions", "", (*API).listRequests},
	{"POST /runs/{run}/permissions/{request}", "decide", (*API).decide},
	{"POST /runs/{run}/input", "input", (*API).input},
	{"POST /runs/{run}/keys", "keys", (*API).keys},
	{"POST /runs/{run}/stop", "stop", (*API).stop},
	{"POST /runs/{run}/resize", "", (*API).resize},
	{"GET /runs/{run}/fs/read", "", rpcHandler(protocol.RPCReadFile)},
	{"GET /runs/{run}/fs/search", "", rpcHandler(protocol.RPCSearch)},
	{"GET /runs/{run}/fs/list", "", rpcHandler(protocol.RPCListDir)},
	{"POST /runs/{run}/fs/write", "", rpcHandler(protocol.RPCWriteFile)},
	{"GET /runs/{run}/git/status", "", rpcHandler(protocol.RPCGitStatus)},
	{"GET /runs/{run}/git/diff", "", rpcHandler(protocol.RPCGitDiff)},
	{"POST /runs/{run}/bash", "", rpcHandler(protocol.RPCBash)},
}

// CheckFree returns an error if another hostd serves the socket at path.
func CheckFree(path string) error {
	c, err := net.Dial("unix", path)
	if err != nil {
		return nil
	}
	c.Close()
	return fmt.Errorf("another hostd serves %s: stop it, or use another --socket", path)
}

// Listen creates the socket, which only this user may connect to. It returns an error if another
// hostd serves the socket, or if the path is too long.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the socket's directory: %w", err)
	}
	if err := CheckFree(path); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		_ = os.Remove(path) // a hostd that was killed has left the socket
	}
	old := umask(0o177)
	l, err := net.Listen("unix", path)
	umask(old)
	if errors.Is(err, syscall.EINVAL) {
		return nil, fmt.Errorf("listen on %s: a socket's path has at most 107 bytes: use a shorter --socket", path)
	}
	if err != nil {
		return nil, fmt.Errorf("listen for the command line: %w", err)
	}
	return &ownerListener{l}, nil
}

// ownerListener accepts only connections of this user and of root.
type ownerListener struct{ net.Listener }

func (l *ownerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || peerOf(c).isAllowed() {
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

// Close closes the listener and all connections.
func (a *API) Close() { a.http.Close() }

// authorize refuses an action on a run if the caller is a process of that run, or of a run that it
// has started directly or indirectly. It reports whether the action is allowed.
func (a *API) authorize(w http.ResponseWriter, q *http.Request, action string) bool {
	id := q.PathValue("run")
	p, _ := q.Context().Value(peerKey{}).(peer)
	by, why := a.findOwner(p, id)
	if why == "" {
		return true
	}
	a.o.Log.Warn("audit: an agent may not decide for its own run", "run", id, "pid", p.pid, "asked", q.Pattern, "why", why)
	if a.o.RecordRefused != nil && by != "" && a.isFirst(id, by, action, q.PathValue("request")) {
		what := protocol.OwnRefused{Action: action, RequestID: q.PathValue("request"), ByRunID: by, PID: int64(p.pid), Reason: why}
		if err := a.o.RecordRefused(id, what); err != nil {
			a.o.Log.Error("could not record a refused decision", "run", id, "error", err)
		}
	}
	writeError(w, approvals.Errorf(protocol.Forbidden, "a run may not answer, write to or stop itself: %s", why))
	return false
}

// findOwner returns the run through which a peer belongs to the run id, and the reason why the peer
// must not act on that run. Both are "" if the peer may act on it.
func (a *API) findOwner(p peer, id string) (by, why string) {
	leader, err := a.o.Runs.PID(id)
	if err != nil {
		leader = a.o.Programs.PID(id)
	}
	if why := p.membershipReason(id, leader, a.o.Runs.Holder(id)); why != "" {
		if !a.o.Runs.Has(id) && !a.o.Programs.Has(id) {
			return "", why
		}
		return id, why
	}
	for _, run := range p.findRuns(a.liveProcesses()) {
		if slices.Contains(a.ancestors(run), id) {
			return run, fmt.Sprintf("process %d belongs to run %s, which run %s has started", p.pid, run, id)
		}
	}
	return "", ""
}

// maxRefusals is the maximum number of refusals that are remembered. Further refusals are not
// recorded.
const maxRefusals = 10_000

// isFirst reports whether an action is refused for the first time. Only the first refusal is
// recorded, so that repeated attempts do not fill the record.
func (a *API) isFirst(what ...string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := strings.Join(what, " ")
	if a.refused[key] || len(a.refused) >= maxRefusals {
		return false
	}
	a.refused[key] = true
	return true
}

// runProcess contains the process ids of a run's leader and of its PTY holder. Each is 0 if there
// is none.
type runProcess struct {
	run            string
	leader, holder int
}

// liveProcesses returns the processes of all runs that have not ended.
func (a *API) liveProcesses() []runProcess {
	var all []runProcess
	for _, r := range a.o.Runs.List() {
		if pid, err := a.o.Runs.PID(r.RunID); err == nil && r.Status != protocol.StatusExited {
			all = append(all, runProcess{r.RunID, pid, a.o.Runs.Holder(r.RunID)})
		}
	}
	for _, r := range a.o.Programs.List() {
		all = append(all, runProcess{r.RunID, a.o.Programs.PID(r.RunID), 0})
	}
	return all
}

// ancestors returns the runs that started a run, the nearest first.
func (a *API) ancestors(run string) []string {
	if all := a.o.Runs.Ancestors(run); len(all) > 0 {
		return all
	}
	return a.o.Programs.Ancestors(run)
}

// CallerRuns returns the runs that the calling process of a request belongs to, and the runs that
// started those runs, the nearest first.
func (a *API) CallerRuns(q *http.Request) []string {
	p, _ := q.Context().Value(peerKey{}).(peer)
	var all []string
	for _, run := range p.findRuns(a.liveProcesses()) {
		for _, one := range append([]string{run}, a.ancestors(run)...) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// writeError writes an error response.
func writeError(w http.ResponseWriter, err error) {
	var why *approvals.Error
	if !errors.As(err, &why) {
		why = approvals.Errorf(protocol.Internal, "%v", err)
	}
	writeErrorCode(w, httpStatus(protocol.RPCCode(why.Code)), string(why.Code), why.Why)
}

func writeErrorCode(w http.ResponseWriter, status int, code, message string) {
	type content struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	writeJSON(w, status, struct {
		Error content `json:"error"`
	}{content{code, message}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // ignore the error: the client has disconnected
}

// decodeBody decodes the body of a request, which must be empty or a JSON object.
func decodeBody(q *http.Request, into any) error {
	text := http.MaxBytesReader(nil, q.Body, protocol.MaxFrame)
	d := json.NewDecoder(text)
	if err := d.Decode(into); err != nil && q.ContentLength != 0 {
		return approvals.Errorf(protocol.BadMessage, "the body must be an object: %v", err)
	}
	return nil
}

// newID returns a new id for an RPC whose body contains none.
func newID() string { return "local_" + rand.Text() }

// PeerPID returns the process id of the caller of a request, or 0 if it is unknown.
func PeerPID(q *http.Request) int {
	p, _ := q.Context().Value(peerKey{}).(peer)
	return p.pid
}

// ownProcess returns the process of hostd.
func ownProcess() approvals.Process {
	return approvals.Process{UID: int64(max(os.Getuid(), 0)), PID: int64(os.Getpid())}
}
