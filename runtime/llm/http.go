package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxAnswer bounds an answer's body, in bytes.
const maxAnswer = 32 << 20

// newHTTP makes the client that all connections share. It follows no
// redirect, so that a key goes nowhere but where the manifest says.
func newHTTP() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 16
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// endpoint is where an HTTP provider is reached and how it is paid.
type endpoint struct {
	url    string
	keyEnv string
	origin string // of the connection, for messages
	world  *world
	header http.Header
	// authorize puts the key into the header.
	authorize func(h http.Header, key string)
}

// openEndpoint makes the endpoint of a connection: path below base, which is
// the connection's own or official.
func openEndpoint(c *Connection, w *world, official, path string) (*endpoint, error) {
	base := c.BaseURL
	if base == "" {
		base = official
		if c.APIKeyEnv == "" {
			return nil, fmt.Errorf("%s needs a key: write `api_key_env = \"…\"` with the name of the environment variable that holds it", official)
		}
	}
	full, err := join(base, path)
	if err != nil {
		return nil, err
	}
	return &endpoint{url: full, keyEnv: c.APIKeyEnv, origin: c.at(), world: w, header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"concerto"},
	}}, nil
}

var version = regexp.MustCompile(`^v[0-9]+[a-z0-9]*$`)

// join appends path to base after a version segment, which is added as /v1
// when base does not end in one (spec/07-agents.md).
func join(base, path string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("base_url %q is not an http or https address: write it as \"https://host/v1\"", base)
	}
	p := strings.TrimRight(u.EscapedPath(), "/")
	if !version.MatchString(p[strings.LastIndexByte(p, '/')+1:]) {
		p += "/v1"
	}
	full, err := url.PathUnescape(p + path)
	if err != nil {
		return "", fmt.Errorf("base_url %q has a broken path: %w", base, err)
	}
	u.Path, u.RawPath = full, p+path
	return u.String(), nil
}

// key reads the connection's key. "" means that it needs none.
func (e *endpoint) key() (string, error) {
	if e.keyEnv == "" {
		return "", nil
	}
	v, _ := e.world.getenv(e.keyEnv)
	if v = strings.TrimSpace(v); v == "" {
		return "", &Failure{Message: fmt.Sprintf("the environment variable %s, which holds the key, is not set%s: "+
			"set it, or let a connection with provider = \"scripted\" answer", e.keyEnv, e.origin)}
	}
	return v, nil
}

// post sends body as JSON and decodes the answer into out. Whatever is not a
// well-formed answer with status 200 is a *Failure; errorText finds the
// provider's message in an error's body.
func (e *endpoint) post(ctx context.Context, body, out any, errorText func([]byte) string) error {
	key, err := e.key()
	if err != nil {
		return err
	}
	data, err := encode(body)
	if err != nil {
		return &Failure{Message: "the request has no JSON: " + err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(data))
	if err != nil {
		return &Failure{Message: err.Error()}
	}
	req.Header = e.header.Clone()
	if key != "" {
		e.authorize(req.Header, key)
	}
	resp, err := e.world.http.Do(req)
	if err != nil {
		return redact(e.broken(ctx, err), key)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return redact(e.broken(ctx, err), key)
	case len(answer) > maxAnswer:
		return &Failure{Message: fmt.Sprintf("the answer is longer than %d bytes", maxAnswer), HTTPStatus: resp.StatusCode, Sent: true}
	case resp.StatusCode != http.StatusOK:
		f := statusFailure(resp.StatusCode, e.refusal(resp, answer, errorText), e.keyEnv)
		f.Body, f.RetryAfter = excerpt(answer, 2000), retryAfter(resp.Header.Get("Retry-After"))
		return redact(f, key)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return redact(notJSON(resp, answer, err), key)
	}
	if text := errorText(answer); text != "" {
		return redact(&Failure{Message: "the provider answered with an error: " + text, HTTPStatus: resp.StatusCode, Body: excerpt(answer, 2000), Sent: true}, key)
	}
	return nil
}

// refusal is what an error answer says.
func (e *endpoint) refusal(resp *http.Response, answer []byte, errorText func([]byte) string) string {
	if to := resp.Header.Get("Location"); to != "" {
		return "it redirects to " + to
	}
	if text := errorText(answer); text != "" {
		return text
	}
	return excerpt(answer, 200)
}

// notJSON is the failure of an answer that should be JSON.
func notJSON(resp *http.Response, answer []byte, err error) *Failure {
	f := &Failure{HTTPStatus: resp.StatusCode, Body: excerpt(answer, 2000), Sent: true}
	kind := "text that is not JSON"
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(string(answer[:min(len(answer), 64)]))), "<") {
		kind = "HTML instead of JSON"
	}
	var te *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(answer)) == 0:
		f.Message = "the provider answered with an empty body"
	case errors.As(err, &te):
		f.Message = fmt.Sprintf("the provider's answer has another form than expected, at `%s`: %s", te.Field, excerpt(answer, 200))
	default:
		f.Message = fmt.Sprintf("the provider answered with %s: %s (check the connection's base_url)", kind, excerpt(answer, 200))
	}
	return f
}

// broken is the failure of a request that got no whole answer.
func (e *endpoint) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &Failure{Message: "no answer in time", Sent: true, Retryable: true, deadline: true}
	}
	where := e.url
	if u, perr := url.Parse(e.url); perr == nil {
		where = u.Host
	}
	var op *net.OpError
	var dns *net.DNSError
	f := &Failure{Retryable: true, Sent: true}
	switch {
	case errors.As(err, &dns):
		f.Sent = false
		f.Message = fmt.Sprintf("cannot find %s: %s (check the connection's base_url)", where, dns.Err)
	case errors.As(err, &op) && op.Op == "dial":
		f.Sent = false
		f.Message = fmt.Sprintf("cannot connect to %s: %v (is it running, and is base_url right?)", where, op.Err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &op):
		f.Message = fmt.Sprintf("%s closed the connection before the answer was complete", where)
	default:
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		f.Retryable = false
		f.Message = fmt.Sprintf("the request to %s failed: %v", where, err)
	}
	return f
}

// redact takes the key out of a failure: providers quote keys in messages.
func redact(err error, key string) error {
	f, ok := err.(*Failure)
	if !ok || key == "" {
		return err
	}
	f.Message = strings.ReplaceAll(f.Message, key, "[key]")
	f.Body = strings.ReplaceAll(f.Body, key, "[key]")
	return f
}

// retryAfter reads a Retry-After header: seconds, or a date. 0 when it says
// nothing.
func retryAfter(h string) time.Duration {
	if s, err := strconv.ParseFloat(strings.TrimSpace(h), 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if t, err := http.ParseTime(h); err == nil {
		return max(0, time.Until(t).Round(time.Second))
	}
	return 0
}

// encode is JSON without HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
