package codegen_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/vm"
)

// TestDamagedPrograms changes instructions of the archives' programs, with and without
// optimisation. If the verifier accepts a changed program, the program may run, fail, or be
// detected as broken at run time. It must not crash the machine.
func TestDamagedPrograms(t *testing.T) {
	ran := 0
	for n, encoded := range encodedPrograms(t) {
		r := rand.New(rand.NewPCG(uint64(n), 7))
		for range 50 {
			ran += damaged(t, encoded, r)
		}
	}
	if ran < 200 {
		t.Errorf("the verifier accepted only %d damaged programs", ran)
	}
}

// FuzzDamagedPrograms damages programs as TestDamagedPrograms does, with other seeds.
func FuzzDamagedPrograms(f *testing.F) {
	all := encodedPrograms(f)
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		damaged(t, all[seed%uint64(len(all))], rand.New(rand.NewPCG(seed, 8)))
	})
}

// encodedPrograms returns the archives' programs that have a main function. Each program is
// returned with and without optimisation.
func encodedPrograms(t testing.TB) (all [][]byte) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if f.Name != "main.conc" {
				continue
			}
			if p := compiletest.Compile(t, string(f.Data)); p.Entry >= 0 {
				all = append(all, ir.Encode(p))
				optimize.Program(p, optimize.All)
				all = append(all, ir.Encode(p))
			}
		}
	}
	return all
}

// damaged damages a program and runs it. It returns 1 if the verifier accepts the program, else 0.
func damaged(t *testing.T, encoded []byte, r *rand.Rand) (ran int) {
	t.Helper()
	p, err := ir.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	what := damage(p, r)
	if ir.Verify(p) != nil {
		return 0
	}
	if err := runDamaged(p); err != nil {
		t.Errorf("%s with the changes: %s\nfails with %v", p.Functions[p.Entry].Name, what, err)
	}
	return 1
}

// damage changes some instructions of p and returns a description of the changes.
func damage(p *ir.Program, r *rand.Rand) (what string) {
	for range 1 + r.IntN(2) {
		f := &p.Functions[r.IntN(len(p.Functions))]
		pc := r.IntN(len(f.Code))
		in := &f.Code[pc]
		was := *in
		other := f.Code[r.IntN(len(f.Code))]
		switch r.IntN(7) {
		case 0:
			in.Op = ir.Op(r.IntN(len(ir.Table)))
		case 1:
			in.A = uint8(r.IntN(f.Registers))
		case 2:
			in.B = uint8(r.IntN(f.Registers))
		case 3:
			in.C = uint8(r.IntN(8))
		case 4:
			in.Imm = int32(r.IntN(24)) - 2
		case 5:
			*in = other
		default:
			in.Op = other.Op
		}
		what += fmt.Sprintf("%s @%d %s becomes %s; ", f.Name, pc, was, *in)
	}
	return what
}

// runDamaged runs p. It returns an error if the machine panics or reports an internal error, else
// nil.
func runDamaged(p *ir.Program) (broken error) {
	defer func() {
		if r := recover(); r != nil {
			broken = fmt.Errorf("panic: %v", r)
		}
	}()
	c := compiletest.Config(p, &world{}, false)
	c.MaxStack = 1 << 14
	m, err := vm.New(c)
	if err != nil {
		return nil // the verifier rejects the program
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err = m.Run(ctx)
	var uncaught *vm.Uncaught
	var missing *vm.Broken
	switch {
	case err == nil, errors.As(err, &uncaught), errors.As(err, &missing), ctx.Err() != nil:
		return nil
	case errors.Is(err, errTestRefused): // the damaged program performs an effect that the archives' programs do not use
		return nil
	}
	return err
}
