// Package httpclient performs effect.HTTP: it sends a request, follows redirects and reads the
// response (spec/std/http.md).
package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// Maximum sizes of a response's body and header in bytes, and the maximum number of redirects.
const (
	maxBody      = 64 << 20
	maxErrorBody = 1 << 20 // of a response with a status of 400 or more
	maxHeader    = 1 << 20
	maxRedirects = 10
)

// Client performs effect.HTTP. It is safe for concurrent use.
type Client struct {
	once      sync.Once
	transport *http.Transport // nil until the first request, because creating a transport is slow for a short program
	refused   func(address string) string
	limit     int64 // maxBody; tests set a smaller limit
	clock     *clock.PausableClock
}

// New returns a Client. refused returns the reason why a redirect to an address must not be
// followed, or ""; nil permits all redirects. Time limits use clock, which may be nil.
func New(refused func(address string) string, clock *clock.PausableClock) *Client {
	if refused == nil {
		refused = func(string) string { return "" }
	}
	return &Client{refused: refused, limit: maxBody, clock: clock}
}

// connections returns the transport, created at the first call.
func (c *Client) connections() *http.Transport {
	c.once.Do(func() {
		c.transport = http.DefaultTransport.(*http.Transport).Clone()
		c.transport.MaxResponseHeaderBytes = maxHeader
	})
	return c.transport
}

// Close closes idle connections. It must be called after the last request.
func (c *Client) Close() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// Perform sends a request and reads the whole response.
func (c *Client) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	q, ok := r.(*effect.HTTP)
	if !ok {
		return nil, &effect.UnperformedError{Who: "the HTTP client", Kind: r.Kind()}
	}
	limited, cancel := c.clock.Within(ctx, timeout(q.Timeout), errTimeout)
	defer cancel()
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(limited, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	response, err := c.sendRequest(traced, q)
	if err == nil {
		return response, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	reason := Reason(err)
	if limited.Err() != nil {
		reason = fmt.Sprintf("no response within %d ms", q.Timeout)
	}
	e := effect.Errorf("HttpError", "%s %s: %s", q.Method, withoutPassword(q.URL), reason).With("url", withoutPassword(q.URL))
	e.Cause = err
	if sent.Load() { // without a connection, no server has received the request
		e.Status = effect.Unknown
	}
	return nil, e
}

var errTimeout = errors.New("timeout")

// timeout converts milliseconds to a time.Duration. Values beyond its range of 292 years are
// limited.
func timeout(ms int64) time.Duration {
	return time.Duration(min(ms, int64(1<<63-1)/int64(time.Millisecond))) * time.Millisecond
}

// withoutPassword returns a URL without its password.
func withoutPassword(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}

// Reason returns the cause of a failed exchange, without method and URL.
func Reason(err error) string {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return "there is no host " + dns.Name
	}
	return err.Error()
}

func (c *Client) sendRequest(ctx context.Context, q *effect.HTTP) (*effect.HTTPResponse, error) {
	request, err := c.newRequest(ctx, q)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: c.connections(), CheckRedirect: c.redirect}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	limit, failed := c.limit, response.StatusCode >= 400
	if failed {
		limit = min(limit, maxErrorBody)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if failed && int64(len(body)) > limit {
		body = body[:utf8cut.Before(body, int(limit))] // the status matters more than the rest
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the response is incomplete: %w", err)
	case int64(len(body)) > limit:
		return nil, fmt.Errorf("the response is larger than %d MiB", maxBody>>20)
	case !utf8.Valid(body):
		return nil, errors.New("the response is not UTF-8")
	}
	return &effect.HTTPResponse{Status: int64(response.StatusCode), Headers: headers(response.Header), Body: string(body)}, nil
}

func (c *Client) newRequest(ctx context.Context, q *effect.HTTP) (*http.Request, error) {
	var body io.Reader
	if q.Body != nil {
		body = strings.NewReader(*q.Body)
	}
	request, err := http.NewRequestWithContext(ctx, q.Method, q.URL, body)
	if err != nil {
		return nil, err
	}
	for _, h := range q.Headers {
		if strings.EqualFold(h.Name, "Host") {
			request.Host = h.Value
		}
		request.Header.Set(h.Name, h.Value)
	}
	if key := effect.KeyOf(ctx); key != "" && mayChange(q.Method) && request.Header.Get("Idempotency-Key") == "" {
		request.Header.Set("Idempotency-Key", key)
	}
	if effect.ClassOf(q) == effect.ClassOnce {
		forbidRepetition(request.Header)
	}
	effect.SetTraceHeaders(ctx, request.Header)
	return request, callable(request.URL)
}

// forbidRepetition writes the names of headers differently by which package http recognises a
// request that it may repeat: if a reused connection closes without a response, it would send the
// request again, which the server may have performed. Servers ignore the case of names.
func forbidRepetition(h http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if v, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = v
		}
	}
}

// mayChange reports whether a request with the method may have side effects on the server.
func mayChange(method string) bool { return method != "GET" && method != "HEAD" && method != "OPTIONS" }

// callable returns an error for a URL that cannot be requested.
func callable(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("only http:// and https:// can be called")
	}
	if u.Host == "" {
		return errors.New("the URL has no host")
	}
	return nil
}

func (c *Client) redirect(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("it redirected %d times", maxRedirects)
	}
	if err := callable(r.URL); err != nil {
		return err
	}
	if why := c.refused(r.URL.String()); why != "" {
		return errors.New(why)
	}
	if slices.ContainsFunc(append(via[1:len(via):len(via)], r), func(x *http.Request) bool { return !sameSite(x.URL, via[0].URL) }) {
		// Headers that the program has set for one host must not be sent to another host. They must
		// not return to the first host through another one either.
		maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return !slices.Contains(harmless, name) })
	}
	return nil
}

// harmless lists the headers that are also sent if a redirect leads to another host.
var harmless = []string{"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Content-Language", "Content-Type", "Range", "User-Agent"}

// sameSite reports whether two URLs have the same scheme, host and port, or differ only in a change
// from http to https on the default ports.
func sameSite(to, from *url.URL) bool {
	if !strings.EqualFold(to.Hostname(), from.Hostname()) {
		return false
	}
	return to.Scheme == from.Scheme && portOf(to) == portOf(from) || from.Scheme == "http" && to.Scheme == "https" && portOf(from) == "80" && portOf(to) == "443"
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// headers converts a header to the form of effect.HTTPResponse. It omits values that are not valid
// UTF-8.
func headers(h http.Header) []effect.Header {
	out := []effect.Header{}
	for name, values := range h {
		v := strings.Join(values, ", ")
		if utf8.ValidString(v) {
			out = append(out, effect.Header{Name: strings.ToLower(name), Value: v})
		}
	}
	slices.SortFunc(out, func(a, b effect.Header) int { return strings.Compare(a.Name, b.Name) })
	return out
}
