package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/audit"

	"github.com/concerto-lang/concerto/internal/data/toolname"
)

func actor(kind, name string) audit.Actor { return audit.Actor{Type: kind, Name: name} }

// closing is the closer of a session's handler. It counts the calls of Close.
type closing struct {
	closed *atomic.Int32
	err    error
}

func (c closing) Close() error { c.closed.Add(1); return c.err }

// stateful returns a tool that counts its calls separately in each session.
func stateful(name string, closed *atomic.Int32, err error) Definition {
	return Definition{Name: name, Scope: PerSession, Open: func(_ context.Context, c *Context) (h Handler, closer io.Closer, _ error) {
		n := 0
		return func(context.Context, json.RawMessage, *Context) (Result, error) {
			n++
			return Success(fmt.Sprintf("%s %s %d", c.SessionID, c.Environment["A"], n))
		}, closing{closed, err}, nil
	}}
}

// TestSessionState checks that each session has its own handlers and closes them.
func TestSessionState(t *testing.T) {
	var closed atomic.Int32
	r := registered(t, stateful("x", &closed, errors.New("stuck")))
	a, b := opened(t, r, Context{SessionID: "a", Environment: map[string]string{"A": "1"}}, Hooks{}), opened(t, r, Context{SessionID: "b"}, Hooks{})
	for i, want := range []string{`"a 1 1"`, `"a 1 2"`, `"b  1"`} {
		s := a
		if i == 2 {
			s = b
		}
		if got := s.Call(context.Background(), "x", nil); string(got.Output) != want {
			t.Errorf("result = %+v, want output %s", got, want)
		}
	}
	if err := r.Register(stateful("later", &closed, nil)); err != nil {
		t.Fatal(err)
	}
	if got := b.Call(context.Background(), "later", nil); string(got.Output) != `"b  1"` {
		t.Errorf("result of a tool registered later = %+v, want output \"b  1\"", got)
	}
	if err := b.Close(); err == nil || err.Error() != "could not close tool 'x': stuck" || closed.Load() != 2 {
		t.Errorf("Close: error %v with %d handlers closed, want 2 and the error of tool 'x'", err, closed.Load())
	}
	if err := b.Close(); err != nil || closed.Load() != 2 {
		t.Error("the second Close closed handlers again")
	}
	if e := b.Do(context.Background(), Ask{Name: "x"}); e.Outcome != OutcomeUnavailable || e.Result.Error != "x was not called: the tools are closed" {
		t.Errorf("call after Close = %+v, want unavailable", e)
	}
}

// TestOpenFails checks that a session cannot be opened if the handler of a tool cannot be created.
// The error must name the tool, and the handlers created before must be closed.
func TestOpenFails(t *testing.T) {
	var closed atomic.Int32
	fails := Definition{Name: "y", Scope: PerSession}
	for want, open := range map[string]func(context.Context, *Context) (Handler, io.Closer, error){
		"could not open tool 'y': no database": func(context.Context, *Context) (Handler, io.Closer, error) {
			return nil, nil, errors.New("no database")
		},
		"could not open tool 'y': tool 'y' panicked: boom":  func(context.Context, *Context) (Handler, io.Closer, error) { panic("boom") },
		"could not open tool 'y': Open returned no handler": func(context.Context, *Context) (Handler, io.Closer, error) { return nil, nil, nil },
	} {
		closed.Store(0)
		fails.Open = open
		r := registered(t, stateful("x", &closed, nil), fails)
		if _, err := r.Open(context.Background(), Context{}); err == nil || err.Error() != want || closed.Load() != 1 {
			t.Errorf("Open: error %v with %d handlers closed, want %q with 1", err, closed.Load(), want)
		}
		r = registered(t, echo("x"))
		s := opened(t, r, Context{}, Hooks{})
		if err := r.Register(fails); err != nil {
			t.Fatal(err)
		}
		if e := s.Do(context.Background(), Ask{Name: "y"}); e.Outcome != OutcomeUnavailable || e.Result.Error != want {
			t.Errorf("call = %+v, want unavailable with %q", e, want)
		}
	}
}

