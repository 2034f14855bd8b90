package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
)

// connectTimeout is the default time limit for connecting, in seconds.
const connectTimeout = 10.0

// connectBound returns the time limit for connecting to the address of the connection.
func connectBound(c *Connection) time.Duration {
	return seconds(firstPositive(c.ConnectTimeout, connectTimeout))
}

// Address returns the address to which the connection sends requests, or "" if it sends none.
func (c *Connection) Address() string {
	p := models.ProviderNamed(c.Provider)
	switch {
	case c.BaseURL != "" && (p.Base != "" || p.Addressed):
		return c.BaseURL
	case c.Provider == "vertex":
		return vertexAddress(c.Location)
	case c.Provider == "bedrock":
		return bedrockAddress(c.Location)
	}
	return p.Base
}

// endpoint contains the address, the key and the headers of an HTTP provider.
type endpoint struct {
	name   string   // of the connection
	root   *url.URL // address up to and including the API version
	keyEnv string
	tokens *tokenSource // source of the key; nil without token_command
	origin string       // position of the connection's section, for error texts
	world  *world
	header http.Header
	// headersEnv maps headers to the environment variables that contain their values.
	headersEnv map[string]string
	extra      map[string]any // additional members of the body; nil for none
	cache      string         // Cache of the connection
	ownCaching bool           // extra decides about the provider's cache
	// authorize adds the key to the headers.
	authorize func(h http.Header, key string)
	// sign adds a signature for the body to a request; nil for providers that use a key.
	sign    func(r *http.Request, body []byte) error
	framing framing
	connect time.Duration // time limit for connecting
	first   time.Duration // time limit for the first event of a streamed response; 0 means none
	lately  atomic.Pointer[address]
}

// address is the URL of a path, or the error for an invalid path.
type address struct {
	path string
	url  *url.URL
}

// openEndpoint returns the endpoint of a connection. The address is the connection's base_url or
// the provider's default.
func openEndpoint(c *Connection, w *world) (*endpoint, error) {
	base, p := c.Address(), models.ProviderNamed(c.Provider)
	if (c.BaseURL == "" || p.Addressed) && p.NeedsKey && c.APIKeyEnv == "" && c.TokenCommand == nil && len(c.HeadersEnv) == 0 {
		return nil, fmt.Errorf("%s needs a key: write `api_key_env = \"…\"` with the name of the environment variable that contains it", base)
	}
	root, err := rootOf(base, p.Version)
	if err != nil {
		return nil, err
	}
	e := &endpoint{name: c.Name, cache: c.Cache, root: root, keyEnv: c.APIKeyEnv, origin: c.sectionName(), world: w,
		connect: connectBound(c), first: seconds(c.FirstTokenTimeout),
		header: http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"concerto"},
		},
		headersEnv: c.HeadersEnv,
		authorize:  authorize,
	}
	if len(c.TokenCommand) > 0 {
		e.tokens = &tokenSource{command: c.TokenCommand, world: w, origin: c.sectionName()}
	}
	return e, e.addHeaders(c)
}

// addHeaders adds the connection's headers and extra members to the endpoint.
func (e *endpoint) addHeaders(c *Connection) error {
	for name, v := range c.Headers {
		if err := fieldOf(name, v); err != nil {
			return err
		}
		e.header.Set(name, v)
	}
	e.extra = tier(c)
	if c.Extra == nil {
		return nil
	}
	var extra map[string]any
	d := json.NewDecoder(bytes.NewReader(c.Extra))
	d.UseNumber()
	if err := d.Decode(&extra); err != nil {
		return fmt.Errorf("could not read extra: %w", err)
	}
	if e.extra == nil {
		e.extra = map[string]any{}
	}
	merge(e.extra, extra)
	e.ownCaching = setsCaching(extra)
	if _, ok := e.extra["stream"]; ok {
		return errors.New("extra must not contain `stream`: the caller decides whether a reply is streamed")
	}
	return nil
}

// tier returns the members of a request for the connection's service tier, or nil.
func tier(c *Connection) map[string]any {
	member := models.ProviderNamed(c.Provider).Tier
	if c.ServiceTier == "" || member == "" {
		return nil
	}
	name, inner, isNested := strings.Cut(member, ".")
	if isNested {
		return map[string]any{name: map[string]any{inner: c.ServiceTier}}
	}
	return map[string]any{name: c.ServiceTier}
}

// fieldOf returns an error for an invalid header.
func fieldOf(name, v string) error {
	token := name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune("()<>@,;:\\\"/[]?={}", c)
	})
	if !token || strings.ContainsFunc(v, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return fmt.Errorf("header %q contains invalid characters", name)
	}
	return nil
}

// environmentHeaders adds the headers whose values are in environment variables.
func (e *endpoint) environmentHeaders(head http.Header) error {
	for name, variable := range e.headersEnv {
		v, _ := e.world.getenv(variable)
		if v = strings.TrimSpace(v); v == "" {
			return &Failure{Class: ClassAuth, Message: fmt.Sprintf("environment variable %s, which contains the header %s, is not set%s", variable, name, e.origin)}
		}
		if err := fieldOf(name, v); err != nil {
			return &Failure{Class: ClassAuth, Message: err.Error()}
		}
		e.world.secrets.AddHeader(variable, v)
		head.Set(name, v)
	}
	return nil
}

