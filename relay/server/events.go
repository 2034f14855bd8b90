package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// events serves GET /events. It responds with server-sent events if the client accepts them, and
// otherwise serves a long poll.
func (s *Server) events(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	stream := strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	f := s.newFeed(who)
	defer f.follow.stop()
	if fail := f.begin(s, r, who, stream); fail != nil {
		httpguard.Fail(w, fail)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	defer s.config.Auth.Watch(who, cancel)()
	if stream {
		s.stream(ctx, w, f)
		return
	}
	s.poll(ctx, w, r, f)
}

// feed is a follower on behalf of an HTTP client.
type feed struct {
	follow *follower
	cursor map[string]int64 // last sent sequence number, by run
	woken  chan struct{}
}

func (s *Server) newFeed(who *auth.Identity) *feed {
	f := &feed{cursor: map[string]int64{}, woken: make(chan struct{}, 1)}
	f.follow = s.newFollower(who.Sees, func() {
		select {
		case f.woken <- struct{}{}:
		default:
		}
	})
	return f
}

// begin subscribes to the runs that a request names.
func (f *feed) begin(s *Server, r *http.Request, who *auth.Identity, stream bool) *Failure {
	params := r.URL.Query()
	text, ok := params.Get("cursor"), params.Has("cursor")
	if last := r.Header.Get("Last-Event-ID"); last != "" && stream {
		text, ok = last, true
	}
	rest := params.Get("rest")
	switch {
	case rest != "" && rest != restLive && rest != restStart && rest != restNone:
		return refuse(protocol.BadMessage, "rest must be live, start or none")
	case rest == "" && ok:
		rest = restNone
	case rest == "":
		rest = restLive
	}
	cursor, fail := parseCursor(text)
	if fail != nil {
		return fail
	}
	f.follow.subscribe(r.Context(), subscription{cursor: cursor, rest: rest}, func(_ string, why *Failure) { fail = firstFailure(fail, why) })
	if fail != nil {
		return fail
	}
	if !ok && rest == restLive {
		if err := f.addEnds(r.Context(), s, who); err != nil {
			return s.failed(err, protocol.Internal)
		}
	}
	maps.Copy(f.cursor, cursor)
	return nil
}

// addEnds adds the current ends of running runs to the cursor of a client that sent no cursor. The
// client therefore misses no events between two requests.
func (f *feed) addEnds(ctx context.Context, s *Server, who *auth.Identity) error {
	all, err := s.store.Runs(ctx, store.RunsQuery{Limit: 10 * protocol.RunsInCursor})
	for _, r := range all {
		if len(f.cursor) < protocol.RunsInCursor && r.Status != protocol.StatusExited && who.Sees(r.ID) {
			f.cursor[r.ID] = r.Prefix
		}
	}
	return err
}

// parseCursor parses a cursor such as run_a:12,run_b:7.
func parseCursor(text string) (map[string]int64, *Failure) {
	cursor := map[string]int64{}
	if text == "" {
		return cursor, nil
	}
	for _, part := range strings.Split(text, ",") {
		run, seq, ok := strings.Cut(part, ":")
		n, err := strconv.ParseInt(seq, 10, 64)
		if _, twice := cursor[run]; !ok || err != nil || n < 0 || n > protocol.MaxSeq || !protocol.IsID(run) || twice {
			return nil, refuse(protocol.BadCursor, "a cursor must be run:seq,run:seq,…, and %q is not", part)
		}
		cursor[run] = n
	}
	if len(cursor) > protocol.RunsInCursor {
		return nil, refuse(protocol.BadCursor, "a cursor must have at most %d runs", protocol.RunsInCursor)
	}
	return cursor, nil
}

// cursorText formats a cursor.
func cursorText(cursor map[string]int64) string {
	var all []string
	for _, run := range slices.Sorted(maps.Keys(cursor)) {
		all = append(all, fmt.Sprintf("%s:%d", run, cursor[run]))
	}
	return strings.Join(all, ",")
}

// advance updates the cursor after an event was sent. The cursor contains at most as many runs as a
// request may name; advance drops the runs that had no events for the longest time.
func (f *feed) advance(e *entry, order *[]string) {
	f.cursor[e.run] = e.seq
	*order = append(slices.DeleteFunc(*order, func(run string) bool { return run == e.run }), e.run)
	for len(f.cursor) > protocol.RunsInCursor {
		drop := ""
		for run := range f.cursor {
			if !slices.Contains(*order, run) {
				drop = run
				break
			}
		}
		if drop == "" {
			drop, *order = (*order)[0], (*order)[1:]
		}
		delete(f.cursor, drop)
	}
}

const commentInterval = 15 * time.Second

// stream sends server-sent events until the client disconnects.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, f *feed) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := &sse{w: w, control: http.NewResponseController(w)}
	if out.flush() != nil {
		return
	}
	var order []string
	for ctx.Err() == nil {
		all, err := f.follow.next(ctx, pageEvents)
		if err != nil {
			return // the client reconnects with its cursor
		}
		for i := range all {
			if all[i].run != "" {
				f.advance(&all[i], &order)
			}
			out.event(cursorText(f.cursor), all[i].frame)
		}
		if out.flush() != nil {
			return
		}
		if len(all) == 0 && !s.waitForEvents(ctx, f) {
			out.comment()
		}
	}
}