// TestCloseEndsCalls checks that Close cancels the running calls before it closes the handlers.
func TestCloseEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := echo("x")
		d.Handler = block(time.Hour)
		s := opened(t, registered(t, d), Context{}, Hooks{})
		ended := make(chan Ended, 1)
		go func() { ended <- s.Do(context.Background(), Ask{Name: "x"}) }()
		time.Sleep(time.Second)
		began := time.Now()
		if err := s.Close(); err != nil || time.Since(began) != time.Second {
			t.Errorf("Close: error %v after %s, want none after 1s", err, time.Since(began))
		}
		if e := <-ended; e.Outcome != OutcomeCancelled || e.Result.Error != "tool 'x' was cancelled: the tools are closed" {
			t.Errorf("call = %+v, want a cancellation", e)
		}
		time.Sleep(2 * time.Hour)
	})
}

func offered(s *Session) string {
	var out []string
	for _, b := range s.Tools() {
		out = append(out, fmt.Sprintf("%s=%s/%s", b.Name(), b.Exact(), b.Owner()))
	}
	return strings.Join(out, " ")
}

func answering(name string, n int, scope Scope, text string) Definition {
	return Definition{Name: name, Version: n, Scope: scope, Handler: func(context.Context, json.RawMessage, *Context) (Result, error) { return Success(text) }}
}

