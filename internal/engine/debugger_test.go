package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/runtime/world/clock"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/vm"
)

// still is a debugger whose clock is paused during the whole run.
type still struct {
	vm.NoDebugger
	clock *clock.PausableClock
}

func (s still) Clock() *clock.PausableClock { return s.clock }

// TestDebuggersClock checks that the clocks of a run stop while the debugger's clock is paused.
func TestDebuggersClock(t *testing.T) {
	s := still{clock: clock.NewPausableClock()}
	s.clock.Pause()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(`use std::time;
fn main() {
    let began = (time::now_ms(), time::monotonic_ms());
    let mut n = 0;
    for i in 0..300_000 { n += i % 7; }
    println(n > 0, time::now_ms() - began.0, time::monotonic_ms() - began.1);
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	p, found, err := Compile("main.conc", dir)
	if p == nil {
		t.Fatal(found, err)
	}
	var out bytes.Buffer
	if err := p.Run(t.Context(), Options{Output: Output{Mode: emit.Text, To: &out}, Records: Records{Debugger: s}}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "true 0 0\n" {
		t.Errorf("output = %q, want no time between the readings", out.String())
	}
}
