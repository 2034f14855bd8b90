package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/toolname"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// Hooks connects a session with the application that opened it. Each field may be nil.
type Hooks struct {
	// Permit returns an error if a tool may not be called; nil permits all calls.
	Permit func(d *Definition) error
	// Sees reports whether a tool exists for the session; nil means that every tool does.
	Sees func(d *Definition) bool
	// MustApprove reports whether a tool needs an approval in addition to the tools whose
	// definition requires one.
	MustApprove func(d *Definition) bool
	// Approve requests an approval. It returns the answer, a JSON value, and the actor that
	// answered. It returns when ctx ends. An error means that no approver answers. A nil Approve
	// means that there is no approver.
	Approve func(ctx context.Context, q *Question) (answer json.RawMessage, by audit.Actor, err error)
	// Audit records calls. A call that cannot be recorded is not made.
	Audit Auditor
	// Hide removes known secrets from a JSON text that is shown or recorded.
	Hide func(text []byte) []byte
	// Emit passes a value to the application; it must not block.
	Emit func(channel string, payload json.RawMessage)
	// OnPhase is called when a call begins and when it has ended. It must not block.
	OnPhase func(Phase)
	// MaxCalls limits the number of handlers that the session starts; 0 means no limit.
	MaxCalls int64
	// Log writes a message to the log of the run.
	Log func(level, message string)
	// World is the environment of commands and HTTP requests.
	World World
	// Clock measures the time limits of calls; nil means the system's clock.
	Clock *clock.PausableClock
}

// Auditor stores the records of calls. *audit.Log implements it.
type Auditor interface {
	Append(audit.Record) (audit.Line, error)
}

// CallFinder is an Auditor that can find the records of a call, including records that an earlier
// process of the run wrote.
type CallFinder interface {
	// Contains reports whether the audit contains a record of the given kind for the call.
	Contains(run, kind, call string) bool
}

// Session makes the tools of a registry available to one run. It is safe for concurrent use.
type Session struct {
	r     *Registry
	base  Context
	hooks Hooks
	ctx   context.Context // cancelled when the session is closed
	end   context.CancelCauseFunc
	calls atomic.Int64
	begun atomic.Int64 // number of handlers started
	busy  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	made   map[*entry]*made         // handlers that the session has created, by tool
	turns  map[*entry]chan struct{} // locks of sequential tools: each channel has capacity 1 and is full during a call
	grants map[grant]audit.Actor    // permissions for the rest of the session, with the actor that granted each
	warned map[*entry]bool          // tools for which the session has logged that another tool hides them
	mocked map[string]bool          // tools whose calls a test answers, as "x" or "x@2"; nil outside tests
}

// made is a handler that the session has created or is creating.
type made struct {
	ready   chan struct{} // closed when the creation has finished
	handler Handler
	closer  io.Closer
	err     error
}

// Open opens a session without hooks. Calls that need an approval are denied.
func (r *Registry) Open(ctx context.Context, c Context) (*Session, error) {
	return r.OpenWith(ctx, c, Hooks{})
}

// OpenWith opens a session and creates the handlers of all its tools with ctx. If a handler cannot
// be created, OpenWith fails and the error names the tool. The handler of a tool that is registered
// later is created at its first call.
func (r *Registry) OpenWith(ctx context.Context, c Context, h Hooks) (*Session, error) {
	now := r.snapshot()
	if now.closed {
		return nil, ErrClosed
	}
	s := &Session{r: r, base: c, hooks: h}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	for _, e := range now.entries {
		if e.def.Open == nil || !s.isVisible(e) || s.unplayed(e) {
			continue
		}
		if _, err := s.handlerOf(ctx, e); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Context returns the Context that the session was opened with.
func (s *Session) Context() Context { return s.base }

// Close cancels the running calls, waits for their handlers for a limited time, and closes the
// session's handlers.
func (s *Session) Close() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if already {
		return nil
	}
	s.end(ErrClosed)
	s.busy.Wait()
	var errs []error
	for e, m := range s.made {
		if <-m.ready; m.closer == nil {
			continue
		}
		if err := contained(e.def.Name, m.closer.Close); err != nil {
			errs = append(errs, fmt.Errorf("could not close tool '%s': %w", e.def.Name, err))
		}
	}
	return errors.Join(errs...)
}

// registerCall registers a running call. It returns false if the session is closed.
func (s *Session) registerCall() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.busy.Add(1)
	}
	return !s.closed
}

// contained calls f and converts a panic to an error that names the tool.
func contained(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("tool '%s' panicked: %v", name, p)
		}
	}()
	return f()
}

