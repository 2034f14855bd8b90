package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// many returns a registry of 10,000 tools.
func many(tb testing.TB) *Registry {
	ds := make([]Definition, 10_000)
	for i := range ds {
		ds[i] = echo(fmt.Sprintf("tool_%05d", i))
	}
	r := &Registry{}
	if err := r.Register(ds...); err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestAllocations checks that listing and resolving tools in a large registry allocates no memory.
func TestAllocations(t *testing.T) {
	r := many(t)
	s := opened(t, r, Context{SessionID: "s"}, Hooks{})
	now := r.snapshot()
	for what, f := range map[string]func(){
		"List": func() {
			if len(r.List()) != 10_000 {
				t.Error("List does not contain 10,000 tools")
			}
		},
		"Get": func() {
			if _, ok := r.Get("tool_05000"); !ok {
				t.Error("tool_05000 was not found")
			}
		},
		"resolve": func() {
			if s.resolveTool(now, "tool_09999@1") == nil || s.resolveTool(now, "tool_00000") == nil {
				t.Error("tool_09999@1 or tool_00000 was not found")
			}
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations, want none", what, n)
		}
	}
	// A call in a large registry may allocate as much as one in a small registry.
	few := opened(t, registered(t, echo("tool_05000")), Context{SessionID: "s"}, Hooks{})
	call := func(s *Session) float64 {
		return testing.AllocsPerRun(100, func() { s.Call(context.Background(), "tool_05000", nil) })
	}
	if a, b := call(s), call(few); a > b+2 {
		t.Errorf("a call makes %v allocations among many tools and %v among few", a, b)
	}
}

// TestThousandCalls checks that concurrent calls do not wait for each other.
func TestThousandCalls(t *testing.T) {
	d := echo("x")
	d.Handler = func(context.Context, json.RawMessage, *Context) (Result, error) {
		time.Sleep(10 * time.Millisecond)
		return Success(nil)
	}
	r := registered(t, d)
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, r, Context{SessionID: "s"}, Hooks{})
		began := time.Now()
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if e := s.Do(context.Background(), Ask{Name: "x"}); e.Outcome != OutcomeOK {
					t.Errorf("call = %+v, want success", e)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != 10*time.Millisecond {
			t.Errorf("1,000 concurrent calls of 10 ms took %s, want 10ms", took)
		}
	})
}

func BenchmarkList(b *testing.B) {
	r := many(b)
	for b.Loop() {
		r.List()
	}
}

func BenchmarkDispatch(b *testing.B) {
	s, err := many(b).Open(context.Background(), Context{SessionID: "s"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if r := s.Call(context.Background(), "tool_05000", json.RawMessage(`{"a":1}`)); !r.Success {
			b.Fatal(r.Error)
		}
	}
}

// BenchmarkAudit measures a call with its two records in a log on disk, and a call without records.
func BenchmarkAudit(b *testing.B) {
	args := json.RawMessage(`{"sql":"select name, price from pieces where sku = 'a1' order by price","limit":6}`)
	for _, on := range []bool{false, true} {
		b.Run(map[bool]string{false: "off", true: "on"}[on], func(b *testing.B) {
			var h Hooks
			if on {
				log, err := audit.Open(filepath.Join(b.TempDir(), "audit.log"), audit.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer log.Close()
				h.Audit = log
			}
			s, err := many(b).OpenWith(context.Background(), Context{SessionID: "r_0123456789abcdef"}, h)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if r := s.Call(context.Background(), "tool_05000", args); !r.Success {
					b.Fatal(r.Error)
				}
			}
		})
	}
}

// BenchmarkThousand measures 1,000 concurrent calls of 10 ms.
func BenchmarkThousand(b *testing.B) {
	d := echo("x")
	d.Handler = func(context.Context, json.RawMessage, *Context) (Result, error) {
		time.Sleep(10 * time.Millisecond)
		return Success(nil)
	}
	r := &Registry{}
	if err := r.Register(d); err != nil {
		b.Fatal(err)
	}
	s, err := r.Open(context.Background(), Context{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() { s.Call(context.Background(), "x", nil) })
		}
		all.Wait()
	}
}

// BenchmarkRegister measures adding a tool to a registry of 10,000 and removing it.
func BenchmarkRegister(b *testing.B) {
	r := many(b)
	for b.Loop() {
		if err := r.Register(echo("another")); err != nil {
			b.Fatal(err)
		}
		r.Unregister("another")
	}
}