// TestChosenVersions checks the offer for a declaration that names a tool without a version: the
// highest version under its plain name. If the program has a tool with the same name, the
// application's tool is hidden, and one warning is logged.
func TestChosenVersions(t *testing.T) {
	r := registered(t, answering("x", 1, Global, "1"), answering("x", 2, Global, "2"), answering("x", 10, Global, "10"), answering("y", 1, Global, "y"))
	app := &recorder{}
	s := opened(t, r, Context{SessionID: "s1"}, app.hooks())
	for only, want := range map[string]string{
		"x": "x=x@10", "x@1": "x=x@1", "x x@1": "x__1=x@1 x__10=x@10", "x@2 x@1": "x__1=x@1 x__2=x@2", "x y": "x=x@10 y=y@1", "x@3": "", "": "",
	} {
		words := strings.Fields(only)
		var got []string
		for range 2 {
			got = nil
			for _, o := range s.offerFor(&effect.AppList{Only: &words, Reserved: []string{"z"}}).Tools {
				got = append(got, fmt.Sprintf("%s=%s@%d", o.Name, o.Tool, o.Version))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("app_tools %q: offered names %q, want %q", only, got, want)
		}
	}
	words := []string{"x", "y"}
	for range 2 {
		if got := s.offerFor(&effect.AppList{Only: &words, Reserved: []string{"y"}}).Tools; len(got) != 1 || got[0].Name != "x" {
			t.Errorf("offered tools = %+v, want only x", got)
		}
	}
	if got := app.so(&app.logs); got != "warn tool 'y@1' of go is hidden by the program's own tool with the same name" {
		t.Error(got)
	}
}

// TestOffers checks the names of the offered tools. A session tool precedes a global one, and a
// plain name means the highest version. Several versions of a tool have separate names for models.
func TestOffers(t *testing.T) {
	r := registered(t, answering("x", 1, Global, "global 1"), answering("x", 2, Global, "global 2"), answering("only", 3, Global, "o"), answering("x__1", 1, Global, "plain"))
	if err := errors.Join(r.As("client:a").Register(answering("x", 2, PerSession, "a's")), r.As("client:b").Register(answering("x", 2, PerSession, "b's")),
		r.As("client:b").In("s1").Register(answering("y", 1, PerSession, "s1's"))); err != nil {
		t.Fatal(err)
	}
	app := &recorder{}
	s := opened(t, r, Context{SessionID: "s1", Caller: "client:a"}, app.hooks())
	if got := offered(s); got != "only=only@3/go x___1=x@1/go x__2=x@2/client:a x__1=x__1@1/go y=y@1/client:b" {
		t.Error(got)
	}
	for name, want := range map[string]string{"x": "a's", "x@1": "global 1", "x@2": "a's", "x___1": "global 1", "x__2": "a's", "x__1": "plain", "y": "s1's", "only": "o"} {
		if got := s.Call(context.Background(), name, nil); string(got.Output) != `"`+want+`"` {
			t.Errorf("call of %s = %+v, want output %q", name, got, want)
		}
	}
	s.Tools()
	if got := app.so(&app.logs); got != "warn tool 'x@2' of go is hidden by the tool of client:a" {
		t.Error(got)
	}
	var hidden []string
	for _, l := range s.List() {
		if l.HiddenBy != "" {
			hidden = append(hidden, fmt.Sprintf("%s@%d of %s by %s", l.Name, l.Version, l.Owner, l.HiddenBy))
		}
	}
	if fmt.Sprint(hidden) != "[x@2 of go by client:a]" {
		t.Error(hidden)
	}
	other := opened(t, r, Context{SessionID: "s2"}, Hooks{})
	if got := offered(other); got != "only=only@3/go x___1=x@1/go x__2=x@2/go x__1=x__1@1/go" {
		t.Error(got)
	}
	// An offer does not change: a call of a removed tool finds no tool.
	tools := s.Tools()
	r.Unregister("x")
	for _, b := range tools[1:3] {
		if e := b.Execute(context.Background(), nil); e.Metadata["concerto"].(Info).Outcome != OutcomeNotFound {
			t.Errorf("call of a removed tool = %+v, want not found", e)
		}
	}
}

// TestLongOffers checks that names for models do not exceed the length limit.
func TestLongOffers(t *testing.T) {
	long := strings.Repeat("a", 63)
	r := registered(t, version(long, 1), version(long, 20), version(long+"b", 1), version(long+"b", 2))
	s := opened(t, r, Context{}, Hooks{})
	seen := map[string]bool{}
	for _, b := range s.Tools() {
		if toolname.Check(b.Name()) != nil || seen[b.Name()] {
			t.Errorf("name for models %q is invalid or not unique", b.Name())
		}
		seen[b.Name()] = true
		if e := s.Do(context.Background(), Ask{Name: b.Name()}); e.Outcome != OutcomeOK {
			t.Errorf("call of %s = %+v, want success", b.Name(), e)
		}
	}
}

// TestSessionSeesOwnTools checks that a session is not offered tools that it may not see or whose
// results it cannot show.
func TestSessionSeesOwnTools(t *testing.T) {
	picture := echo("picture")
	picture.Requires, picture.Category = []string{"render:image/png"}, "art"
	r := registered(t, picture, echo("x"))
	only, _ := Only("category:art")
	for want, s := range map[string]*Session{
		"x=x@1/go":                      opened(t, r, Context{}, Hooks{}),
		"picture=picture@1/go x=x@1/go": opened(t, r, Context{Render: []string{"image/png"}}, Hooks{}),
		"picture=picture@1/go":          opened(t, r, Context{Render: []string{"image/png"}}, Hooks{Sees: only.Has}),
		"":                              opened(t, r, Context{}, Hooks{Sees: only.Has}),
	} {
		if got := offered(s); got != want {
			t.Errorf("offered tools = %q, want %q", got, want)
		}
	}
}

// TestStats checks the numbers of calls and failures and the durations in lists.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := echo("x")
		d.Handler = func(_ context.Context, input json.RawMessage, _ *Context) (Result, error) {
			var in struct{ MS int }
			if err := json.Unmarshal(input, &in); err != nil || in.MS == 0 {
				return Result{}, errors.New("none")
			}
			time.Sleep(time.Duration(in.MS) * time.Millisecond)
			return Success(nil)
		}
		s := opened(t, registered(t, d), Context{}, Hooks{})
		for range 98 {
			s.Call(context.Background(), "x", json.RawMessage(`{"ms":10}`))
		}
		s.Call(context.Background(), "x", json.RawMessage(`{"ms":900}`))
		s.Call(context.Background(), "x", nil)
		got := s.List()[0].Stats
		if got.Calls != 100 || got.Failed != 1 || got.P50 < 10*time.Millisecond || got.P50 > 12500*time.Microsecond || got.P99 != got.P50 {
			t.Errorf("statistics = %+v, want 100 calls, 1 failure and 10ms to 12.5ms", got)
		}
		s.Call(context.Background(), "x", json.RawMessage(`{"ms":900}`))
		s.Call(context.Background(), "x", json.RawMessage(`{"ms":900}`))
		if got := s.List()[0].Stats; got.P99 < 900*time.Millisecond || got.P99 > 1125*time.Millisecond {
			t.Errorf("statistics = %+v, want P99 between 900ms and 1125ms", got)
		}
	})
	for us := range 100_000 {
		d := time.Duration(us) * time.Microsecond
		if i := durationStep(d); upper(i) < d || i > 0 && upper(i-1) >= d {
			t.Fatalf("duration %s is in step %d, which ranges from %s to %s", d, i, upper(i-1), upper(i))
		}
	}
}
