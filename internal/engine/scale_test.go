package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/complexity"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// counting calls then after the last of a number of sleeps has started.
type counting struct {
	*runtime.Runtime
	left int
	then func()
}

func (c *counting) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	stop, ok = c.Runtime.Start(ctx, r, done)
	if _, sleeps := r.(*effect.Sleep); sleeps {
		if c.left--; c.left == 0 {
			c.then()
		}
	}
	return stop, ok
}

// TestWaitingTasksAreSmall limits the memory that waiting tasks and their requests use.
func TestWaitingTasksAreSmall(t *testing.T) {
	for _, c := range []struct {
		program    string
		tasks, max int // number of tasks, and maximum of bytes for all of them
	}{
		{`fn main() { let xs = parallel for i in 0..N { std::time::sleep(3600000); i }; emit("n", xs.len()); }`, 10_000, 30 << 20},
		{`async fn wait(n: Int) -> Int { std::time::sleep(3600000 + n); n }
fn main() {
    let mut ts: Array<Task<Int>> = [];
    for i in 0..N { ts.push(wait(i)); }
    emit("n", ts.map(|t| t.await).sum());
}`, 100_000, 250 << 20},
	} {
		p := compileText(t, strings.ReplaceAll(c.program, "N", strconv.Itoa(c.tasks)))
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		before := inUse()
		used := 0
		world := &counting{Runtime: runtime.New(runtime.Config{}), left: c.tasks}
		world.then = func() {
			used = inUse() - before
			cancel(enough)
		}
		m, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: world})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Run(ctx); err != enough {
			t.Fatal(err)
		}
		if err := world.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d tasks use %d bytes each", c.tasks, used/c.tasks)
		if used > c.max {
			t.Errorf("%d tasks use %d bytes, want at most %d", c.tasks, used, c.max)
		}
	}
}

// inUse returns the bytes of heap and stacks in use after a garbage collection.
func inUse() int {
	goruntime.GC()
	var s goruntime.MemStats
	goruntime.ReadMemStats(&s)
	return int(s.HeapAlloc + s.StackInuse)
}

// TestTokenRing passes a number through 50,000 tasks, each of which awaits the previous one. If the
// time were quadratic in the number of tasks, the test would time out.
func TestTokenRing(t *testing.T) {
	p := compileText(t, `
async fn first() -> Int { std::time::sleep(1); 0 }
async fn hand(before: Task<Int>) -> Int { before.await + 1 }
fn main() {
    let mut t = first();
    for _ in 0..50000 { t = hand(t); }
    emit("token", t.await);
}`)
	var got []string
	if err := p.Run(t.Context(), Options{OnEmit: func(_ string, payload json.RawMessage) { got = append(got, string(payload)) }}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0] != "50000" {
		t.Error(got)
	}
}

func compileText(t testing.TB, text string) *Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "main.conc")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, found, err := Compile(path, ".")
	if err != nil || found.Len() > 0 {
		t.Fatal(err, found.Sorted()[0].Message)
	}
	return p
}

// TestNoGoroutineOutlivesRun runs tasks with virtual time. Tasks must end at the right times, races
// and errors must end sleeping tasks, and no goroutine may continue after the run.
func TestNoGoroutineOutlivesRun(t *testing.T) {
	p := compileText(t, `
async fn say(ms: Int) -> Int { std::time::sleep(ms); emit("at", [ms, std::time::monotonic_ms()]); ms }
async fn day() { try { std::time::sleep(86400000); } catch { emit("caught"); } emit("a day later"); }
fn main() {
    let lost = day();
    println(race (say(3000), say(1000), { day().await; 0 }));
    println(parallel for ms in [30, 10, 20] { say(ms * 1000).await });
    println((try { await (day(), { say(50).await; throw ToolError::new("stop") }) }).is_err());
    lost.cancel();
    let _ = say(3600000);
}`)
	synctest.Test(t, func(t *testing.T) {
		var got []string
		world := runtime.New(runtime.Config{Layers: []effect.Layer{func(next effect.Performer) effect.Performer { return noting{next.(effect.Starter), &got} }}})
		m, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: world})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := world.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := "at [1000,1000]|1000|at [10000,11000]|at [20000,21000]|at [30000,31000]|[30000,10000,20000]|at [50,31050]|true|at [3600000,3631050]"
		if strings.Join(got, "|") != want {
			t.Errorf("output = %s\nwant %s", strings.Join(got, "|"), want)
		}
	})
}

// noting adds the output of a program to a list.
type noting struct {
	effect.Starter
	lines *[]string
}

func (n noting) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.Emit:
		*n.lines = append(*n.lines, r.Channel+" "+string(r.Payload))
		return nil, nil
	case *effect.Print:
		*n.lines = append(*n.lines, r.Text)
		return nil, nil
	}
	return n.Starter.Perform(ctx, r)
}

