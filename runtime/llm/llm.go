// Package llm performs the requests of agents to models (effect.AgentCall). It selects the
// connection and the model, implements the providers' APIs, retries where that can help, and
// converts every failure to an AgentError. The tool loop, memory and the repeated requests for
// structured output are implemented above it, in Concerto code.
//
// A key is read for each call from the environment variable that its connection names. It appears
// in no error, log or request record.
//
// # Scripted replies
//
// The provider "scripted" plays replies from the manifest, so that examples and tests run without a
// network or a key. A request uses the first unused reply that matches: its `match`, a regular
// expression, is found in the prompt (the last user message), and its `agent` is the calling agent.
// A reply with `repeat` can be used any number of times. If none matches, the call fails with an
// error that quotes the prompt.
//
// A scripted connection without replies echoes. It answers "scripted reply to: " and the prompt or,
// if a schema is requested, a small valid value. Every program has a connection "scripted" that
// echoes, unless the manifest defines one with that name.
package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// Connection describes how to reach a model. It is a section [connections.X] of the manifest. All
// times are in seconds. Timeout limits one call with all its attempts; 0 means DefaultTimeout.
// ConnectTimeout limits connecting; 0 means 10. FirstTokenTimeout limits the wait for the beginning
// of a reply; 0 means no limit. Origin is the position of the section for error texts, like
// "Concerto.toml:8", or "".
type Connection struct {
	Name      string `json:"-"`
	Provider  string `json:"provider"`
	APIKeyEnv string `json:"api_key_env,omitempty"`
	// command that prints the key, with its arguments
	TokenCommand      []string      `json:"token_command,omitempty"`
	BaseURL           string        `json:"base_url,omitempty"`
	DefaultModel      string        `json:"default_model,omitempty"`
	Timeout           float64       `json:"timeout,omitempty"`
	ConnectTimeout    float64       `json:"connect_timeout,omitempty"`
	FirstTokenTimeout float64       `json:"first_token_timeout,omitempty"`
	Organization      string        `json:"organization,omitempty"`
	Project           string        `json:"project,omitempty"`
	Retry             *effect.Retry `json:"retry,omitempty"`
	RateLimit         *RateLimit    `json:"rate_limit,omitempty"`
	// connections that are called after a failure, in order
	Fallback []string                `json:"fallback,omitempty"`
	Prices   map[string]models.Rates `json:"prices,omitempty"` // by model
	Models   map[string]string       `json:"models,omitempty"` // model by alias
	// settings of models, by patterns of their names
	ModelSettings models.Overrides `json:"model_settings,omitempty"`
	// array of scripted replies; nil means that the connection echoes
	Replies json.RawMessage `json:"replies,omitempty"`
	Adds
	Origin string `json:"origin,omitempty"`
	// Function answers the requests instead of the provider; nil for none.
	Function Function `json:"-"`
}

// Adds contains additions to the requests of a connection: headers, headers with values from
// environment variables, and Extra, members of the body as a JSON object. API is a value of
// models.Endpoint, or "". Cache is models.CacheOff, models.CacheHour, models.Auto or "", which
// means the same. APIVersion and Location are parts of the address.
type Adds struct {
	Headers     map[string]string `json:"headers,omitempty"`
	HeadersEnv  map[string]string `json:"headers_env,omitempty"`
	Extra       json.RawMessage   `json:"extra,omitempty"`
	ServiceTier string            `json:"service_tier,omitempty"`
	API         string            `json:"api,omitempty"`
	Cache       string            `json:"cache,omitempty"`
	APIVersion  string            `json:"api_version,omitempty"`
	Location    string            `json:"location,omitempty"`
}

// ParseConnection parses a connection in the form of the IR, which is the JSON object that
// manifest.Connection.Embedded returns.
func ParseConnection(name string, config []byte) (Connection, error) {
	c := Connection{Name: name}
	if err := json.Unmarshal(config, &c); err != nil {
		return c, fmt.Errorf("could not read connection %s: %w", name, err)
	}
	return c, nil
}

// endpoint returns what determines the API of the connection and what its models accept.
func (c *Connection) endpoint() models.Endpoint {
	return models.Endpoint{Provider: c.Provider, API: c.API, BaseURL: c.BaseURL, APIVersion: c.APIVersion, Models: c.ModelSettings}
}

