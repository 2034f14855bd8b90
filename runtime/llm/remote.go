package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
)

// remote is a provider that is reached by HTTP. It sends the requests; its wire encodes requests
// and decodes responses.
type remote struct {
	wire
	*endpoint
	// adapt returns a schema in the form that the provider enforces, if it can express the schema;
	// nil if the provider accepts any schema.
	adapt func(json.RawMessage) (out json.RawMessage, ok bool)

	apis *apis // nil for providers with one API
}

// exchange is one request with the header of its response. The body of the response is read through
// the field in.
type exchange struct {
	*remote
	wire // that of the request
	ctx  context.Context
	resp *http.Response
	in   *bounded
}

// Ask sends the request and reads the whole response.
func (p *remote) Ask(ctx context.Context, req *Request) (*effect.AgentReply, error) {
	return p.throughPauses(req, func(req *Request) (*effect.AgentReply, error) { return p.askOnce(ctx, req) })
}

func (p *remote) askOnce(ctx context.Context, req *Request) (*effect.AgentReply, error) {
	w := p.replySchema(req)
	x, err := p.openExchange(ctx, req, w, false)
	if err != nil {
		return nil, err
	}
	defer x.resp.Body.Close()
	reply, err := x.readWhole(w)
	if err != nil {
		return nil, x.addContext(err)
	}
	return reply, nil
}

// openExchange sends a request. It returns the exchange if the status of the response is a success.
// If the provider refuses a token of token_command, it repeats the request once with a new token.
func (p *remote) openExchange(ctx context.Context, req *Request, w *replySchema, stream bool) (*exchange, error) {
	p.omitRefused(req)
	by, asked := p.prepare(req), p.cachingOf(req)
	x, err := p.sendRequest(ctx, by, req, w, stream)
	var f *Failure
	if p.tokens != nil && errors.As(err, &f) && f.HTTPStatus == http.StatusUnauthorized {
		p.tokens.discard()
		x, err = p.sendRequest(ctx, by, req, w, stream)
	}
	if errors.As(err, &f) {
		p.repair(req, by, w, asked, f)
	}
	return x, err
}

func (p *remote) sendRequest(ctx context.Context, by wire, req *Request, w *replySchema, stream bool) (*exchange, error) {
	hr, err := p.request(ctx, by, req, w, stream)
	if err != nil {
		return nil, err
	}
	x := &exchange{remote: p, wire: by, ctx: ctx}
	if x.resp, err = p.world.http.RoundTrip(hr); err != nil {
		return nil, x.redact(p.brokenFailure(ctx, err, 0))
	}
	x.in = &bounded{r: x.resp.Body}
	if x.resp.StatusCode != http.StatusOK {
		defer x.resp.Body.Close()
		return nil, x.statusError()
	}
	return x, nil
}

// request builds the HTTP request. It is a separate function so that its variables do not occupy
// the stack while a thousand calls wait.
func (p *remote) request(ctx context.Context, by wire, req *Request, w *replySchema, stream bool) (*http.Request, error) {
	if err := by.Capabilities().refuses(req); err != nil {
		return nil, err
	}
	if err := refusedBy(p.name, req); err != nil {
		return nil, err
	}
	key, err := p.connectionKey(ctx)
	if err != nil {
		return nil, err
	}
	data, err := jsonwrite.Encode(by.body(p.layOut(req, by), w, stream))
	if err != nil {
		return nil, &Failure{Class: ClassBadRequest, Message: "could not encode the request as JSON: " + err.Error()}
	}
	if data, err = p.mergeExtra(data); err != nil {
		return nil, &Failure{Class: ClassBadRequest, Message: "could not add the connection's extra members to the request: " + err.Error()}
	}
	at, err := p.resolve(by.path(req, stream))
	if err != nil {
		return nil, &Failure{Class: ClassBadRequest, Message: fmt.Sprintf("the model's name %q cannot be part of a URL: %v", req.Model, err)}
	}
	head := p.header // shared between requests, so it must not be changed
	requestKey := effect.KeyOf(ctx)
	if effect.TraceHeaders(ctx) != nil || stream && p.framing == framedSSE || key != "" || requestKey != "" || p.headersEnv != nil || p.sign != nil {
		head = head.Clone()
	}
	if requestKey != "" {
		head.Set("Idempotency-Key", requestKey)
	}
	effect.SetTraceHeaders(ctx, head)
	if stream && p.framing == framedSSE {
		head.Set("Accept", "text/event-stream")
	}
	if key != "" {
		p.world.secrets.AddHeader(p.keyName(), key)
		p.authorize(head, key)
	}
	if err := p.environmentHeaders(head); err != nil {
		return nil, err
	}
	// net/http sends header and body together only if it knows the type of the reader.
	body := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	first, _ := body()
	hr := &http.Request{
		Method: http.MethodPost, URL: at, Host: at.Host, Header: head, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		// With GetBody, net/http can send the request again if the reused connection turns out to
		// be closed.
		Body: first, GetBody: body, ContentLength: int64(len(data)),
	}
	if p.sign != nil {
		if err := p.sign(hr, data); err != nil {
			return nil, err
		}
	}
	return hr.WithContext(ctx), nil
}

