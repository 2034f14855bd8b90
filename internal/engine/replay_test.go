package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// replayed is a program that uses all concurrent features together: tasks, joins, races, bounded
// loops, errors, cancelling, and closures over shared cells.
const replayed = `
async fn ask(who: String) -> String {
    let answer = await emit("ask:${who}");
    let text = answer?;
    emit("got", "${who} ${text}");
    text
}
async fn chain(n: Int) -> Int {
    let mut sum = 0;
    for i in 0..n { std::time::sleep(i); sum += ask("chain ${n} ${i}").await.len(); emit("chain", [n, i, sum]); }
    sum
}
async fn endless(n: Int) { try { loop { ask("endless ${n}").await; } } catch { emit("caught", n); } }
fn risky(n: Int) -> Result<Int, Error> {
    let (a, b) = await (
        { ask("risky ${n}").await.len() },
        { let s = await emit("fail:${n}"); s?; 1 },
    );
    Ok(a + b)
}
fn main() {
    let mut order: Array<String> = [];
    let note = |s: String| { order.push(s); };
    let background = [endless(1), endless(2)];
    let chains = [chain(3), chain(4)];
    let out = @limit(3) parallel for i in 0..12 {
        note("in ${i}");
        let w = race (ask("left ${i}"), ask("right ${i}"), { chain(2).await.to_string() });
        note("out ${i}");
        "${i} ${w}"
    };
    emit("out", out);
    let rs = parallel for i in 0..6 { risky(i).is_ok() };
    emit("risky", rs);
    let (x, y, z) = await (chains[0], chains[1], { await (ask("inner"), race (ask("a"), ask("b"))) });
    emit("xyz", [x, y]);
    emit("z", z);
    for t in background { t.cancel(); }
    emit("order", order);
    let _ = ask("after main");
    let _ = chain(2);
}
`

// TestReplay records four runs of a program, each with another order in which the requests
// complete. It then repeats each order 250 times with random delays. All outputs of an order must
// have the same bytes.
func TestReplay(t *testing.T) {
	p := compileText(t, replayed)
	different := map[string]bool{}
	for record := range uint64(4) {
		c := newConductor(nil, rand.New(rand.NewPCG(record, 1)))
		want := c.run(t, p)
		if len(c.order) < 80 {
			t.Fatalf("the run made %d requests, want at least 80", len(c.order))
		}
		different[want] = true
		for n := range uint64(250) {
			r := newConductor(c.order, rand.New(rand.NewPCG(record, 2+n)))
			if got := r.run(t, p); got != want {
				t.Fatalf("replay %d of record %d differs:\n%s\nwant:\n%s", n, record, got, want)
			}
		}
	}
	if len(different) < 2 {
		t.Error("all recorded orders produced the same output, want at least two different outputs")
	}
}

// TestReplayRandom runs random programs of tasks, races, loops, errors and cancelling. At the end
// of a run no request may be running. Repeating the order of completions must produce the same
// output.
func TestReplayRandom(t *testing.T) {
	for seed := range uint64(200) {
		g := &tangle{Rand: rand.New(rand.NewPCG(seed, 7))}
		text := g.program()
		p := compileText(t, text)
		c := newConductor(nil, rand.New(rand.NewPCG(seed, 1)))
		want := c.run(t, p)
		for n := range uint64(3) {
			if got := newConductor(c.order, rand.New(rand.NewPCG(seed, 2+n))).run(t, p); got != want {
				t.Fatalf("seed %d: program:\n%s\nrecorded output:\n%s\nreplayed output:\n%s", seed, text, want, got)
			}
		}
	}
}

// tangle generates random programs.
type tangle struct {
	*rand.Rand
	functions []string
	names     int
}

func (g *tangle) program() string {
	body := fmt.Sprintf("fn main() {\n    let r = try { %s };\n    emit(\"r\", to_string(r));\n    let _ = %s;\n}\n", g.expr(4), g.call(3))
	return strings.Join(g.functions, "") + body
}

func (g *tangle) name() int { g.names++; return g.names }

// call generates a new async function and returns a call of it.
func (g *tangle) call(depth int) string {
	n := g.name()
	g.functions = append(g.functions, fmt.Sprintf("async fn f%d() -> Int { %s }\n", n, g.expr(depth)))
	return fmt.Sprintf("f%d()", n)
}

