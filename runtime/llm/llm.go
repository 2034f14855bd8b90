// Package llm performs the requests of agents to models (effect.AgentCall); its API promises
// nothing. It selects the connection and the model, implements the providers' APIs, retries where
// that can help, and converts every failure to an AgentError. The tool loop, memory and the
// repeated requests for structured output are implemented above it, in Concerto code.
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

// Connection describes how to reach a model: [connections.X] of the manifest. All times are in
// seconds. Timeout limits one call with all its attempts; 0 means DefaultTimeout. ConnectTimeout
// limits connecting; 0 means 10. FirstTokenTimeout limits the wait for the beginning of a reply; 0
// means no limit. Origin is the position of the section, for messages ("Concerto.toml:8"), or "".
type Connection struct {
	Name      string `json:"-"`
	Provider  string `json:"provider"`
	APIKeyEnv string `json:"api_key_env,omitempty"`
	// a command that prints the key
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
	// connections that are asked after a failure, in order
	Fallback []string          `json:"fallback,omitempty"`
	Prices   map[string]Price  `json:"prices,omitempty"` // by model
	Models   map[string]string `json:"models,omitempty"` // model by alias
	// array of scripted replies; nil means echo
	Replies json.RawMessage `json:"replies,omitempty"`
	Adds
	Origin string `json:"origin,omitempty"`
	// Function, if not nil, answers in place of the provider.
	Function Function `json:"-"`
}

// Adds is what a connection adds to its requests: headers, headers with values from environment
// variables, and Extra, members of the body as a JSON object. APIVersion and Location are parts of
// the address.
type Adds struct {
	Headers    map[string]string `json:"headers,omitempty"`
	HeadersEnv map[string]string `json:"headers_env,omitempty"`
	Extra      json.RawMessage   `json:"extra,omitempty"`
	APIVersion string            `json:"api_version,omitempty"`
	Location   string            `json:"location,omitempty"`
}

// ParseConnection parses a connection in the IR's form: the JSON object that
// manifest.Connection.Config returns.
func ParseConnection(name string, config []byte) (Connection, error) {
	c := Connection{Name: name}
	if err := json.Unmarshal(config, &c); err != nil {
		return c, fmt.Errorf("could not read connection %s: %w", name, err)
	}
	return c, nil
}

// KeyVariables returns the environment variables that contain the connection's key. Requests to
// Bedrock are signed with AWS's credentials if the connection names no key.
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

// WithRegion returns the connections with the environment's region for those of Bedrock that name
// none.
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

// DefaultTimeout limits a call, in seconds, if neither the agent nor the connection sets a timeout.
const DefaultTimeout = 120.0

// Config configures a Client. Only Getenv is required.
type Config struct {
	Connections []Connection
	Getenv      func(name string) (value string, set bool)
	HTTP        *http.Transport      // nil means one for each connection
	Clock       *clock.PausableClock // measures time limits and waits; nil means the system's clock
	Now         func() time.Time     // nil means the Clock's
	// nil means the Clock's; returns ctx.Err() if ctx ends first
	Sleep  func(ctx context.Context, d time.Duration) error
	Jitter func() float64 // a random number from 0 to 1; nil means math/rand
	Meter  Meter          // nil counts nothing
	// removed from responses; a key is added before it is sent. nil means a new set
	Secrets *secret.Set
	OnEvent func(Event) // receives the events of each attempt, from any goroutine; may be nil
	// runs a token_command; nil runs none
	Output func(ctx context.Context, command []string) (string, error)
	// returns why a connection may not be used, or ""; nil allows all
	Refused func(connection string) string
}

// Client performs the requests of agents to models. It is safe for concurrent use.
type Client struct {
	cfg   Config
	mu    sync.Mutex
	ready map[string]*line

	started   sync.WaitGroup // calls and streams begun by Start and openStream
	streams   streams
	deadlines deadlines

	unkeyed atomic.Pointer[string] // the message about the first missing key
}

