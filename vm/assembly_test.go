package vm

import (
	"bytes"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// Measured properties of the dispatch loop's assembly (README.md). They are valid only for the
// compiler measuredGo on measuredArch. After a change of the compiler, inspect the assembly again.
const (
	measuredGo     = "go1.26"
	measuredArch   = "amd64"
	stackTraffic   = 6    // maximum number of instructions of run that access its stack frame: they save and load t around calls
	frameSize      = "18" // size of the stack frame of run in bytes, hexadecimal
	indirectJumps  = 1    // number of jumps through a jump table
	indirectJumpRE = `\tJMP\t\([A-Z0-9]+\)\([A-Z0-9]+\*8\)`
	dispatchRE     = `(0x[0-9a-f]+) [0-9]+ \(.*\tMOVQ\t[A-Z0-9]+, [A-Z0-9]+\n.*\tLEAQ\t8\(.*\n.*\tMOVBLZX\t\(.*\n.*\tLEAQ\t.*\.run\.jump.*\n.*(0x[0-9a-f]+) [0-9]+ \(.*\tJMP\t\(`
	boundsCheck    = ": Found Is" // in the compiler's report of a bounds check
	rangeCheckRE   = `\tJHI\t.*\n.*\tLEAQ\t.*\(\*task\)\.run\.jump`
)

// TestLoopAssembly checks the assembly of the dispatch loop. It must have no bounds check, spill no
// variable except t, and have one jump table, whose index it does not check. The instructions that
// lead to the next operation must be in one block of 32 bytes.
func TestLoopAssembly(t *testing.T) {
	if !strings.HasPrefix(runtime.Version(), measuredGo) || runtime.GOARCH != measuredArch {
		t.Skipf("the expected numbers are valid for %s on %s, this is %s on %s: inspect the assembly as README.md describes, then update them", measuredGo, measuredArch, runtime.Version(), runtime.GOARCH)
	}
	if testing.CoverMode() != "" {
		t.Skip("code compiled for coverage differs")
	}
	listing := compileWith(t, "-d=ssa/check_bce -S")
	if !strings.Contains(listing, boundsCheck) {
		t.Error("the compiler reports no bounds checks in the package")
	}
	for line := range strings.Lines(listing) {
		if strings.Contains(line, boundsCheck) && (strings.Contains(line, "run.go:") || strings.Contains(line, "ins.go:")) {
			t.Errorf("the loop has a bounds check: %s", strings.TrimSpace(line))
		}
	}
	code := functionText(t, listing, "vm.(*task).run")
	head, _, _ := strings.Cut(code, "\n")
	if m := regexp.MustCompile(`locals=0x([0-9a-f]+)`).FindStringSubmatch(head); m == nil || m[1] != frameSize {
		t.Errorf("the stack frame of run does not have 0x%s bytes: %s", frameSize, head)
	}
	var traffic []string
	for line := range strings.Lines(code) {
		if strings.Contains(line, "(SP)") {
			traffic = append(traffic, strings.TrimSpace(line))
		}
	}
	if len(traffic) > stackTraffic {
		t.Errorf("%d instructions of run access its stack frame, want at most %d: the compiler spills a variable\n%s", len(traffic), stackTraffic, strings.Join(traffic, "\n"))
	}
	if n := len(regexp.MustCompile(indirectJumpRE).FindAllString(code, -1)); n < indirectJumps {
		t.Errorf("run has %d jump tables, want at least %d: the switch became a binary search", n, indirectJumps)
	}
	// Functions begin at a multiple of 32 bytes, so such a block is in one line of the cache.
	if m := regexp.MustCompile(dispatchRE).FindStringSubmatch(code); m == nil {
		t.Error("the instructions that lead from one operation to the next are not those of README.md")
	} else if from, err := strconv.ParseInt(m[1], 0, 64); err != nil {
		t.Error(err)
	} else if last, err := strconv.ParseInt(m[2], 0, 64); err != nil || from/32 != last/32 {
		t.Errorf("the instructions that lead from one operation to the next, from %s to %s, are not in one block of 32 bytes (%v)", m[1], m[2], err)
	}
	if check := regexp.MustCompile(rangeCheckRE).FindString(code); check != "" {
		t.Errorf("run checks the range of an opcode before the jump: the switch has no case for the greatest opcode\n%s", check)
	}
}

// compileWith compiles this package with a -gcflags flag and returns the compiler's output.
func compileWith(t *testing.T, flag string) string {
	t.Helper()
	var out bytes.Buffer
	c := exec.Command("go", "build", "-gcflags="+flag, ".")
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		t.Fatalf("go build -gcflags=%s: %v\n%.2000s", flag, err, out.String())
	}
	return out.String()
}

// functionText returns the part of the compiler's listing that belongs to a function.
func functionText(t *testing.T, listing, name string) string {
	t.Helper()
	start := regexp.MustCompile(`(?m)^\S*` + regexp.QuoteMeta(name) + ` STEXT`).FindStringIndex(listing)
	if start == nil {
		t.Fatalf("the listing has no %s", name)
	}
	rest := listing[start[0]:]
	head := strings.IndexByte(rest, '\n') + 1
	if end := regexp.MustCompile(`(?m)^\S+ S[A-Z]+`).FindStringIndex(rest[head:]); end != nil {
		return rest[:head+end[0]]
	}
	return rest
}
