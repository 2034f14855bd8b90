// Package push sends push messages about runs to browsers. A subscribed browser receives a message
// for each new request, a second message when the request is closed, and a message at the end of
// each run that its user started. Messages are encrypted for the browser (RFC 8291) and signed (RFC
// 8292).
//
// Each notification about a run triggers a check of the store, which records the messages that were
// sent. Therefore only one of several servers sends a message. After a restart, a message is sent
// again only if no push service had responded to it. No other part of the server waits for push
// messages.
package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Config configures a Push.
type Config struct {
	Store    *store.Store
	Auth     *auth.Auth
	Public   *url.URL // the public URL; nil if there is none
	Insecure bool     // accept HTTP endpoints and private addresses
	Now      func() time.Time
	// Wall returns the wall-clock time, which tokens contain; nil means time.Now.
	Wall  func() time.Time
	After func(time.Duration, func()) (stop func() bool) // starts a timer; nil means time.AfterFunc
	// Dial connects to push services; nil means a dialer that refuses private addresses, unless
	// Insecure is set.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger
}

// Push serves subscriptions and sends messages. It is safe for concurrent use.
type Push struct {
	c    Config
	send *sender
	id   *identity

	mu     sync.Mutex
	hints  map[string]struct{} // ids of the runs to check
	starts map[string]string   // users by the runs that they started, which are not stored yet
	wake   chan struct{}
	done   chan struct{}
}

// New starts a Push. Close stops it; the end of ctx does not.
func New(ctx context.Context, c Config) (*Push, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Wall == nil {
		c.Wall = time.Now
	}
	if c.After == nil {
		c.After = func(d time.Duration, do func()) func() bool { return time.AfterFunc(d, do).Stop }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Dial == nil {
		c.Dial = newDialer(c.Insecure).DialContext
	}
	subject := "mailto:concerto-relay@localhost.invalid"
	if c.Public != nil && c.Public.Scheme == "https" {
		subject = protocol.OriginOf(c.Public)
	}
	id, err := loadIdentity(ctx, c.Store, subject)
	if err != nil {
		return nil, err
	}
	p := &Push{c: c, id: id, hints: map[string]struct{}{}, starts: map[string]string{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	p.send = &sender{id: id, client: newClient(c.Dial), now: c.Now, wall: c.Wall, after: c.After, onUnsubscribed: p.removeSubscription, log: c.Log}
	p.send.start(ctx)
	go p.run()
	return p, nil
}

// Close stops sending. The next start sends the messages that are still relevant.
func (p *Push) Close() {
	p.send.stop()
	<-p.done
}

// Routes returns the routes of the push API.
func (p *Push) Routes() []auth.Route {
	return []auth.Route{
		{Method: "GET", Path: "/push/key", Right: auth.Self, Handle: p.key},
		{Method: "POST", Path: "/push/subscriptions", Right: auth.Self, Handle: p.subscribe},
		{Method: "DELETE", Path: "/push/subscriptions", Right: auth.Self, Handle: p.unsubscribe},
	}
}

func (p *Push) key(w http.ResponseWriter, _ *http.Request, _ *auth.Identity) {
	httpguard.Answer(w, http.StatusOK, map[string]string{"key": p.id.public})
}

// subscription is a browser's PushSubscription in JSON, with its devices in accounts.
type subscription struct {
	Devices  []string `json:"devices"` // if it is missing, the stored ones remain
	Endpoint string   `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
}

func (p *Push) subscribe(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	var in subscription
	err := auth.Body(w, r, &in)
	if err == nil {
		err = p.check(&in)
	}
	if err == nil {
		sub := store.Subscription{Endpoint: in.Endpoint, User: id.Name, Token: id.ID, P256dh: in.Keys.P256dh, Auth: in.Keys.Auth, Created: p.c.Now().UnixMilli(), Devices: in.Devices}
		err = p.c.Store.AddSubscription(r.Context(), sub, protocol.MaxSubscriptions)
	}
	switch {
	case errors.Is(err, store.ErrTooMany):
		err = &httpguard.Refusal{Code: "too_many", Why: fmt.Sprintf("a user has at most %d subscriptions: remove one", protocol.MaxSubscriptions), Status: http.StatusConflict}
	case errors.Is(err, store.ErrConflict):
		err = &httpguard.Refusal{Code: protocol.InputConflict, Why: "the endpoint belongs to another user: subscribe again"}
	}
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// maxDevices is the maximum number of devices of a subscription: one for each account.
const maxDevices = 16

func (p *Push) check(in *subscription) error {
	if len(in.Devices) > maxDevices || slices.ContainsFunc(in.Devices, func(id string) bool { return !protocol.IsID(id) }) {
		return httpguard.Refused(protocol.BadMessage, "devices must be at most %d ids of devices", maxDevices)
	}
	_, err := endpointOf(in.Endpoint, p.c.Insecure)
	if err == nil {
		_, err = parseReceiver(in.Keys.P256dh, in.Keys.Auth)
	}
	if err != nil {
		return httpguard.Refused(protocol.BadMessage, "%v", err)
	}
	return nil
}

func (p *Push) unsubscribe(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	var in subscription
	err := auth.Body(w, r, &in)
	if err == nil && in.Endpoint == "" {
		err = httpguard.Refused(protocol.BadMessage, "endpoint: it is missing")
	}
	if err == nil {
		err = p.c.Store.RemoveSubscription(r.Context(), id.Name, in.Endpoint)
	}
	if errors.Is(err, store.ErrUnknown) {
		err = &httpguard.Refusal{Code: "unknown_subscription", Why: "there is no such subscription of yours", Status: http.StatusNotFound}
	}
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// removeSubscription removes a subscription that the push service no longer knows.
func (p *Push) removeSubscription(ctx context.Context, endpoint string) {
	if err := p.c.Store.RemoveSubscription(ctx, "", endpoint); err != nil && !errors.Is(err, store.ErrUnknown) && ctx.Err() == nil {
		p.c.Log.Error("could not delete a push subscription", "error", err)
	}
}