// mergeExtra returns a request body with the connection's extra members added.
func (e *endpoint) mergeExtra(data []byte) ([]byte, error) {
	if e.extra == nil {
		return data, nil
	}
	var body map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		return nil, err
	}
	merge(body, e.extra)
	return jsonwrite.Encode(body)
}

// merge adds the members of extra to body. Objects are merged recursively; other values are
// replaced.
func merge(body, extra map[string]any) {
	for k, v := range extra {
		old, isObject := body[k].(map[string]any)
		more, both := v.(map[string]any)
		if isObject && both {
			merge(old, more)
			continue
		}
		body[k] = v
	}
}

// authorize adds a key as a bearer token. If the key begins with a scheme, as in "Basic
// dXNlcjpwYXNz", it is sent unchanged.
func authorize(h http.Header, key string) {
	if scheme, _, ok := strings.Cut(key, " "); !ok || !strings.EqualFold(scheme, "Basic") && !strings.EqualFold(scheme, "Bearer") {
		key = "Bearer " + key
	}
	h.Set("Authorization", key)
}

var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9]+[a-z0-9]*$`) })

// rootOf returns the address to which a provider's paths are appended. It is base, followed by the
// version segment unless base already ends in one (spec/07-agents.md).
func rootOf(base, segment string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("base_url %q is not an http or https URL: write it as \"https://host/%s\"", base, segment)
	}
	if u.User != nil {
		return nil, errors.New("base_url contains a password: put it into an environment variable and set api_key_env to its name")
	}
	p := strings.TrimRight(u.EscapedPath(), "/")
	if last := p[strings.LastIndexByte(p, '/')+1:]; segment != "" && last != segment && !version().MatchString(last) {
		p += "/" + segment
	}
	if u.Path, err = url.PathUnescape(p); err != nil {
		return nil, fmt.Errorf("base_url %q has an invalid path: %w", base, err)
	}
	u.RawPath = p
	return u, nil
}

// resolve returns the URL for an escaped path, which may contain a query. The URL is shared, so the
// caller must not change it.
func (e *endpoint) resolve(path string) (*url.URL, error) {
	if last := e.lately.Load(); last != nil && last.path == path {
		return last.url, nil
	}
	u, err := e.resolvePath(path)
	if err == nil {
		e.lately.Store(&address{path, u})
	}
	return u, err
}

func (e *endpoint) resolvePath(path string) (*url.URL, error) {
	path, query, _ := strings.Cut(path, "?")
	plain, err := url.PathUnescape(path)
	if err != nil {
		return nil, err
	}
	u := *e.root
	u.Path, u.RawPath = u.Path+plain, u.RawPath+path
	if query != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+query, "&")
	}
	return &u, nil
}

// connectionKey returns the key of the connection, or "" if it needs none.
func (e *endpoint) connectionKey(ctx context.Context) (string, error) {
	if e.tokens != nil {
		return e.tokens.get(ctx)
	}
	if e.keyEnv == "" {
		return "", nil
	}
	return e.variable(e.keyEnv)
}

// keyName returns the name that replaces the key in responses.
func (e *endpoint) keyName() string {
	if e.tokens != nil {
		return "token_command"
	}
	return e.keyEnv
}

// variable returns the value of an environment variable that contains a key or a part of one.
func (e *endpoint) variable(name string) (string, error) {
	v, _ := e.world.getenv(name)
	if v = strings.TrimSpace(v); v == "" {
		message := fmt.Sprintf("environment variable %s, which contains the key, is not set%s: set it, or try the program with `concerto run --mock`", name, e.origin)
		if e.world.unkeyed != nil {
			e.world.unkeyed(message)
		}
		return "", &Failure{Class: ClassAuth, Message: message}
	}
	if strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' }) {
		return "", &Failure{Class: ClassAuth, Message: fmt.Sprintf("environment variable %s, which contains the key, has invalid characters%s: "+
			"set it again", name, e.origin)}
	}
	return v, nil
}

// brokenFailure returns the failure for a request without a complete response. got is the number of
// response bytes that arrived.
func (e *endpoint) brokenFailure(ctx context.Context, err error, got int64) error {
	if context.Cause(ctx) == errNoFirst {
		return &Failure{Class: ClassTimeout, Sent: true, Message: fmt.Sprintf("the reply did not start within %s (raise first_token_timeout, or give the connection a fallback)", effect.Seconds(e.first.Seconds()))}
	}
	if ctx.Err() != nil {
		return &Failure{Class: ClassTimeout, Message: "no response in time", Sent: true, Got: got, deadline: true}
	}
	where := e.root.Host
	f := &Failure{Class: ClassConnection, Sent: true, Got: got}
	switch {
	case errors.Is(err, errTooLong):
		f.Class = ClassBadAnswer
		f.Message = fmt.Sprintf("the response is longer than %d bytes (request less, or set max_tokens)", maxAnswer)
	case f.explainNetwork(e, err):
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isNetworkError(err):
		f.Message = fmt.Sprintf("%s closed the connection before the response was complete", where)
	default:
		f.Class = ClassConfig
		f.Message = fmt.Sprintf("the request to %s failed: %v", where, err)
	}
	return f
}

// retryAfter returns the delay that a response requests: in milliseconds, as Azure OpenAI and
// others do, or in the header Retry-After, which contains seconds or a date. It returns 0 if the
// headers are missing or invalid.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	after := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(strings.TrimSpace(after), 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if t, err := http.ParseTime(after); err == nil {
		return max(0, time.Until(t).Round(time.Second))
	}
	return 0
}
