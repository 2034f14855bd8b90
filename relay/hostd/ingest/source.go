// Package ingest receives the events of runs whose programs report the events themselves
// (spec/relay.md). A program sends POST /source to the Unix socket. The connection is upgraded, and
// then carries lines in both directions, which protocol.SourceMessage and HostdMessage define. A
// run begins with its connection. It ends when the program reports the end, or when its process
// exits. A program that reconnects to a new hostd continues the same run.
package ingest

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Options configures Sources.
type Options struct {
	Spool     *spool.Spool
	Approvals *approvals.Registry
	Redact    *redact.Redactor
	Log       *slog.Logger
	// Open replaces the data of a sealed event with those that were sealed. Nil means that no event
	// is sealed.
	Open func(*protocol.Envelope) error
	// PID returns the process id of the caller of a request, or 0 if it is unknown.
	PID func(*http.Request) int
	// CallerRuns returns the runs that the calling process belongs to, and the runs that started
	// those runs, the nearest first; may be nil.
	CallerRuns func(*http.Request) []string
	// ReconnectTimeout is the time in which a run of the previous hostd must reconnect; 0 means a
	// minute.
	ReconnectTimeout time.Duration
	MaxEnded         int // maximum number of ended runs that can be followed; 0 means 100
	// After calls f after the duration d, unless stop is called before. Nil means time.AfterFunc.
	After func(d time.Duration, f func()) (stop func() bool)
}

// Sources holds the runs whose programs report the events. It is safe for concurrent use.
type Sources struct {
	o    Options
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	runs  map[string]*run
	logs  map[string]*eventLog // event logs of live and ended runs by run id
	ended []endedRun           // the oldest first
}

// Kind and key of the note that describes a run in the spool.
const (
	noteKind = "source"
	noteKey  = "run"
)

// runNote is the content of the note that describes a run.
type runNote struct {
	Started   protocol.Started `json:"started"`
	StartedAt string           `json:"started_at"`
	PID       int              `json:"pid"`
	// Ancestors are the runs that started this run, the nearest first.
	Ancestors []string `json:"ancestors,omitempty"`
}

