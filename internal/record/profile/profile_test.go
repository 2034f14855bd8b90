package profile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/vm"
)

// raw is the output of pprof for the profile in TestWrite. Each row is a stack, with its values and
// the numbers of its locations, innermost first.
const raw = `samples/count cpu/nanoseconds[dflt] waits/count wait/nanoseconds
          3    3000000          0          0: 1 2
          5    5000000          0          0: 3 4 2
          1    1000000          0          0: 5 2
          0          0          1       1500: 6 2
Locations
     1: 0x0 M=1 inner main.conc:3:0 s=0
     2: 0x0 M=1 main main.conc:9:0 s=0
     3: 0x0 M=1 Array.sort :0:0 s=0
     4: 0x0 M=1 inner main.conc:4:0 s=0
     5: 0x0 M=1 closure in util.conc lib/util.conc:7:0 s=0
     6: 0x0 M=1 wait for sleep :0:0 s=0
Mappings
1: 0x0/0x0/0x0 demo  [FN][FL][LN]`

// TestWrite compares the output of `go tool pprof` with the recorded stacks.
func TestWrite(t *testing.T) {
	r := New("demo")
	at := func(f, file string, line int) vm.Place {
		return vm.Place{Function: f, File: file, Line: line, Column: line}
	}
	inner, other, outer := at("inner", "main.conc", 3), at("inner", "main.conc", 4), at("main", "main.conc", 9)
	r.addSample([]vm.Place{inner, outer}, 2)
	r.addSample([]vm.Place{{Function: "Array.sort"}, other, outer}, 5)
	r.addSample([]vm.Place{inner, outer}, 1)
	r.addSample([]vm.Place{at("", "lib/util.conc", 7), outer}, 1)
	r.addWait([]vm.Place{{Function: "wait for sleep"}, outer}, 1500)
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("go", "tool", "pprof", "-raw", file).CombinedOutput()
	if err != nil {
		t.Fatalf("go tool pprof: %v\n%s", err, text)
	}
	_, got, _ := strings.Cut(strings.ReplaceAll(string(text), " \n", "\n"), "Samples:\n")
	if diff := cmp.Diff(raw, strings.TrimSpace(got)); diff != "" {
		t.Errorf("output of go tool pprof differs (-want +got):\n%s", diff)
	}
	if period := fmt.Sprintf("PeriodType: cpu nanoseconds\nPeriod: %d\n", Period); !strings.HasPrefix(string(text), period) {
		t.Errorf("the profile does not begin with %q:\n%s", period, text)
	}
}

// TestClock checks that the recorder takes samples until it is stopped.
func TestClock(t *testing.T) {
	r := New("demo")
	r.Start()
	for r.VM.Pending.Load() == 0 {
		runtime.Gosched()
	}
	r.Stop()
	r.VM.Pending.Store(0)
	if r.VM.Now() <= 0 {
		t.Error("the recorder took no sample although the program was running")
	}
}
