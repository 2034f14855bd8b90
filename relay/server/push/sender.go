package push

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/store"
)

// message is a push message to one browser.
type message struct {
	to      *store.Subscription
	topic   string // the push service replaces a queued message with a later one of the same topic
	text    []byte
	urgency string
	ends    time.Time // when the message becomes useless
	done    func()    // called once when sending has ended; may be nil
}

const (
	maxQueued      = 10_000 // maximum number of queued messages
	maxQueuedOfOne = 200    // maximum number of queued messages for one browser
	maxConcurrent  = 8      // maximum number of concurrent requests
)

// pauses contains the delay before each retry of a message. Its length is the number of retries.
var pauses = []time.Duration{time.Second, 4 * time.Second, 16 * time.Second, time.Minute}

// maxPause is the maximum delay that a push service may request with Retry-After.
const maxPause = 5 * time.Minute

// sender sends messages to browsers. It sends the messages for one browser in order.
type sender struct {
	id     *identity
	client *http.Client
	now    func() time.Time
	wall   func() time.Time // the wall clock; unlike now, it advances while the machine sleeps
	after  func(time.Duration, func()) (stop func() bool)
	// onUnsubscribed is called for an endpoint that no longer exists.
	onUnsubscribed func(ctx context.Context, endpoint string)
	log            *slog.Logger

	ctx   context.Context
	end   context.CancelFunc
	slots chan struct{}
	work  sync.WaitGroup

	mu    sync.Mutex
	lines map[string]*queue // non-empty queues by endpoint
	count int
}

// queue holds the unsent messages for one browser.
type queue struct{ waits []*message }

func (s *sender) start(ctx context.Context) {
	s.ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.slots, s.lines = make(chan struct{}, maxConcurrent), map[string]*queue{}
}

// stop stops sending and drops the queued messages.
func (s *sender) stop() {
	s.mu.Lock() // no request starts after this
	s.end()
	s.mu.Unlock()
	s.work.Wait()
	s.client.CloseIdleConnections()
}

// put queues a message. It does not wait: if the queue is full, it drops the message and logs that.
func (s *sender) put(m *message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	l := s.lines[m.to.Endpoint]
	begins := l == nil
	if begins {
		l = &queue{}
	}
	for i, old := range l.waits {
		if old.topic == m.topic {
			s.count--
			l.waits = append(l.waits[:i:i], l.waits[i+1:]...)
			s.work.Go(old.finish)
			break
		}
	}
	if s.count >= maxQueued || len(l.waits) >= maxQueuedOfOne {
		s.log.Warn("a push message is dropped: the queue is full", "user", m.to.User)
		s.work.Go(m.finish)
		return
	}
	s.count++
	l.waits = append(l.waits, m)
	if begins {
		s.lines[m.to.Endpoint] = l
		s.work.Go(func() { s.run(m.to.Endpoint, l) })
	}
}

func (m *message) finish() {
	if m.done != nil {
		m.done()
	}
}

// run sends the queued messages for one browser.
func (s *sender) run(endpoint string, l *queue) {
	for {
		s.mu.Lock()
		if len(l.waits) == 0 || s.ctx.Err() != nil {
			delete(s.lines, endpoint)
			s.mu.Unlock()
			return
		}
		m := l.waits[0]
		l.waits = l.waits[1:]
		s.count--
		s.mu.Unlock()
		if s.deliver(l, m) {
			m.finish()
		}
	}
}

// isReplaced reports whether a later message with the same topic is queued.
func (s *sender) isReplaced(l *queue, topic string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range l.waits {
		if m.topic == topic {
			return true
		}
	}
	return false
}

// deliver sends a message and retries after failures. It returns false if the sender was stopped
// before the message was sent or dropped.
func (s *sender) deliver(l *queue, m *message) bool {
	for try := 0; ; try++ {
		retry, wait := s.try(m)
		if s.ctx.Err() != nil {
			return false
		}
		if !retry {
			return true
		}
		if try >= len(pauses) || s.isReplaced(l, m.topic) {
			s.log.Warn("a push message is dropped: the push service does not accept it", "user", m.to.User, "tries", try+1)
			return true
		}
		wait = min(max(wait, pauses[try]), maxPause)
		if s.now().Add(wait).After(m.ends) {
			return true // the message would be useless before the retry
		}
		over := make(chan struct{})
		unset := s.after(wait, func() { close(over) })
		select {
		case <-over:
		case <-s.ctx.Done():
			unset()
			return false
		}
		if s.isReplaced(l, m.topic) {
			return true
		}
	}
}

// try sends a message once. again reports whether a retry after wait may succeed.
func (s *sender) try(m *message) (again bool, wait time.Duration) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-s.ctx.Done():
		return false, 0
	}
	r, err := s.request(m)
	if err != nil {
		s.log.Error("could not encode a push message", "user", m.to.User, "error", err)
		return false, 0
	}
	answer, err := s.client.Do(r)
	if err != nil {
		if s.ctx.Err() == nil {
			// Log only the host: the endpoint is a secret.
			s.log.Warn("could not send a push message", "user", m.to.User, "at", r.URL.Host, "error", errors.Unwrap(err))
		}
		return !errors.Is(err, errAddress), 0
	}
	defer answer.Body.Close()
	// Read the body so that the connection can be reused.
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxResponse))
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return false, 0
	case code == http.StatusNotFound || code == http.StatusGone:
		s.onUnsubscribed(s.ctx, m.to.Endpoint)
		return false, 0
	case code == http.StatusTooManyRequests || code >= 500:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // 0 if the header is missing
		return true, time.Duration(min(max(seconds, 0), 3600)) * time.Second
	default:
		s.log.Warn("a push service refuses a message", "user", m.to.User, "at", r.URL.Host, "status", code)
		return false, 0
	}
}

// request returns the HTTP request that sends a message (RFC 8030).
func (s *sender) request(m *message) (*http.Request, error) {
	to, err := parseReceiver(m.to.P256dh, m.to.Auth)
	if err != nil {
		return nil, err
	}
	body, err := to.encrypt(m.text)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(m.to.Endpoint)
	if err != nil {
		return nil, err
	}
	auth, err := s.id.authorization(at, s.wall())
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, m.to.Endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", auth)
	r.Header.Set("Content-Encoding", "aes128gcm")
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("TTL", strconv.FormatInt(max(int64(m.ends.Sub(s.now())/time.Second), 0), 10))
	r.Header.Set("Urgency", m.urgency)
	r.Header.Set("Topic", m.topic)
	return r, nil
}