// waitForEvents waits until there may be more events. It returns false after commentEach, so that
// the stream sends a comment.
func (s *Server) waitForEvents(ctx context.Context, f *feed) bool {
	over := make(chan struct{})
	stop := s.clock.After(commentInterval, func() { close(over) })
	defer stop()
	select {
	case <-f.woken:
		return true
	case <-ctx.Done():
		return true
	case <-over:
		return false
	}
}

// sse writes server-sent events. It stops when the client does not read.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte
}

func (o *sse) event(id string, data []byte) {
	o.buf = append(o.buf, "id: "...)
	o.buf = append(o.buf, id...)
	o.buf = append(o.buf, "\ndata: "...)
	// A line of an event must not contain a line break. JSON contains line breaks only between
	// tokens, where a space means the same.
	for _, c := range data {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		o.buf = append(o.buf, c)
	}
	o.buf = append(o.buf, "\n\n"...)
}

func (o *sse) comment() { o.buf = append(o.buf, ":\n\n"...) }

func (o *sse) flush() error {
	// Ignore the error: not all writers support deadlines.
	_ = o.control.SetWriteDeadline(time.Now().Add(protocol.WriteTimeout))
	if len(o.buf) > 0 {
		if _, err := o.w.Write(o.buf); err != nil {
			return err
		}
		o.buf = o.buf[:0]
	}
	return o.control.Flush()
}

// poll responds with the available events. If there are none, it waits for some.
func (s *Server) poll(ctx context.Context, w http.ResponseWriter, r *http.Request, f *feed) {
	wait, bad := number(r, "wait", 0, 0, 30)
	limit, bad2 := number(r, "limit", 200, 1, 1000)
	if bad = firstFailure(bad, bad2); bad != nil {
		httpguard.Fail(w, bad)
		return
	}
	over := make(chan struct{})
	stop := s.clock.After(time.Duration(wait)*time.Second, func() { close(over) })
	defer stop()
	out := eventsPage{Events: []json.RawMessage{}}
	var order []string
	for size := 0; ; {
		all, err := f.follow.next(ctx, int(limit)-len(out.Events))
		if err != nil && ctx.Err() == nil {
			httpguard.Fail(w, s.failed(err, protocol.Internal))
			return
		}
		for i := range all {
			if all[i].run != "" {
				f.advance(&all[i], &order)
			}
			out.Events = append(out.Events, all[i].frame)
			size += len(all[i].frame)
		}
		if full := len(out.Events) >= int(limit) || size >= answerBytes; full || len(all) == 0 && (len(out.Events) > 0 || wait == 0) {
			out.More = f.follow.hasMore()
			break
		}
		if len(all) == 0 && !waitWoken(ctx, f, over) {
			break
		}
	}
	out.Cursor = f.cursor
	httpguard.Answer(w, http.StatusOK, out)
}

// waitWoken waits until there may be more events. It returns false on timeout.
func waitWoken(ctx context.Context, f *feed, over <-chan struct{}) bool {
	select {
	case <-f.woken:
		return true
	case <-ctx.Done():
	case <-over:
	}
	return false
}
