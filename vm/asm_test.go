package vm

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// asm builds programs by hand, so that tests of the VM do not need the compiler. Code is the text
// form of IR, with one instruction a line. `@name:` at the start of a line labels the next
// instruction. Anywhere else `@name` is replaced by the number of the labelled instruction.
type asm struct {
	ir.Program
}

func newAsm() *asm {
	return &asm{ir.Program{Version: ir.Version, Name: "test", Files: []ir.File{{Name: "main.conc", Text: "source"}}}}
}

// fn adds a function. sig has the form "name(Class, …) Class registers". The function has the full
// ABI unless a parameter or the result is a scalar.
func (a *asm) fn(sig, code string) *ir.Function {
	name, rest, _ := strings.Cut(sig, "(")
	params, rest, _ := strings.Cut(rest, ")")
	f := ir.Function{Name: name, Line: 1, ABI: ir.FullABI}
	class := func(s string) ir.Class {
		for _, c := range []ir.Class{ir.Int, ir.Float, ir.Bool, ir.Full} {
			if c.String() == s {
				if c != ir.Full {
					f.ABI = ir.Typed
				}
				return c
			}
		}
		panic("class " + s)
	}
	for _, p := range strings.FieldsFunc(params, func(r rune) bool { return r == ',' || r == ' ' }) {
		f.Params = append(f.Params, class(p))
	}
	fields := strings.Fields(rest)
	f.Result = class(fields[0])
	fmt.Sscan(fields[1], &f.Registers)
	f.Block = assemble(code)
	a.Functions = append(a.Functions, f)
	if name == "main" {
		a.Entry = len(a.Functions) - 1
	}
	return &a.Functions[len(a.Functions)-1]
}

// assemble parses the text of a block of code. A line `catch @from @to @target rN` adds a region.
func assemble(code string) ir.Block {
	var lines []string
	labels := map[string]int{}
	var regions []string
	for _, l := range strings.Split(code, "\n") {
		l = strings.TrimSpace(l)
		for strings.HasPrefix(l, "@") && strings.Contains(l, ":") {
			name, rest, _ := strings.Cut(l, ":")
			labels[name] = len(lines)
			l = strings.TrimSpace(rest)
		}
		switch {
		case l == "":
		case strings.HasPrefix(l, "catch "):
			regions = append(regions, l)
		default:
			lines = append(lines, l)
		}
	}
	var b ir.Block
	for i, l := range lines {
		words := strings.Fields(l)
		for j, w := range words {
			if n, ok := labels[w]; ok {
				words[j] = fmt.Sprintf("@%d", n)
			}
		}
		in, err := ir.ParseInstr(strings.Join(words, " "))
		if err != nil {
			panic(err)
		}
		b.Code = append(b.Code, in)
		b.Positions = append(b.Positions, ir.Position{PC: i, Line: i + 1, Column: 1})
	}
	for _, l := range regions {
		w := strings.Fields(l)
		r := ir.Region{From: labels[w[1]], To: labels[w[2]], Target: labels[w[3]]}
		fmt.Sscanf(w[4], "r%d", &r.Register)
		b.Regions = append(b.Regions, r)
	}
	return b
}

func (a *asm) str(s string) int {
	a.Constants = append(a.Constants, ir.Const{String: &s})
	return len(a.Constants) - 1
}

func (a *asm) float(f float64) int {
	a.Constants = append(a.Constants, ir.Const{Float: &f})
	return len(a.Constants) - 1
}

func (a *asm) int(n int64) int {
	a.Constants = append(a.Constants, ir.Const{Int: &n})
	return len(a.Constants) - 1
}

func (a *asm) typ(t ir.TypeInfo) int {
	a.Types = append(a.Types, t)
	return len(a.Types) - 1
}

// effectless is a performer that rejects every effect.
var effectless = effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
	return nil, fmt.Errorf("unexpected effect %s", r.Kind())
})

// executed contains the operations of all programs that tests have run.
var executed = map[ir.Op]bool{}

// TestMain runs the tests and then checks two properties of the whole package: some test runs each
// operation, and an operation raises errors only if its row in ir.Table permits it.
func TestMain(m *testing.M) {
	flag.Parse()
	watchRaising()
	code := m.Run()
	for op := range ir.Table {
		if why := unsaid[op].Load(); why != nil {
			fmt.Printf("the row of %s does not say that it raises: %s\n", ir.Op(op), *why)
			code = 1
		}
	}
	if code == 0 && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == "" {
		for op := range ir.Table {
			if !executed[ir.Op(op)] {
				fmt.Printf("no test runs operation %s\n", ir.Op(op))
				code = 1
			}
		}
	}
	os.Exit(code)
}

// unsaid contains, for each operation whose row does not permit errors, the first error that it
// raised nevertheless. An element is nil if there was none.
var unsaid [len(ir.Table)]atomic.Pointer[string]

// watchRaising wraps the operations outside the dispatch loop whose rows say that they raise no
// error. The wrapper records the errors that such an operation raises. The operations inside the
// loop raise their errors through the same functions. Errors about broken programs and exhausted
// memory are ignored, because rows do not mention them.
func watchRaising() {
	for op := range ir.Table {
		do := slow[op]
		if do == nil || ir.Table[op].Traits.Has(ir.Raises) {
			continue
		}
		slow[op] = func(t *task, in *ins) status {
			st := do(t, in)
			if st == raising && t.raised != nil && !t.raised.cancelled {
				why := value.Message(t.raised.value)
				if !strings.HasPrefix(why, "broken program") && why != t.m.memory.exceeded().Message && !strings.Contains(why, "longer than 1 GiB") {
					unsaid[op].Store(&why)
				}
			}
			return st
		}
	}
}

// note adds the operations of a block to executed.
func note(b *ir.Block) {
	for _, in := range b.Code {
		executed[in.Op] = true
	}
}

func (a *asm) run(t testing.TB, config Config) (*Outcome, error) {
	t.Helper()
	return a.runIn(context.Background(), t, config)
}

func (a *asm) runIn(ctx context.Context, t testing.TB, config Config) (*Outcome, error) {
	t.Helper()
	if err := ir.Verify(&a.Program); err != nil {
		t.Fatalf("verify: %v", err)
	}
	for i := range a.Functions {
		f := &a.Functions[i]
		note(&f.Block)
		for _, l := range f.Listens {
			for j := range l.Handlers {
				note(&l.Handlers[j].Block)
			}
		}
	}
	config.Program = &a.Program
	if config.Natives == nil {
		config.Natives = library(nil)
	}
	if config.Performer == nil {
		config.Performer = effectless
	}
	m, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return m.Run(ctx)
}

// want runs main and compares its result with want, which is JSON.
func (a *asm) want(t testing.TB, want string) {
	t.Helper()
	out, err := a.run(t, Config{})
	if err != nil {
		t.Errorf("%v, want %s", err, want)
		return
	}
	if got := string(value.AppendJSON(nil, out.Value)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// wantError runs main, which must end with an uncaught error. It compares the error's message with
// want and returns the error.
func (a *asm) wantError(t testing.TB, want string) *Uncaught {
	t.Helper()
	out, err := a.run(t, Config{})
	if err == nil {
		t.Errorf("got %s, want error %q", value.Text(out.Value), want)
		return nil
	}
	u, ok := err.(*Uncaught)
	if !ok {
		t.Errorf("got %T %v, want an uncaught error", err, err)
		return nil
	}
	if u.Message != want {
		t.Errorf("got error %q, want %q", u.Message, want)
	}
	return u
}
