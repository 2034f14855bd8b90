package llm

import (
	"context"
	"fmt"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// streams contains the calls with streamed replies, by the number of the stream.
type streams struct {
	mu   sync.Mutex
	last int64
	open map[int64]*stream
}

// stream is a call with a streamed reply. Its goroutine calls the model and stores the pieces of
// the reply here. If too much text is unread, the goroutine waits.
type stream struct {
	cancel context.CancelFunc
	ended  chan struct{}    // closed when the call has ended
	failed []effect.Attempt // the attempts that have failed; set when the call has ended

	mu    sync.Mutex
	text  []string // pieces that were not read
	size  int      // size of text in bytes
	reply *effect.AgentReply
	err   error
	over  bool
	more  chan struct{} // signals that a piece or the end has arrived
	room  chan struct{} // signals that text was read
}

// maxWaiting is the number of unread bytes above which the provider must wait.
const maxWaiting = 1 << 20

// openStream begins a call with a streamed reply. It chooses a scripted reply immediately.
func (c *Client) openStream(ctx context.Context, call *effect.AgentCall) (effect.Result, error) {
	req := &Request{AgentCall: call}
	c.choose(req)
	// The stream lives longer than the request that opens it; Close closes it at the end of the
	// run.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &stream{cancel: cancel, ended: make(chan struct{}), more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	id := c.streams.addStream(s)
	c.started.Go(func() {
		defer cancel()
		defer close(s.ended)
		res, err := c.askConnections(ctx, req, func(text string) { s.putText(ctx, text) })
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = *req.failed
		s.reply, _ = res.(*effect.AgentReply)
		s.err, s.over = err, true
		signal(s.more)
	})
	return &effect.StreamOpened{ID: id}, nil
}

// signal sends to a channel of capacity one without blocking.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// putText stores text when there is room for it. If ctx has ended, it does not wait for room.
func (s *stream) putText(ctx context.Context, text string) {
	for {
		s.mu.Lock()
		if s.size < maxWaiting || ctx.Err() != nil {
			s.text, s.size = append(s.text, text), s.size+len(text)
			s.mu.Unlock()
			signal(s.more)
			return
		}
		s.mu.Unlock()
		select {
		case <-s.room:
		case <-ctx.Done():
		}
	}
}

// nextPiece waits for text or for the end of the reply.
func (c *Client) nextPiece(ctx context.Context, id int64) (effect.Result, error) {
	s := c.streams.get(id)
	if s == nil {
		return nil, fmt.Errorf("llm: there is no stream %d", id)
	}
	for {
		if p, err := s.takePiece(); p != nil || err != nil {
			if err != nil || p.Reply != nil {
				c.streams.endStream(id)
			}
			if err != nil {
				return nil, err
			}
			return p, nil
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// takePiece returns the next piece, or nil if none has arrived. The reply or the error follows
// after all text.
func (s *stream) takePiece() (*effect.StreamPiece, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.text) > 0:
		text := s.text[0]
		s.text[0] = ""
		s.text, s.size = s.text[1:], s.size-len(text)
		signal(s.room)
		return &effect.StreamPiece{Text: text}, nil
	case s.over && s.err == nil:
		return &effect.StreamPiece{Reply: s.reply}, nil
	case s.over:
		return nil, s.err
	}
	return nil, nil
}

func (t *streams) addStream(s *stream) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	t.open[t.last] = s
	return t.last
}

func (t *streams) get(id int64) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[id]
}

// endStream closes a stream and aborts its request if the request is running. It returns the
// stream, or nil if it is not open.
func (t *streams) endStream(id int64) *stream {
	t.mu.Lock()
	s := t.open[id]
	delete(t.open, id)
	t.mu.Unlock()
	if s != nil {
		s.cancel()
	}
	return s
}

// closeStream closes a stream, and waits until its request has been aborted.
func (c *Client) closeStream(id int64) effect.Result {
	s := c.streams.endStream(id)
	if s == nil {
		return nil
	}
	<-s.ended
	if s.err == nil {
		return nil
	}
	return &effect.StreamClosed{Failed: s.failed}
}

// closeAll closes all streams.
func (t *streams) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, s := range t.open {
		s.cancel()
		delete(t.open, id)
	}
}
