package vm

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// counted is a context that is cancelled after a number of calls of its Err method.
type counted struct {
	context.Context
	left int
}

func (c *counted) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// longPrograms returns programs whose main spends its time in one operation. The operation is in a
// `try`, whose `catch` must not receive the interruption.
func longPrograms() map[string]*asm {
	programs := map[string]*asm{}
	add := func(name, code string, prepare ...func(*asm)) {
		a := newAsm()
		a.str("key")
		a.int(1 << 24)
		for _, f := range prepare {
			f(a)
		}
		a.Natives = append(a.Natives, "ints", "steps", "copy")
		a.fn("main() Full 20", "CallNative r2 0 0 n0\n@t: "+code+"\nReturnNil\n@c: LoadIntConst r3 k1\nBoxInt r3 r3\nReturn r3\ncatch @t @c @c r3")
		programs[name] = a
	}
	add("a native", "CallNative r4 0 0 n1")
	add("an interpolation", "Interpolate r4 r2 1")
	add("an emit", "LoadConst r4 k0\nEmit r4 r2")
	add("a comparison", "Move r5 r2\nCallNative r4 1 0 n2\nEqual r6 r2 r4\nBoxBool r6 r6")
	add("a range", "LoadInt r4 0\nLoadIntConst r5 k1\nNewRange r4 r4 r5 0\nIterate r4 r4")
	add("a conversion", "Check r4 r2 t1", func(a *asm) {
		a.typ(ir.TypeInfo{Kind: "float"})
		a.typ(ir.TypeInfo{Kind: "array", Args: []int{0}})
	})
	return programs
}

var longNatives = map[string]Native{
	"ints": func(*Args) (value.Slot, error) { return value.IntArray(make([]int64, 1<<20)), nil },
	"steps": func(a *Args) (value.Slot, error) {
		for range 1 << 24 {
			a.Step(1)
		}
		return value.Nil, nil
	},
	"copy": func(a *Args) (value.Slot, error) { return value.Copy(a.Slot(0)), nil },
}

// TestLongOperations checks that cancelling the run stops a long operation at the next check of the
// context.
func TestLongOperations(t *testing.T) {
	for name, a := range longPrograms() {
		t.Run(name, func(t *testing.T) {
			if err := ir.Verify(&a.Program); err != nil {
				t.Fatal(err)
			}
			for _, checks := range []int{3, 10} {
				m, err := New(Config{Program: &a.Program, Performer: effectless, Natives: library(longNatives)})
				if err != nil {
					t.Fatal(err)
				}
				ctx := &counted{t.Context(), checks}
				if out, err := m.Run(ctx); !errors.Is(err, context.Canceled) && err != nil || out != nil {
					t.Errorf("Run returned %v, %v", out, err)
				}
				if over := -ctx.left; over > 8 {
					t.Errorf("the context was checked %d times after its end, want at most 8", over)
				}
			}
		})
	}
}

// TestBoundInNative checks that a race with a time limit ends even if a member executes an endless
// native.
func TestBoundInNative(t *testing.T) {
	a := newAsm()
	a.Natives = []string{"race.bound", "forever"}
	a.fn("main() Full 8", "NewClosure r2 r2 0 f1\nLoadInt r5 5\nBoxInt r5 r5\nCallNative r4 1 0 n0\nMove r3 r4\nRace r1 r2 2\nReturn r1")
	body := a.fn("body() Full 4", "CallNative r1 0 0 n1\nReturn r1")
	body.Body = true
	a.Entry = 0
	if err := ir.Verify(&a.Program); err != nil {
		t.Fatal(err)
	}
	asked := make(chan int64, 1)
	performer := effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
		s, ok := r.(*effect.Sleep)
		if !ok {
			return nil, fmt.Errorf("unexpected effect %s", r.Kind())
		}
		asked <- s.Milliseconds
		return nil, nil
	})
	m, err := New(Config{Program: &a.Program, Performer: performer, Natives: library(map[string]Native{
		"forever": func(a *Args) (value.Slot, error) {
			for {
				a.Step(1)
			}
		},
	})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := m.Run(ctx)
	if err != nil || value.Text(out.Value) != `{"ok":null}` {
		t.Errorf("Run returned %v, %v", out, err)
	}
	if ms := <-asked; ms != 5 {
		t.Errorf("the sleep of the race's time limit was %d ms", ms)
	}
}