// KeyVariables returns the names of the environment variables that contain the connection's key. If
// a Bedrock connection names no key, these are the variables of AWS's credentials, with which its
// requests are signed.
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

// WithRegion returns the connections. Bedrock connections without a region receive the region in
// the environment.
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

// DefaultTimeout is the time limit of a call, in seconds, if neither the agent nor the connection
// sets one.
const DefaultTimeout = 600.0

// Config configures a Client. Only Getenv is required.
type Config struct {
	Connections []Connection
	Getenv      func(name string) (value string, set bool)
	HTTP        *http.Transport      // transport for all connections; nil means a separate one for each connection
	Clock       *clock.PausableClock // clock for time limits and waits; nil means the system's clock
	Now         func() time.Time     // returns the current time; nil means the Clock's
	// waits for d, or returns ctx.Err() if ctx ends first; nil means the Clock's
	Sleep  func(ctx context.Context, d time.Duration) error
	Jitter func() float64 // returns a random number between 0 and 1; nil means math/rand
	Meter  Meter          // limits and counts the attempts; nil means no limit
	// secrets that are removed from responses; a key is added before it is sent; nil means a new
	// set
	Secrets *secret.Set
	Log     func(level, line string) // receives lines for the log of the run; may be nil
	OnEvent func(Event)              // receives the events of each attempt, from any goroutine; may be nil
	// runs a token_command and returns its output; nil means that no such command may run
	Output func(ctx context.Context, command []string) (string, error)
	// returns the reason why a connection must not be used, or ""; nil permits all connections
	Refused func(connection string) string
	// Pool is shared with other clients; nil means that nothing is shared.
	Pool *Pool
}

// Client performs the requests of agents to models. It is safe for concurrent use.
type Client struct {
	cfg   Config
	mu    sync.Mutex
	ready map[string]*route

	started   sync.WaitGroup // counts the calls and streams that Start and openStream have begun
	streams   streams
	deadlines deadlines

	unkeyed atomic.Pointer[string] // error text for the first missing key; nil if none was missing
}

func (c *Client) noKey(message string) { c.unkeyed.CompareAndSwap(nil, &message) }

// Unkeyed returns the error text for the first missing key, or "".
func (c *Client) Unkeyed() string {
	if m := c.unkeyed.Load(); m != nil {
		return *m
	}
	return ""
}

// route is a connection with its opened provider.
type route struct {
	Connection
	provider Provider
	shared   *shared
}

// shared is what the clients of a Pool share of a connection.
type shared struct {
	limiter *limiter // nil without rate_limit
	http    *http.Transport
	refused refusals
}

// New returns a Client. It opens a connection when the connection is first used.
func New(cfg Config) *Client {
	if cfg.Secrets == nil {
		cfg.Secrets = &secret.Set{}
	}
	if cfg.Now == nil {
		cfg.Now = cfg.Clock.Now
	}
	if cfg.Sleep == nil {
		cfg.Sleep = func(ctx context.Context, d time.Duration) error {
			if cfg.Clock.Sleep(ctx, d) != nil {
				return ctx.Err()
			}
			return nil
		}
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	c := &Client{cfg: cfg, ready: map[string]*route{}, streams: streams{open: map[int64]*stream{}}, deadlines: deadlines{clock: cfg.Clock}}
	if cfg.HTTP == nil {
		c.deadlines.idle = c.closeIdle
	}
	return c
}

// Close aborts open streams, waits for the calls begun by Start, and closes idle network
// connections. It does not cancel those calls; their contexts must end.
func (c *Client) Close() {
	c.streams.closeAll()
	c.started.Wait()
	c.deadlines.stopTimer()
	c.closeIdle()
}

// closeIdle closes idle network connections.
func (c *Client) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.ready {
		if c.cfg.Pool == nil {
			l.shared.http.CloseIdleConnections()
		}
	}
}