// handlerOf returns the handler of a tool for this session. It creates the handler at the first
// call.
func (s *Session) handlerOf(ctx context.Context, e *entry) (Handler, error) {
	if e.def.Open == nil {
		return e.def.Handler, nil
	}
	s.mu.Lock()
	m := s.made[e]
	mine := m == nil
	if mine {
		if s.made == nil {
			s.made = map[*entry]*made{}
		}
		m = &made{ready: make(chan struct{})}
		s.made[e] = m
	}
	s.mu.Unlock()
	if mine {
		s.make(ctx, e, m)
	}
	select {
	case <-m.ready:
		return m.handler, m.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Session) make(ctx context.Context, e *entry, m *made) {
	c := s.base
	m.err = contained(e.def.Name, func() (err error) {
		m.handler, m.closer, err = e.def.Open(ctx, &c)
		if err == nil && m.handler == nil {
			err = errors.New("Open returned no handler")
		}
		return err
	})
	if m.err != nil {
		m.err = fmt.Errorf("could not open tool '%s': %w", e.def.Name, m.err)
		s.mu.Lock()
		delete(s.made, e) // the next call tries to create the handler again
		s.mu.Unlock()
	}
	close(m.ready)
}

// isVisible reports whether a tool exists for the session.
func (s *Session) isVisible(e *entry) bool {
	if e.def.Scope == PerSession {
		if e.session != "" && e.session != s.base.SessionID {
			return false
		}
		if strings.HasPrefix(e.owner, "client:") && e.session == "" && e.owner != s.base.Caller {
			return false
		}
	}
	return s.lacks(e) == "" && (s.hooks.Sees == nil || s.hooks.Sees(&e.def))
}

// lacks returns the first media type that the tool requires and the session cannot show, or "".
func (s *Session) lacks(e *entry) string {
	for _, need := range e.def.Requires {
		if what, ok := strings.CutPrefix(need, "render:"); ok && !slices.Contains(s.base.Render, what) {
			return need
		}
	}
	return ""
}

// hides reports whether a hides b, which has the same name and version. A session tool hides a
// global tool, and an earlier registration hides a later one.
func hides(a, b *entry) bool {
	if a.def.Scope != b.def.Scope {
		return a.def.Scope == PerSession
	}
	return a.order < b.order
}

// resolveTool returns the tool with the given name, or nil. It allocates memory only for a name
// that exists only in offers to models.
func (s *Session) resolveTool(now *snapshot, name string) *entry {
	base, version, ok := split(name)
	if !ok {
		return nil
	}
	if e := s.findEntry(now, base, version); e != nil || version > 0 {
		return e
	}
	i := strings.LastIndex(name, "__")
	if i <= 0 {
		return nil
	}
	for _, b := range s.offerTools(now, nil) {
		if b.name == name {
			return b.e
		}
	}
	return nil
}

func (s *Session) findEntry(now *snapshot, base string, version int) *entry {
	var found *entry
	for i := now.firstIndex(base); i < len(now.entries) && now.entries[i].def.Name == base; i++ {
		e := now.entries[i]
		if version > 0 && e.def.Version != version || !s.isVisible(e) {
			continue
		}
		if found == nil || e.def.Version > found.def.Version || e.def.Version == found.def.Version && hides(e, found) {
			found = e
		}
	}
	return found
}

// noTool is the error text for an unknown tool.
const noTool = "unknown tool '%s'"

// missingReason returns the error text for a name without a tool.
func (s *Session) missingReason(now *snapshot, name string) string {
	if base, version, ok := split(name); ok {
		for i := now.firstIndex(base); i < len(now.entries) && now.entries[i].def.Name == base; i++ {
			e := now.entries[i]
			if need := s.lacks(e); need != "" && (version == 0 || e.def.Version == version) {
				return fmt.Sprintf("tool '%s' is not available: it needs %s, which this session lacks", name, need)
			}
		}
	}
	var names []string
	if strings.Contains(name, "@") {
		return fmt.Sprintf(noTool, name)
	}
	for _, b := range s.offerTools(now, nil) {
		names = append(names, b.name)
	}
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Sprintf("unknown tool '%s'; did you mean '%s'?", name, near)
	}
	return fmt.Sprintf(noTool, name)
}

// Bound is a tool of a session in the form that is offered to an agent or host. It refers to a
// version: Execute calls the tool that is registered under this version at the time of the call.
type Bound struct {
	s    *Session
	e    *entry
	name string
}

// Name returns the tool's name for models: "x", or "x__1" if several versions are offered.
func (b Bound) Name() string { return b.name }

