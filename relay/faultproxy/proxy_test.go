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

// patience limits waits, also on a busy machine.
const patience = 2 * time.Minute

// echo answers each message with itself, and a plain request with "plain".
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

// on returns a plan that applies a fault to text frames with this content and direction.
func on(d Direction, text string, fault Fault) func(Frame) Fault {
	return func(f Frame) Fault {
		if f.Direction == d && f.IsText() && string(f.Payload) == text {
			return fault
		}
		return Pass
	}
}

// TestFaults compares the echo of "a", "b", "c" and a long message when a fault is applied to "b".
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
					p.Lag = patience // so that only the next frame releases it
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
						t.Fatalf("after %q: %v", got, err)
					}
					if string(b) == long {
						break
					}
					got = append(got, string(b))
				}
				if s := strings.Join(got, " "); s != c.want {
					t.Errorf("%q came, want %q", s, c.want)
				}
			})
		}
	}
}

// TestSwappedLast checks that a swapped frame without a successor is only late.
func TestSwappedLast(t *testing.T) {
	conn, ctx := dial(t, start(t, on(ToServer, "b", Swap)))
	_ = conn.Write(ctx, websocket.MessageText, []byte("b"))
	if _, b, err := conn.Read(ctx); err != nil || string(b) != "b" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestCutFrame checks that both connections close within a frame, and that the next connection
// works.
func TestCutFrame(t *testing.T) {
	p := start(t, on(ToClient, "b", Cut))
	conn, ctx := dial(t, p)
	for _, text := range []string{"a", "b"} {
		if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, b, err := conn.Read(ctx); err != nil || string(b) != "a" {
		t.Fatalf("%q, %v", b, err)
	}
	if _, b, err := conn.Read(ctx); err == nil {
		t.Fatalf("%q came", b)
	}
	second, ctx := dial(t, p)
	_ = second.Write(ctx, websocket.MessageText, []byte("c"))
	if _, b, err := second.Read(ctx); err != nil || string(b) != "c" {
		t.Errorf("%q, %v", b, err)
	}
	p.CutAll()
	if _, b, err := second.Read(ctx); err == nil {
		t.Errorf("%q came", b)
	}
}

// TestHalfOpen checks that nothing arrives, and that neither side notices the end of the other.
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
		t.Fatalf("%q, %v", b, err)
	}
	_ = conn.Write(ctx, websocket.MessageText, []byte("b"))
	<-open
	short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
	defer stop()
	if _, b, err := conn.Read(short); err == nil || ctx.Err() != nil {
		t.Errorf("%q came, %v", b, err)
	}
	if n := asked.Load(); n != 3 { // a, its echo, b
		t.Errorf("the plan was called %d times", n)
	}
}

// TestPlain checks that other HTTP requests pass, each on its own connection.
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
			t.Errorf("%q", b)
		}
	}
}

// TestRandom checks that a seed repeats the same faults, of all kinds in about the expected number.
func TestRandom(t *testing.T) {
	odds := Odds{Drop: 1000, Duplicate: 1000, Swap: 500, HalfOpen: 100}
	a, b := Random(7, odds), Random(7, odds)
	count := map[Fault]int{}
	for range 10_000 {
		f := Frame{Opcode: 1}
		x := a(f)
		if b(f) != x {
			t.Fatal("the same seed gave another fault")
		}
		count[x]++
	}
	for fault, n := range odds {
		if got := count[fault]; got < n*8/10 || got > n*12/10 {
			t.Errorf("fault %d came %d times of 10,000, want about %d", fault, got, n)
		}
	}
	if count[Cut] > 0 || Random(7, Odds{Drop: 10_000})(Frame{Opcode: 9}) != Pass {
		t.Error("a fault without odds, or of a ping")
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
		t.Errorf("%d faults", n)
	}
}
