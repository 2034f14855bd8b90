package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// machines holds the current connection of each connected machine.
type machines struct {
	mu sync.Mutex
	of map[string]*slot
}

// slot holds the current connection of a machine. claimMu is held while a new connection takes over
// from the old one.
type slot struct {
	claimMu sync.Mutex
	has     *machine // guarded by machines.mu
}

func newMachines() *machines { return &machines{of: map[string]*slot{}} }

func (h *machines) slot(id string) *slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of[id] == nil {
		h.of[id] = &slot{}
	}
	return h.of[id]
}

// get returns a machine's connection, or nil.
func (h *machines) get(id string) *machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.of[id]; s != nil {
		return s.has
	}
	return nil
}

// awaitingPayloads returns the ids of machines with commands whose payload another server must
// send.
func (h *machines) awaitingPayloads() (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, s := range h.of {
		if s.has != nil && s.has.delivery.owes.Load() {
			ids = append(ids, id)
		}
	}
	return ids
}

// set sets the current connection of a machine and returns the previous one.
func (h *machines) set(c *machine) (was *machine) {
	s := h.slot(c.id)
	h.mu.Lock()
	defer h.mu.Unlock()
	was, s.has = s.has, c
	return was
}

// remove removes a connection if it is still the current connection of its machine. It reports
// whether it was.
func (h *machines) remove(c *machine) (had bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of[c.id]
	if s == nil || s.has != c {
		return false
	}
	s.has = nil
	return true
}

// machineSocket serves GET /ws/host.
func (s *Server) machineSocket(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	if !requireUpgrade(w, r) {
		return
	}
	id, token := auth.MachineCredentials(r)
	switch by := r.URL.Query().Get("auth"); by {
	case "", "token":
	case "key":
		s.keySocket(w, r, id)
		return
	default:
		httpguard.Fail(w, refuse(protocol.BadMessage, "auth must be key or token, not %q", by))
		return
	}
	if err := s.config.Auth.Machine(r.Context(), id, token, r); err != nil {
		httpguard.Fail(w, s.failed(err, protocol.Unauthorized))
		return
	}
	x := s.upgrade(w, r)
	if x == nil {
		return
	}
	h := newMachine(x, id)
	h.hasCredentials = func(ctx context.Context) (bool, error) { return s.config.Auth.HasToken(ctx, id, token) }
	x.peer = h
	h.authenticated()
	x.start(h)
}

// authenticated is called when the machine is authenticated.
func (h *machine) authenticated() {
	if h.srv.machines.get(h.id) == nil && !h.srv.peers.hasMachine(h.srv.ctx, h.id) {
		h.claim(nil)
	}
	h.stopWait = h.srv.clock.After(protocol.HelloTimeout, h.acceptLegacy)
}

// claim makes this connection the current one of its machine, unless an existing connection takes
// precedence. hello is nil if the machine has sent none.
func (h *machine) claim(hello *protocol.HelloData) {
	slot := h.srv.machines.slot(h.id)
	slot.claimMu.Lock()
	defer slot.claimMu.Unlock()
	if h.socket.closed.Load() {
		return
	}
	epoch, instance := int64(0), ""
	if hello != nil && hello.Epoch != nil {
		epoch, instance = *hello.Epoch, hello.Instance
	}
	older := h.srv.machines.get(h.id)
	if older == h {
		older = nil
	}
	if older != nil && epoch > 0 {
		theirs, their := older.life.helloEpoch()
		switch {
		case theirs == 0 || epoch > theirs || instance == their:
		case epoch < theirs:
			h.isStale(epoch, theirs)
			return
		case older.isAlive():
			h.socket.close(protocol.CloseSuperseded, "another process with a copy of this machine's state is connected")
			h.srv.log.Warn("a machine is connected twice with the same state: its spool was copied", slog.String("machine", h.id))
			return
		}
	}
	if older == nil && epoch > 0 && h.srv.peers.isRival(h, epoch, instance) {
		h.socket.close(protocol.CloseSuperseded, "another process with a copy of this machine's state is connected")
		h.srv.log.Warn("a machine is connected twice with the same state: its spool was copied", slog.String("machine", h.id))
		return
	}
	t := store.Takeover{Machine: h.id, Epoch: epoch, Instance: instance, Proto: 1, Replica: h.srv.peers.id, At: h.srv.now()}
	if hello != nil {
		t.Proto = min(hello.Protocol, protocol.Version)
	}
	h.takeOver(t)
}

