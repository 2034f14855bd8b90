// Package httpport has the part of net/http that package llm uses, implemented with the browser's
// fetch.
package httpport

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"syscall/js"
	"time"
)

// Header contains the fields of a header, by their canonical names.
type Header map[string][]string

// canonical returns the form of a field's name in a Header, like X-Api-Key.
func canonical(name string) string {
	b := []byte(strings.ToLower(name))
	for i := range b {
		if (i == 0 || b[i-1] == '-') && b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// Get returns the first value of a field, or "".
func (h Header) Get(name string) string {
	if v := h[canonical(name)]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Set sets a field to one value.
func (h Header) Set(name, value string) { h[canonical(name)] = []string{value} }

// Clone returns a copy.
func (h Header) Clone() Header {
	out := maps.Clone(h)
	for name, v := range out {
		out[name] = slices.Clone(v)
	}
	return out
}

// Request is a request with the fields that package llm sets.
type Request struct {
	Method                 string
	URL                    *url.URL
	Host                   string
	Header                 Header
	Proto                  string
	ProtoMajor, ProtoMinor int
	Body                   io.ReadCloser
	GetBody                func() (io.ReadCloser, error)
	ContentLength          int64

	ctx context.Context
}

// WithContext returns a copy of the request with a context.
func (r *Request) WithContext(ctx context.Context) *Request {
	out := *r
	out.ctx = ctx
	return &out
}

// Response is the response to a request. The caller must close Body.
type Response struct {
	StatusCode    int
	Header        Header
	Body          io.ReadCloser
	ContentLength int64 // -1 because the browser may have decoded the body
}

// Transport sends requests by fetch.
type Transport struct{}

// CloseIdleConnections does nothing, because the browser owns the connections.
func (*Transport) CloseIdleConnections() {}

// browserHeaders are fields that the browser sets itself and does not let a page set.
var browserHeaders = []string{"User-Agent"}

// anthropic is the host whose server answers pages only if they declare that the key is the user's.
const anthropic = "api.anthropic.com"

// RoundTrip sends a request and returns its response when its header has arrived.
func (*Transport) RoundTrip(r *Request) (*Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	head := js.Global().Get("Object").New()
	for name, values := range r.Header {
		if !slices.Contains(browserHeaders, name) {
			head.Set(name, strings.Join(values, ", "))
		}
	}
	if r.URL.Host == anthropic {
		head.Set("Anthropic-Dangerous-Direct-Browser-Access", "true")
	}
	bytes := js.Global().Get("Uint8Array").New(len(body))
	js.CopyBytesToJS(bytes, body)
	abort := js.Global().Get("AbortController").New()
	stop := context.AfterFunc(r.ctx, func() { abort.Call("abort") })
	// no cookies, no cached copy, no redirect to another server, and no address of the page
	options := js.Global().Get("Object").New()
	for name, v := range map[string]any{"method": r.Method, "headers": head, "body": bytes, "signal": abort.Get("signal"),
		"credentials": "omit", "cache": "no-store", "redirect": "error", "referrerPolicy": "no-referrer"} {
		options.Set(name, v)
	}
	found, err := await(js.Global().Call("fetch", r.URL.String(), options))
	if err != nil {
		stop()
		return nil, cause(r.ctx, err)
	}
	out := &Response{StatusCode: found.Get("status").Int(), Header: Header{}, ContentLength: -1}
	each := js.FuncOf(func(_ js.Value, args []js.Value) any {
		out.Header.Set(args[1].String(), args[0].String())
		return nil
	})
	found.Get("headers").Call("forEach", each)
	each.Release()
	out.Body = &responseBody{ctx: r.ctx, stop: stop, abort: abort}
	if stream := found.Get("body"); stream.Truthy() {
		out.Body.(*responseBody).reader = stream.Call("getReader")
	}
	return out, nil
}

// responseBody is the body of a response.
type responseBody struct {
	ctx    context.Context
	stop   func() bool // ends the wait for the context
	abort  js.Value
	reader js.Value // undefined if the response has no body
	rest   []byte   // bytes that were received and not read
	err    error
}

// Read waits for the next bytes.
func (b *responseBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && b.err == nil {
		b.receive()
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// receive waits for the next part of the body.
func (b *responseBody) receive() {
	if !b.reader.Truthy() {
		b.err = io.EOF
		return
	}
	part, err := await(b.reader.Call("read"))
	switch {
	case err != nil:
		b.err = cause(b.ctx, err)
	case part.Get("done").Bool():
		b.err = io.EOF
	default:
		b.rest = make([]byte, part.Get("value").Length())
		js.CopyBytesToGo(b.rest, part.Get("value"))
	}
}

// Close ends the request.
func (b *responseBody) Close() error {
	b.stop()
	b.abort.Call("abort")
	b.err = io.EOF
	return nil
}

// await waits for a promise.
func await(promise js.Value) (js.Value, error) {
	type outcome struct {
		v   js.Value
		err error
	}
	done := make(chan outcome, 1)
	ok := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- outcome{v: args[0]}
		return nil
	})
	failed := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- outcome{err: errors.New(args[0].Call("toString").String())}
		return nil
	})
	promise.Call("then", ok, failed)
	o := <-done
	ok.Release()
	failed.Release()
	return o.v, o.err
}

// cause returns the cause of the context's end, or else err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// StatusText returns the name of a status, or "".
func StatusText(status int) string { return names[status] }

var names = map[int]string{400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 408: "Request Timeout", 409: "Conflict",
	413: "Request Entity Too Large", 422: "Unprocessable Entity", 425: "Too Early", 429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented",
	502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}

// ParseTime parses a date of a header.
func ParseTime(text string) (time.Time, error) {
	return time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", text)
}