// expr generates an expression of type Int.
func (g *tangle) expr(depth int) string {
	n := g.name()
	if depth == 0 {
		switch g.IntN(5) {
		case 0:
			return fmt.Sprint(n)
		case 1:
			return fmt.Sprintf("{ std::time::sleep(%d); if %d > 0 { throw ToolError::new(\"e%d\"); } 0 }", n, n, n)
		}
		return fmt.Sprintf("{ std::time::sleep(%d); emit(\"s\", %d); %d }", n, n, n)
	}
	e := func() string { return g.expr(depth - 1) }
	switch g.IntN(9) {
	case 0:
		return fmt.Sprintf("{ let (a, b, c) = await (%s, %s, %s); a + b + c }", e(), e(), g.call(depth-1))
	case 1:
		return fmt.Sprintf("race (%s, %s)", e(), g.call(depth-1))
	case 2:
		return fmt.Sprintf("(parallel for i in 0..%d { i + %s }).sum()", g.IntN(4), e())
	case 3:
		return fmt.Sprintf("(@limit(%d) parallel for i in 0..4 { i + %s }).sum()", 1+g.IntN(3), e())
	case 4:
		return fmt.Sprintf("try { %s } catch { emit(\"caught\", %d); %d }", e(), n, n)
	case 5:
		return fmt.Sprintf("{ let t = %s; let x = try { %s }; t.cancel(); emit(\"x\", [x.is_ok(), t.is_done()]); %d }", g.call(depth-1), e(), n)
	case 6:
		return fmt.Sprintf("{ let t = %s; let (a, b) = await (t, { race (t, %s) }); a + b }", g.call(depth-1), e())
	case 7:
		return fmt.Sprintf("{ let x = %s; emit(\"v\", x); x }", e())
	}
	return fmt.Sprintf("%s.await", g.call(depth-1))
}

// conductor performs requests in memory. A goroutine completes waiting requests in a given order,
// or in a random order that the conductor records.
type conductor struct {
	config func(*vm.Config) // modifies the VM's configuration; may be nil
	random *rand.Rand
	replay bool
	order  []int // indexes of the requests in the order of their completion

	mu       sync.Mutex
	changed  *sync.Cond
	requests []*played
	over     bool
	lines    []string
}

type played struct {
	request effect.Request
	done    func(effect.Result, error) // nil after it was called
	stopped bool
}

func newConductor(order []int, random *rand.Rand) *conductor {
	c := &conductor{random: random, replay: order != nil, order: order}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// run runs the program and returns its emits, one per line.
func (c *conductor) run(t *testing.T, p *Program) string {
	t.Helper()
	config := vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: c}
	if c.config != nil {
		c.config(&config)
	}
	m, err := vm.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.conduct()
	}()
	_, err = m.Run(context.Background())
	c.mu.Lock()
	c.over = true
	c.changed.Broadcast()
	c.mu.Unlock()
	<-ended
	c.ended(t, err)
	for i, x := range c.requests {
		if x.done != nil {
			t.Fatalf("request %d (%T) is still running after the run", i, x.request)
		}
	}
	return strings.Join(c.lines, "\n")
}

// ended adds lines with the error of the program, if it has failed.
func (c *conductor) ended(t *testing.T, err error) {
	t.Helper()
	var u *vm.Uncaught
	switch {
	case errors.As(err, &u):
		c.lines = append(c.lines, "uncaught "+u.Message)
		for _, o := range u.Others {
			c.lines = append(c.lines, "and "+o.Message)
		}
	case err != nil:
		t.Fatal(err)
	}
}

// conduct completes requests until the run has ended.
func (c *conductor) conduct() {
	for n := 0; ; n++ {
		for range c.random.IntN(20) {
			runtime.Gosched()
		}
		c.mu.Lock()
		number := c.next(n)
		for number < 0 && !c.over {
			c.changed.Wait()
			number = c.next(n)
		}
		if number < 0 {
			c.mu.Unlock()
			return
		}
		x := c.requests[number]
		done := x.done
		x.done = nil
		if !c.replay {
			c.order = append(c.order, number)
		}
		result, err := answer(x)
		c.mu.Unlock()
		done(result, err)
	}
}

// next returns the index of the nth request to complete, or -1 if that request was not made yet.
func (c *conductor) next(n int) int {
	if c.replay {
		if n < len(c.order) && c.order[n] < len(c.requests) {
			return c.order[n]
		}
		return -1
	}
	var waiting []int
	for i, x := range c.requests {
		if x.done != nil {
			waiting = append(waiting, i)
		}
	}
	if len(waiting) == 0 {
		return -1
	}
	return waiting[c.random.IntN(len(waiting))]
}

// answer returns the outcome of a request. It depends only on the request.
func answer(x *played) (effect.Result, error) {
	if x.stopped {
		return nil, context.Canceled
	}
	r, ok := x.request.(*effect.AwaitEmit)
	switch {
	case !ok:
		return nil, nil
	case r.Channel == "fail:2" || r.Channel == "fail:3":
		return nil, effect.Errorf("EmitError", "no %s", r.Channel).With("channel", r.Channel).With("reason", "refused")
	}
	return &effect.Answer{Value: fmt.Appendf(nil, "%q", strings.ToUpper(r.Channel))}, nil
}

// Start adds a request, which conduct will complete.
func (c *conductor) Start(_ context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &played{request: r, done: done}
	c.requests = append(c.requests, x)
	c.changed.Broadcast()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		x.stopped = true
	}, true
}

// Perform adds a line for an emit. For other requests, it waits until conduct completes them.
func (c *conductor) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if e, ok := r.(*effect.Emit); ok {
		c.lines = append(c.lines, e.Channel+" "+string(e.Payload))
		return nil, nil
	}
	type outcome struct {
		result effect.Result
		err    error
	}
	done := make(chan outcome, 1)
	c.Start(ctx, r, func(result effect.Result, err error) { done <- outcome{result, err} })
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return nil, errors.New("the run has ended")
	}
}
