package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Times of an export.
const (
	firstWait  = 500 * time.Millisecond // before the first repetition of a request
	longest    = 30 * time.Second       // between two repetitions
	mostReply  = 64 << 10               // bytes that are read of a reply
	closeLimit = 10 * time.Second       // for the last export of a run
)

// Exporter sends telemetry to a collector in the background. It never makes its caller wait: items
// for which the queue has no room are dropped and counted. It is safe for concurrent use.
type Exporter struct {
	config   *Config
	resource Resource
	meter    *Meter
	hooks    Hooks
	queues   [signals]*queue // nil: the signal is off
	workers  sync.WaitGroup
	items    sync.WaitGroup // the workers for spans and log records
	stopping chan struct{}
	ctx      context.Context
	cancel   context.CancelFunc
}

// Hooks are called by an Exporter. Each may be nil.
type Hooks struct {
	// Sending is called with the ids of the spans of a request before it is sent. The result is
	// called when the collector has accepted them. After an error the spans are dropped.
	Sending func(ids []SpanID) (accepted func(), err error)
	// Failing is called when three requests in a row have failed, with the reason, and with nil
	// when one succeeds again.
	Failing func(endpoint string, reason error)
	// Dropped is called with the number of items that are dropped.
	Dropped func(n int)
}

// queue contains the items of a signal that were not sent yet.
type queue struct {
	signal   Signal
	endpoint *Endpoint
	client   *http.Client
	wake     chan struct{}
	stopping <-chan struct{}
	size     int // that the next body may have, in bytes

	mu      sync.Mutex
	items   []item
	dropped int
	reason  error // why items were dropped, or nil
	failed  int   // number of requests that have failed in a row
}

// item is a span or a log record.
type item struct {
	id      SpanID // of a span
	message message
}

// NewExporter starts an Exporter. meter contains the metrics.
func NewExporter(c *Config, r Resource, meter *Meter, hooks Hooks) *Exporter {
	e := &Exporter{config: c, resource: r, meter: meter, hooks: hooks, stopping: make(chan struct{})}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	for s, endpoint := range c.Endpoints {
		if endpoint == nil {
			continue
		}
		q := &queue{signal: Signal(s), endpoint: endpoint, wake: make(chan struct{}, 1), stopping: e.stopping}
		q.client = endpoint.Client()
		e.queues[s] = q
		if q.signal != Metrics {
			e.items.Add(1)
		}
		e.workers.Go(func() { e.work(q) })
	}
	return e
}

// Span adds a span.
func (e *Exporter) Span(s *Span) {
	if q := e.queues[Traces]; q != nil && e.hasRoom(q) {
		e.add(q, item{s.ID, s.message(e.config.AttributeLimit)})
	}
}

// Log adds a log record.
func (e *Exporter) Log(l *Log) {
	if q := e.queues[Logs]; q != nil && e.hasRoom(q) {
		e.add(q, item{message: l.message(e.config.AttributeLimit)})
	}
}

// hasRoom reports whether the queue has room for another item. If it has none, the item is counted
// as dropped.
func (e *Exporter) hasRoom(q *queue) bool {
	q.mu.Lock()
	full := len(q.items) >= e.config.QueueSize
	if full {
		q.dropped++
	}
	q.mu.Unlock()
	if full && e.hooks.Dropped != nil {
		e.hooks.Dropped(1)
	}
	return !full
}

