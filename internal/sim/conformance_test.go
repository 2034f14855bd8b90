package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// rule is a property of an operating system on which the product relies. check checks it in an
// empty directory. It checks results itself, so that the simulator and the real system cannot be
// wrong alike.
type rule struct {
	name  string // what holds
	check func(m *machine)
}

// machine is an operating system as one process uses it: simulated or real.
type machine struct {
	keeper.System
	dir   string
	files disk.Files // in dir
	// start starts a child that runs one of the programs in the same directory.
	start func(program string) keeper.Child
	pause func() // lets the other goroutines of the process continue
	hang  func() // waits until the process is dead

	opened []any // files, locks and sockets, which the garbage collector must not close
}

// stdio is the standard input and output of a program.
type stdio interface {
	readLine() (string, bool)
	send(format string, args ...any) bool
}

// rules contains all rules by their groups.
func rules() []rule {
	return slices.Concat(fileRules, handleRules, lockRules, pipeRules, socketRules, processRules)
}

// violation is the panic of a rule that does not hold.
type violation string

func same[T any](what string, got, want T) {
	if !reflect.DeepEqual(got, want) {
		panic(violation(fmt.Sprintf("%s = %#v, want %#v", what, got, want)))
	}
}

// returns checks that an error is of a kind; nil for no error.
func returns(what string, got, want error) {
	if !errors.Is(got, want) {
		panic(violation(fmt.Sprintf("error of %s = %v (%[2]T), want %v", what, got, want)))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(violation(fmt.Sprintf("error = %v, want none", err)))
	}
	return v
}

// fails checks that a call returns an error whose kind does not matter.
func fails(what string, err error) {
	if err == nil {
		panic(violation(what + " succeeds, want an error"))
	}
}

// violated returns why a rule does not hold, or "".
func (r rule) violated(m *machine) (why violation) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case violation:
			why = x
		default:
			panic(x)
		}
	}()
	r.check(m)
	runtime.KeepAlive(m)
	return ""
}

// runProgram runs a program and returns its exit code.
func runProgram(m *machine, name string, x stdio) (code int) {
	defer func() {
		if why := recover(); why != nil {
			x.send("%s: %v", name, why) // the rule reads another line than it expects
			code = 99
		}
	}()
	defer runtime.KeepAlive(m)
	return programs[name](m, x)
}

// nextLine reads one line.
func nextLine(from io.Reader) string {
	var text []byte
	for b := make([]byte, 1); ; text = append(text, b[0]) {
		_ = must(io.ReadFull(from, b))
		if b[0] == '\n' {
			return string(text)
		}
	}
}

// newReal returns the real system for a test; nil if the rules are those of another one.
var newReal func(t *testing.T) *machine

// TestRules checks all rules on the simulator and on Linux.
func TestRules(t *testing.T) {
	for _, r := range rules() {
		if newReal != nil {
			t.Run("linux/"+r.name, func(t *testing.T) {
				if why := r.violated(newReal(t)); why != "" {
					t.Error(why)
				}
			})
		}
		t.Run("simulator/"+r.name, func(t *testing.T) {
			if why := r.violatedInWorld(t); why != "" {
				t.Error(why)
			}
		})
	}
}

// violatedInWorld is like violated, for a process of a new world.
func (r rule) violatedInWorld(t *testing.T) (why violation) {
	new(Schedule).play(t, baseOf(t), func(w *world) {
		w.gate.reached = func(*process, string) (time.Duration, bool) { return 0, false }
	}, func(_ context.Context, w *world) {
		p := w.start("rule")
		defer w.end(p)
		why = r.violated(w.machine(p))
	})
	return why
}

// machine returns the machine of a world as a process uses it.
func (w *world) machine(p *process) *machine {
	m := &machine{System: &system{w, p}, dir: filepath.Join(w.base, "work")}
	m.files = m.Files(m.dir)
	m.hang = func() { <-p.ended }
	m.pause = func() { time.Sleep(time.Second) } // all others wait before the time advances
	m.start = func(program string) keeper.Child {
		return w.newHost(p, program, func(h *hostProcess) {
			h.leave(procgroup.Exit{Code: runProgram(w.machine(h.process), program, h)})
		})
	}
	return m
}
