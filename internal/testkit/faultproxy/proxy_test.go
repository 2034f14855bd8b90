package faultproxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// patience is the time limit of each wait. Only a failing test waits that long.
const patience = 2 * time.Minute

// echo starts a server that answers each WebSocket message with the same message, and any other
// request with "plain". It returns the server's address.
func echo(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprint(w, "plain "+string(body))
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(maxFrame)
		for {
			kind, b, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, b) != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func dial(t *testing.T, p *Proxy) (*websocket.Conn, context.Context) {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	c, _, err := websocket.Dial(ctx, strings.Replace(p.URL(), "http", "ws", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(maxFrame)
	t.Cleanup(func() { c.CloseNow() })
	return c, ctx
}

func start(t *testing.T, plan func(Frame) Fault) *Proxy {
	p, err := New(echo(t), plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// on returns a plan that applies a fault to the text frames with the given direction and content.
func on(d Direction, text string, fault Fault) func(Frame) Fault {
	return func(f Frame) Fault {
		if f.Direction == d && f.IsText() && string(f.Payload) == text {
			return fault
		}
		return Pass
	}
}

// TestFaults sends "a", "b", "c" and a long message to the echo server, applies each fault to "b",
// and checks the echoed messages.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		want  string
	}{
		{Pass, "a b c"}, {Drop, "a c"}, {Duplicate, "a b b c"}, {Delay, "a b c"}, {Swap, "a c b"},
	} {
		for _, d := range []Direction{ToServer, ToClient} {
			t.Run(fmt.Sprint(c.want, " ", d), func(t *testing.T) {
				p := start(t, on(d, "b", c.fault))
				if c.fault == Swap {
					p.Lag = patience // longer than the test, so that only the next frame releases a swapped one
				}
				conn, ctx := dial(t, p)
				long := strings.Repeat("long ", 100_000)
				for _, text := range []string{"a", "b", "c", long} {
					if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
						t.Fatal(err)
					}
				}
				var got []string
				for {
					_, b, err := conn.Read(ctx)
					if err != nil {
						t.Fatalf("read after %q: %v", got, err)
					}
					if string(b) == long {
						break
					}
					got = append(got, string(b))
				}
				if s := strings.Join(got, " "); s != c.want {
					t.Errorf("echoed messages = %q, want %q", s, c.want)
				}
			})
		}
	}
}

// TestSwappedLast swaps a frame that has no successor. The frame is then only late.
func TestSwappedLast(t *testing.T) {
	conn, ctx := dial(t, start(t, on(ToServer, "b", Swap)))
	_ = conn.Write(ctx, websocket.MessageText, []byte("b"))
	if _, b, err := conn.Read(ctx); err != nil || string(b) != "b" {
		t.Errorf("message = %q, error = %v; want \"b\"", b, err)
	}
}

// TestCutFrame cuts a frame. Both connections must close, and the next connection must work.
func TestCutFrame(t *testing.T) {
	p := start(t, on(ToClient, "b", Cut))
	conn, ctx := dial(t, p)
	for _, text := range []string{"a", "b"} {
		if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, b, err := conn.Read(ctx); err != nil || string(b) != "a" {
		t.Fatalf("message = %q, error = %v; want \"a\"", b, err)
	}
	if _, b, err := conn.Read(ctx); err == nil {
		t.Fatalf("message after the cut = %q, want an error", b)
	}
	second, ctx := dial(t, p)
	_ = second.Write(ctx, websocket.MessageText, []byte("c"))
	if _, b, err := second.Read(ctx); err != nil || string(b) != "c" {
		t.Errorf("message on the next connection = %q, error = %v; want \"c\"", b, err)
	}
	p.CutAll()
	if _, b, err := second.Read(ctx); err == nil {
		t.Errorf("message after CutAll = %q, want an error", b)
	}
}

// TestHalfOpen leaves a connection half open. No frame arrives any more, and neither side notices
// that the other has closed.
func TestHalfOpen(t *testing.T) {
	var asked atomic.Int32
	open := make(chan bool, 1)
	p := start(t, func(f Frame) Fault {
		asked.Add(1)
		fault := on(ToServer, "b", HalfOpen)(f)
		if fault == HalfOpen {
			open <- true
		}
		return fault
	})
	conn, ctx := dial(t, p)
	_ = conn.Write(ctx, websocket.MessageText, []byte("a"))
	if _, b, err := conn.Read(ctx); err != nil || string(b) != "a" {
		t.Fatalf("message = %q, error = %v; want \"a\"", b, err)
	}
	_ = conn.Write(ctx, websocket.MessageText, []byte("b"))
	<-open
	short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
	defer stop()
	if _, b, err := conn.Read(short); err == nil || ctx.Err() != nil {
		t.Errorf("message on a half-open connection = %q, error = %v; want a timeout", b, err)
	}
	if n := asked.Load(); n != 3 { // for "a", its echo, and "b"
		t.Errorf("number of calls of the plan = %d, want 3", n)
	}
}

// TestPlain checks that the proxy forwards other HTTP requests, each on a new connection.
func TestPlain(t *testing.T) {
	p := start(t, func(Frame) Fault { return Drop })
	for range 3 {
		r, err := http.Post(p.URL(), "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if string(b) != "plain body" {
			t.Errorf("response = %q, want \"plain body\"", b)
		}
	}
}

// TestRandom checks that a seed always selects the same faults, and that each fault occurs about as
// often as its odds say.
func TestRandom(t *testing.T) {
	odds := Odds{Drop: 1000, Duplicate: 1000, Swap: 500, HalfOpen: 100}
	a, b := Random(7, odds), Random(7, odds)
	count := map[Fault]int{}
	for range 10_000 {
		f := Frame{Opcode: 1}
		x := a(f)
		if b(f) != x {
			t.Fatal("two plans with the same seed selected different faults")
		}
		count[x]++
	}
	for fault, n := range odds {
		if got := count[fault]; got < n*8/10 || got > n*12/10 {
			t.Errorf("fault %d occurred %d times in 10,000 frames, want about %d", fault, got, n)
		}
	}
	if count[Cut] > 0 || Random(7, Odds{Drop: 10_000})(Frame{Opcode: 9}) != Pass {
		t.Error("a fault without odds was selected, or a fault for a ping")
	}
}

// TestFaultLimit checks the limit on the number of faults.
func TestFaultLimit(t *testing.T) {
	plan := Limit(3, Random(1, Odds{Drop: 5000}))
	n := 0
	for range 1000 {
		if plan(Frame{Opcode: 1}) != Pass {
			n++
		}
	}
	if n != 3 {
		t.Errorf("number of faults = %d, want 3", n)
	}
}
