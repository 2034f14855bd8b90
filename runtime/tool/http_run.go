package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/world/httpclient"
)

// httpTransport returns the transport for the requests of all tools. It uses the process's proxy
// settings. It does not reuse connections, because package http repeats a request if a reused
// connection closes without a response, and a call must be sent only once.
var httpTransport = sync.OnceValue(func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes, t.DisableKeepAlives = 1<<20, true
	return t
})

// sendCall sends the request for a call and returns the result from the response.
func (x *address) sendCall(ctx context.Context, input json.RawMessage, c *Context) (Result, error) {
	request, err := x.newRequest(ctx, input, c)
	if err != nil {
		return Result{}, err
	}
	client := &http.Client{Transport: httpTransport(), CheckRedirect: func(r *http.Request, via []*http.Request) error { return x.redirect(c, r, via) }}
	response, err := client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		return c.hide(Failure("%s %s: %s", x.Method, x.withoutQuery(), httpclient.Reason(err))), nil
	}
	defer response.Body.Close()
	refused, most := response.StatusCode < 200 || response.StatusCode > 299, x.MaxOutput
	if refused {
		most = min(most, DefaultMaxOutput) // max_output is for answers
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(most)+1))
	switch {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case refused:
		return c.hide(x.refused(response.StatusCode, body)), nil
	case err != nil:
		return c.hide(Failure("%s %s: the response is incomplete: %v", x.Method, x.withoutQuery(), err)), nil
	case len(body) > x.MaxOutput:
		return Failure("%s", tooMuch(x.MaxOutput)), nil
	}
	return readAnswer(x.Answer, body), nil
}

// withoutQuery returns the address without its query, which may contain a key.
func (x *address) withoutQuery() string {
	u := *x.url
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

func (x *address) newRequest(ctx context.Context, input json.RawMessage, c *Context) (*http.Request, error) {
	headers, of, err := x.allHeaders(c)
	if err != nil {
		return nil, err
	}
	if err := c.checkReach(Reach{Address: x.URL, Env: of}); err != nil {
		return nil, err
	}
	u, body := *x.url, []byte(nil)
	if x.Method == http.MethodGet {
		u.RawQuery, err = x.query(input, c)
	} else {
		body, err = handlerMessage(input, c)
	}
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, x.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if x.Method == http.MethodGet {
		r.Body, r.GetBody = nil, nil
	}
	if r.Host = headers.Get("Host"); r.Host != "" {
		headers.Del("Host")
	}
	r.Header = headers
	effect.SetTraceHeaders(ctx, headers)
	return r, nil
}

// allHeaders returns the headers of the request, and the names of the run's variables that they
// contain.
func (x *address) allHeaders(c *Context) (all http.Header, of []string, err error) {
	all = http.Header{"User-Agent": {"concerto"}}
	if x.Method != http.MethodGet {
		all.Set("Content-Type", "application/json")
	}
	for name, v := range x.Headers {
		all.Set(name, v)
	}
	w := c.world()
	for _, name := range slices.Sorted(maps.Keys(x.HeadersEnv)) {
		variable := x.HeadersEnv[name]
		v, ofRun, err := w.lookupVariable(variable, c.Environment)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("%w: it contains the header %s", err, name)
		case !isHeaderValue(v):
			return nil, nil, fmt.Errorf("environment variable %s, which contains the header %s, has control characters", variable, name)
		}
		if ofRun {
			of = append(of, variable)
		}
		if w.Secret != nil {
			w.Secret(variable, v)
		}
		all.Set(name, v)
	}
	all.Set("Idempotency-Key", c.CallID)
	return all, of, nil
}

// query returns the query of the address, extended by the scalars of the input. Scalars whose names
// the address already contains are left out.
func (x *address) query(input json.RawMessage, c *Context) (string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(input, &all); err != nil {
		return "", err
	}
	own, more, left := x.url.Query(), url.Values{}, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v, scalar := scalarText(all[name])
		switch {
		case !scalar || own.Has(name):
			left = append(left, name)
		default:
			more.Set(name, v)
		}
	}
	if len(left) > 0 {
		c.warn("tool '%s': GET sends only scalars, and none that the address already contains: %s was left out", x.name, strings.Join(left, ", "))
	}
	out := x.url.RawQuery
	if out != "" && len(more) > 0 {
		out += "&"
	}
	return out + more.Encode(), nil
}

// scalarText returns a JSON value as text for a query. It returns false for an array or an object.
func scalarText(v json.RawMessage) (string, bool) {
	var text string
	switch v = bytes.TrimSpace(v); {
	case v[0] == '{' || v[0] == '[':
		return "", false
	case v[0] == '"' && json.Unmarshal(v, &text) == nil:
		return text, true
	}
	return string(v), true
}

// mostRedirects is the maximum number of redirects of one request.
const mostRedirects = 10

// redirect returns an error for a redirect to another host.
func (x *address) redirect(c *Context, r *http.Request, via []*http.Request) error {
	if len(via) > mostRedirects {
		return fmt.Errorf("it redirected %d times", mostRedirects)
	}
	if !sameHost(r.URL, x.url) {
		return fmt.Errorf("it redirects to %s://%s, but other hosts are not called", r.URL.Scheme, r.URL.Host)
	}
	return c.checkReach(Reach{Address: r.URL.String()})
}

// sameHost reports whether two addresses have the same host and port, or whether they differ only
// in the change from http to https on the default ports.
func sameHost(to, from *url.URL) bool {
	port := func(u *url.URL) string {
		if p := u.Port(); p != "" {
			return p
		}
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if !strings.EqualFold(to.Hostname(), from.Hostname()) {
		return false
	}
	return to.Scheme == from.Scheme && port(to) == port(from) || from.Scheme == "http" && to.Scheme == "https" && port(from) == "80" && port(to) == "443"
}

// ofRefusal is the maximum number of characters of an error response that messages quote.
const ofRefusal = 500

// refused returns the result for a response whose status is not 2xx. If the body contains a Result,
// that is the result.
func (x *address) refused(status int, body []byte) Result {
	why := strings.TrimSpace("answered with status " + strconv.Itoa(status) + " " + http.StatusText(status))
	if len(body) > x.MaxOutput {
		body = body[:x.MaxOutput]
	}
	if r, ok := readResult(body); ok && x.Answer == AnswerJSON && !r.Success && r.Error != "" {
		r.Error = why + ": " + r.Error
		return r
	}
	if text := beginning(bytes.TrimSpace(body), ofRefusal); text != "" {
		why += ": " + text
	}
	return Result{Error: why}
}

// hide removes known secrets from the error of a result, because the response may repeat the
// request.
func (c *Context) hide(r Result) Result {
	if c.running == nil || c.running.c.s.hooks.Hide == nil {
		return r
	}
	var clean string
	if text, err := jsonwrite.Encode(r.Error); err == nil && json.Unmarshal(c.running.c.s.hooks.Hide(text), &clean) == nil {
		r.Error = clean
	}
	return r
}