func (e *Exporter) add(q *queue, x item) {
	q.mu.Lock()
	q.items = append(q.items, x)
	isBatch := len(q.items) >= e.config.BatchSize
	q.mu.Unlock()
	if isBatch {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

// work sends the items of a queue until the exporter is closed.
func (e *Exporter) work(q *queue) {
	every := e.config.Delay
	if q.signal == Metrics {
		every = e.config.MetricInterval
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.flush(q)
		case <-q.wake:
			e.flush(q)
		case <-e.stopping:
			if q.signal == Metrics { // the last metrics contain the numbers of dropped items
				e.items.Wait()
			} else {
				defer e.items.Done()
			}
			e.flush(q)
			return
		}
	}
}

// flush sends all items of a queue.
func (e *Exporter) flush(q *queue) {
	if q.signal == Metrics {
		if metrics := e.meter.collect(); metrics != nil {
			e.send(q, metrics, len(metrics))
		}
		return
	}
	for {
		q.mu.Lock()
		n := min(len(q.items), e.config.BatchSize)
		batch := q.items[:n:n]
		q.items = q.items[n:]
		q.mu.Unlock()
		if n == 0 {
			return
		}
		messages, ids := make([]message, n), make([]SpanID, n)
		for i, x := range batch {
			messages[i], ids[i] = x.message, x.id
		}
		accepted := func() {}
		if q.signal == Traces && e.hooks.Sending != nil {
			done, err := e.hooks.Sending(ids)
			if err != nil {
				e.drop(q, n, err)
				continue
			}
			accepted = done
		}
		if e.send(q, messages, n) {
			accepted()
		}
	}
}

// drop counts items that are not sent.
func (e *Exporter) drop(q *queue, n int, reason error) {
	q.mu.Lock()
	q.dropped += n
	q.reason = reason
	q.mu.Unlock()
	if e.hooks.Dropped != nil {
		e.hooks.Dropped(n)
	}
}

// outer contains the names of the messages around the items of a signal.
var outer = [signals]struct{ resources, scopes, items string }{
	{"resourceSpans", "scopeSpans", "spans"}, {"resourceMetrics", "scopeMetrics", "metrics"}, {"resourceLogs", "scopeLogs", "logRecords"},
}

// send sends a request with n items, and repeats it as the protocol allows. It reports whether the
// collector has accepted it.
func (e *Exporter) send(q *queue, items []message, n int) bool {
	of := outer[q.signal]
	request := e.resource.request(of.resources, of.scopes, of.items, items)
	var body []byte
	if q.endpoint.JSON {
		body = request.appendJSON(make([]byte, 0, q.size))
	} else {
		body = request.appendProto(make([]byte, 0, q.size))
	}
	q.size = len(body) + len(body)/8
	ctx, cancel := context.WithTimeout(e.ctx, e.config.ExportTimeout)
	defer cancel()
	rejected, err := q.sendBody(ctx, body)
	if err != nil {
		e.drop(q, n, err)
	} else if rejected != nil {
		e.drop(q, min(n, rejected.items), rejected)
	}
	q.mu.Lock()
	was := q.failed
	if q.failed = was + 1; err == nil {
		q.failed = 0
	}
	now := q.failed
	q.mu.Unlock()
	const row = 3
	if f := e.hooks.Failing; f != nil && (now == row || now == 0 && was >= row) {
		f(q.endpoint.URL.Host, err)
	}
	return err == nil
}

// rejected means that the collector has accepted only a part of a request.
type rejected struct {
	items  int
	reason string
}

func (r *rejected) Error() string {
	if r.reason == "" {
		return "items were rejected"
	}
	return "items were rejected: " + r.reason
}

// sendBody sends a request until it is accepted, refused, or ctx ends.
func (q *queue) sendBody(ctx context.Context, body []byte) (*rejected, error) {
	if q.endpoint.Gzip {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(body); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		body = packed.Bytes()
	}
	wait := firstWait
	for {
		part, after, err := q.post(ctx, body)
		if err == nil {
			return part, nil
		}
		if after < 0 || q.isStopping() && isUnreachable(err) {
			return nil, err
		}
		if after == 0 {
			after = time.Duration(float64(wait) * (0.5 + rand.Float64()))
			wait = min(2*wait, longest)
		}
		timer := time.NewTimer(after)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		case <-timer.C:
		}
	}
}

func (q *queue) isStopping() bool {
	select {
	case <-q.stopping:
		return true
	default:
		return false
	}
}

