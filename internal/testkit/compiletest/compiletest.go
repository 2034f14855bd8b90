// Package compiletest compiles and runs programs that tests hold as strings. The programs can use
// the library and a manifest with one host, worker, that speaks JSON.
package compiletest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// Source compiles a program to IR without verifying it. The IR is nil if the list has errors.
func Source(text string) (*ir.Program, diag.List) {
	tree, found := parser.Parse(source.NewFile("main.conc", []byte(text)))
	if found.HasErrors() {
		return nil, found
	}
	checked, more := sema.Check(sema.Config{Name: "main", Library: stdlib.Library(), Manifest: &sema.Manifest{
		Hosts: map[string]sema.ManifestHost{"worker": {OutputFormat: "json"}},
	}}, tree)
	found.Append(more)
	if found.HasErrors() {
		return nil, found
	}
	p, more := codegen.Generate(checked, codegen.ManifestData{
		Hosts: []codegen.ManifestHost{{Section: "worker", Config: []byte(`{"command":"worker","instances":8}`)}},
	})
	found.Append(more)
	if found.HasErrors() {
		return nil, found
	}
	return p, found
}

// Compile compiles a program to verified IR and accepts warnings. An error ends the test and is
// printed with its position and the program.
func Compile(t testing.TB, text string) *ir.Program {
	t.Helper()
	return compile(t, text, diag.Error)
}

// CompileClean is like Compile but rejects warnings.
func CompileClean(t testing.TB, text string) *ir.Program {
	t.Helper()
	return compile(t, text, diag.Warning)
}

// compile accepts diagnostics less severe than least.
func compile(t testing.TB, text string, least diag.Severity) *ir.Program {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%v\n%s", r, text)
		}
	}()
	p, found := Source(text)
	var errs strings.Builder
	for _, d := range found.Sorted() {
		if d.Severity() <= least {
			at := d.File.Position(d.Span.Start)
			fmt.Fprintf(&errs, "%s:%d:%d: %s\n", d.File.Name, at.Line, at.Column, d.Message)
		}
	}
	if errs.Len() > 0 {
		t.Fatalf("%s%s", errs.String(), text)
	}
	if err := ir.Verify(p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// Assembly returns the code of the program's own functions.
func Assembly(p *ir.Program) string {
	var b strings.Builder
	for i := range p.Functions {
		if p.Functions[i].File == 0 {
			b.WriteString(ir.DisassembleFunction(p, i))
		}
	}
	return b.String()
}

// Config returns the configuration for running a program in a world, with a small stack. If watched
// is set, the VM copies each container before changing it, counts the reached lines, and takes
// samples; none of this may change the result.
func Config(p *ir.Program, world effect.Performer, watched bool) vm.Config {
	c := vm.Config{Program: p, Natives: stdlib.Native, Performer: world, MaxStack: 1 << 16}
	if watched {
		c.AlwaysCopy, c.Count.Points, c.Profile = true, true, samplingProfile()
	}
	return c
}

// samplingProfile returns a profile that requests a sample at each of the first marks.
func samplingProfile() *vm.Profile {
	p := &vm.Profile{Now: func() int64 { return 1 }, Waited: func([]vm.Place, int64) {}}
	left := 100
	p.Sample = func(stack []vm.Place, n int) {
		if n < 1 || len(stack) == 0 {
			panic("a sample of nothing")
		}
		if left--; left > 0 {
			p.Pending.Store(1)
		}
	}
	p.Pending.Store(1)
	return p
}

// Run runs a program until it stops. failed is an error that the program did not catch; err is any
// other reason for the stop.
func Run(ctx context.Context, c vm.Config) (out *vm.Outcome, failed *vm.Uncaught, err error) {
	m, err := vm.New(c)
	if err != nil {
		return nil, nil, err
	}
	out, err = m.Run(ctx)
	if errors.As(err, &failed) {
		err = nil
	}
	return out, failed, err
}

// Failure formats an uncaught error as one line, or returns "" for nil.
func Failure(failed *vm.Uncaught) string {
	if failed == nil {
		return ""
	}
	return fmt.Sprintf("uncaught %s: %s\n", failed.Kind, failed.Message)
}

// Trace formats the calls that led to an uncaught error, one per line, or returns "" for nil.
func Trace(failed *vm.Uncaught) string {
	if failed == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range failed.Trace {
		fmt.Fprintf(&b, "  in %s at %s:%d:%d\n", p.Function, p.File, p.Line, p.Column)
	}
	return b.String()
}
