// Package llm performs the requests that agents make of models
// (effect.AgentCall): it finds the connection and the model, speaks the
// provider's wire form, tries again where that can help, and turns every
// failure into an AgentError. The tool loop, memory and the re-prompting of
// structured output lie above it, in Concerto code.
//
// Keys come from the environment by the name that a connection gives, are read
// at the time of the call, and occur in no error, log or request record.
//
// # Scripted replies
//
// The provider "scripted" plays replies from the manifest, so that examples
// and tests run without a network or a key. A request takes the first reply in
// the list that is not used up and that fits: whose `match`, a regular
// expression, is found in the prompt (the last user message), and whose
// `agent` is the asking agent. A reply with `repeat` is never used up. When
// none fits, the call fails and says which prompt found no reply.
//
// A scripted connection without any replies echoes: it answers "scripted reply
// to: " and the prompt, or, when a schema is asked for, the smallest value that
// the schema allows. The connection named "scripted" exists in every program,
// in this mode, unless the manifest defines it.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/internal/spell"
)

// Connection is a way to a model, as the manifest's [connections.X] says it.
// Timeout is in seconds for one call with all its attempts; 0 means
// DefaultTimeout. Origin is the place of the section for messages
// ("Concerto.toml:8"), or "".
type Connection struct {
	Name         string            `json:"-"`
	Provider     string            `json:"provider"`
	APIKeyEnv    string            `json:"api_key_env,omitempty"`
	BaseURL      string            `json:"base_url,omitempty"`
	DefaultModel string            `json:"default_model,omitempty"`
	Timeout      float64           `json:"timeout,omitempty"`
	Organization string            `json:"organization,omitempty"`
	Project      string            `json:"project,omitempty"`
	Retry        *effect.Retry     `json:"retry,omitempty"`
	RateLimit    *RateLimit        `json:"rate_limit,omitempty"`
	Models       map[string]string `json:"models,omitempty"`  // alias to model
	Replies      json.RawMessage   `json:"replies,omitempty"` // array of scripted replies; nil: echo
	Origin       string            `json:"origin,omitempty"`
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

// DefaultTimeout bounds a call for which neither agent nor connection says how
// long it may take, in seconds.
const DefaultTimeout = 120.0

// Config is what a Client needs of the world. Only Getenv must be given.
type Config struct {
	Connections []Connection
	Getenv      func(name string) (value string, set bool)
	HTTP        *http.Client                                     // nil: one of its own
	Now         func() time.Time                                 // nil: time.Now
	Sleep       func(ctx context.Context, d time.Duration) error // nil: a timer; gives ctx.Err() when ctx ends first
}

// Client performs effect.AgentCall. It is safe for concurrent use.
type Client struct {
	cfg   Config
	mu    sync.Mutex
	ready map[string]*line
	http  *http.Client

	started sync.WaitGroup // calls that Start began
}

// line is a connection in use.
type line struct {
	Connection
	provider Provider
	limiter  *limiter
}

// New makes a Client. Connections are opened when first used.
func New(cfg Config) *Client {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	return &Client{cfg: cfg, ready: map[string]*line{}}
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close drops idle network connections. Calls in flight end with their
// contexts.
func (c *Client) Close() {
	c.started.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// Perform asks a model: r must be an *effect.AgentCall, the result is an
// *effect.AgentReply. What goes wrong is an *effect.Error of kind AgentError
// with the fields model, provider, status, retryable and raw_response; when
// ctx ends, its cause is returned.
func (c *Client) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	call, ok := r.(*effect.AgentCall)
	if !ok {
		return nil, fmt.Errorf("llm: a request of kind %s is not for a model", r.Kind())
	}
	return c.ask(ctx, &Request{AgentCall: call})
}

// Start begins a call of a scripted connection: the reply is chosen at once, so
// that calls made beside each other use the script up in their order.
func (c *Client) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	call, ok := r.(*effect.AgentCall)
	if !ok {
		return nil, false
	}
	l, err := c.line(call.Connection)
	if err != nil {
		return nil, false
	}
	s, ok := l.provider.(*scripted)
	if !ok {
		return nil, false
	}
	req := &Request{AgentCall: call}
	req.chosen = s.choose(req)
	ctx, stop = context.WithCancel(ctx)
	c.started.Go(func() {
		done(c.ask(ctx, req))
		stop()
	})
	return stop, true
}

func (c *Client) ask(ctx context.Context, req *Request) (effect.Result, error) {
	start, call := c.cfg.Now(), req.AgentCall
	l, err := c.line(call.Connection)
	if err != nil {
		return nil, err
	}
	if req.Model, err = l.model(call); err != nil {
		return nil, err
	}
	seconds := firstPositive(call.Timeout, l.Timeout, DefaultTimeout)
	inner, cancel := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
	defer cancel()
	reply, err := c.attempts(inner, l, req)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case inner.Err() != nil:
		return nil, timedOut(l, req, seconds, err)
	default:
		return nil, l.agentError(req, err)
	}
	reply.Provider = l.Name
	if reply.Model == "" {
		reply.Model = req.Model
	}
	reply.LatencyMS = c.cfg.Now().Sub(start).Milliseconds()
	return reply, nil
}

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
	open := providers[conn.Provider]
	if open == nil {
		return nil, effect.Errorf("AgentError", "connection '%s'%s has an unknown provider %q", name, conn.at(), conn.Provider).
			With("provider", name).With("retryable", false)
	}
	if c.http == nil {
		c.http = c.cfg.HTTP
		if c.http == nil {
			c.http = newHTTP()
		}
	}
	l := &line{Connection: conn}
	p, err := open(&l.Connection, &world{getenv: c.cfg.Getenv, http: c.http, sleep: c.cfg.Sleep})
	if err != nil {
		return nil, effect.Errorf("AgentError", "connection '%s'%s: %v", name, conn.at(), err).
			With("provider", name).With("retryable", false)
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
	if near := spell.Nearest(name, append(names, Builtin)); near != "" {
		hint = fmt.Sprintf("did you mean '%s'?", near)
	}
	return effect.Errorf("AgentError", "unknown connection '%s': %s", name, hint).
		With("provider", name).With("retryable", false)
}

// at is the connection's place in brackets, for messages.
func (c *Connection) at() string {
	if c.Origin == "" {
		return ""
	}
	return " (" + c.Origin + ")"
}

// model is the model to ask: the agent's, which may be an alias, or the
// connection's.
func (l *line) model(call *effect.AgentCall) (string, error) {
	model := call.Model
	if model == "" {
		model = l.DefaultModel
	}
	if full, ok := l.Models[model]; ok {
		return full, nil
	}
	if model == "" && l.Provider == "scripted" {
		return "scripted", nil
	}
	if model == "" {
		return "", effect.Errorf("AgentError", "agent '%s' names no model and connection '%s'%s has no default_model: add one of them",
			call.Agent, l.Name, l.at()).With("provider", l.Name).With("retryable", false)
	}
	return model, nil
}

// timedOut is the error of a call that took too long.
func timedOut(l *line, req *Request, seconds float64, err error) error {
	message := fmt.Sprintf("agent '%s' timed out after %s seconds (connection '%s', model %s)",
		req.Agent, strings.TrimSuffix(fmt.Sprintf("%.3f", seconds), ".000"), l.Name, req.Model)
	var f *Failure
	if errors.As(err, &f) && !f.deadline {
		message += "; the last attempt: " + f.Error()
	}
	e := effect.Errorf("AgentError", "%s", message)
	e.Status, e.Cause = effect.Unknown, context.DeadlineExceeded
	return e.With("model", req.Model).With("provider", l.Name).With("retryable", true)
}