// readWhole reads a response that is not streamed.
func (x *exchange) readWhole(w *replySchema) (*effect.AgentReply, error) {
	answer, err := x.readBody()
	if err != nil {
		return nil, x.brokenFailure(x.ctx, err, x.in.n)
	}
	received := answer
	answer = x.world.secrets.JSON(answer)
	reply, err := x.read(answer, w)
	var f *Failure
	switch {
	case err == nil:
		if !bytes.Equal(answer, received) {
			reply.Items = nil // they may have contained the secret
		}
		return x.cleanReply(reply), nil
	case errors.As(err, &f):
		return nil, err
	}
	return nil, x.notJSON(answer, err)
}

// readBody reads the body of the response. If its length is known, one read suffices.
func (x *exchange) readBody() ([]byte, error) {
	if n := x.resp.ContentLength; n > 0 && n <= maxAnswer {
		answer := make([]byte, n)
		got, err := io.ReadFull(x.in, answer)
		return answer[:got], err
	}
	return io.ReadAll(x.in)
}

// cleanReply sets the request ID of the reply from the headers. It also removes secrets that were
// escaped in the JSON of the body and appear only after decoding.
func (x *exchange) cleanReply(reply *effect.AgentReply) *effect.AgentReply {
	if id := x.requestID(); id != "" {
		reply.RequestID = id
	}
	secrets := x.world.secrets
	for _, s := range []*string{&reply.Text, &reply.Model, &reply.RequestID} {
		*s = secrets.Text(*s)
	}
	for i := range reply.ToolCalls {
		c := &reply.ToolCalls[i]
		c.ID, c.Name, c.Args = secrets.Text(c.ID), secrets.Text(c.Name), string(secrets.JSON([]byte(c.Args)))
	}
	return reply
}

// requestID returns the provider's ID of the request, which the provider's support needs.
func (x *exchange) requestID() string {
	if id := x.resp.Header.Get("X-Request-Id"); id != "" {
		return id
	}
	if id := x.resp.Header.Get("X-Amzn-Requestid"); id != "" {
		return id
	}
	return x.resp.Header.Get("Request-Id")
}

// statusError returns the failure of a response with an error status.
func (x *exchange) statusError() error {
	answer, err := io.ReadAll(io.LimitReader(x.in, maxErrorBody))
	if err != nil && len(answer) == 0 {
		return x.addContext(x.brokenFailure(x.ctx, err, x.in.n))
	}
	answer = x.world.secrets.JSON(answer)
	r := x.refusal(answer)
	if r.text == "" {
		r.text = excerpt(answer, 200)
	}
	if to := x.resp.Header.Get("Location"); to != "" {
		r.text = "it redirects to " + to
	}
	if after := retryAfter(x.resp.Header); after > 0 {
		r.retryAfter = after
	}
	f := statusFailure(x.resp.StatusCode, r, x.keyEnv)
	if should, err := strconv.ParseBool(x.resp.Header.Get("X-Should-Retry")); err == nil {
		f.Retry = &should
	}
	f.Body = string(answer)
	return x.addContext(f)
}

// addContext adds information to a failure that only the exchange has.
func (x *exchange) addContext(err error) error {
	f, ok := err.(*Failure)
	if !ok {
		return err
	}
	f.Sent = true
	if f.HTTPStatus == 0 && f.Class != ClassTimeout && f.Class != ClassConnection {
		f.HTTPStatus = x.resp.StatusCode
	}
	if f.RequestID == "" {
		f.RequestID = x.requestID()
	}
	return x.redact(f)
}

// Maximum lengths of the stored parts of a failure, in bytes.
const (
	maxMessage = 4000
	maxBody    = 2000
)

