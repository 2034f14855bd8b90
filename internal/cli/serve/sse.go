package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// beat is the interval at which keep-alive comments are sent in an idle stream.
const beat = 15 * time.Second

// events streams all of the server's messages to a client.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	c := s.client(r.Header.Get(clientHeader))
	if c == nil {
		respond(w, http.StatusNotFound, response(nil, nil, unknownClient(r)))
		return
	}
	after, ok := cursor(w, r, c.start())
	if !ok {
		return
	}
	out := newSSE(w)
	defer out.end()
	if err := c.stream(r.Context(), after, out.event); err != nil {
		s.log("debug", c.owner()+": stream closed: "+err.Error())
	}
}

// cursor returns the number of the event after which a stream begins. It is usual if the request
// contains none.
func cursor(w http.ResponseWriter, r *http.Request, usual int64) (int64, bool) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return usual, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		http.Error(w, "the cursor must be a number, not "+strconv.Quote(text), http.StatusBadRequest)
		return 0, false
	}
	return n, true
}

// sessionStream streams the events of a session until the session ends.
func (s *Server) sessionStream(w http.ResponseWriter, r *http.Request) {
	x, err := s.session(r.PathValue("id"))
	if err != nil {
		respond(w, http.StatusNotFound, response(nil, nil, err))
		return
	}
	after, ok := cursor(w, r, 0)
	if !ok {
		return
	}
	out := newSSE(w)
	defer out.end()
	for {
		p, changed := x.pull(after, catchBatch)
		if err := out.pulled(r.Context(), &p); err != nil {
			return
		}
		if after = p.Cursor; len(p.Events) > 0 {
			continue
		}
		if p.State != stateRunning {
			return // the last event has reported the end of the session
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// pulled writes a page of a session's events. The events have consecutive numbers up to the page's
// cursor.
func (o *sse) pulled(ctx context.Context, p *pulled) error {
	number := p.Cursor - int64(len(p.Events))
	for _, e := range p.Events {
		number++
		if err := o.event(ctx, number, e); err != nil {
			return err
		}
	}
	return nil
}

// sse is a stream of server-sent events.
type sse struct {
	w     http.ResponseWriter
	flush *http.ResponseController
	alive *time.Timer

	mu    sync.Mutex
	ended bool
}

// newSSE begins a stream.
func newSSE(w http.ResponseWriter) *sse {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	o := &sse{w: w, flush: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	_ = o.put(": here\n\n") // a closed connection cancels the request
	o.alive = time.AfterFunc(beat, o.beat)
	return o
}

// beat writes a keep-alive comment and schedules the next one.
func (o *sse) beat() {
	_ = o.put(":\n\n")
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended {
		o.alive.Reset(beat)
	}
}

// end ends the stream.
func (o *sse) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.alive.Stop()
}

// event writes m, which must be a single line. It stops when ctx is cancelled.
func (o *sse) event(ctx context.Context, number int64, m []byte) error {
	stop := context.AfterFunc(ctx, func() { _ = o.flush.SetWriteDeadline(time.Now()) })
	defer stop()
	var b strings.Builder
	b.Grow(len(m) + 32)
	b.WriteString("id: " + strconv.FormatInt(number, 10) + "\ndata: ")
	b.Write(m)
	b.WriteString("\n\n")
	if err := o.put(b.String()); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return context.Cause(ctx)
}

func (o *sse) put(text string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return http.ErrHandlerTimeout
	}
	_ = o.flush.SetWriteDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(o.w, text); err != nil {
		return err
	}
	return o.flush.Flush()
}
