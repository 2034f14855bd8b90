package vm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// FuzzRun mutates the instructions of a program that uses much of the instruction set, and runs
// each mutant that the verifier accepts. The mutant may fault or end as a broken program, but it
// must not crash the process or corrupt its memory.
func FuzzRun(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 0, 17, 4, 9, 1, 0, 0})
	f.Add([]byte{10, 1, 2, 250, 11, 2, 8, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		a := fuzzProgram()
		mutate(&a.Program, data)
		if ir.Verify(&a.Program) != nil {
			return
		}
		m, err := New(Config{Program: &a.Program, Performer: silent, MaxStack: 1 << 14, Natives: library(fuzzNatives)})
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		out, err := m.Run(ctx)
		var u *Uncaught
		switch {
		case err == nil:
			value.AppendJSON(nil, out.Value)
		case errors.As(err, &u), errors.Is(err, context.DeadlineExceeded):
		case errors.As(err, new(*Broken)):
		default:
			t.Fatal(err)
		}
		runtime.GC() // the collector visits every pointer that the run left
	})
}

var fuzzNatives = map[string]Native{"n": func(a *Args) (value.Slot, error) { return value.Int(int64(a.Len())), nil }}

// silent answers every effect with a minimal valid result.
var silent = effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r.(type) {
	case *effect.AwaitEmit:
		return &effect.Answer{Value: []byte("[1]")}, nil
	case *effect.Clock:
		return &effect.Time{}, nil
	case *effect.ExchangeOpen:
		return &effect.ExchangeOpened{}, nil
	case *effect.ExchangeNext:
		_, _, payload, _ := value.ParseMessage([]byte(`{"type":"q","a":1}`))
		_, _, last, _ := value.ParseMessage([]byte(`{"type":"result","a":1}`))
		return &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: "q", Payload: payload}, {Type: "result", Payload: last}}}, nil
	}
	return nil, nil
})

// mutate changes the program. Each four bytes of data select an instruction, a field and the
// field's new value.
func mutate(p *ir.Program, data []byte) {
	var all []*ir.Instr
	for i := range p.Functions {
		f := &p.Functions[i]
		for j := range f.Code {
			all = append(all, &f.Code[j])
		}
		for _, l := range f.Listens {
			for h := range l.Handlers {
				for j := range l.Handlers[h].Code {
					all = append(all, &l.Handlers[h].Code[j])
				}
			}
		}
	}
	for ; len(data) >= 4; data = data[4:] {
		in := all[int(data[0])%len(all)]
		switch data[1] % 5 {
		case 0:
			in.Op = ir.Op(int(data[2]) % len(ir.Table))
		case 1:
			in.A = data[2] % 20
		case 2:
			in.B = data[2] % 20
		case 3:
			in.C = data[2] % 20
		case 4:
			in.Imm = int32(int8(data[2]))
		}
		if data[3]%2 == 1 {
			in.A, in.B = data[3]%20, data[2]%20
		}
	}
}

func fuzzProgram() *asm {
	a := newAsm()
	a.int(3)
	a.str("text")
	a.float(1.5)
	any := a.typ(ir.TypeInfo{Kind: "any"})
	a.typ(ir.TypeInfo{Kind: "struct", Name: "P", Fields: []ir.FieldInfo{{Name: "text", Type: any}, {Name: "y", Type: any}}})
	a.typ(ir.TypeInfo{Kind: "enum", Name: "E", Variants: []ir.VariantInfo{{Name: "U"}, {Name: "One", Fields: []ir.FieldInfo{{Name: "0", Type: any}}}}})
	a.Natives = []string{"n"}
	a.Hosts = []ir.Host{{Name: "H"}}
	var loads strings.Builder
	for r := 8; r < 19; r++ { // all registers are set, so that the verifier accepts more mutants
		fmt.Fprintf(&loads, "LoadConst r%d k%d\n", r, r%3)
	}
	f := a.fn("main() Full 24", loads.String()+`
		LoadInt r1 2
		LoadInt r2 4
		@l: AddInt r3 r1 r2
		MulInt r4 r3 r1
		AddInt r5 r4 r1
		NewArray r6 r8 3
		Share r6
		Own r6
		ArrayPush r6 r9
		ArrayGet r7 r6 r1
		ArrayPushInt r6 r1
		ArraySetInt r6 r1 r2
		ForInt r1 r2 @l
		NewStruct r7 r8 t1
		OwnField r10 r7 0
		SetField r7 1 r6
		FieldInt r3 r7 0
		NewVariant r8 r9 1 t2
		NewMap r9 r8 0
		MapSet r9 r16 r7
		OwnKey r10 r9 r16
		AnyField r10 r9 k1
		AnyIndex r11 r6 r15
		NewTuple r12 r6 4
		NewClosure r19 r6 3 f2
		LoadInt r20 1
		BoxInt r20 r20
		@a: CallClosure r19 1
		@b: LoadInt r20 4
		SubIntK r20 r20 1
		Call r19 f1
		LoadConst r20 k1
		LoadConst r21 k1
		CallNative r19 2 0 n0
		LoadConst r20 k1
		LoadConst r21 k1
		AwaitEmit r19 2
		LoadHost r20 d0
		LoadConst r21 k1
		LoadNil r22
		ListenBegin r19 l0
		NewCell r13 r19
		CellSet r13 r6
		OwnCell r14 r13
		CellGet r14 r13
		Iterate r14 r6
		Interpolate r15 r6 8
		Concat r16 r15 r15
		Equal r5 r16 r15
		NewTuple r17 r6 1
		Spawn r17 r17 1 f3
		Await r13 r17
		LoadFunction r18 f4
		Move r19 r17
		Move r20 r12
		JoinAll r13 r18 3
		Race r13 r17 2
		Move r18 r6
		LoadFunction r19 f5
		LoadNil r20
		ParallelFor r13 r18
		Return r12
		@c: Return r23
		catch @a @b @c r23`)
	f.Listens = []ir.ListenInfo{{Host: 0, Handlers: []ir.Handler{{Type: "q", Param: 20, Schema: -1, Block: assemble("AnyField r21 r20 k1\nArrayPush r6 r20\nBlockEnd r21")}}}}
	a.fn("down(Int) Int 6", "JumpGeIntK r1 1 @x\nReturnInt r1\n@x: SubIntK r3 r1 1\nCall r2 f1\nAddInt r4 r2 r1\nReturnInt r4")
	a.fn("captured(Full) Full 8", "Captured r2 0\nCaptured r3 1\nCaptured r4 2\nNewTuple r5 r1 4\nReturn r5").Captures = 3
	a.fn("task(Full) Full 8", "LoadConst r4 k1\nAwaitEmit r3 1\nNewTuple r2 r3 1\nReturn r2")
	a.fn("body() Full 8", "LoadConst r4 k1\nAwaitEmit r3 1\nReturnLeft r3 1").Body = true
	a.fn("round(Full) Full 8", "Move r3 r1\nSpawn r2 r3 1 f3\nAwait r2 r2\nReturn r2").Body = true
	return a
}

// TestFuzzProgram runs the program of FuzzRun without mutations.
func TestFuzzProgram(t *testing.T) {
	a := fuzzProgram()
	out, err := a.run(t, Config{Performer: silent, Natives: library(fuzzNatives)})
	if err != nil {
		t.Fatal(err)
	}
	if got := value.Text(out.Value); !strings.HasPrefix(got, "[[") {
		t.Error(got)
	}
}