// redact removes the secrets from a failure and then shortens it. The opposite order could leave a
// part of a key.
func (x *exchange) redact(err error) error {
	if f, ok := err.(*Failure); ok {
		secrets := x.world.secrets
		f.Message, f.RequestID = secrets.Text(f.Message), secrets.Text(f.RequestID)
		if len(f.Message) > maxMessage {
			f.Message = excerpt([]byte(f.Message), maxMessage)
		}
		f.Body = excerpt(secrets.JSON([]byte(f.Body)), maxBody)
	}
	return err
}

// notJSON returns the failure for a response that does not conform to the API.
func (x *exchange) notJSON(answer []byte, err error) *Failure {
	f := &Failure{Class: ClassBadAnswer, HTTPStatus: x.resp.StatusCode, Body: string(answer), Sent: true}
	kind := "text that is not JSON"
	if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("<")) {
		kind = "HTML instead of JSON"
	}
	var te *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(answer)) == 0:
		f.Message = "the provider returned an empty body (check the connection's base_url)"
	case errors.As(err, &te):
		f.Message = fmt.Sprintf("the provider's response has an unexpected form, at `%s`: %s (check the connection's provider)", te.Field, excerpt(answer, 200))
	default:
		f.Message = fmt.Sprintf("the provider returned %s: %s (check the connection's base_url)", kind, excerpt(answer, 200))
	}
	return f
}

// errNoFirst is the cause of a cancelled request whose stream did not begin in time.
var errNoFirst = errors.New("no first token")

// Stream sends the request and passes the text of the response to piece as it arrives.
func (p *remote) Stream(ctx context.Context, req *Request, piece func(string)) (*effect.AgentReply, error) {
	partial := false
	reply, err := p.throughPauses(req, func(req *Request) (*effect.AgentReply, error) {
		return p.streamOnce(ctx, req, func(text string) { partial = true; piece(text) })
	})
	var f *Failure
	if errors.As(err, &f) {
		f.Partial = f.Partial || partial
	}
	return reply, err
}

func (p *remote) streamOnce(ctx context.Context, req *Request, piece func(string)) (*effect.AgentReply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := func() {}
	if p.first > 0 {
		t := p.world.clock.AfterFunc(p.first, func() { cancel(errNoFirst) })
		defer t.Stop()
		begun = func() { t.Stop() }
	}
	w := p.replySchema(req)
	x, err := p.openExchange(ctx, req, w, true)
	if err != nil {
		return nil, err
	}
	defer x.resp.Body.Close()
	if kind := x.resp.Header.Get("Content-Type"); p.framing != framedNDJSON && (strings.HasPrefix(kind, "application/json") || strings.HasPrefix(kind, "text/html")) {
		// A server that does not stream sends a complete response.
		reply, err := x.readWhole(w)
		if err != nil {
			return nil, x.addContext(err)
		}
		piece(reply.Text)
		return reply, nil
	}
	reply, err := x.readStream(w, begun, piece)
	if err != nil {
		return nil, x.addContext(err)
	}
	return reply, nil
}

// readStream reads a streamed response to its end. It calls begun when the first event has arrived.
func (x *exchange) readStream(w *replySchema, begun func(), piece func(string)) (*effect.AgentReply, error) {
	in, out, clean := newFrames(x.in, x.framing), x.assemble(w), x.world.secrets.Stream()
	partial := false
	pass := func(text string) {
		if text != "" {
			partial = true
			piece(text)
		}
	}
	fail := func(f *Failure) (*effect.AgentReply, error) {
		f.Partial = f.Partial || partial
		return nil, f
	}
	for {
		data, err := in.nextEvent()
		if f := (*Failure)(nil); errors.As(err, &f) {
			return fail(f)
		}
		if err != nil {
			if reply, ok := out.reply(); ok && err == io.EOF {
				pass(clean.Rest())
				return x.cleanReply(reply), nil
			}
			if err == io.EOF && x.in.n == 0 {
				return fail(x.notJSON(nil, err))
			}
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fail(x.brokenFailure(x.ctx, err, x.in.n).(*Failure))
		}
		text, err := out.event(data)
		var f *Failure
		switch {
		case errors.As(err, &f):
			return fail(f)
		case err != nil:
			return fail(x.notJSON(x.world.secrets.JSON(data), err))
		}
		if b, ok := out.(beginner); !ok || b.hasBegun() {
			begun()
		}
		pass(clean.Next(text))
	}
}