func (c *Client) noKey(message string) { c.unkeyed.CompareAndSwap(nil, &message) }

// Unkeyed returns the error message for the first missing key, or "".
func (c *Client) Unkeyed() string {
	if m := c.unkeyed.Load(); m != nil {
		return *m
	}
	return ""
}

// line is an open connection.
type line struct {
	Connection
	provider Provider
	limiter  *limiter
	http     *http.Transport
}

// New returns a Client. Connections are opened at their first use.
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
	c := &Client{cfg: cfg, ready: map[string]*line{}, streams: streams{open: map[int64]*stream{}}, deadlines: deadlines{clock: cfg.Clock}}
	if cfg.HTTP == nil {
		c.deadlines.idle = c.closeIdle
	}
	return c
}

// Close aborts open streams, waits for the calls begun by Start, and closes idle network
// connections. The contexts must end those calls: Close does not.
func (c *Client) Close() {
	c.streams.closeAll()
	c.started.Wait()
	c.deadlines.stopTimer()
	c.closeIdle()
}

// closeIdle closes idle connections.
func (c *Client) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.ready {
		if l.http != nil {
			l.http.CloseIdleConnections()
		}
	}
}

// Perform performs a request to a model. The result of an *effect.AgentCall is an
// *effect.AgentReply; the requests of streams have their own results. A failure is an *effect.Error
// of kind AgentError with the fields model, provider, reason (a Class), status, retryable,
// request_id and raw_response. If ctx ends, Perform returns its cause.
func (c *Client) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.AgentCall:
		return c.askConnections(ctx, &Request{AgentCall: r}, nil)
	case *effect.StreamOpen:
		return c.openStream(ctx, &r.AgentCall)
	case *effect.StreamNext:
		return c.nextPiece(ctx, r.ID)
	case *effect.StreamClose:
		c.streams.endStream(r.ID)
		return nil, nil
	}
	return nil, &effect.UnperformedError{Who: "the models' client", Kind: r.Kind()}
}

// Start begins a call of a scripted connection. The reply is chosen before Start returns, so that
// concurrent calls use the script in their order. ok is false for any other request.
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

// choose chooses the reply of a scripted connection, and returns false for any other.
func (c *Client) choose(req *Request) bool {
	l, err := c.openLine(req.Connection)
	if err != nil {
		return false
	}
	s, ok := l.provider.(*scripted)
	if ok {
		req.chosen = s.choose(req)
	}
	return ok
}

// seconds converts a number of seconds.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func firstPositive(xs ...float64) float64 {
	for _, x := range xs {
		if x > 0 {
			return x
		}
	}
	return 0
}

// openLine returns an open connection, and opens it if necessary.
func (c *Client) openLine(name string) (*line, error) {
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
	l := &line{Connection: conn, http: c.cfg.HTTP}
	if l.http == nil {
		l.http = newHTTP(&conn)
	}
	if f := conn.Function; f != nil {
		open = func(*Connection, *world) (Provider, error) { return f, nil }
	}
	p, err := open(&l.Connection, &world{getenv: c.cfg.Getenv, http: l.http, sleep: c.cfg.Sleep, clock: c.cfg.Clock, secrets: c.cfg.Secrets, unkeyed: c.noKey, output: c.cfg.Output})
	if err != nil {
		return nil, configError(name, "connection '%s'%s: %v", name, conn.sectionName(), err)
	}
	l.provider = p
	if conn.RateLimit != nil {
		l.limiter = newLimiter(*conn.RateLimit, c.cfg.Now, c.cfg.Sleep)
	}
	c.ready[name] = l
	return l, nil
}

func (c *Client) findConnection(name string) (Connection, bool) {
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

// sectionName returns the position of the connection's section in brackets, for messages.
func (c *Connection) sectionName() string {
	if c.Origin == "" {
		return ""
	}
	return " (" + c.Origin + ")"
}
