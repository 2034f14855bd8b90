package profile

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/concerto-lang/concerto/vm"
)

// TestWrite: what is written reads back, with one sample for each stack.
func TestWrite(t *testing.T) {
	r := New("demo")
	at := func(f, file string, line int) vm.Place {
		return vm.Place{Function: f, File: file, Line: line, Column: line}
	}
	inner, other, outer := at("inner", "main.conc", 3), at("inner", "main.conc", 4), at("main", "main.conc", 9)
	r.sample([]vm.Place{inner, outer}, 2)
	r.sample([]vm.Place{{Function: "Array.sort"}, other, outer}, 5)
	r.sample([]vm.Place{inner, outer}, 1)
	r.sample([]vm.Place{at("", "lib/util.conc", 7), outer}, 1)
	r.waited([]vm.Place{{Function: "wait for sleep"}, outer}, 1500)
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if p.DefaultSampleType != "cpu" || p.Mapping[0].File != "demo" || p.Period != int64(Period) {
		t.Error(p)
	}
	want := []struct {
		stack  string
		values [4]int64
	}{
		{"inner:3 main:9", [4]int64{3, 3e6, 0, 0}},
		{"Array.sort:0 inner:4 main:9", [4]int64{5, 5e6, 0, 0}},
		{"closure in util.conc:7 main:9", [4]int64{1, 1e6, 0, 0}},
		{"wait for sleep:0 main:9", [4]int64{0, 0, 1, 1500}},
	}
	if len(p.Sample) != len(want) || len(p.Function) != 5 {
		t.Fatal(p)
	}
	for i, s := range p.Sample {
		stack := ""
		for _, l := range s.Location {
			if stack != "" {
				stack += " "
			}
			stack += l.Line[0].Function.Name + ":" + string(rune('0'+l.Line[0].Line))
		}
		if stack != want[i].stack || [4]int64(s.Value) != want[i].values {
			t.Errorf("%s %v, want %v", stack, s.Value, want[i])
		}
	}
}

// TestClock: the clock asks for samples until it is stopped.
func TestClock(t *testing.T) {
	r := New("demo")
	r.Start()
	for r.VM.Due.Load() == 0 {
		runtime.Gosched()
	}
	r.Stop()
	r.VM.Due.Store(0)
	if r.VM.Now() <= 0 {
		t.Error("the time does not go on")
	}
}