// New returns Sources without runs. Restore loads the stored runs.
func New(o Options) *Sources {
	if o.ReconnectTimeout == 0 {
		o.ReconnectTimeout = time.Minute
	}
	if o.MaxEnded == 0 {
		o.MaxEnded = maxEnded
	}
	if o.After == nil {
		o.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if o.Open == nil {
		o.Open = func(*protocol.Envelope) error { return nil }
	}
	s := &Sources{o: o, runs: map[string]*run{}, logs: map[string]*eventLog{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Restore loads the runs of the previous hostd. A run that does not reconnect in time is lost.
func (s *Sources) Restore(ctx context.Context) error {
	for _, stored := range s.o.Spool.Runs() {
		text, err := s.o.Spool.Note(ctx, stored.ID, noteKind, noteKey)
		switch {
		case err != nil:
			return fmt.Errorf("resume run %s: %w", stored.ID, err)
		case text == nil || stored.Ended:
			continue
		}
		r := &run{s: s, id: stored.ID, committed: stored.Offset, started: true, log: newEventLog()}
		if err := json.Unmarshal(text, &r.note); err != nil {
			return fmt.Errorf("resume run %s: %w", stored.ID, err)
		}
		if err := s.restoreLog(ctx, r); err != nil {
			return fmt.Errorf("resume run %s: %w", stored.ID, err)
		}
		s.mu.Lock()
		s.runs[r.id], s.logs[r.id] = r, r.log
		s.mu.Unlock()
		r.stopTimer = s.o.After(s.o.ReconnectTimeout, func() { r.end(protocol.Exited{ExitCode: -1, Reason: protocol.ExitedLost}) })
	}
	return nil
}

// Close closes the connections. The runs continue and reconnect to the next hostd.
func (s *Sources) Close() {
	s.stop()
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		if r.stopTimer != nil {
			r.stopTimer()
		}
	}
	for _, e := range s.ended {
		e.stop()
	}
}

// find returns a live run, or nil if there is none.
func (s *Sources) find(id string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id]
}

// Has reports whether the run is live and reports its own events.
func (s *Sources) Has(id string) bool { return s.find(id) != nil }

// PID returns the process id of a run, or 0 if it is unknown.
func (s *Sources) PID(id string) int {
	if r := s.find(id); r != nil {
		return r.note.PID
	}
	return 0
}

// Ancestors returns the runs that started a run directly or indirectly, the nearest first.
func (s *Sources) Ancestors(id string) []string {
	if r := s.find(id); r != nil {
		return r.note.Ancestors
	}
	return nil
}

// Dir returns the working directory of a run as an absolute path without symbolic links. It returns
// "" for an unknown run.
func (s *Sources) Dir(id string) string {
	if r := s.find(id); r != nil {
		return r.note.Started.Cwd
	}
	return ""
}

// List returns all live runs, oldest first.
func (s *Sources) List() []protocol.RunSummary {
	s.mu.Lock()
	var open []*run // queried without holding mu, because Approvals calls Show
	for _, r := range s.runs {
		if r.started {
			open = append(open, r)
		}
	}
	s.mu.Unlock()
	all := []protocol.RunSummary{}
	for _, r := range open {
		status := protocol.StatusRunning
		if len(s.o.Approvals.Open(r.id)) > 0 {
			status = protocol.StatusAwaitingApproval
		}
		of := r.note.Started
		all = append(all, protocol.RunSummary{RunID: r.id, Tool: of.Tool, Cwd: of.Cwd, Command: of.Command, Status: status, StartedAt: r.note.StartedAt, Title: of.Title})
	}
	// Stable, as in package socket: the code for both kinds of sorting would add 16 KB.
	sort.SliceStable(all, func(i, j int) bool { return all[i].StartedAt+all[i].RunID < all[j].StartedAt+all[j].RunID })
	return all
}

// Stop sends SIGTERM to the process of a run, or SIGKILL if kill is set.
func (s *Sources) Stop(_ context.Context, id string, kill bool) error {
	pid := s.PID(id)
	switch {
	case !s.Has(id):
		return approvals.Errorf(protocol.UnknownRun, "there is no run %s on this machine", id)
	case pid <= 0:
		return approvals.Errorf(protocol.Forbidden, "the process of run %s is unknown", id)
	}
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(signal)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return approvals.Errorf(protocol.Internal, "end process %d of run %s: %v", pid, id, err)
	}
	return nil
}

// ServeHTTP serves a program's connection.
func (s *Sources) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if !strings.EqualFold(q.Header.Get("Upgrade"), protocol.SourceUpgrade) {
		w.Header().Set("Upgrade", protocol.SourceUpgrade)
		http.Error(w, `{"error":{"code":"bad_message","message":"ask for Upgrade: `+protocol.SourceUpgrade+`"}}`, http.StatusUpgradeRequired)
		return
	}
	conn, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.o.Log.Error("accept a source's connection", "error", err)
		return
	}
	_ = conn.SetDeadline(time.Time{}) // remove the deadline of the HTTP server; ignore the error, because some connections support none
	ahead := newAheadReader(in.Reader)
	defer ahead.close()
	defer conn.Close()
	defer context.AfterFunc(s.ctx, func() { conn.Close() })()
	r, back := s.join(q)
	l := &sourceConn{run: r, conn: conn, in: bufio.NewReaderSize(ahead, 64<<10), wantsAcks: q.Header.Get(protocol.SourceCounts) != "", writing: make(chan struct{}, 1)}
	head := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol.SourceUpgrade + "\r\n" + protocol.SourceRun + ": " + r.id + "\r\n"
	if l.wantsAcks {
		head += protocol.SourceCounts + ": " + strconv.FormatInt(r.committed, 10) + "\r\n"
	}
	if _, err := conn.Write([]byte(head + "\r\n")); err != nil {
		s.o.Log.Warn("answer a source", "error", err)
	}
	s.work.Add(1)
	defer s.work.Done()
	if asks, present := q.Header[http.CanonicalHeaderKey(protocol.SourceAsks)]; back && present {
		s.resolveMissing(r.id, strings.Split(strings.Join(asks, ","), ","))
	}
	l.serve()
}

// resolveMissing closes the open requests of a reconnected run that are not in asks, because the
// program no longer waits for them.
func (s *Sources) resolveMissing(run string, asks []string) {
	for _, q := range s.o.Approvals.Open(run) {
		if slices.Contains(asks, q.RequestID) || q.From != nil && q.From.Kind == "rpc" {
			continue
		}
		if err := s.o.Approvals.ResolveRestored(s.ctx, run, q.RequestID, nil, "answered elsewhere, or not needed any more"); err != nil {
			s.o.Log.Error("could not send the outcome of a request", "run", run, "request", q.RequestID, "error", err)
		}
	}
}

// join returns the run of a connection. It is the restored run whose id the request contains, or a
// new run. back reports whether the run was restored.
func (s *Sources) join(q *http.Request) (r *run, back bool) {
	var family []string
	if s.o.CallerRuns != nil {
		family = s.o.CallerRuns(q)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pid := 0
	if s.o.PID != nil {
		pid = s.o.PID(q)
	}
	if r := s.runs[q.Header.Get(protocol.SourceRun)]; r != nil && r.stopTimer != nil && r.stopTimer() {
		r.stopTimer = nil
		return r, true
	}
	r = &run{s: s, log: newEventLog(), id: "run_" + strings.ToLower(rand.Text())[:20], note: runNote{PID: pid, Ancestors: family, StartedAt: protocol.Timestamp(time.Now())}}
	s.runs[r.id], s.logs[r.id] = r, r.log
	return r, false
}