// takeOver assigns the connection the next generation of its machine. From then on the store
// ignores events from older connections.
func (h *machine) takeOver(t store.Takeover) {
	gen, err := h.srv.store.TakeOver(h.srv.ctx, t)
	switch {
	case errors.Is(err, store.ErrStale):
		h.isStale(t.Epoch, 0)
		return
	case errors.Is(err, store.ErrUnknown):
		h.socket.close(protocol.CloseUnauthorized, "the machine was removed")
		return
	case err != nil:
		h.srv.log.Error("could not register a machine", slog.String("machine", h.id), slog.Any("error", err))
		h.socket.close(protocol.CloseInternal, "the database failed: try again later")
		return
	}
	h.life.begin(gen, t.Epoch, t.Instance)
	if was := h.srv.machines.set(h); was != nil && was != h {
		was.socket.close(protocol.CloseSuperseded, "a newer connection of this machine has taken over")
	}
	h.srv.peers.notify(checkMail) // for the server that the machine was connected to
	h.closeIfRevoked()
}

// closeIfRevoked closes the connection if the machine was paired or removed after it was
// authenticated. CloseMachine may have found no connection then, because this one was not
// registered.
func (h *machine) closeIfRevoked() {
	switch valid, err := h.hasCredentials(h.srv.ctx); {
	case err != nil:
		h.srv.failed(err, protocol.Internal)
		h.socket.close(protocol.CloseInternal, "the database failed: try again later")
	case !valid:
		h.socket.close(protocol.CloseUnauthorized, "the machine was removed or has new credentials")
	}
}

func (h *machine) isStale(epoch, theirs int64) {
	h.srv.log.Warn("a machine reconnected with an older state", slog.String("machine", h.id), slog.Int64("epoch", epoch), slog.Int64("has", theirs))
	h.socket.close(protocol.CloseStaleEpoch, "a newer state of this machine, with a higher epoch, has connected before")
}

// pingTimeout is the time that a connected machine has to answer a ping when another connection
// presents the same machine id.
const pingTimeout = 2 * time.Second

// isAlive sends a ping and reports whether the machine answers.
func (h *machine) isAlive() bool {
	ctx, cancel := context.WithCancel(h.srv.ctx)
	defer cancel()
	stop := h.srv.clock.After(pingTimeout, cancel)
	defer stop()
	return h.socket.conn.Ping(ctx) == nil
}

// machineRow is a machine as apps see it.
type machineRow struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Online     bool    `json:"online"`
	LastSeenAt *string `json:"last_seen_at"`
	Auth       string  `json:"auth"` // how the machine authenticates: token or key
	Account    string  `json:"account,omitempty"`
}

func (s *Server) machineList(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	all, err := s.store.Machines(r.Context())
	if err != nil {
		httpguard.Fail(w, s.failed(err, protocol.Internal))
		return
	}
	rows := []machineRow{}
	for _, h := range all {
		row := machineRow{ID: h.ID, Name: h.Name, Online: s.machines.get(h.ID) != nil || s.peers.isElsewhere(h), LastSeenAt: timeText(h.LastSeenAt), Auth: "token", Account: h.Account}
		if row.Name == "" {
			row.Name = h.ID
		}
		if h.PublicKey != "" {
			row.Auth = "key"
		}
		if row.Online {
			now := s.now()
			row.LastSeenAt = timeText(now)
		}
		rows = append(rows, row)
	}
	httpguard.Answer(w, http.StatusOK, rows)
}
