// Package llm performs the requests that agents make of models
// (effect.AgentCall); its API promises nothing. It finds the connection and the
// model, speaks the provider's API, retries where that can help, and turns every
// failure into an AgentError. The tool loop, memory and the re-prompting of
// structured output are above it, in Concerto code.
//
// A key comes from the environment variable that its connection names, and is
// read for each call. It occurs in no error, log or request record.
//
// # Scripted replies
//
// The provider "scripted" plays replies from the manifest, so that examples and
// tests run without a network or a key. A request takes the first unused reply
// that fits: its `match`, a regular expression, is found in the prompt (the last
// user message), and its `agent` is the asking agent. A reply with `repeat` can
// be used any number of times. When none fits, the call fails with an error that
// names the prompt.
//
// A scripted connection without replies echoes. It answers "scripted reply to: "
// and the prompt or, when a schema is asked for, a small value that the schema
// allows. Every program has a connection "scripted" that echoes, unless the
// manifest defines one of that name.
package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// Connection is a way to a model, as the manifest's [connections.X] gives it.
// All times are in seconds. Timeout is for one call with all its attempts; 0
// means DefaultTimeout. ConnectTimeout is for making the connection; 0 means 10.
// FirstTokenTimeout is for a reply to begin; 0 means no bound. Origin is the
// section's place, for messages ("Concerto.toml:8"), or "".
type Connection struct {
	Name              string            `json:"-"`
	Provider          string            `json:"provider"`
	APIKeyEnv         string            `json:"api_key_env,omitempty"`
	TokenCommand      []string          `json:"token_command,omitempty"` // prints the key, in its place
	BaseURL           string            `json:"base_url,omitempty"`
	DefaultModel      string            `json:"default_model,omitempty"`
	Timeout           float64           `json:"timeout,omitempty"`
	ConnectTimeout    float64           `json:"connect_timeout,omitempty"`
	FirstTokenTimeout float64           `json:"first_token_timeout,omitempty"`
	Organization      string            `json:"organization,omitempty"`
	Project           string            `json:"project,omitempty"`
	Retry             *effect.Retry     `json:"retry,omitempty"`
	RateLimit         *RateLimit        `json:"rate_limit,omitempty"`
	Fallback          []string          `json:"fallback,omitempty"` // connections that take over, in this order
	Prices            map[string]Price  `json:"prices,omitempty"`   // by model
	Models            map[string]string `json:"models,omitempty"`   // alias to model
	Replies           json.RawMessage   `json:"replies,omitempty"`  // array of scripted replies; nil: echo
	Adds
	Origin string `json:"origin,omitempty"`
	// Function answers in place of the provider; nil: the provider does.
	Function Function `json:"-"`
}

// Adds is what a connection adds to its requests: headers, headers whose values
// are in environment variables, and Extra, members of the body as a JSON object.
// APIVersion and Location are parts of the address.
type Adds struct {
	Headers    map[string]string `json:"headers,omitempty"`
	HeadersEnv map[string]string `json:"headers_env,omitempty"`
	Extra      json.RawMessage   `json:"extra,omitempty"`
	APIVersion string            `json:"api_version,omitempty"`
	Location   string            `json:"location,omitempty"`
}

// ParseConnection reads a connection as the IR holds it: the JSON object that
// manifest.Connection.Config makes.
func ParseConnection(name string, config []byte) (Connection, error) {
	c := Connection{Name: name}
	if err := json.Unmarshal(config, &c); err != nil {
		return c, fmt.Errorf("read connection %s: %w", name, err)
	}
	return c, nil
}

// KeyVariables are the environment variables that hold the connection's key. Requests
// to Bedrock are signed with AWS's credentials when the connection names no key.
func (c *Connection) KeyVariables() []string {
	switch {
	case c.APIKeyEnv != "":
		return []string{c.APIKeyEnv}
	case c.signs():
		return []string{awsID, awsSecret, awsToken}
	}
	return nil
}

