package vm

import (
	"context"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// fibProgram returns a program that computes fib(n), with the instructions that codegen emits.
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

// loopProgram returns a program that sums i*j mod 1000003 over outer times inner iterations.
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

// BenchmarkFib32 and BenchmarkIntegerLoop run workloads a and b of bench/peers.
func BenchmarkFib32(b *testing.B)       { benchmark(b, fibProgram("32")) }
func BenchmarkIntegerLoop(b *testing.B) { benchmark(b, loopProgram("3000", "10000")) }

func TestFib(t *testing.T)         { fibProgram("20").want(t, "6765") }
func TestIntegerLoop(t *testing.T) { loopProgram("30", "100").want(t, "153244") }

// BenchmarkListen measures the VM's part of a listen. Each batch has 256 messages. A handler counts
// the messages, and the program answers one question at the end of each batch.
func BenchmarkListen(b *testing.B) {
	l := newListening("progress", "JumpNotNil r2 @more\nLoadConst r2 k1\n@more: LoadConst r10 k1\nAnyBinary r2 r2 r10 0\nLoadNil r10\nBlockEnd r10",
		"question", "AnyField r10 r9 k2\nBlockEnd r10")
	l.int(1)
	l.str("text")
	line := []byte(`{"type":"progress","id":"s-000123","seq":12345,"ok":true,"frac":0.25,"text":"the quick brown fox jumps"}`)
	batches := 0
	performer := effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
		switch r.(type) {
		case *effect.ExchangeOpen:
			return &effect.ExchangeOpened{}, nil
		case *effect.Clock:
			return &effect.Time{}, nil
		case *effect.ExchangeNext:
			out := &effect.ExchangeMessages{Messages: make([]effect.HostMessage, 0, 256)}
			for i := range 256 {
				typ, id, payload, err := value.ParseMessage(line)
				if err != nil {
					return nil, err
				}
				if i == 255 {
					typ = "question"
					if batches--; batches == 0 {
						typ = "result"
					}
				}
				out.Messages = append(out.Messages, effect.HostMessage{Type: typ, ID: string(id), Payload: payload})
			}
			return out, nil
		}
		return nil, nil
	})
	for b.Loop() {
		batches = 100
		m, err := New(Config{Program: &l.Program, Performer: performer})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/25600, "ns/message")
}