// TestAppendingIsLinear builds long texts by appending, in several ways. The number of copied bytes
// must be linear in the length of the text.
func TestAppendingIsLinear(t *testing.T) {
	for name, body := range map[string]string{
		"variable":      `let mut s = ""; for i in 0..N { s += "line ${i}\n"; } s`,
		"sum":           `let mut s = ""; for i in 0..N { s = s + "line ${i}" + "\n"; } s`,
		"interpolation": `let mut s = ""; for i in 0..N { s = "${s}line ${i}\n"; } s`,
		"field":         `let mut r = Out { text: "" }; for i in 0..N { r.add("line ${i}\n"); } r.text`,
		"element":       `let mut xs = ["", ""]; for i in 0..N { xs[1] += "line ${i}\n"; } xs[1]`,
		"entry":         `let mut m: Map<String, String> = {}; m["k"] = ""; for i in 0..N { m["k"] += "line ${i}\n"; } m["k"]`,
		"captured":      `let mut s = ""; let add = |x: String| { s += x; }; for i in 0..N { add("line ${i}\n"); } s`,
		"any":           `let mut s: Any = ""; for i in 0..N { s = s + "line ${i}\n"; } s as String`,
	} {
		t.Run(name, func(t *testing.T) {
			const n = 20_000
			p := compileText(t, strings.ReplaceAll("struct Out { text: String }\nimpl Out { fn add(mut self, s: String) { self.text += s; } }\nfn build() -> String { "+body+" }\nfn main() { assert(build().len() > 0); }", "N", strconv.Itoa(n)))
			world := runtime.New(runtime.Config{})
			m, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: world})
			if err != nil {
				t.Fatal(err)
			}
			out, err := m.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := world.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			size := int64(0)
			for i := range n {
				size += int64(len("line \n") + len(strconv.Itoa(i)))
			}
			// The limit allows for the lines, each copied up to twice, and the growth of the
			// buffer.
			if got := out.Stats.CopiedText; got > 6*size {
				t.Errorf("building a text of %d bytes copied %d bytes, want at most %d", size, got, 6*size)
			}
		})
	}
}

// TestSlicesAreLinear shortens an array from one end until it is empty, by slices or patterns. The
// allocated memory must be linear in the length of the array.
func TestSlicesAreLinear(t *testing.T) {
	for name, body := range map[string]string{
		"pattern of Ints": `fn go(xs: Array<Int>) -> Int { match xs { [] => 0, [x, ..rest] => x + go(rest) } } fn main() { assert(go((0..N).to_array()) > 0); }`,
		"pattern of Strings": `fn go(xs: Array<String>) -> Int { match xs { [] => 0, [x, ..rest] => x.len() + go(rest) } }
			fn main() { assert(go((0..N).to_array().map(|n| "${n}")) > 0); }`,
		"slices":       `fn main() { let mut xs = (0..N).to_array(); while xs.len() > 0 { xs = xs[1..]; } }`,
		"skip":         `fn main() { let mut xs = (0..N).to_array(); while xs.len() > 0 { xs = xs.skip(1); } }`,
		"from the end": `fn main() { let mut xs = (0..N).to_array(); while xs.len() > 0 { xs = xs[..xs.len() - 1]; } }`,
		"changed":      `fn main() { let mut xs = (0..N).to_array(); let mut n = 0; while xs.len() > 64 { xs = xs[xs.len() / 2..]; xs[0] = -1; n += 1; } assert(n > 0); }`,
	} {
		t.Run(name, func(t *testing.T) {
			const n = 16_000
			p := compileText(t, strings.ReplaceAll(body, "N", strconv.Itoa(n)))
			world := runtime.New(runtime.Config{})
			m, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: world})
			if err != nil {
				t.Fatal(err)
			}
			before := allocated()
			if _, err := m.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := allocated() - before; took > n*1000 { // copying the rest of the array each time would allocate about 130,000 bytes per element
				t.Errorf("allocated %d bytes per element, want at most 1000", took/n)
			}
			if err := world.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// allocated returns the total number of bytes that were allocated on the heap.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// TestCompilingIsLinear compiles programs that contain many of the same construct in one place. The
// time must be linear in their number.
func TestCompilingIsLinear(t *testing.T) {
	randtest.InOneGoroutine(t)
	if testing.Short() {
		t.Skip("takes a second")
	}
	for name, c := range map[string]struct{ before, each, after string }{
		"int arms":     {"fn f(n: Int) -> Int { match n {", "# => 1,\n", "_ => 0 } }"},
		"string arms":  {"fn f(s: String) -> Int { match s {", "\"#\" => 1,\n", "_ => 0 } }"},
		"alternatives": {"fn f(n: Int) -> Int { match n { -1", " | #\n", " => 1, _ => 0 } }"},
		"locals":       {"fn f(n: Int) -> Int {", "let x# = n + #; emit(\"n\", x#);\n", "n }"},
		"lent locals":  {"fn f(xs: Array<Array<Int>>) -> Int {", "let x# = xs[#]; emit(\"n\", x#.len());\n", "0 }"},
		"closures":     {"fn f(n: Int) -> Int { let mut s = 0;", "let g# = |x: Int| x + n; s += g#(#);\n", "s }"},
		"statements":   {"fn f(n: Int) -> Int { let mut s = 0;", "for i in 0..n { s += i % (# + 2); }\n", "s }"},
		"functions":    {"fn f() {}", "fn f#(n: Int) -> Int { if n > # { f#(n - 1) } else { 0 } }\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			program := func(n int) string {
				var b strings.Builder
				b.WriteString(c.before)
				for i := range n {
					b.WriteString(strings.ReplaceAll(c.each, "#", strconv.Itoa(i)))
				}
				return b.String() + c.after + " fn main() {}"
			}
			complexity.Linear(t, 1500, func(n int) time.Duration {
				text := program(n)
				return complexity.CPUTime(func() { compileText(t, text) })
			})
		})
	}
}
