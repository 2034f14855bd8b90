package vm

import (
	"context"
	"testing"

	"github.com/concerto-lang/concerto/ir"
)

// fibProgram is fib(n) as codegen would write it.
func fibProgram(n string) *asm {
	a := newAsm()
	a.fn("main() Full 4", `
		LoadInt r2 `+n+`
		Call r1 f1
		BoxInt r1 r1
		Return r1`)
	a.fn("fib(Int) Int 6", `
		JumpGeIntK r1 2 @big
		ReturnInt r1
		@big: SubIntK r3 r1 1
		Call r2 f1
		SubIntK r4 r1 2
		Call r3 f1
		AddInt r2 r2 r3
		ReturnInt r2`)
	return a
}

// loopProgram sums i*j mod 1000003 over 3000 by 10000.
func loopProgram(outer, inner string) *asm {
	a := newAsm()
	a.fn("main() Full 8", `
		LoadInt r1 0
		LoadInt r2 0
		LoadInt r4 `+outer+`
		LoadInt r5 `+inner+`
		@outer: LoadInt r3 0
		@inner: MulInt r6 r2 r3
		AddInt r1 r1 r6
		RemIntK r1 r1 1000003
		ForInt r3 r5 @inner
		ForInt r2 r4 @outer
		BoxInt r1 r1
		Return r1`)
	return a
}

func benchmark(b *testing.B, a *asm) {
	if err := ir.Verify(&a.Program); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m, err := New(Config{Program: &a.Program, Performer: effectless})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// Workloads a and b of bench/peers.
func BenchmarkFib32(b *testing.B)       { benchmark(b, fibProgram("32")) }
func BenchmarkIntegerLoop(b *testing.B) { benchmark(b, loopProgram("3000", "10000")) }

func TestFib(t *testing.T)         { fibProgram("20").want(t, "6765") }
func TestIntegerLoop(t *testing.T) { loopProgram("30", "100").want(t, "153244") }
