package program_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/internal/testkit/program"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/vm"
)

// TestForms runs the programs of some seeds in every form, with copy-on-write and with every copy
// made. All runs must print the same text.
func TestForms(t *testing.T) {
	randtest.Run(t, "internal/testkit/program", 60, plain(program.Values), func(t *testing.T, seed uint64) {
		agree(t, func(f program.Form) string { return program.FromSeed(program.Values, seed, f) }, everyForm)
	})
}

// plain returns a function that generates the programs of a subject.
func plain(about *program.Subject) func(seed uint64) string {
	return func(seed uint64) string { return program.FromSeed(about, seed, program.Plain) }
}

var everyForm = []program.Form{program.Passed, program.Bound, program.Captured, program.Crowded, program.Handled, program.Nested}

// FuzzForms runs programs whose choices are the bytes of the input. It compares the form Plain with
// one other form.
func FuzzForms(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a program of some bytes, which are its choices"))
	f.Add([]byte{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5, 0, 2, 8, 8, 4, 1, 9, 7, 1, 6, 9, 3, 9, 9, 3, 7, 5, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip()
		}
		form := everyForm[len(data)%len(everyForm)]
		agree(t, func(f program.Form) string { return program.FromBytes(program.Values, data, f) }, []program.Form{form})
	})
}

func agree(t *testing.T, make func(program.Form) string, others []program.Form) {
	plain := make(program.Plain)
	p := compiletest.Compile(t, plain)
	want := run(t, p, plain, false)
	if got := run(t, p, plain, true); got != want {
		t.Fatalf("the output differs when every copy is made:\n%s\n%s", differ(want, got), plain)
	}
	decoded, err := ir.Decode(ir.Encode(p))
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, decoded, plain, false); got != want {
		t.Fatalf("the output differs for IR that was written as JSON and read back:\n%s\n%s", differ(want, got), plain)
	}
	optimized(t, p, plain, want)
	for _, form := range others {
		text := make(form)
		p := compiletest.Compile(t, text)
		if got := run(t, p, text, false); got != want {
			t.Fatalf("the output of form %s differs:\n%s\n%s\n-- %s --\n%s", form, differ(want, got), plain, form, text)
		}
		if form == program.Handled || form == program.Nested {
			optimized(t, p, text, want)
		}
	}
}

// optimized compares the output of a program with want for several sets of passes: all passes, all
// passes in all functions with every copy made, one pass alone, and all passes but that one.
func optimized(t *testing.T, p *ir.Program, text, want string) {
	t.Helper()
	plain := ir.Encode(p)
	try := func(name string, on optimize.Set, copies bool) {
		q, err := ir.Decode(plain)
		if err != nil {
			t.Fatal(err)
		}
		optimize.Program(q, on)
		if err := ir.Verify(q); err != nil {
			t.Fatalf("optimised with %s: %v\n%s", name, err, text)
		}
		if got := run(t, q, text, copies); got != want {
			t.Fatalf("the output differs when optimised with %s (copies %v):\n%s\n%s", name, copies, differ(want, got), text)
		}
	}
	try("all", optimize.All, false)
	everywhere, err := optimize.Parse("-hot")
	if err != nil {
		t.Fatal(err)
	}
	try("-hot", everywhere, true)
	n := len(text) % len(optimize.Passes)
	try(optimize.Passes[n].Name, optimize.Only(n), false)
	try("-"+optimize.Passes[n].Name, everywhere&^optimize.Only(n), false)
}

// differ returns the first line in which two outputs differ.
func differ(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d is %s, want %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// run returns the output of a program.
func run(t *testing.T, p *ir.Program, text string, copies bool) string {
	t.Helper()
	out, _ := end(t, p, text, copies)
	return out
}

// whole returns the output of a program with the trace of its failure.
func whole(t *testing.T, p *ir.Program, text string) string {
	t.Helper()
	out, failed := end(t, p, text, false)
	return out + compiletest.Trace(failed)
}

// end runs a program that may fail with an uncaught error.
func end(t *testing.T, p *ir.Program, text string, copies bool) (string, *vm.Uncaught) {
	t.Helper()
	out, failed, err := perform(p, nil, copies)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out, failed
}

// perform runs a program. If natives is not nil, it replaces some native functions of the library.
// failed is the uncaught error, and err is any other reason for the stop.
func perform(p *ir.Program, natives func(string) vm.Native, copies bool) (out string, failed *vm.Uncaught, err error) {
	w := &world{}
	c := compiletest.Config(p, w, copies)
	if natives != nil {
		c.Natives = natives
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, failed, err = compiletest.Run(ctx, c)
	return w.out.String() + compiletest.Failure(failed), failed, err
}

// world records the output of a program and acts as its host. Each exchange has one message and a
// result.
type world struct {
	mu   sync.Mutex
	out  strings.Builder
	sent []int // number of messages sent in each exchange
}

var messages = []string{`{"type":"go"}`, `{"type":"result","text":"end"}`}

func (w *world) Perform(_ context.Context, r effect.Request) (effect.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r := r.(type) {
	case *effect.Print:
		w.out.WriteString(r.Text + "\n")
	case *effect.ExchangeOpen:
		w.sent = append(w.sent, 0)
		return &effect.ExchangeOpened{ID: int64(len(w.sent) - 1)}, nil
	case *effect.ExchangeNext:
		if w.sent[r.ID] == len(messages) {
			return nil, effect.Errorf("HostError", "host exited without result").With("host", "Worker")
		}
		line := []byte(messages[w.sent[r.ID]])
		w.sent[r.ID]++
		typ, id, payload, err := value.ParseMessage(line)
		return &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: typ, ID: string(id), Payload: payload, Text: line}}}, err
	case *effect.Clock:
		return &effect.Time{}, nil
	case *effect.Emit, *effect.ExchangeReply, *effect.ExchangeClose, *effect.Sleep, *effect.Log: // a discarded Err is logged
	default:
		return nil, fmt.Errorf("the test performs no %T", r)
	}
	return nil, nil
}
