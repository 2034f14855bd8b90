// Package accounts serves the accounts API of the relay's server: login and logout, tickets,
// tokens, users, removal of machines, the audit log and metrics. It also removes old runs.
package accounts

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Config configures an API.
type Config struct {
	Store *store.Store
	Auth  *auth.Auth
	Guard *httpguard.Guard
	Now   func() time.Time
	Log   *slog.Logger
	// MachineRemoved closes the connection of a removed machine; may be nil.
	MachineRemoved func(id string)
	// Figures returns the metrics of the server by name; may be nil.
	Figures func() map[string]float64
}

// API serves the accounts API. It is safe for concurrent use.
type API struct {
	c     Config
	began time.Time
}

// New returns an API.
func New(c Config) *API {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &API{c: c, began: c.Now()}
}

func (p *API) now() int64 { return p.c.Now().UnixMilli() }

// Routes returns the routes of the API.
func (p *API) Routes() []auth.Route {
	return []auth.Route{
		{Method: "POST", Path: "/auth/login", Right: auth.Open, Handle: p.login},
		{Method: "POST", Path: "/auth/exchange", Right: auth.Open, Handle: p.exchange},
		{Method: "POST", Path: "/auth/logout", Right: auth.Self, Handle: p.logout},
		{Method: "GET", Path: "/auth/me", Right: auth.Self, Handle: p.me},
		{Method: "POST", Path: "/auth/ticket", Right: auth.Self, Handle: p.ticket},
		{Method: "POST", Path: "/auth/setup", Right: auth.Open, Handle: p.setup},
		{Method: "POST", Path: "/tokens", Right: auth.ManageTokens, Handle: p.makeToken},
		{Method: "GET", Path: "/tokens", Right: auth.ManageTokens, Handle: p.tokens},
		{Method: "DELETE", Path: "/tokens/{id}", Right: auth.ManageTokens, Handle: p.revoke},
		{Method: "POST", Path: "/users", Right: auth.ManageUsers, Handle: p.putUser},
		{Method: "GET", Path: "/users", Right: auth.ManageUsers, Handle: p.users},
		{Method: "DELETE", Path: "/users/{name}", Right: auth.ManageUsers, Handle: p.removeUser},
		{Method: "POST", Path: "/hosts/{id}", Right: auth.ManageMachines, Handle: p.nameMachine},
		{Method: "DELETE", Path: "/hosts/{id}", Right: auth.ManageMachines, Handle: p.removeMachine},
		{Method: "GET", Path: "/audit", Right: auth.ReadAudit, Handle: p.audit},
		{Method: "GET", Path: "/metrics", Right: auth.ReadMetrics, Handle: p.metrics},
	}
}

// noContent sends a response with status 204 and no body.
func noContent(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }

// stamp formats a time in Unix ms as RFC 3339 in UTC.
func stamp(ms int64) string { return protocol.Timestamp(time.UnixMilli(ms)) }
