package concerto

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// counting looks at the memory in use when the last of n sleeps has begun.
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

// TestWaitingTasksAreSmall: memory of tasks that wait, with all that belongs to
// their requests.
func TestWaitingTasksAreSmall(t *testing.T) {
	for _, c := range []struct {
		program    string
		tasks, max int // bytes
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
		m, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Natives(), Performer: world})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Run(ctx); err != enough {
			t.Fatal(err)
		}
		if err := world.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d tasks: %d bytes each", c.tasks, used/c.tasks)
		if used > c.max {
			t.Errorf("%d tasks take %d bytes, more than %d", c.tasks, used, c.max)
		}
	}
}

// inUse is the memory of heap and stacks after a collection.
func inUse() int {
	goruntime.GC()
	var s goruntime.MemStats
	goruntime.ReadMemStats(&s)
	return int(s.HeapAlloc + s.StackInuse)
}

// TestTokenRing: 10,000 tasks hand a token around.
func TestTokenRing(t *testing.T) {
	p := compileText(t, `
async fn first() -> Int { std::time::sleep(1); 0 }
async fn hand(before: Task<Int>) -> Int { before.await + 1 }
fn main() {
    let mut t = first();
    for _ in 0..10000 { t = hand(t); }
    emit("token", t.await);
}`)
	var got []string
	if err := p.Run(t.Context(), Options{OnEmit: func(_ string, payload json.RawMessage) { got = append(got, string(payload)) }}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0] != "10000" {
		t.Error(got)
	}
}

func compileText(t *testing.T, text string) *Program {
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