// Perform performs a request to a model. The result for an *effect.AgentCall is an
// *effect.AgentReply; the requests of streams have other results. A failure is an *effect.Error of
// kind AgentError with the fields model, provider, reason (a Class), status, retryable, request_id
// and raw_response. If ctx ends, Perform returns ctx's cause.
func (c *Client) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.AgentCall:
		return c.askConnections(ctx, &Request{AgentCall: r}, nil)
	case *effect.StreamOpen:
		return c.openStream(ctx, &r.AgentCall)
	case *effect.StreamNext:
		return c.nextPiece(ctx, r.ID)
	case *effect.StreamClose:
		return c.closeStream(r.ID), nil
	}
	return nil, &effect.UnperformedError{Who: "the models' client", Kind: r.Kind()}
}

// Start begins a call of a scripted connection. It chooses the reply before it returns, so that
// concurrent calls use the replies in the order of their starts. ok is false for all other
// requests.
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
		done(c.askConnections(ctx, req, nil))
		stop()
	})
	return stop, true
}

// choose chooses the reply of a scripted connection. It returns false for any other connection.
func (c *Client) choose(req *Request) bool {
	l, err := c.openRoute(req.Connection)
	if err != nil {
		return false
	}
	s, ok := l.provider.(*scripted)
	if ok {
		req.chosen = s.choose(req)
	}
	return ok
}

// seconds converts a number of seconds to a Duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func firstPositive(xs ...float64) float64 {
	for _, x := range xs {
		if x > 0 {
			return x
		}
	}
	return 0
}

// openRoute returns the route of a connection, and opens it at the first call.
func (c *Client) openRoute(name string) (*route, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.ready[name]; l != nil {
		return l, nil
	}
	conn, ok := c.findConnection(name)
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
		return nil, configError(name, "connection '%s'%s has an unknown provider %q", name, conn.sectionName(), conn.Provider)
	}
	l := &route{Connection: conn}
	if c.cfg.Pool != nil {
		l.shared = c.cfg.Pool.share(&conn, &c.cfg)
	} else {
		l.shared = newShared(&conn, &c.cfg)
	}
	if f := conn.Function; f != nil {
		open = func(*Connection, *world) (Provider, error) { return f, nil }
	}
	p, err := open(&l.Connection, &world{getenv: c.cfg.Getenv, http: l.shared.http, refused: &l.shared.refused, sleep: c.cfg.Sleep, clock: c.cfg.Clock, secrets: c.cfg.Secrets, unkeyed: c.noKey, log: c.cfg.Log, output: c.cfg.Output})
	if err != nil {
		return nil, configError(name, "connection '%s'%s: %v", name, conn.sectionName(), err)
	}
	l.provider = p
	c.ready[name] = l
	return l, nil
}

func newShared(conn *Connection, c *Config) *shared {
	s := &shared{http: c.HTTP}
	if s.http == nil {
		s.http = newHTTP(conn)
	}
	if conn.RateLimit != nil {
		s.limiter = newLimiter(*conn.RateLimit, c.Now, c.Sleep)
	}
	return s
}

// Pool shares between clients that have the same connections: the rate limits, the network
// connections, and what providers have refused. The zero value is ready for use. It is safe for
// concurrent use.
type Pool struct {
	mu     sync.Mutex
	shared map[string]*shared // by name of the connection
}

// Close closes the network connections that are not in use.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shared {
		s.http.CloseIdleConnections()
	}
}

// share returns what the clients of a connection share.
func (p *Pool) share(conn *Connection, c *Config) *shared {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shared[conn.Name]
	if s == nil {
		s = newShared(conn, c)
		if p.shared == nil {
			p.shared = map[string]*shared{}
		}
		p.shared[conn.Name] = s
	}
	return s
}

func (c *Client) findConnection(name string) (Connection, bool) {
	i := slices.IndexFunc(c.cfg.Connections, func(x Connection) bool { return x.Name == name })
	if i >= 0 {
		return c.cfg.Connections[i], true
	}
	return Connection{Name: Builtin, Provider: "scripted"}, name == Builtin
}

// Builtin is the name of the connection that exists even without a manifest.
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

// sectionName returns the position of the connection's section in brackets, for error texts.
func (c *Connection) sectionName() string {
	if c.Origin == "" {
		return ""
	}
	return " (" + c.Origin + ")"
}
