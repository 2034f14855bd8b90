package server

import (
	"context"
	"net/http"

	"github.com/concerto-lang/concerto/relay/server/auth"
)

// Auth says who asks: relay/server/auth does.
type Auth interface {
	Authenticate(r *http.Request) (*auth.Identity, error)
	Host(ctx context.Context, id, token string, r *http.Request) error
	// HostByKey begins to let a host in that proves its key.
	HostByKey(ctx context.Context, id string, r *http.Request) (auth.Proof, error)
	// Watch calls ended once when credentials have ended, until stop is called.
	Watch(id *auth.Identity, ended func()) (stop func())
	// Refused is told who was refused what.
	Refused(ctx context.Context, id *auth.Identity, right auth.Right, run string)
}