// signs reports whether requests are signed with AWS's credentials.
func (c *Connection) signs() bool {
	return c.Provider == "bedrock" && c.APIKeyEnv == "" && len(c.HeadersEnv) == 0
}

// WithRegion returns the connections with the region of the environment for those of
// Bedrock that name none.
func WithRegion(connections []Connection, getenv func(string) (string, bool)) []Connection {
	connections = slices.Clone(connections)
	for i := range connections {
		c := &connections[i]
		for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
			if v, _ := getenv(name); c.Provider == "bedrock" && c.Location == "" {
				c.Location = v
			}
		}
	}
	return connections
}

// DefaultTimeout bounds a call, in seconds, when neither the agent nor the
// connection sets a timeout.
const DefaultTimeout = 120.0

// Config is what a Client needs of the world. Only Getenv must be given.
type Config struct {
	Connections []Connection
	Getenv      func(name string) (value string, set bool)
	HTTP        *http.Transport                                             // nil: one for each connection
	Hand        *clock.Hand                                                 // what time limits and waits go by; nil: the system's clock
	Now         func() time.Time                                            // nil: the Hand's
	Sleep       func(ctx context.Context, d time.Duration) error            // nil: the Hand's; gives ctx.Err() when ctx ends first
	Jitter      func() float64                                              // chance from 0 to 1; nil: random
	Meter       Meter                                                       // nil: nothing is counted
	Secrets     *secret.Set                                                 // taken out of what comes back; a key is added before it is sent. nil: a set of its own
	Heard       func(Event)                                                 // hears of each attempt, from any goroutine; nil: nobody does
	Output      func(ctx context.Context, command []string) (string, error) // runs a token_command; nil: none is run
	Refused     func(connection string) string                              // why a connection may not be used, "" when it may; nil: all may
}

// Client performs the requests that agents make of models. It is safe for
// concurrent use.
type Client struct {
	cfg   Config
	mu    sync.Mutex
	ready map[string]*line

	started   sync.WaitGroup // calls and streams that Start and open began
	streams   streams
	deadlines deadlines

	unkeyed atomic.Pointer[string] // what was said of the first key that was not there
}

func (c *Client) noKey(message string) { c.unkeyed.CompareAndSwap(nil, &message) }

// Unkeyed is the error message for the first key that was missing when a model
// was asked; "" when none was missing.
func (c *Client) Unkeyed() string {
	if m := c.unkeyed.Load(); m != nil {
		return *m
	}
	return ""
}

// line is a connection in use.
type line struct {
	Connection
	provider Provider
	limiter  *limiter
	http     *http.Transport
}

// New makes a Client. Connections are opened when first used.
func New(cfg Config) *Client {
	if cfg.Secrets == nil {
		cfg.Secrets = &secret.Set{}
	}
	if cfg.Now == nil {
		cfg.Now = cfg.Hand.Now
	}
	if cfg.Sleep == nil {
		cfg.Sleep = func(ctx context.Context, d time.Duration) error {
			if cfg.Hand.Sleep(ctx, d) != nil {
				return ctx.Err()
			}
			return nil
		}
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	c := &Client{cfg: cfg, ready: map[string]*line{}, streams: streams{open: map[int64]*stream{}}, deadlines: deadlines{hand: cfg.Hand}}
	if cfg.HTTP == nil {
		c.deadlines.idle = c.hangUp
	}
	return c
}

// Close aborts open streams, waits for the calls that Start began, and closes
// idle network connections. Contexts must end those calls: Close does not.
func (c *Client) Close() {
	c.streams.close()
	c.started.Wait()
	c.deadlines.close()
	c.hangUp()
}

// hangUp closes connections that no call uses.
func (c *Client) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.ready {
		if l.http != nil {
			l.http.CloseIdleConnections()
		}
	}
}

