// Package mcpport describes MCP servers and the tools that Concerto offers as one, without the
// protocol. Package runtime/mcp implements the protocol and registers itself here, so that only
// programs which import it link it.
package mcpport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// Config describes a server. Fields with a JSON name are keys of [mcp.X]. Timeout limits one call,
// in seconds, including connecting. It does not include the time in which the program answers the
// server's questions. 0 means DefaultTimeout.
type Config struct {
	Name       string            `json:"-"`
	Transport  string            `json:"transport"` // "stdio" or "http"
	Command    string            `json:"command"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`
	Dir        string            `json:"-"` // working directory of a stdio server
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`     // sent with each HTTP request
	HeadersEnv map[string]string `json:"headers_env"` // headers with values from environment variables
	Timeout    float64           `json:"timeout"`
	PassEnv    []string          `json:"pass_env"` // additional variables of the run's environment
	OAuth      *OAuth            `json:"oauth"`    // nil without the section
	// Lists means that the program lists the server's tools, so that changes of the list matter.
	Lists bool `json:"-"`
	// variables that contain other services' keys: a variable is passed on only by its full name
	Keys map[string]bool `json:"-"`
}

// OAuth configures the login to a server. Its fields are keys of [mcp.X.oauth].
type OAuth struct {
	ClientID          string   `json:"client_id"`
	ClientSecretEnv   string   `json:"client_secret_env"`
	ClientMetadataURL string   `json:"client_metadata_url"`
	Scopes            []string `json:"scopes"`
	RedirectPort      int      `json:"redirect_port"`
	Grant             string   `json:"grant"` // "client_credentials", or else a person logs in
}

// Variables returns the names of the environment variables with the secrets of the server, sorted.
func (c *Config) Variables() []string {
	var names []string
	for _, variable := range c.HeadersEnv {
		names = append(names, variable)
	}
	if c.OAuth != nil && c.OAuth.ClientSecretEnv != "" {
		names = append(names, c.OAuth.ClientSecretEnv)
	}
	slices.Sort(names)
	return names
}

// LogsIn reports whether a login may give access to the server: it is connected by HTTP, and no
// header of its section has the credentials.
func (c *Config) LogsIn() bool {
	if c.Transport != "http" {
		return false
	}
	for _, headers := range []map[string]string{c.Headers, c.HeadersEnv} {
		for name := range headers {
			if strings.EqualFold(name, "Authorization") {
				return false
			}
		}
	}
	return true
}

// ParseConfig parses a server in the form of the IR, a JSON object with the keys of the server's
// section. If the object contains no transport, the URL or the command determines it.
func ParseConfig(name string, config json.RawMessage, dir string) (Config, error) {
	c := Config{Name: name, Dir: dir}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &c); err != nil {
			return c, fmt.Errorf("could not read MCP server %s: %w", name, err)
		}
	}
	if dir != "" {
		at, err := filepath.Abs(dir)
		if err != nil {
			return c, fmt.Errorf("could not read MCP server %s: %w", name, err)
		}
		for i, arg := range c.Args {
			c.Args[i] = strings.ReplaceAll(arg, "${manifest_dir}", at)
		}
		for name, value := range c.Env {
			c.Env[name] = strings.ReplaceAll(value, "${manifest_dir}", at)
		}
	}
	switch {
	case c.Transport != "":
	case c.URL != "":
		c.Transport = "http"
	default:
		c.Transport = "stdio"
	}
	return c, nil
}

// DefaultTimeout is the default time limit of a call.
const DefaultTimeout = 60 * time.Second

// Limit returns the time limit of a call.
func (c *Config) Limit() time.Duration {
	if c.Timeout <= 0 {
		return DefaultTimeout
	}
	return time.Duration(c.Timeout * float64(time.Second))
}

// Options configures Servers.
type Options struct {
	Configs []Config
	Environ []string
	Run     *procgroup.Run // run that the servers' processes belong to, or nil
	// Stderr receives the lines of the servers' standard error; nil discards them.
	Stderr func(server, line string)
	// Log receives messages about servers, as in host.Options; nil discards them.
	Log func(level, message string)
	// Clock measures the time limits of calls; nil means the system's clock.
	Clock *clock.PausableClock
	// Played means that all models are replayed. In that case a server that cannot be reached
	// causes no error and offers no tools to models.
	Played bool
	// Refused returns the reason why a redirect to an address must not be followed, or why an
	// authorization server must not be called, or ""; nil permits all addresses.
	Refused func(address string) string
	// Secret receives the tokens of logins before they are used; nil ignores them.
	Secret func(name, value string)
}

// Servers performs the effects of internal/data/effect/mcp.go. It is safe for concurrent use.
type Servers interface {
	effect.Performer
	// Repeatable reports whether repeating a call is harmless. If connect is false, it does not
	// wait, and returns false for a server that is not connected.
	Repeatable(ctx context.Context, r *effect.MCPOpen, connect bool) bool
	// Within returns the time limit for calls of a server.
	Within(name string) time.Duration
	// Close ends the calls and the servers. When ctx ends, it kills the processes that are still
	// running.
	Close(ctx context.Context)
}

// Driver implements the protocol.
type Driver interface {
	// New returns Servers. It connects to no server.
	New(o Options) Servers
	// ServeHTTP offers tools over HTTP until ctx ends. It calls ready with the URL when clients can
	// connect.
	ServeHTTP(ctx context.Context, name, version string, offers Offers, l Listen, ready func(url string)) error
	// ServeStreams offers tools to the client at the other end of in and out. It returns when in or
	// ctx ends.
	ServeStreams(ctx context.Context, name, version string, offers Offers, in io.ReadCloser, out io.WriteCloser) error
}

// driver implements the protocol if a package has registered itself.
var driver Driver = absent{}

// Register sets the implementation of the protocol. Packages call it in their init function.
func Register(d Driver) { driver = d }

// New returns Servers. Without a registered implementation their calls fail with ErrNotImported.
func New(o Options) Servers { return driver.New(o) }

// ServeHTTP offers tools over HTTP; see Driver.
func ServeHTTP(ctx context.Context, name, version string, offers Offers, l Listen, ready func(url string)) error {
	return driver.ServeHTTP(ctx, name, version, offers, l, ready)
}

// ServeStreams offers tools to the client at the other end of in and out; see Driver.
func ServeStreams(ctx context.Context, name, version string, offers Offers, in io.ReadCloser, out io.WriteCloser) error {
	return driver.ServeStreams(ctx, name, version, offers, in, out)
}

// ErrNotImported is the error of everything that needs MCP in an application which does not link
// it.
var ErrNotImported = errors.New(`MCP is not part of this application: import _ "github.com/concerto-lang/concerto/mcp"`)

// absent is the driver of applications that do not link the protocol.
type absent struct{}

func (absent) New(Options) Servers { return absent{} }

func (absent) Perform(_ context.Context, r effect.Request) (effect.Result, error) {
	if open, ok := r.(*effect.MCPOpen); ok {
		return nil, fmt.Errorf("could not connect to MCP server %s: %w", open.Server, ErrNotImported)
	}
	return nil, ErrNotImported
}

func (absent) Repeatable(context.Context, *effect.MCPOpen, bool) bool { return false }

func (absent) Within(string) time.Duration { return 0 }

func (absent) Close(context.Context) {}

func (absent) ServeHTTP(context.Context, string, string, Offers, Listen, func(string)) error {
	return ErrNotImported
}

func (absent) ServeStreams(context.Context, string, string, Offers, io.ReadCloser, io.WriteCloser) error {
	return ErrNotImported
}