// Description returns the tool's description for models.
func (b Bound) Description() string { return b.e.def.Description }

// Parameters returns the JSON Schema of the arguments.
func (b Bound) Parameters() json.RawMessage { return b.e.def.Parameters }

// InputSchema returns the same value as Parameters.
func (b Bound) InputSchema() json.RawMessage { return b.e.def.Parameters }

// Definition returns the registered definition. The caller must not change it.
func (b Bound) Definition() *Definition { return &b.e.def }

// Owner returns the name of the tool's owner.
func (b Bound) Owner() string { return b.e.owner }

// Exact returns the name with the version: "x@1".
func (b Bound) Exact() string { return b.e.id() }

// Execute calls this version of the tool; see Session.Call.
func (b Bound) Execute(ctx context.Context, input json.RawMessage) Result {
	return b.s.Call(ctx, b.Exact(), input)
}

// Tools returns the tools that the session currently offers, sorted by name and version.
func (s *Session) Tools() []Bound {
	now := s.r.snapshot()
	s.warn(now)
	return s.offerTools(now, nil)
}

// offerTools returns the visible tools that the filter selects, with their names for models. A nil
// filter selects all tools.
func (s *Session) offerTools(now *snapshot, only *Filter) []Bound {
	var out []Bound
	for i := 0; i < len(now.entries); {
		name, from := now.entries[i].def.Name, len(out)
		for ; i < len(now.entries) && now.entries[i].def.Name == name; i++ {
			e := now.entries[i]
			if s.findEntry(now, name, e.def.Version) == e {
				out = append(out, Bound{s, e, name})
			}
		}
		if only != nil {
			out = append(out[:from], only.versions(out[from:])...)
		}
		if len(out)-from > 1 {
			for j := from; j < len(out); j++ {
				out[j].name = versioned(now, out[:j], name, out[j].e.def.Version)
			}
		}
	}
	return out
}

// versioned returns the name for models of one of several offered versions: "x__1", shortened to
// the length limit and different from the names of all other tools.
func versioned(now *snapshot, before []Bound, name string, version int) string {
	for mark := "__"; ; mark += "_" {
		suffix := mark + strconv.Itoa(version)
		full := name[:min(len(name), toolname.MaxLength-len(suffix))] + suffix
		i := now.firstIndex(full)
		exists := i < len(now.entries) && now.entries[i].def.Name == full
		if !exists && !slices.ContainsFunc(before, func(b Bound) bool { return b.name == full }) {
			return full
		}
	}
}

// Listed is a tool in the session's list.
type Listed struct {
	*Definition
	Owner string
	// owner of the tool that hides this one in the session; "" if no tool hides it
	HiddenBy string
	Stats    Stats
}

// List returns the tools of the session, including hidden ones, sorted by name and version.
func (s *Session) List() []Listed {
	now := s.r.snapshot()
	s.warn(now)
	var out []Listed
	for _, e := range now.entries {
		if !s.isVisible(e) {
			continue
		}
		l := Listed{Definition: &e.def, Owner: e.owner, Stats: e.stats.current()}
		if winner := s.findEntry(now, e.def.Name, e.def.Version); winner != e {
			l.HiddenBy = winner.owner
		}
		out = append(out, l)
	}
	return out
}

// warn logs, once for each hidden tool, which tool hides it.
func (s *Session) warn(now *snapshot) {
	for i, e := range now.entries {
		beside := i > 0 && sameVersion(now.entries[i-1], e) || i+1 < len(now.entries) && sameVersion(now.entries[i+1], e)
		if !beside || !s.isVisible(e) {
			continue
		}
		winner := s.findEntry(now, e.def.Name, e.def.Version)
		if winner != e && s.warnOnce(e) {
			s.log("warn", fmt.Sprintf("tool '%s' of %s is hidden by the tool of %s", e.id(), e.owner, winner.owner))
		}
	}
}

// warnOnce reports whether this is the first call for e.
func (s *Session) warnOnce(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warned[e] {
		return false
	}
	if s.warned == nil {
		s.warned = map[*entry]bool{}
	}
	s.warned[e] = true
	return true
}

func sameVersion(a, b *entry) bool {
	return a.def.Version == b.def.Version && a.def.Name == b.def.Name
}

// entryID returns the name, version and scope of the entry. An owner may register this combination
// only once.
func (e *entry) entryID() entryID { return entryID{e.def.Name, e.def.Version, e.def.Scope} }

type entryID struct {
	name    string
	version int
	scope   Scope
}

func (s *Session) log(level, message string) {
	if s.hooks.Log != nil {
		s.hooks.Log(level, message)
	}
}