// Perform performs a request to a model. The result of an *effect.AgentCall is
// an *effect.AgentReply; the requests of streams have results of their own. A
// failure is an *effect.Error of kind AgentError with the fields model,
// provider, reason (a Class), status, retryable, request_id and raw_response.
// When ctx ends, its cause is returned.
func (c *Client) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.AgentCall:
		return c.ask(ctx, &Request{AgentCall: r}, nil)
	case *effect.StreamOpen:
		return c.openStream(ctx, &r.AgentCall)
	case *effect.StreamNext:
		return c.nextPiece(ctx, r.ID)
	case *effect.StreamClose:
		c.streams.end(r.ID)
		return nil, nil
	}
	return nil, &effect.Unperformed{Who: "the models' client", Kind: r.Kind()}
}

// Start begins a call of a scripted connection. The reply is chosen before Start
// returns, so that concurrent calls use the script in the order in which they
// were started. ok is false for any other request.
func (c *Client) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	call, ok := r.(*effect.AgentCall)
	if !ok {
		return nil, false
	}
	req := &Request{AgentCall: call}
	if !c.choose(req) {
		return nil, false
	}
	ctx, stop = context.WithCancel(ctx)
	c.started.Go(func() {
		done(c.ask(ctx, req, nil))
		stop()
	})
	return stop, true
}

// choose chooses the reply of a scripted connection; false when the connection
// is not scripted.
func (c *Client) choose(req *Request) bool {
	l, err := c.line(req.Connection)
	if err != nil {
		return false
	}
	s, ok := l.provider.(*scripted)
	if ok {
		req.chosen = s.choose(req)
	}
	return ok
}

// seconds is a time that the manifest or an agent gives as a number.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func firstPositive(xs ...float64) float64 {
	for _, x := range xs {
		if x > 0 {
			return x
		}
	}
	return 0
}

// line opens a connection, or finds it open.
func (c *Client) line(name string) (*line, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.ready[name]; l != nil {
		return l, nil
	}
	conn, ok := c.find(name)
	if !ok {
		return nil, c.unknown(name)
	}
	if c.cfg.Refused != nil {
		if why := c.cfg.Refused(name); why != "" {
			return nil, configError(name, "connection '%s': %s", name, why).With("reason", string(ClassPermission))
		}
	}
	open := adapters[conn.Provider]
	if open == nil {
		return nil, configError(name, "connection '%s'%s has an unknown provider %q", name, conn.at(), conn.Provider)
	}
	l := &line{Connection: conn, http: c.cfg.HTTP}
	if l.http == nil {
		l.http = newHTTP(&conn)
	}
	if f := conn.Function; f != nil {
		open = func(*Connection, *world) (Provider, error) { return f, nil }
	}
	p, err := open(&l.Connection, &world{getenv: c.cfg.Getenv, http: l.http, sleep: c.cfg.Sleep, hand: c.cfg.Hand, secrets: c.cfg.Secrets, unkeyed: c.noKey, output: c.cfg.Output})
	if err != nil {
		return nil, configError(name, "connection '%s'%s: %v", name, conn.at(), err)
	}
	l.provider = p
	if conn.RateLimit != nil {
		l.limiter = newLimiter(*conn.RateLimit, c.cfg.Now, c.cfg.Sleep)
	}
	c.ready[name] = l
	return l, nil
}

func (c *Client) find(name string) (Connection, bool) {
	i := slices.IndexFunc(c.cfg.Connections, func(x Connection) bool { return x.Name == name })
	if i >= 0 {
		return c.cfg.Connections[i], true
	}
	return Connection{Name: Builtin, Provider: "scripted"}, name == Builtin
}

// Builtin is the name of the connection that exists without a manifest.
const Builtin = "scripted"

func (c *Client) unknown(name string) error {
	var names []string
	for _, x := range c.cfg.Connections {
		names = append(names, x.Name)
	}
	hint := fmt.Sprintf("add [connections.%s] with a provider to Concerto.toml", name)
	if near := suggest.Nearest(name, append(names, Builtin)); near != "" {
		hint = fmt.Sprintf("did you mean '%s'?", near)
	}
	return configError(name, "unknown connection '%s': %s", name, hint)
}

// at is the connection's place in brackets, for messages.
func (c *Connection) at() string {
	if c.Origin == "" {
		return ""
	}
	return " (" + c.Origin + ")"
}
