package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// session is the session of an agent. Persons see it as a run.
type session struct {
	id      string
	began   time.Time
	answers *live.Answers
	run     *live.Run // nil if `concerto top` shows none
	source  *client.Source
	timer   *time.Timer // ends the session when no call has waited for some time
	open    []*waiting  // oldest first; guarded by server.mu

	mu      sync.Mutex
	effects map[effect.Request]int64 // numbers of the waiting calls
}

// waiting is a call that waits.
type waiting struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	request *effect.AskHost
	hash    string // of the arguments
	number  int64
}

// Reasons why a call no longer waits.
var (
	errWithdrawn = errors.New("the call no longer waits")
	errCancelled = errors.New("the session was cancelled")
)

// newSession returns a session without calls. The caller holds mu.
func (s *server) newSession(q *guard.Question) *session {
	x := &session{id: q.Session, began: time.Now(), answers: live.NewAnswers(), effects: map[effect.Request]int64{}}
	x.answers.Number = func(r effect.Request) (int64, bool) {
		x.mu.Lock()
		defer x.mu.Unlock()
		n, ok := x.effects[r]
		return n, ok
	}
	x.timer = time.AfterFunc(s.o.Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(x.open) == 0 {
			s.end(x)
		}
	})
	title := q.Agent + " in " + filepath.Base(q.Dir)
	if s.o.Shown != "" {
		x.run = live.Begin(live.Options{Directory: s.o.Shown, Run: q.Session, Program: title, Answers: x.answers,
			Usage: func() models.Sum { return models.Sum{} }, Tasks: func() int { return 0 },
			Cancel: func() { s.cancel(x) },
			Failed: func(err error) { fmt.Fprintf(s.o.Log, "session %s is not shown by concerto top: %v\n", x.id, err) }})
	}
	dir := q.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	x.source = client.New(client.Options{Socket: s.o.Hostd, Started: protocol.Started{Tool: q.Agent, Cwd: dir, Command: q.Agent, Title: title, Source: "concerto"}})
	x.source.Begin(q.Session, nil, s.o.Secrets, func() protocol.Usage { return protocol.Usage{} })
	return x
}

// end removes the session from what persons see.
func (x *session) end() {
	if x.run != nil {
		x.run.End()
	}
	x.source.End(0)
}

// cancel denies the waiting calls of a session.
func (s *server) cancel(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range x.open {
		w.cancel(errCancelled)
	}
}

// add adds a call. The caller holds server.mu.
func (x *session) add(ctx context.Context, q *guard.Question) *waiting {
	w := &waiting{hash: q.Hash, request: &effect.AskHost{Asking: effect.Asking{Host: q.Agent, Type: q.Type, Within: q.WaitMS}, Message: q.Message}}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	// The number is the same in the next process, so that an answer belongs to the call that the
	// person has seen.
	w.number = int64(crc32.ChecksumIEEE([]byte(q.ID + q.Type)))
	for slices.ContainsFunc(x.open, func(o *waiting) bool { return o.number == w.number }) {
		w.number++
	}
	x.open = append(x.open, w)
	x.mu.Lock()
	x.effects[w.request] = w.number
	x.mu.Unlock()
	x.show(event.Begin, w)
	return w
}

// remove removes a call. The caller holds server.mu.
func (x *session) remove(w *waiting) {
	w.cancel(nil)
	x.open = slices.DeleteFunc(x.open, func(o *waiting) bool { return o == w })
	x.mu.Lock()
	delete(x.effects, w.request)
	x.mu.Unlock()
	x.show(event.End, w)
}

// show passes the beginning or the end of a request to `concerto top`.
func (x *session) show(phase event.Phase, w *waiting) {
	if x.run == nil {
		return
	}
	x.run.Sink().Shows[event.Request](&event.Event{Kind: event.Request, Phase: phase, Item: w.number, Effect: w.number, At: time.Since(x.began), Request: w.request})
}

// perform waits for the first answer of a person. It returns nil if the call no longer waits.
func (x *session) perform(w *waiting) *guard.Answer {
	relay := effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
		a, err := x.source.Ask(ctx, "", r, false)
		if refused, ok := errors.AsType[*effect.Error](err); ok && refused.Message != protocol.HasExpired {
			return nil, refused
		}
		if a != nil && err == nil {
			return a, nil
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	result, err := x.answers.Layer(relay).Perform(w.ctx, w.request)
	a, ok := result.(*effect.Answer)
	refused, isRefused := errors.AsType[*effect.Error](err)
	switch {
	case ok && a != nil:
		return x.answered(w, a)
	case isRefused:
		return &guard.Answer{Reason: refused.Message, By: refused.By, Name: refused.Name}
	case errors.Is(context.Cause(w.ctx), errCancelled):
		return &guard.Answer{Reason: errCancelled.Error(), By: effect.ByAnswer}
	}
	return nil
}

// answered returns the answer of a person, and reports it to the relay if it was given elsewhere.
func (x *session) answered(w *waiting, a *effect.Answer) *guard.Answer {
	if a.By != effect.ByRelay {
		x.source.Sink().Shows[event.Decision](&event.Event{Kind: event.Decision, Phase: event.Point, Decided: &event.Decided{
			Kind: w.request.Type, Host: w.request.Host, Asked: w.request.Message, Answer: a.Value, By: a.By, Actor: effect.ActorOf(a.By, a.Name)}})
	}
	var m struct {
		Args    json.RawMessage `json:"args"`
		Options []string        `json:"options"`
	}
	_ = json.Unmarshal(w.request.Message, &m) // without arguments, a decision that names some is a denial
	if w.request.Type == "question" {
		return &guard.Answer{Allow: true, Value: chosen(a.Value, m.Options), By: a.By, Name: a.Name}
	}
	d := decision.Parse(a.Value).Covers(m.Args)
	return &guard.Answer{Allow: d.Allow, Reason: strings.TrimPrefix(d.Reason, "no: "), By: a.By, Name: a.Name}
}

// chosen returns the value of an answer. A person may have typed the number of an option, or a list
// or an object as JSON.
func chosen(answer json.RawMessage, options []string) json.RawMessage {
	var text string
	if json.Unmarshal(answer, &text) != nil || slices.Contains(options, text) {
		return answer
	}
	text = strings.TrimSpace(text)
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= len(options) {
		return jsonwrite.Text(nil, options[n-1])
	}
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		if value := json.RawMessage(text); json.Valid(value) {
			return value
		}
	}
	return answer
}