// isUnreachable reports whether no connection was made. The end of a run does not wait for a
// collector that is not there.
func isUnreachable(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// post sends a request once. after is the delay before it may be repeated: 0 if the collector does
// not name one, and negative if it must not be repeated.
func (q *queue) post(parent context.Context, body []byte) (part *rejected, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(parent, q.endpoint.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, q.endpoint.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, -1, err
	}
	media := "application/x-protobuf"
	if q.endpoint.JSON {
		media = "application/json"
	}
	r.Header.Set("Content-Type", media)
	if q.endpoint.Gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	for _, h := range q.endpoint.Headers {
		r.Header.Set(h[0], h[1])
	}
	reply, err := q.client.Do(r)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address, which may contain a key
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("no reply in time")
		}
		return nil, 0, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, mostReply))
	switch status := reply.StatusCode; {
	case status >= 200 && status < 300 && err != nil:
		return nil, 0, fmt.Errorf("the reply is incomplete: %w", err)
	case status >= 200 && status < 300:
		return partial(q.endpoint.JSON, text), 0, nil
	case status == http.StatusTooManyRequests, status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return nil, retryAfter(reply.Header.Get("Retry-After")), fmt.Errorf("status %d", status)
	default:
		return nil, -1, fmt.Errorf("status %d", status)
	}
}

// retryAfter returns the delay that a Retry-After header names, in seconds or as a time.
func retryAfter(v string) time.Duration {
	if n, err := strconv.Atoi(v); err == nil {
		return max(0, time.Duration(n)*time.Second)
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// partial returns what a successful reply rejects, or nil.
func partial(isJSON bool, text []byte) *rejected {
	r := &rejected{}
	if isJSON {
		r.readJSON(text)
	} else {
		r.readProto(text)
	}
	if r.items == 0 {
		return nil
	}
	return r
}

// readJSON reads an Export…ServiceResponse in JSON. Its names depend on the signal.
func (r *rejected) readJSON(text []byte) {
	var reply struct {
		Partial struct {
			Spans   json.Number `json:"rejectedSpans"`
			Points  json.Number `json:"rejectedDataPoints"`
			Records json.Number `json:"rejectedLogRecords"`
			Reason  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(text, &reply) != nil {
		return // the request was accepted
	}
	for _, n := range []json.Number{reply.Partial.Spans, reply.Partial.Points, reply.Partial.Records} {
		if count, err := n.Int64(); err == nil {
			r.items += int(count)
		}
	}
	r.reason = reply.Partial.Reason
}

// readProto reads an Export…ServiceResponse: its field 1 has the number of rejected items and a
// message.
func (r *rejected) readProto(text []byte) {
	inner := fields(text)[1]
	of := fields(inner.bytes)
	r.items, r.reason = int(of[1].number), string(of[2].bytes)
}

// Problem describes items that were not exported.
type Problem struct {
	Endpoint string // host and port of the collector; "" if the reason names what was not exported
	Reason   error
	Dropped  int
}

func (p *Problem) String() string {
	if p.Endpoint == "" {
		return fmt.Sprintf("telemetry: %v", p.Reason)
	}
	if p.Dropped == 1 {
		return fmt.Sprintf("telemetry: could not export to %s: %v; 1 item dropped", p.Endpoint, p.Reason)
	}
	return fmt.Sprintf("telemetry: could not export to %s: %v; %d items dropped", p.Endpoint, p.Reason, p.Dropped)
}

var errFull = errors.New("the queue was full")

// Close sends what is left, for at most ten seconds, and stops the exporter. It returns a problem
// for each collector that has not accepted everything.
func (e *Exporter) Close() []Problem {
	close(e.stopping)
	limit := time.AfterFunc(closeLimit, e.cancel)
	e.workers.Wait()
	limit.Stop()
	e.cancel()
	var all []Problem
	for _, q := range e.queues {
		if q == nil {
			continue
		}
		q.client.CloseIdleConnections()
		if q.dropped == 0 {
			continue
		}
		if q.reason == nil {
			q.reason = errFull
		}
		known := false
		for i := range all {
			if all[i].Endpoint == q.endpoint.URL.Host {
				all[i].Dropped += q.dropped
				known = true
			}
		}
		if !known {
			all = append(all, Problem{q.endpoint.URL.Host, q.reason, q.dropped})
		}
	}
	return all
}
