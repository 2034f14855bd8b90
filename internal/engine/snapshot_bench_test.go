package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// mostIdle is the maximum size in bytes of a task in a snapshot, if it waits for a timer.
const mostIdle = 600

const idleTasks = `
async fn idle(n: Int, name: String) -> Int { std::time::sleep(1000 + n); println(name); n }
fn main() {
    let mut all: Array<Task<Int>> = [];
    for i in 0..%d { all.push(idle(i, "task ${i}")); }
    for t in all { t.await; }
}
`

// asleep is a performer whose requests all wait until the run ends.
type asleep struct{}

func (asleep) Perform(context.Context, effect.Request) (effect.Result, error) {
	return nil, errors.New("nothing is performed")
}

func (asleep) Start(_ context.Context, _ effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	return func() { done(nil, context.Canceled) }, true
}

// idle runs a program until n tasks wait, and then calls f.
func idle(t testing.TB, n int, f func(m *vm.VM, c vm.Config)) {
	p := compileText(t, fmt.Sprintf(idleTasks, n))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := vm.Config{Program: p.ir, Natives: stdlib.Native, NewNativeState: stdlib.NewNativeState, Performer: asleep{}}
	compiletest.Renew(t, &c)
	plain := c
	plain.Boundary = nil
	c.Boundary = func(m *vm.VM) {
		f(m, plain)
		cancel()
	}
	m, err := vm.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// TestSnapshotSize checks the size of an idle task in a snapshot.
func TestSnapshotSize(t *testing.T) {
	const n = 1000
	idle(t, n, func(m *vm.VM, _ vm.Config) {
		data, err := m.Snapshot(vm.Snapshot{})
		if err != nil {
			t.Fatal(err)
		}
		if len(data)/n > mostIdle {
			t.Errorf("an idle task uses %d bytes of the snapshot, want at most %d", len(data)/n, mostIdle)
		}
		t.Logf("an idle task uses %d bytes of the snapshot", len(data)/n)
	})
}

func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		idle(b, n, func(m *vm.VM, c vm.Config) {
			data, err := m.Snapshot(vm.Snapshot{})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("write/%d", n), func(b *testing.B) {
				for b.Loop() {
					if _, err := m.Snapshot(vm.Snapshot{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(data))/float64(n), "bytes/task")
			})
			b.Run(fmt.Sprintf("restore/%d", n), func(b *testing.B) {
				for b.Loop() {
					if _, err := vm.Restore(c, data); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
